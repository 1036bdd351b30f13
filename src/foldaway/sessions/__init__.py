"""Conversations that outlive their process: taken in, compacted when due, found again."""

from __future__ import annotations

from typing import TYPE_CHECKING

from foldaway.exports import import_later

if TYPE_CHECKING:
    from foldaway.sessions.delegations import Delegated
    from foldaway.sessions.erasing import Erasure, erase_words
    from foldaway.sessions.events import SessionEvent
    from foldaway.sessions.following import Followed, Insert, Keep, Replace
    from foldaway.sessions.handing import Handed
    from foldaway.sessions.hooks import Hooks, Switched, session_environment
    from foldaway.sessions.life import Tended, compact_idle, expire
    from foldaway.sessions.retention import Retention, find_expired
    from foldaway.sessions.session import Session
    from foldaway.sessions.showing import redactor_of
    from foldaway.sessions.turns import Inbox, InboxTurn, InboxWorker, waiting_inboxes

__all__ = [
    "Delegated", "Erasure", "Followed", "Handed", "Hooks", "Inbox", "InboxTurn", "InboxWorker",
    "Insert", "Keep", "Replace", "Retention", "Session", "SessionEvent", "Switched", "Tended",
    "compact_idle", "erase_words", "expire", "find_expired", "redactor_of", "session_environment",
    "waiting_inboxes",
]  # fmt: skip

_LATER = {
    "Delegated": "foldaway.sessions.delegations", "Erasure": "foldaway.sessions.erasing",
    "Followed": "foldaway.sessions.following", "Handed": "foldaway.sessions.handing",
    "Hooks": "foldaway.sessions.hooks", "Inbox": "foldaway.sessions.turns",
    "InboxTurn": "foldaway.sessions.turns", "InboxWorker": "foldaway.sessions.turns",
    "Insert": "foldaway.sessions.following", "Keep": "foldaway.sessions.following",
    "Replace": "foldaway.sessions.following", "Retention": "foldaway.sessions.retention",
    "Session": "foldaway.sessions.session", "SessionEvent": "foldaway.sessions.events",
    "Switched": "foldaway.sessions.hooks", "Tended": "foldaway.sessions.life",
    "compact_idle": "foldaway.sessions.life", "erase_words": "foldaway.sessions.erasing",
    "expire": "foldaway.sessions.life", "find_expired": "foldaway.sessions.retention",
    "redactor_of": "foldaway.sessions.showing", "session_environment": "foldaway.sessions.hooks",
    "waiting_inboxes": "foldaway.sessions.turns",
}  # fmt: skip

__getattr__ = import_later(__name__, _LATER)
