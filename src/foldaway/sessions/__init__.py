"""Conversations that outlive their process: taken in, compacted when due, found again."""

from __future__ import annotations

from typing import TYPE_CHECKING

from foldaway._core.exports import import_later

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


__getattr__ = import_later(
    __name__,
    {
        "delegations": "Delegated",
        "erasing": "Erasure erase_words",
        "events": "SessionEvent",
        "following": "Followed Insert Keep Replace",
        "handing": "Handed",
        "hooks": "Hooks Switched session_environment",
        "life": "Tended compact_idle expire",
        "retention": "Retention find_expired",
        "session": "Session",
        "showing": "redactor_of",
        "turns": "Inbox InboxTurn InboxWorker waiting_inboxes",
    },
)
