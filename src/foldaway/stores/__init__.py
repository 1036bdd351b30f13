"""Homes of sessions: one store with all semantics, over SQLite or PostgreSQL."""

from __future__ import annotations

from typing import TYPE_CHECKING

from foldaway.exports import import_later

if TYPE_CHECKING:
    from foldaway.search.query import parse_query
    from foldaway.search.snippet import snippet
    from foldaway.search.values import Wanted
    from foldaway.stores.open import open_store
    from foldaway.stores.store import Store
    from foldaway.stores.values import NewMessage, NewSession, SessionInfo

__all__ = [
    "NewMessage", "NewSession", "SessionInfo", "Store", "Wanted", "open_store", "parse_query",
    "snippet",
]  # fmt: skip

_LATER = {
    "NewMessage": "foldaway.stores.values", "NewSession": "foldaway.stores.values",
    "SessionInfo": "foldaway.stores.values", "Store": "foldaway.stores.store",
    "Wanted": "foldaway.search.values", "open_store": "foldaway.stores.open",
    "parse_query": "foldaway.search.query", "snippet": "foldaway.search.snippet",
}  # fmt: skip

__getattr__ = import_later(__name__, _LATER)
