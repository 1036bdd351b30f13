"""Bodies, messages and what finds them. What is found by it: `matching.py`."""

from __future__ import annotations

import hashlib
import random
import secrets
from collections.abc import Iterator, Sequence
from functools import lru_cache

from foldaway.search import WORD, flatten, stem, words_of
from foldaway.stores.database import MessageRow, Packed
from foldaway.stores.postgres.connections import Open

MORE = "…"
"""Stands among the words of a message that has more of them than a tsvector can hold."""
_MOST_BYTES = 900_000
"""A tsvector holds a megabyte."""
LONGEST_WORD = 500
"""In characters; what is longer is known by its beginning. A tsvector takes 2,046 bytes a word."""
_WORTH_ASKING_BYTES = 65_536
_IDS_A_MICROSECOND = 1024


def put_bodies(tx: Open, tenant: str, bodies: Sequence[Packed]) -> list[int]:
    """Write those that are not there yet, their parts with them; return the key of each."""
    wanted = {each.address: each for body in bodies for each in (body, *_parts(body))}
    known: dict[bytes, int] = {}
    if sum(len(each.packed) for each in wanted.values()) > _WORTH_ASKING_BYTES:
        known = _find_known(tx, tenant, list(wanted))
    # in order, so that two who write the same do not wait for each other in a circle
    new = [wanted[address] for address in sorted(wanted.keys() - known.keys())]
    made = _insert(tx, tenant, new) if new else {}
    known |= made
    if others := list(wanted.keys() - known.keys()):
        known |= _find_known(tx, tenant, others)
    tx.many(
        "INSERT INTO parts (tenant, body, at, part) VALUES (?, ?, ?, ?)",
        [
            (tenant, made[body.address], at, known[part.address])
            for body in new
            if body.address in made
            for at, part in body.parts
        ],
    )
    return [known[body.address] for body in bodies]


def remove_bodies(tx: Open, tenant: str, keys: Sequence[int]) -> None:
    """Delete bodies, and with them their addresses."""
    tx.be_alone()
    tx.run("DELETE FROM bodies WHERE tenant = ? AND key = ANY(?)", (tenant, list(keys)))


def put_messages(
    tx: Open, tenant: str, session: int, start: int, rows: Sequence[MessageRow]
) -> None:
    """Write messages from the position `start` on, with their words and their folded text."""
    first = int(tx.now * 1e6) * _IDS_A_MICROSECOND + random.randrange(_IDS_A_MICROSECOND)
    tx.many(
        "INSERT INTO messages (id, tenant, session, position, body, role, tools, time, key, tokens,"
        " generated, words, folded)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, array_to_tsvector(?), ?)",
        [
            (
                first + number,
                tenant,
                session,
                start + number,
                row.body,
                row.role,
                row.tools,
                row.time,
                row.key,
                row.tokens,
                row.generated,
                lexemes(tenant, row.text),
                fold_case(row.text),
            )
            for number, row in enumerate(rows)
        ],
    )


def remove_messages(tx: Open, tenant: str, session: int) -> int:
    """Take all messages that a session owns out; return how many.

    Only for one who is alone: another might share what is about to go.
    """
    tx.be_alone()
    return tx.run("DELETE FROM messages WHERE tenant = ? AND session = ?", (tenant, session))


def replace_message(tx: Open, tenant: str, session: int, position: int, row: MessageRow) -> None:
    """Write a message again; the indexes follow by themselves."""
    tx.run(
        "UPDATE messages SET body = ?, tools = ?, tokens = ?, key = ?,"
        " words = array_to_tsvector(?), folded = ?"
        " WHERE tenant = ? AND session = ? AND position = ?",
        (
            row.body,
            row.tools,
            row.tokens,
            row.key,
            lexemes(tenant, row.text),
            fold_case(row.text),
            tenant,
            session,
            position,
        ),
    )


def lexemes(tenant: str, text: str) -> list[str]:
    """Return what a message is found by: stems, pairs of characters, and its tenant."""
    words = set(words_of(text))
    if not text.isascii():  # two ways to see a letter and its accent: as one, and as two
        words.update(WORD.findall(flatten(text)))
    found = [lexeme(word) for word in words]
    if not text.isascii():
        found.extend(pairs(fold_case(text)))
    if len(text) > _MOST_BYTES // 4 and sum(len(word.encode()) + 4 for word in found) > _MOST_BYTES:
        found = [*_list_fitting(found), MORE]
    return [*found, tenant_lexeme(tenant)]


def lexeme(word: str) -> str:
    """Return the form of a folded word in the index."""
    return stem(word)[:LONGEST_WORD]


def pairs(folded_text: str) -> Iterator[str]:
    """Yield each two characters side by side of scripts without blanks, and the last of a run."""
    last = ""
    for char in folded_text:
        if char > "\u0dff" and _is_unspaced(char):
            if last:
                yield last + char
            last = char
        elif last:
            yield last
            last = ""
    if last:
        yield last


def fold_case(text: str) -> str:
    """Return a text, letter case aside; a piece of a text is a piece of its folded text."""
    return text.lower() if text.isascii() else text.translate(_FOLDS)


@lru_cache(maxsize=1024)
def tenant_lexeme(tenant: str) -> str:
    """Return a word that no text has: it keeps the words of tenants apart in one index."""
    return f"@{hashlib.sha256(tenant.encode()).hexdigest()[:12]}"


class _Folds(dict[int, str]):
    def __missing__(self, code: int) -> str:
        self[code] = found = chr(code).casefold()
        return found


_FOLDS = _Folds()


@lru_cache(maxsize=65_536)
def _is_unspaced(char: str) -> bool:
    """Whether it is a letter of the scripts from Thai on, the Latin and Greek among them aside."""
    return char.isalnum() and not "\u1d00" <= char <= "\u2e7f"


def _list_fitting(words: list[str]) -> Iterator[str]:
    left = _MOST_BYTES
    for word in words:
        left -= len(word.encode()) + 4
        if left < 0:
            return
        yield word


def _parts(body: Packed) -> Iterator[Packed]:
    for _, part in body.parts:
        yield part


def _insert(tx: Open, tenant: str, bodies: Sequence[Packed]) -> dict[bytes, int]:
    """Write bodies; return those that nobody else had written."""
    rows = tx.rows(
        "INSERT INTO bodies (key, tenant, address, size, parts, packed)"
        " SELECT b.key, ?, b.address, b.size, b.parts, b.packed"
        " FROM unnest(?::bigint[], ?::bytea[], ?::bigint[], ?::bigint[], ?::bytea[])"
        " AS b (key, address, size, parts, packed)"
        " ON CONFLICT (tenant, address) DO NOTHING RETURNING address, key",
        (
            tenant,
            [secrets.randbits(63) for _ in bodies],
            [body.address for body in bodies],
            [body.size for body in bodies],
            [len(body.parts) for body in bodies],
            [body.packed for body in bodies],
        ),
    )
    return dict(rows)


def _find_known(tx: Open, tenant: str, addresses: list[bytes]) -> dict[bytes, int]:
    rows = tx.rows(
        "SELECT address, key FROM bodies WHERE tenant = ? AND address = ANY(?)", (tenant, addresses)
    )
    return dict(rows)
