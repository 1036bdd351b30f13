"""Conversations that outlive their process: taken in, compacted when due, found again."""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast.exports import import_later

if TYPE_CHECKING:
    from holdfast.sessions.following import Followed, Insert, Keep, Replace
    from holdfast.sessions.hooks import Compacted, Hooks, Pressure, Switched
    from holdfast.sessions.session import Session
    from holdfast.sessions.showing import redactor_of
    from holdfast.sessions.turns import Inbox, InboxTurn, sweep, waiting_inboxes

__all__ = [
    "Compacted",
    "Followed",
    "Hooks",
    "Inbox",
    "InboxTurn",
    "Insert",
    "Keep",
    "Pressure",
    "Replace",
    "Session",
    "Switched",
    "redactor_of",
    "sweep",
    "waiting_inboxes",
]

_LATER = {
    "Compacted": "holdfast.sessions.hooks",
    "Followed": "holdfast.sessions.following",
    "Hooks": "holdfast.sessions.hooks",
    "Inbox": "holdfast.sessions.turns",
    "InboxTurn": "holdfast.sessions.turns",
    "Insert": "holdfast.sessions.following",
    "Keep": "holdfast.sessions.following",
    "Pressure": "holdfast.sessions.hooks",
    "Replace": "holdfast.sessions.following",
    "Session": "holdfast.sessions.session",
    "Switched": "holdfast.sessions.hooks",
    "redactor_of": "holdfast.sessions.showing",
    "sweep": "holdfast.sessions.turns",
    "waiting_inboxes": "holdfast.sessions.turns",
}

__getattr__ = import_later(__name__, _LATER)
