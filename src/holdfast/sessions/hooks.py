"""What a host may hear of a session and be asked for, and which one a thread works on."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

from msgspec import Struct

from holdfast.journal import SESSION, log_event
from holdfast.report import Report
from holdfast.stores.values import Descent, SessionInfo


class Compacted(Struct, frozen=True, kw_only=True):
    """A compaction that is durable."""

    session: SessionInfo
    """As it is now; another id than `previous_id` where the session rotates."""
    previous_id: str
    report: Report
    folded: tuple[int, ...]
    """Positions of the log that the model sees no more as they were, since this compaction."""
    folded_ids: tuple[str, ...]
    """The ids of these messages, so that a host can forget what it thinks the model has read."""


class Pressure(Struct, frozen=True):
    """A conversation that will soon be compacted."""

    session: SessionInfo
    prompt_tokens: int
    threshold_tokens: int

    @property
    def sentence(self) -> str:
        """The same in words, for a user."""
        share = self.prompt_tokens / self.threshold_tokens
        return (
            f"the context is at {share:.0%} of the size at which it is compacted "
            f"({self.prompt_tokens:,} of {self.threshold_tokens:,} tokens)"
        )


class Switched(Struct, frozen=True):
    """The conversation goes on under another id."""

    previous_id: str
    session_id: str
    descent: Descent


class Hooks(Struct, frozen=True, kw_only=True):
    """Called in the thread of the session; one that raises is logged by name and passed over."""

    before_compaction: Callable[[SessionInfo], object] | None = None
    """A text that it returns is shown to the model that writes the summary, as data."""
    after_compaction: Callable[[Compacted], object] | None = None
    pressure: Callable[[Pressure], object] | None = None
    """Called once when a compaction comes near (`Policy.pressure`), and again only after the
    prompt was smaller in between."""
    session_switch: Callable[[Switched], object] | None = None
    system: Callable[[SessionInfo], str] | None = None
    """Renders the system prompt with its memory block: at the start and after every compaction,
    and at no other time, so that it stays the same bytes in between."""


def told(hook: Callable[[Any], Any] | None, value: Any) -> Any:
    """Call a hook if there is one and return what it says; None where it raises."""
    if hook is None:
        return None
    try:
        return hook(value)
    except Exception as error:  # noqa: BLE001 a hook of the host must not undo what is durable
        name = getattr(hook, "__qualname__", type(hook).__name__)
        log_event("session.hook_failed", hook=name, error=type(error).__name__)
        return None


def current_session() -> str:
    """Return the id of the session that this thread or task works on, "" where there is none."""
    return SESSION.get()


def switch_to(session_id: str) -> None:
    """Make a session the current one, for this thread or task."""
    SESSION.set(session_id)


def announce_switch(hooks: Hooks, switched: Switched) -> None:
    """Make the other session the current one, and tell the log and the host."""
    switch_to(switched.session_id)
    log_event("session.switched", descent=switched.descent)
    told(hooks.session_switch, switched)


class SessionField(logging.Filter):
    """Gives every log record the field `holdfast_session`; add it to a handler or a logger."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Set the field; no record is held back."""
        record.holdfast_session = SESSION.get()
        return True
