"""Homes of sessions: one store with all semantics, over SQLite or PostgreSQL."""

from __future__ import annotations

from typing import TYPE_CHECKING

from foldaway._core import import_later

if TYPE_CHECKING:
    from foldaway.search import Wanted, parse_query, snippet
    from foldaway.stores.bodies import address_of, content_of, expand, pack, unpack
    from foldaway.stores.database import Row, Statements
    from foldaway.stores.erasing import HeldPiece, Rewording
    from foldaway.stores.log import FIRST_ASK_CHARS, pack_messages
    from foldaway.stores.open import is_store_file, open_store, stores_in
    from foldaway.stores.rows import plain
    from foldaway.stores.sqlite.database import SqliteDatabase, clear_drafts, open_sqlite
    from foldaway.stores.sqlite.opening import connect, make_ready
    from foldaway.stores.store import Store
    from foldaway.stores.values import (
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
        StoredMessage,
        StoredView,
        Stretch,
        TokenSum,
        TurnUsage,
    )


__all__ = [
    "NewMessage", "NewSession", "SessionInfo", "Store", "Wanted", "open_store", "parse_query",
    "snippet",
]  # fmt: skip


__getattr__ = import_later(
    __name__,
    {
        "bodies": "address_of content_of expand pack unpack",
        "database": "Row Statements",
        "erasing": "HeldPiece Rewording",
        "foldaway.search.query": "parse_query",
        "foldaway.search.snippets": "snippet",
        "foldaway.search.values": "Wanted",
        "log": "FIRST_ASK_CHARS pack_messages",
        "open": "is_store_file open_store stores_in",
        "rows": "plain",
        "sqlite.database": "SqliteDatabase clear_drafts open_sqlite",
        "sqlite.opening": "connect make_ready",
        "store": "Store",
        "values": "Descent Erased Health Held Lease Line NewMessage NewSession NewView "
        "OutlineRow Page Pin Place SessionFilter SessionInfo SessionKind StoredMessage "
        "StoredView Stretch TokenSum TurnUsage",
    },
)
