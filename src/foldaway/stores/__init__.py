"""Homes of sessions: one store with all semantics, over SQLite or PostgreSQL."""

from __future__ import annotations

from typing import TYPE_CHECKING

from foldaway._core import import_later

if TYPE_CHECKING:
    from foldaway.search import Wanted, parse_query, snippet
    from foldaway.stores.erasing import HeldPiece, Rewording
    from foldaway.stores.lineage import make_mark, read_mark
    from foldaway.stores.log import FIRST_ASK_CHARS, first_ask_in
    from foldaway.stores.open import is_store_file, open_store, stores_in
    from foldaway.stores.rows import plain
    from foldaway.stores.sqlite.database import clear_drafts
    from foldaway.stores.sqlite.salvaging import salvage
    from foldaway.stores.store import Store
    from foldaway.stores.values import (
        NAMES_FIRST,
        Descent,
        Erased,
        Health,
        Held,
        Lease,
        Line,
        NewMessage,
        NewSession,
        NewView,
        OutlineRow,
        Page,
        Pin,
        Place,
        SessionFilter,
        SessionInfo,
        SessionKind,
        SessionOrder,
        StoredMessage,
        StoredView,
        Stretch,
        TokenSum,
        TurnUsage,
    )


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


__getattr__ = import_later(
    __name__,
    {
        "erasing": "HeldPiece Rewording",
        "foldaway.search.query": "parse_query",
        "foldaway.search.text": "snippet",
        "foldaway.search.values": "Wanted",
        "lineage": "make_mark read_mark",
        "log": "FIRST_ASK_CHARS first_ask_in",
        "open": "is_store_file open_store stores_in",
        "rows": "plain",
        "sqlite.database": "clear_drafts",
        "sqlite.salvaging": "salvage",
        "store": "Store",
        "values": "Descent Erased Health Held Lease Line NewMessage NewSession NewView "
        "NAMES_FIRST OutlineRow Page Pin Place SessionFilter SessionInfo SessionKind "
        "SessionOrder StoredMessage StoredView Stretch TokenSum TurnUsage",
    },
)
