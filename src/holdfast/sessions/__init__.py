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
    from holdfast.sessions.turns import Inbox, InboxTurn, InboxWorker, waiting_inboxes

__all__ = [
    "Delegated",
    "Followed",
    "Handed",
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
    "Tended",
    "compact_idle",
    "expire",
    "redactor_of",
    "session_environment",
    "waiting_inboxes",
]

_LATER = {
    "Delegated": "holdfast.sessions.delegations",
    "Followed": "holdfast.sessions.following",
    "Handed": "holdfast.sessions.handing",
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
    "Tended": "holdfast.sessions.life",
    "compact_idle": "holdfast.sessions.life",
    "expire": "holdfast.sessions.life",
    "redactor_of": "holdfast.sessions.showing",
    "session_environment": "holdfast.sessions.hooks",
    "waiting_inboxes": "holdfast.sessions.turns",
}

__getattr__ = import_later(__name__, _LATER)
