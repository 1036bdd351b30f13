"""What a message must be to be found, as SQL over `messages AS m` and `sessions AS s`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec
from msgspec import Struct

from holdfast.search.stem import WORD
from holdfast.search.stem import folded as without_accents
from holdfast.search.values import Filters, Term, Wanted
from holdfast.stores.postgres.index import LONGEST_WORD, MORE, folded, lexeme, pairs, tenant_lexeme
from holdfast.stores.postgres.statements import Open
from holdfast.stores.rows import plain

_SHORTEST_BEGINNING = 3
_TRIGRAM = re.compile("[a-z0-9]{3}")


class PostgresConditions(Struct, frozen=True):
    """What follows a `WHERE`, and its values."""

    sql: str
    values: tuple[Any, ...]


def joined(conditions: Sequence[PostgresConditions], word: str = "AND") -> PostgresConditions:
    """Return all of them as one."""
    return PostgresConditions(
        "(" + f" {word} ".join(each.sql for each in conditions) + ")",
        tuple(value for each in conditions for value in each.values),
    )


def passing(tx: Open, tenant: str, wanted: Wanted) -> PostgresConditions:
    """Return what a message must be to be found at all."""
    found = [PostgresConditions("m.tenant = ?", (tenant,))]
    if not wanted.generated:
        found.append(PostgresConditions("m.generated = 0", ()))
    if wanted.kinds:
        found.append(_among("s.kind", wanted.kinds))
    if wanted.without_roots:
        found.append(PostgresConditions("s.root <> ALL(?)", (_names(wanted.without_roots),)))
    if places := wanted.without_places:
        found.append(PostgresConditions(
            "NOT EXISTS (SELECT 1 FROM unnest(?::text[], ?::bigint[], ?::bigint[])"
            " AS l (id, start, stop) WHERE l.id = s.id AND m.position >= l.start"
            " AND m.position < l.stop)",
            tuple([place[at] for place in places] for at in range(3)),
        ))  # fmt: skip
    for filters in (wanted.filters, wanted.query.filters):
        found.extend(_filtered(tx, tenant, filters))
    return joined(found)


def having(tenant: str, term: Term) -> PostgresConditions:
    """Return what a message that has the term must be; more may be, see `is_decided`."""
    match term.kind:
        case "word":
            return _all_words(tenant, term.words)
        case "phrase":
            return joined((_all_words(tenant, term.words), _holding(tenant, term.text)), "OR")
        case "prefix" | "substring":
            return _holding(tenant, term.text)


def is_decided(term: Term) -> bool:
    """Return whether `having` is the term itself, so that no text need be looked into."""
    if term.kind == "word" and len(term.words) == 1:
        return len(term.words[0]) < LONGEST_WORD
    return term.kind == "substring"


def _filtered(tx: Open, tenant: str, filters: Filters) -> Iterator[PostgresConditions]:
    if filters.roles:
        yield _among("m.role", filters.roles)
    if filters.sources:
        yield _among("lower(s.source)", [source.lower() for source in filters.sources])
    if filters.folders is not None:
        yield _among("s.cwd", filters.folders)
    if filters.tools:
        named = [
            PostgresConditions("strpos(lower(m.tools), lower(?)) > 0", (_json(name),))
            for name in _names(filters.tools)
        ]
        yield joined(named, "OR")
    if filters.since is not None:
        yield PostgresConditions("m.time >= ?", (filters.since,))
    if filters.until is not None:
        yield PostgresConditions("m.time < ?", (filters.until,))
    if filters.sessions:
        yield _of_sessions(tx, tenant, _names(filters.sessions))


def _of_sessions(tx: Open, tenant: str, names: list[str]) -> PostgresConditions:
    """What a session owns, and what it shares with its ancestors.

    Both are looked up first: then the server goes by the key of `messages`.
    """
    begins = [f"{_escaped(name)}%" for name in names]
    own = [row[0] for row in tx.rows(
        "SELECT key FROM sessions WHERE tenant = ? AND id LIKE ANY(?)", (tenant, begins)
    )]  # fmt: skip
    shared = tx.rows(
        "SELECT owner, start, stop FROM segments WHERE tenant = ? AND session = ANY(?)",
        (tenant, own),
    )
    return PostgresConditions(
        "m.session = ANY(?) AND (m.session = ANY(?) OR EXISTS (SELECT 1"
        " FROM unnest(?::bigint[], ?::bigint[], ?::bigint[]) AS g (owner, start, stop)"
        " WHERE g.owner = m.session AND m.position >= g.start AND m.position < g.stop))",
        (
            [*own, *(row[0] for row in shared)],
            own,
            *([row[at] for row in shared] for at in range(3)),
        ),
    )


def _all_words(tenant: str, words: Sequence[str]) -> PostgresConditions:
    """Every stem; also what has more words than fit into its index."""
    if not words:
        return PostgresConditions("false", ())
    return _matching(tenant, [_quoted(lexeme(word)) for word in words])


def _holding(tenant: str, text: str) -> PostgresConditions:
    """The characters side by side, in whatever words the text falls into."""
    small = folded(text)
    if _TRIGRAM.search(small):
        holding = PostgresConditions("m.folded LIKE ?", (f"%{_escaped(small)}%",))
    else:  # without a trigram to go by, the index of them would be read whole
        holding = PostgresConditions("strpos(m.folded, ?) > 0", (small,))
    pieces = list(_pieces(text))
    return joined((_matching(tenant, pieces), holding)) if pieces else holding


def _matching(tenant: str, parts: Sequence[str]) -> PostgresConditions:
    query = " & ".join(dict.fromkeys(parts))
    return PostgresConditions(
        "m.words @@ ?::tsquery",
        (f"{_quoted(tenant_lexeme(tenant))} & (({query}) | {_quoted(MORE)})",),
    )


def _pieces(text: str) -> Iterator[str]:
    """Yield what the index of words must have where the text is part of a message.

    A word with something else on both sides is a whole word there too. One at the end may go on
    there; its stem keeps its beginning where that ends in a digit: endings are letters, and at
    most one of a doubled character goes with them.
    """
    plain_text = without_accents(text)
    for found in WORD.finditer(plain_text):
        word = found[0]
        if not found.start():
            continue
        if found.end() < len(plain_text):
            yield _quoted(lexeme(word))
        elif word[-1].isdigit() and len(word) > _SHORTEST_BEGINNING:
            yield f"{_quoted(lexeme(word[:-1]))}:*"
    two = list(pairs(folded(text)))
    yield from (_quoted(pair) for pair in two if len(pair) == 2)
    if two and len(two[0]) == 1:
        yield f"{_quoted(two[0])}:*"


def _among(column: str, wanted: Sequence[str]) -> PostgresConditions:
    return PostgresConditions(f"{column} = ANY(?)", (_names(wanted),))


def _names(names: Sequence[str]) -> list[str]:
    return [plain(name) for name in names]


def _escaped(text: str) -> str:
    return re.sub(r"([\\%_])", r"\\\1", text)


def _quoted(word: str) -> str:
    return "'" + word.replace("\\", "\\\\").replace("'", "''") + "'"


def _json(value: object) -> str:
    return msgspec.json.encode(value).decode()
