"""Conversations that outlive their process: taken in, compacted when due, found again."""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast.exports import import_later

if TYPE_CHECKING:
    from holdfast.sessions.delegations import Delegated
    from holdfast.sessions.events import SessionEvent
    from holdfast.sessions.following import Followed, Insert, Keep, Replace
    from holdfast.sessions.handing import Handed
    from holdfast.sessions.hooks import Hooks, Switched, session_environment
    from holdfast.sessions.life import Tended, compact_idle, expire
    from holdfast.sessions.session import Session
    from holdfast.sessions.showing import redactor_of

__all__ = [
    "Delegated",
    "Followed",
    "Handed",
    "Hooks",
    "Insert",
    "Keep",
    "Replace",
    "Session",
    "SessionEvent",
    "Switched",
    "Tended",
    "compact_idle",
    "expire",
    "redactor_of",
    "session_environment",
]

_LATER = {
    "Delegated": "holdfast.sessions.delegations",
    "Followed": "holdfast.sessions.following",
    "Handed": "holdfast.sessions.handing",
    "Hooks": "holdfast.sessions.hooks",
    "Insert": "holdfast.sessions.following",
    "Keep": "holdfast.sessions.following",
    "Replace": "holdfast.sessions.following",
    "Session": "holdfast.sessions.session",
    "SessionEvent": "holdfast.sessions.events",
    "Switched": "holdfast.sessions.hooks",
    "Tended": "holdfast.sessions.life",
    "compact_idle": "holdfast.sessions.life",
    "expire": "holdfast.sessions.life",
    "redactor_of": "holdfast.sessions.showing",
    "session_environment": "holdfast.sessions.hooks",
}

__getattr__ = import_later(__name__, _LATER)
