"""Conversations that outlive their process: taken in, compacted when due, found again."""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast.exports import import_later

if TYPE_CHECKING:
    from holdfast.sessions.erasing import Erasure, erase_words
    from holdfast.sessions.following import Followed, Insert, Keep, Replace
    from holdfast.sessions.hooks import Compacted, Hooks, Pressure, Switched
    from holdfast.sessions.retention import Retention, find_expired
    from holdfast.sessions.session import Session
    from holdfast.sessions.showing import redactor_of

__all__ = [
    "Compacted",
    "Erasure",
    "Followed",
    "Hooks",
    "Insert",
    "Keep",
    "Pressure",
    "Replace",
    "Retention",
    "Session",
    "Switched",
    "erase_words",
    "find_expired",
    "redactor_of",
]

_LATER = {
    "Compacted": "holdfast.sessions.hooks",
    "Erasure": "holdfast.sessions.erasing",
    "Followed": "holdfast.sessions.following",
    "Hooks": "holdfast.sessions.hooks",
    "Insert": "holdfast.sessions.following",
    "Keep": "holdfast.sessions.following",
    "Pressure": "holdfast.sessions.hooks",
    "Replace": "holdfast.sessions.following",
    "Retention": "holdfast.sessions.retention",
    "Session": "holdfast.sessions.session",
    "Switched": "holdfast.sessions.hooks",
    "erase_words": "holdfast.sessions.erasing",
    "find_expired": "holdfast.sessions.retention",
    "redactor_of": "holdfast.sessions.showing",
}

__getattr__ = import_later(__name__, _LATER)
