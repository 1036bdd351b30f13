"""References that were given out, and where they lead."""

from __future__ import annotations

from collections.abc import Iterable

from holdfast.report import Reference
from holdfast.stores.database import Statements
from holdfast.stores.rows import Space, plain


def give_out(space: Space, tx: Statements, key: int, references: Iterable[Reference]) -> None:
    """Write where references of a session lead; those that are known stay as they are."""
    tx.many(
        "INSERT INTO refs (tenant, ref, session, start, stop, kind) VALUES (?, ?, ?, ?, ?, ?)"
        " ON CONFLICT (tenant, ref, session) DO NOTHING",
        [
            (space.tenant, plain(given.ref), key, given.start, given.stop, given.kind)
            for given in references
        ],
    )
