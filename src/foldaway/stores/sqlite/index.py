"""Messages and their two indexes, in blocks of ids. What is found by them: `matching.py`."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from itertools import groupby

from foldaway.stores.bodies import unpack
from foldaway.stores.database import MessageRow, Row, Statements, Value

_END = "\n\n"
"""So that a trigram begins with each character of a text, also with its last two."""
_BATCH_MESSAGES = 250
_BATCH_BYTES = 2_000_000
"""One transaction of `complete`: some tens of milliseconds, in which other writers wait."""
LAST_ID = 2**62
"""Above every id."""
_WORDS_BATCH = 64
"""The index of words takes so many messages at once: one by one they take four times the CPU, and
a search looks through what is not there yet in two milliseconds."""


def put_messages(
    tx: Statements,
    insert: Callable[[str, Sequence[Value]], int],
    tenant: str,
    session: int,
    start: int,
    rows: Sequence[MessageRow],
) -> None:
    """Write messages from the position `start` on; now and then the words of what is new.

    `insert` runs a statement and returns the id of its row.
    """
    new: list[Row] = []
    for position, row in enumerate(rows, start):
        made = insert(
            "INSERT INTO messages VALUES (NULL, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                tenant,
                session,
                position,
                row.body,
                row.role,
                row.tools,
                row.time,
                row.key,
                row.tokens,
                row.generated,
            ),
        )
        new.append((made, row.text))
    first, last = new[0][0], new[-1][0]
    if first // _WORDS_BATCH != last // _WORDS_BATCH or not first % _WORDS_BATCH:
        _add_words(tx, [*_read_late_texts(tx, "words", first), *new], last)


def _add_words(tx: Statements, texts: Sequence[Row], last: int) -> None:
    _begin_blocks(tx, last)
    _put_texts(tx, "words", [row for row in texts if row[1]])
    tx.run("UPDATE meta SET value = ? WHERE name = 'words'", (last,))


def _put_texts(tx: Statements, index: str, texts: Sequence[Row]) -> None:
    for number, some in _by_block(tx, texts):
        name = table(index, number)
        tx.many(f"INSERT INTO {name} (rowid, text) VALUES (?, ?)", some)


def table(index: str, number: int) -> str:
    """Return the table of an index that has a block."""
    return f"{index}_{number}"


def blocks(tx: Statements) -> list[tuple[int, int]]:
    """Return the number and the first id of each block, the oldest first."""
    return [(row[0], row[1]) for row in tx.rows("SELECT number, start FROM blocks ORDER BY number")]


def _by_block(tx: Statements, rows: Sequence[Row]) -> Iterator[tuple[int, list[Row]]]:
    """Yield rows that begin with an id, in the order of the ids, by the numbers of their blocks."""
    known = blocks(tx)
    starts = [start for _, start in known]
    for at, some in groupby(rows, lambda row: bisect_right(starts, row[0]) - 1):
        yield known[at][0], list(some)


def _begin_blocks(tx: Statements, last: int) -> None:
    """Begin new blocks if there are too many ids up to `last` for the newest one. What an index has
    already stays in its block.
    """
    size = mark(tx, "block")
    number, start = blocks(tx)[-1]
    while last - start >= size:
        start = max(start + size, mark(tx, "words") + 1, mark(tx, "trigrams") + 1)
        if start > last:
            break
        number += 1
        for index in ("words", "trigrams"):
            first = table(index, 0)
            made = tx.row("SELECT sql FROM sqlite_master WHERE name = ?", (first,))
            assert made is not None
            tx.run(made[0].replace(first, table(index, number), 1))
        words, trigrams = table("words", number), table("trigrams", number)
        tx.run(f"INSERT INTO {words} ({words}, rank) VALUES ('automerge', 8)")
        tx.run(f"CREATE VIRTUAL TABLE grams_{number} USING fts5vocab ({trigrams}, instance)")
        tx.run("INSERT INTO blocks VALUES (?, ?, 0)", (number, start))


def _delete_texts(tx: Statements, index: str, ids: Sequence[Row]) -> None:
    """Take ids out of an index that has them; their terms stay in it until it is merged."""
    for number, some in _by_block(tx, ids):
        tx.many(f"DELETE FROM {table(index, number)} WHERE rowid = ?", some)
        tx.run("UPDATE blocks SET deleted = 1 WHERE number = ?", (number,))


def unmerged(tx: Statements) -> list[int]:
    """Return the numbers of the blocks that may have terms of what was deleted."""
    return [row[0] for row in tx.rows("SELECT number FROM blocks WHERE deleted ORDER BY number")]


def merge(tx: Statements, number: int) -> None:
    """Write a block again, without what was deleted."""
    for name in (table("words", number), table("trigrams", number)):
        tx.run(f"INSERT INTO {name} ({name}) VALUES ('optimize')")
    tx.run("UPDATE blocks SET deleted = 0 WHERE number = ?", (number,))


def _read_late_texts(tx: Statements, index: str, below: int) -> list[Row]:
    """Return ids and texts of the messages under `below` that an index lacks."""
    rows = tx.rows(
        "SELECT m.id, b.tenant, b.key, b.parts, b.packed FROM messages m"
        " JOIN bodies b ON b.key = m.body WHERE m.id > ? AND m.id < ? ORDER BY m.id",
        (mark(tx, index), below),
    )
    return [(row[0], unpack(tx, *row[1:])[1].decode()) for row in rows]


def remove_messages(tx: Statements, tenant: str, session: int) -> int:
    """Take all messages of a session out of the log and both indexes; return how many.

    Ids are given out again once the newest are gone, so the marks of what is indexed follow.
    """
    own = (tenant, session)
    ids = tx.rows("SELECT id FROM messages WHERE tenant = ? AND session = ? ORDER BY id", own)
    for index in ("words", "trigrams"):
        done = mark(tx, index)
        _delete_texts(tx, index, [row for row in ids if row[0] <= done])
    tx.run("DELETE FROM messages WHERE tenant = ? AND session = ?", own)
    tx.run(
        "UPDATE meta SET value = min(value, (SELECT coalesce(max(id), 0) FROM messages))"
        " WHERE name IN ('words', 'trigrams')"
    )
    return len(ids)


def replace_message(
    tx: Statements, tenant: str, session: int, position: int, row: MessageRow
) -> None:
    """Write a message again, under its id; an index that has it gets its new text."""
    place = (tenant, session, position)
    found = tx.row(
        "SELECT id FROM messages WHERE tenant = ? AND session = ? AND position = ?", place
    )
    assert found is not None
    for index, end in (("words", ""), ("trigrams", _END)):
        if found[0] <= mark(tx, index):
            _delete_texts(tx, index, [found])
            _put_texts(tx, index, [(*found, row.text + end)])
    tx.run(
        "UPDATE messages SET body = ?, tools = ?, tokens = ?, key = ? WHERE id = ?",
        (row.body, row.tools, row.tokens, row.key, *found),
    )


def mark(tx: Statements, index: str) -> int:
    """Return the newest id that an index has."""
    found = tx.row("SELECT value FROM meta WHERE name = ?", (index,))
    return int(found[0]) if found else 0


def complete(write: Callable[[Callable[[Statements], int]], int], most: int | None) -> int:
    """Index the words of all messages that lack them, and the substrings of at most `most`.

    Return for how many messages substrings were added.
    """
    write(_complete_words)
    total = 0
    while most is None or total < most:
        limit = _BATCH_MESSAGES if most is None else min(_BATCH_MESSAGES, most - total)
        done = write(lambda tx, limit=limit: _complete_some(tx, limit))
        if not done:
            break
        total += done
    return total


def _complete_words(tx: Statements) -> int:
    late = _read_late_texts(tx, "words", LAST_ID)
    if late:
        _add_words(tx, late, late[-1][0])
    return len(late)


def count_missing(tx: Statements) -> int:
    """Return how many messages the substring index lacks."""
    found = tx.row("SELECT count(*) FROM messages WHERE id > ?", (mark(tx, "trigrams"),))
    return int(found[0]) if found else 0


def _complete_some(tx: Statements, limit: int) -> int:
    rows = tx.rows(
        "SELECT m.id, b.tenant, b.key, b.parts, b.packed FROM messages m"
        " JOIN bodies b ON b.key = m.body WHERE m.id > ? ORDER BY m.id LIMIT ?",
        (mark(tx, "trigrams"), limit),
    )
    taken: list[Row] = []
    size = 0
    for row in rows:
        taken.append(row)
        size += len(row[4])
        if size > _BATCH_BYTES:
            break
    if taken:
        texts = [(row[0], unpack(tx, *row[1:])[1].decode() + _END) for row in taken]
        _put_texts(tx, "trigrams", texts)
        tx.run("UPDATE meta SET value = ? WHERE name = 'trigrams'", (taken[-1][0],))
    return len(taken)
