"""Which session this thread or task works on, for logs and for tools that are called within it."""

from __future__ import annotations

import logging
from contextvars import ContextVar

_CURRENT: ContextVar[str] = ContextVar("holdfast_session", default="")


def current_session() -> str:
    """Return the id of the session that this thread or task works on, "" where there is none."""
    return _CURRENT.get()


def switch_to(session_id: str) -> None:
    """Make a session the current one, for this thread or task."""
    _CURRENT.set(session_id)


class SessionField(logging.Filter):
    """Gives every log record the field `holdfast_session`; add it to a handler or a logger."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Set the field; no record is held back."""
        record.holdfast_session = _CURRENT.get()
        return True
