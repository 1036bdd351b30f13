"""Messages and their two indexes. What is found by them: `matching.py`."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from holdfast.stores.bodies import unpack
from holdfast.stores.database import MessageRow, Row, Statements

_END = "\n\n"
"""So that a trigram begins with each character of a text, also with its last two."""
_BATCH_MESSAGES = 250
_BATCH_BYTES = 2_000_000
"""One transaction of `complete`: some tens of milliseconds, in which other writers wait."""


def put_messages(
    tx: Statements, tenant: str, session: int, start: int, rows: Sequence[MessageRow]
) -> None:
    """Write messages from the position `start` on, and their words."""
    for position, row in enumerate(rows, start):
        tx.run(
            "INSERT INTO messages VALUES (NULL, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (tenant, session, position, row.body, row.role, row.tools, row.time, row.key,
             row.tokens, row.generated),
        )  # fmt: skip
        if row.text:
            tx.run("INSERT INTO words (rowid, text) VALUES (last_insert_rowid(), ?)", (row.text,))


def remove_messages(tx: Statements, tenant: str, session: int) -> int:
    """Take all messages of a session out of the log and both indexes; return how many.

    Ids are given out again once the newest are gone, so the mark of what is indexed follows.
    """
    ids = tx.rows("SELECT id FROM messages WHERE tenant = ? AND session = ?", (tenant, session))
    tx.many("DELETE FROM words WHERE rowid = ?", ids)
    done = _mark(tx)
    tx.many("DELETE FROM trigrams WHERE rowid = ?", [row for row in ids if row[0] <= done])
    tx.run("DELETE FROM messages WHERE tenant = ? AND session = ?", (tenant, session))
    tx.run(
        "UPDATE meta SET value = min(value, (SELECT coalesce(max(id), 0) FROM messages))"
        " WHERE name = 'trigrams'"
    )
    return len(ids)


def complete(write: Callable[[Callable[[Statements], int]], int], most: int | None) -> int:
    """Index the substrings of at most `most` messages that lack them; return how many."""
    total = 0
    while most is None or total < most:
        limit = _BATCH_MESSAGES if most is None else min(_BATCH_MESSAGES, most - total)
        done = write(lambda tx, limit=limit: _complete_some(tx, limit))
        if not done:
            break
        total += done
    return total


def behind(tx: Statements) -> int:
    """Return how many messages the substring index lacks."""
    found = tx.row("SELECT count(*) FROM messages WHERE id > ?", (_mark(tx),))
    return int(found[0]) if found else 0


def _complete_some(tx: Statements, limit: int) -> int:
    rows = tx.rows(
        "SELECT m.id, b.tenant, b.key, b.parts, b.packed FROM messages m"
        " JOIN bodies b ON b.key = m.body WHERE m.id > ? ORDER BY m.id LIMIT ?",
        (_mark(tx), limit),
    )
    taken: list[Row] = []
    size = 0
    for row in rows:
        taken.append(row)
        size += len(row[4])
        if size > _BATCH_BYTES:
            break
    if taken:
        tx.many(
            "INSERT INTO trigrams (rowid, text) VALUES (?, ?)",
            [(row[0], unpack(tx, *row[1:])[1].decode() + _END) for row in taken],
        )
        tx.run("UPDATE meta SET value = ? WHERE name = 'trigrams'", (taken[-1][0],))
    return len(taken)


def _mark(tx: Statements) -> int:
    found = tx.row("SELECT value FROM meta WHERE name = 'trigrams'")
    return int(found[0]) if found else 0
