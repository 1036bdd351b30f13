"""Messages and their two indexes. What is found by them: `matching.py`."""

from __future__ import annotations

from collections.abc import Callable, Sequence

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
    tx.many("INSERT INTO words (rowid, text) VALUES (?, ?)", [row for row in texts if row[1]])
    tx.run("UPDATE meta SET value = ? WHERE name = 'words'", (last,))


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
    ids = tx.rows("SELECT id FROM messages WHERE tenant = ? AND session = ?", (tenant, session))
    for index in ("words", "trigrams"):
        done = mark(tx, index)
        tx.many(f"DELETE FROM {index} WHERE rowid = ?", [row for row in ids if row[0] <= done])
    tx.run("DELETE FROM messages WHERE tenant = ? AND session = ?", (tenant, session))
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
            tx.run(f"DELETE FROM {index} WHERE rowid = ?", found)
            tx.run(f"INSERT INTO {index} (rowid, text) VALUES (?, ?)", (*found, row.text + end))
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
        tx.many(
            "INSERT INTO trigrams (rowid, text) VALUES (?, ?)",
            [(row[0], unpack(tx, *row[1:])[1].decode() + _END) for row in taken],
        )
        tx.run("UPDATE meta SET value = ? WHERE name = 'trigrams'", (taken[-1][0],))
    return len(taken)
