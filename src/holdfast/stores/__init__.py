"""Homes of sessions: one store with all semantics, over SQLite or PostgreSQL."""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast.exports import import_later

if TYPE_CHECKING:
    from holdfast.search.query import parse_query
    from holdfast.search.snippet import snippet
    from holdfast.search.values import Wanted
    from holdfast.stores.open import open_store
    from holdfast.stores.store import Store
    from holdfast.stores.values import NewMessage, NewSession, SessionInfo

__all__ = [
    "NewMessage",
    "NewSession",
    "SessionInfo",
    "Store",
    "Wanted",
    "open_store",
    "parse_query",
    "snippet",
]

_LATER = {
    "NewMessage": "holdfast.stores.values",
    "NewSession": "holdfast.stores.values",
    "SessionInfo": "holdfast.stores.values",
    "Store": "holdfast.stores.store",
    "Wanted": "holdfast.search.values",
    "open_store": "holdfast.stores.open",
    "parse_query": "holdfast.search.query",
    "snippet": "holdfast.search.snippet",
}

__getattr__ = import_later(__name__, _LATER)
