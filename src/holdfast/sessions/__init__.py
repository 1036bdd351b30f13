"""Conversations that outlive their process: taken in, compacted when due, found again."""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast.exports import import_later

if TYPE_CHECKING:
    from holdfast.sessions.events import SessionEvent
    from holdfast.sessions.following import Followed, Insert, Keep, Replace
    from holdfast.sessions.hooks import Hooks, Switched, session_environment
    from holdfast.sessions.session import Session
    from holdfast.sessions.showing import redactor_of
    from holdfast.sessions.turns import Inbox, InboxTurn, InboxWorker, waiting_inboxes

__all__ = [
    "Followed",
    "Hooks",
    "Inbox",
    "InboxTurn",
    "InboxWorker",
    "Insert",
    "Keep",
    "Replace",
    "Session",
    "SessionEvent",
    "Switched",
    "redactor_of",
    "session_environment",
    "waiting_inboxes",
]

_LATER = {
    "Followed": "holdfast.sessions.following",
    "Hooks": "holdfast.sessions.hooks",
    "Inbox": "holdfast.sessions.turns",
    "InboxTurn": "holdfast.sessions.turns",
    "InboxWorker": "holdfast.sessions.turns",
    "Insert": "holdfast.sessions.following",
    "Keep": "holdfast.sessions.following",
    "Replace": "holdfast.sessions.following",
    "Session": "holdfast.sessions.session",
    "SessionEvent": "holdfast.sessions.events",
    "Switched": "holdfast.sessions.hooks",
    "redactor_of": "holdfast.sessions.showing",
    "session_environment": "holdfast.sessions.hooks",
    "waiting_inboxes": "holdfast.sessions.turns",
}

__getattr__ = import_later(__name__, _LATER)
