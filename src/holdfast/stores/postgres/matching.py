"""The searching half of the index: words by their stems, characters by the folded text.

No query is a syntax error: every word of a `tsquery` stands in quotes. Where the server has
`pg_trgm`, it finds characters by that; otherwise the folded texts are gone through, the newest
first, all of them if need be.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from copy import copy
from typing import Any, Self

import msgspec
from msgspec import Struct

from holdfast.search.find import Postings, Row, find
from holdfast.search.message_texts import MessageTexts
from holdfast.search.values import Filters, Match, Reveal, Term, Wanted, Written
from holdfast.search.words import WORD
from holdfast.search.words import folded as without_accents
from holdfast.stores.bodies import unpack
from holdfast.stores.postgres.connections import Open, has_trigrams
from holdfast.stores.postgres.index import LONGEST_WORD, MORE, folded, lexeme, pairs, tenant_lexeme
from holdfast.stores.rows import plain

_MOST_READ = 300
"""Messages that are looked for by their text."""
_NEAR = 5_000
_PAGE = 2_000
_BATCH = 100
_SAMPLE = 20_000
_COLUMNS = "m.id, m.session, s.id, s.root, m.position, m.role, m.time"
_TABLES = "messages AS m JOIN sessions AS s ON s.tenant = m.tenant AND s.key = m.session"


def match(
    tx: Open, tenant: str, wanted: Wanted, most: int, reveal: Reveal | None = None
) -> list[Match]:
    """Return at most `most` messages that fit, the best first."""
    return find(PostgresIndex(tx, tenant, wanted, reveal), wanted, most)


class PostgresIndex:
    """The index, as one state of the server has it; `search.find` says what each method gives."""

    def __init__(self, tx: Open, tenant: str, wanted: Wanted, reveal: Reveal | None = None) -> None:
        self.hides = reveal is not None
        self._tx = tx
        self._tenant = tenant
        self._passing = passing(tx, tenant, wanted)
        self._without = wanted.query.without
        self._texts = MessageTexts(self._without, reveal)
        self._total: float | None = None
        self._trigrams: bool | None = None

    def total(self) -> float:
        """Return how many messages the sessions have, what is shared counted once."""
        if self._total is None:
            found = self._tx.row(
                "SELECT sum(length - forked_at)::float8 FROM sessions WHERE tenant = ?",
                (self._tenant,),
            )
            self._total = float(found[0] or 0) if found else 0.0
        return self._total

    def having(
        self, terms: Sequence[Term], most: int, *, oldest: bool, checked: bool = True
    ) -> Postings:
        """Return what has all terms and nothing unwanted."""
        read = [term for term in (*terms, *self._without) if not is_decided(term)]
        read_all = bool(read) or (checked and self.hides)
        by_text = any(term.kind != "word" for term in terms)
        most = min(most, _MOST_READ) if read or by_text else most
        page = max(most, _PAGE) + 1 if read_all else most + 1
        wanted = joined((self._passing, *self._decided(terms)))
        ids: list[int] = []
        last: int | None = None
        while len(ids) <= most:
            rows = self._some(wanted, page, last, oldest, by_text=by_text)
            for start in range(0, len(rows), _BATCH):
                some = rows[start : start + _BATCH]
                ids.extend(self._holding(some, terms, read_all=read_all))
                if len(ids) > most:
                    break
            if len(rows) < (min(page, _MOST_READ) if by_text else page):
                break
            last = rows[-1][0]
        return self._counted(ids, most, oldest)

    def beyond(self, roots: Iterable[str], last: int) -> Self:
        """Return the same index with less in it; texts that were read are known there too."""
        older = PostgresConditions("(s.root <> ALL(?) AND m.id < ?)", (sorted(roots), last))
        found = copy(self)
        found._passing = joined((self._passing, older))
        return found

    def rows(self, ids: Sequence[int]) -> list[Row]:
        """Return those that pass the filters."""
        found = self._tx.rows(
            f"SELECT {_COLUMNS} FROM {_TABLES} WHERE m.id = ANY(?) AND {self._passing.sql}",
            (list(ids), *self._passing.values),
        )
        return [Row(*row) for row in found]

    def at(self, places: Sequence[tuple[int, int]]) -> list[Row]:
        """Return those that pass the filters."""
        found = self._tx.rows(
            f"SELECT {_COLUMNS} FROM unnest(?::bigint[], ?::bigint[]) AS p (session, position)"
            " JOIN messages AS m ON m.tenant = ? AND m.session = p.session"
            " AND m.position = p.position"
            " JOIN sessions AS s ON s.tenant = m.tenant AND s.key = m.session"
            f" WHERE {self._passing.sql}",
            (
                [session for session, _ in places],
                [position for _, position in places],
                self._tenant,
                *self._passing.values,
            ),
        )
        return [Row(*row) for row in found]

    def texts(self, ids: Sequence[int]) -> dict[int, str]:
        """Return these; what was read once is kept."""
        self._read(ids)
        return {message: self._texts.text(message) for message in ids}

    def fitting(self, ids: Sequence[int], terms: Sequence[Term]) -> list[int]:
        """Return those whose text has all terms and nothing unwanted."""
        self._read(ids)
        return [message for message in ids if self._texts.fits(message, terms)]

    def _read(self, ids: Iterable[int]) -> None:
        missing = self._texts.missing(ids)
        if missing:
            rows = self._tx.rows(
                "SELECT m.id, s.dialect, m.role, m.tools, b.tenant, b.key, b.parts, b.packed"
                f" FROM {_TABLES} JOIN bodies AS b ON b.tenant = m.tenant AND b.key = m.body"
                " WHERE m.tenant = ? AND m.id = ANY(?)",
                (self._tenant, missing),
            )
            for message, dialect, role, tools, *stored in rows:
                body, text = unpack(self._tx, *stored)
                calls = tools != "" and role != "tool"
                self._texts.add(message, Written(dialect, body, text.decode(), calls))

    def _decided(self, terms: Sequence[Term]) -> list[PostgresConditions]:
        """Return what the server looks at for the terms, and for what is unwanted."""
        found = [having(self._tenant, term) for term in terms]
        for term in () if self.hides else self._without:
            if is_decided(term):
                unwanted = having(self._tenant, term)
                found.append(PostgresConditions(
                    f"(NOT {unwanted.sql} OR m.words @@ '{MORE}')", unwanted.values
                ))  # fmt: skip
        return found

    def _some(
        self,
        wanted: PostgresConditions,
        most: int,
        last: int | None,
        oldest: bool,
        *,
        by_text: bool,
    ) -> list[tuple[int, bool]]:
        """Return ids in order from the `last` one on, and whether all words are in the index.

        How rare a text is, the server cannot tell beforehand. So where there is an index of
        trigrams, first a few messages are gone through; if few of these have it, the text
        is rare, and the index is asked for all that have it.
        """
        sign, order = (">", "ASC") if oldest else ("<", "DESC")
        after = f" AND m.id {sign} ?" if last is not None else ""
        start = (self._tenant, last) if last is not None else (self._tenant,)
        every = f"messages AS m WHERE m.tenant = ?{after}"
        if not by_text or not self._has_trigrams():
            return self._passed(every, start, wanted, f"m.id {order}", most)
        near = f"{every} ORDER BY m.id {order} LIMIT {_NEAR}"
        found = self._passed(near, start, wanted, f"m.id {order}", most)
        if len(found) >= _MOST_READ:
            return found
        return self._passed(every, start, wanted, f"m.id + 0 {order}", most)

    def _passed(
        self, given: str, values: Sequence[Any], wanted: PostgresConditions, order: str, most: int
    ) -> list[tuple[int, bool]]:
        rows = self._tx.rows(
            f"SELECT m.id, NOT m.words @@ '{MORE}' FROM (SELECT m.* FROM {given}) AS m"
            " JOIN sessions AS s ON s.tenant = m.tenant AND s.key = m.session"
            f" WHERE {wanted.sql} ORDER BY {order} LIMIT ?",
            (*values, *wanted.values, most),
        )
        return [(row[0], row[1]) for row in rows]

    def _has_trigrams(self) -> bool:
        if self._trigrams is None:
            self._trigrams = has_trigrams(self._tx)
        return self._trigrams

    def _holding(
        self, rows: Sequence[tuple[int, bool]], terms: Sequence[Term], *, read_all: bool
    ) -> list[int]:
        """Return those whose text has all terms and nothing unwanted, where the index is not
        enough to tell.
        """
        doubtful = [message for message, is_whole in rows if read_all or not is_whole]
        fitting = set(self.fitting(doubtful, terms)).union(
            message for message, is_whole in rows if not read_all and is_whole
        )
        return [message for message, _ in rows if message in fitting]

    def _counted(self, ids: list[int], most: int, oldest: bool) -> Postings:
        """Guess how many there are from how far back these reach, where they are not all."""
        whole = len(ids) <= most
        ids = ids[:most]
        count = float(len(ids))
        if not whole:
            found = self._tx.row(
                "SELECT count(*) FROM (SELECT 1 FROM messages AS m WHERE m.tenant = ?"
                f" AND m.id {'<=' if oldest else '>='} ? LIMIT ?) AS newer",
                (self._tenant, ids[-1], _SAMPLE),
            )
            count *= max(self.total() / max(found[0] if found else 0, 1), 1.0)
        return Postings(ids, count, whole)


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
