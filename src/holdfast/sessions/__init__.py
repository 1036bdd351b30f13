"""Conversations that outlive their process: taken in, compacted when due, found again."""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast.exports import import_later

if TYPE_CHECKING:
    from holdfast.sessions.delegations import Delegated
    from holdfast.sessions.erasing import Erasure, erase_words
    from holdfast.sessions.events import SessionEvent
    from holdfast.sessions.following import Followed, Insert, Keep, Replace
    from holdfast.sessions.handing import Handed
    from holdfast.sessions.hooks import Hooks, Switched, session_environment
    from holdfast.sessions.life import Tended, compact_idle, expire
    from holdfast.sessions.retention import Retention, find_expired
    from holdfast.sessions.session import Session
    from holdfast.sessions.showing import redactor_of
    from holdfast.sessions.turns import Inbox, InboxTurn, InboxWorker, waiting_inboxes

__all__ = [
    "Delegated",
    "Erasure",
    "Followed",
    "Handed",
    "Hooks",
    "Inbox",
    "InboxTurn",
    "InboxWorker",
    "Insert",
    "Keep",
    "Replace",
    "Retention",
    "Session",
    "SessionEvent",
    "Switched",
    "Tended",
    "compact_idle",
    "erase_words",
    "expire",
    "find_expired",
    "redactor_of",
    "session_environment",
    "waiting_inboxes",
]

_LATER = {
    "Delegated": "holdfast.sessions.delegations",
    "Erasure": "holdfast.sessions.erasing",
    "Followed": "holdfast.sessions.following",
    "Handed": "holdfast.sessions.handing",
    "Hooks": "holdfast.sessions.hooks",
    "Inbox": "holdfast.sessions.turns",
    "InboxTurn": "holdfast.sessions.turns",
    "InboxWorker": "holdfast.sessions.turns",
    "Insert": "holdfast.sessions.following",
    "Keep": "holdfast.sessions.following",
    "Replace": "holdfast.sessions.following",
    "Retention": "holdfast.sessions.retention",
    "Session": "holdfast.sessions.session",
    "SessionEvent": "holdfast.sessions.events",
    "Switched": "holdfast.sessions.hooks",
    "Tended": "holdfast.sessions.life",
    "compact_idle": "holdfast.sessions.life",
    "erase_words": "holdfast.sessions.erasing",
    "expire": "holdfast.sessions.life",
    "find_expired": "holdfast.sessions.retention",
    "redactor_of": "holdfast.sessions.showing",
    "session_environment": "holdfast.sessions.hooks",
    "waiting_inboxes": "holdfast.sessions.turns",
}

__getattr__ = import_later(__name__, _LATER)
