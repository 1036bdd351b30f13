"""Homes of sessions: one store with all semantics, over SQLite or PostgreSQL."""

from __future__ import annotations

from typing import TYPE_CHECKING

from foldaway.exports import import_later

if TYPE_CHECKING:
    from foldaway.search import Wanted, parse_query
    from foldaway.search.snippet import snippet
    from foldaway.stores.open import open_store
    from foldaway.stores.store import Store
    from foldaway.stores.values import NewMessage, NewSession, SessionInfo

__all__ = [
    "NewMessage", "NewSession", "SessionInfo", "Store", "Wanted", "open_store", "parse_query",
    "snippet",
]  # fmt: skip


__getattr__ = import_later(
    __name__,
    {
        "foldaway.search.query": "parse_query",
        "foldaway.search.snippet": "snippet",
        "foldaway.search.values": "Wanted",
        "open": "open_store",
        "store": "Store",
        "values": "NewMessage NewSession SessionInfo",
    },
)
