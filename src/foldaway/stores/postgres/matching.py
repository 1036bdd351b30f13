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

from foldaway.search import WORD, Match, Postings, Reveal, Row, Term, Wanted, find
from foldaway.search import fold_text as without_accents
from foldaway.stores.database import Row as TableRow
from foldaway.stores.matching import COLUMNS, STORED, Condition, StoredIndex, join_conditions
from foldaway.stores.postgres.connections import Open, has_trigrams
from foldaway.stores.postgres.index import (
    LONGEST_WORD,
    MORE,
    fold_case,
    lexeme,
    pairs,
    tenant_lexeme,
)
from foldaway.stores.rows import plain

_MOST_READ = 300
"""Messages that are looked for by their text."""
_NEAR = 5_000
"""Messages that are gone through before the index of trigrams is asked."""
_PAGE = 2_000
_BATCH = 100
"""Messages that are asked for, and texts that are read, at once."""
_SAMPLE = 20_000
"""Messages that are counted to guess how many there are in all."""
_SHORTEST_BEGINNING = 3
"""Characters that the beginning of a word must exceed to be asked for."""
_TRIGRAM = re.compile("[a-z0-9]{3}")
_TABLES = "messages AS m JOIN sessions AS s ON s.tenant = m.tenant AND s.key = m.session"


def match(
    tx: Open, tenant: str, wanted: Wanted, most: int, reveal: Reveal | None = None
) -> list[Match]:
    """Return at most `most` messages that fit, the best first."""
    return find(PostgresIndex(tx, tenant, wanted, reveal), wanted, most)


class PostgresIndex(StoredIndex[Open]):
    """The index, as one state of the server has it; `search.find` says what each method gives."""

    position_function = "strpos"

    def __init__(self, tx: Open, tenant: str, wanted: Wanted, reveal: Reveal | None = None) -> None:
        super().__init__(tx, tenant, wanted, reveal)
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
        wanted = join_conditions((self._where, *self._list_decided(terms)))
        ids: list[int] = []
        last: int | None = None
        while len(ids) <= most:
            rows = self._read_some(wanted, page, last, oldest, by_text=by_text)
            for start in range(0, len(rows), _BATCH):
                some = rows[start : start + _BATCH]
                ids.extend(self._match_text(some, terms, read_all=read_all))
                if len(ids) > most:
                    break
            if len(rows) < (min(page, _MOST_READ) if by_text else page):
                break
            last = rows[-1][0]
        return self._estimate_count(ids, most, oldest)

    def beyond(self, roots: Iterable[str], last: int) -> Self:
        """Return the same index with less in it; texts that were read are known there too."""
        others = self._none_of("s.root", sorted(roots))
        found = copy(self)
        found._where = join_conditions((self._where, others, Condition("m.id < ?", (last,))))
        return found

    def rows(self, ids: Sequence[int]) -> list[Row]:
        """Return those that pass the filters."""
        found = self._tx.rows(
            f"SELECT {COLUMNS} FROM {_TABLES} WHERE m.id = ANY(?) AND {self._where.sql}",
            (list(ids), *self._where.values),
        )
        return [Row(*row) for row in found]

    def at(self, places: Sequence[tuple[int, int]]) -> list[Row]:
        """Return those that pass the filters."""
        found = self._tx.rows(
            f"SELECT {COLUMNS} FROM unnest(?::bigint[], ?::bigint[]) AS p (session, position)"
            " JOIN messages AS m ON m.tenant = ? AND m.session = p.session"
            " AND m.position = p.position"
            " JOIN sessions AS s ON s.tenant = m.tenant AND s.key = m.session"
            f" WHERE {self._where.sql}",
            (
                [session for session, _ in places],
                [position for _, position in places],
                self._tenant,
                *self._where.values,
            ),
        )
        return [Row(*row) for row in found]

    def _read_stored(self, ids: Sequence[int]) -> list[TableRow]:
        return self._tx.rows(
            f"SELECT {STORED}"
            f" FROM {_TABLES} JOIN bodies AS b ON b.tenant = m.tenant AND b.key = m.body"
            " WHERE m.tenant = ? AND m.id = ANY(?)",
            (self._tenant, ids),
        )

    def _match_tenant(self) -> Condition:
        return Condition("m.tenant = ?", (self._tenant,))

    def _one_of(self, column: str, names: Sequence[str]) -> Condition:
        return Condition(f"{column} = ANY(?)", ([plain(name) for name in names],))

    def _none_of(self, column: str, names: Sequence[str]) -> Condition:
        return Condition(f"{column} <> ALL(?)", ([plain(name) for name in names],))

    def _match_outside(self, places: Sequence[tuple[str, int, int]]) -> Condition:
        return Condition(
            "NOT EXISTS (SELECT 1 FROM unnest(?::text[], ?::bigint[], ?::bigint[])"
            " AS l (id, start, stop) WHERE l.id = s.id AND m.position >= l.start"
            " AND m.position < l.stop)",
            tuple([place[at] for place in places] for at in range(3)),
        )

    def _match_sessions(self, names: Sequence[str]) -> Condition:
        """Both are looked up first: then the server goes by the key of `messages`."""
        begins = [f"{_escape(name)}%" for name in names]
        own = [
            row[0]
            for row in self._tx.rows(
                "SELECT key FROM sessions WHERE tenant = ? AND id LIKE ANY(?)",
                (self._tenant, begins),
            )
        ]
        shared = self._tx.rows(
            "SELECT owner, start, stop FROM segments WHERE tenant = ? AND session = ANY(?)",
            (self._tenant, own),
        )
        return Condition(
            "m.session = ANY(?) AND (m.session = ANY(?) OR EXISTS (SELECT 1"
            " FROM unnest(?::bigint[], ?::bigint[], ?::bigint[]) AS g (owner, start, stop)"
            " WHERE g.owner = m.session AND m.position >= g.start AND m.position < g.stop))",
            (
                [*own, *(row[0] for row in shared)],
                own,
                *([row[at] for row in shared] for at in range(3)),
            ),
        )

    def _list_decided(self, terms: Sequence[Term]) -> list[Condition]:
        """Return what the server looks at for the terms, and for what is unwanted."""
        found = [match_term(self._tenant, term) for term in terms]
        for term in () if self.hides else self._without:
            if is_decided(term):
                unwanted = match_term(self._tenant, term)
                found.append(
                    Condition(f"(NOT {unwanted.sql} OR m.words @@ '{MORE}')", unwanted.values)
                )
        return found

    def _read_some(
        self, wanted: Condition, most: int, last: int | None, oldest: bool, *, by_text: bool
    ) -> list[tuple[int, bool]]:
        """Return ids in order from the `last` one on, and whether all words are in the index.

        How rare a text is, the server cannot tell beforehand. So if there is an index of
        trigrams, first a few messages are gone through; if few of these have it, the text
        is rare, and the index is asked for all that have it.
        """
        sign, order = (">", "ASC") if oldest else ("<", "DESC")
        after = f" AND m.id {sign} ?" if last is not None else ""
        start = (self._tenant, last) if last is not None else (self._tenant,)
        every = f"messages AS m WHERE m.tenant = ?{after}"
        if not by_text or not self._has_trigrams():
            return self._read_passed(every, start, wanted, f"m.id {order}", most)
        near = f"{every} ORDER BY m.id {order} LIMIT {_NEAR}"
        found = self._read_passed(near, start, wanted, f"m.id {order}", most)
        if len(found) >= _MOST_READ:
            return found
        return self._read_passed(every, start, wanted, f"m.id + 0 {order}", most)

    def _read_passed(
        self, given: str, values: Sequence[Any], wanted: Condition, order: str, most: int
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

    def _match_text(
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

    def _estimate_count(self, ids: list[int], most: int, oldest: bool) -> Postings:
        """Guess how many there are from how far back these reach, if they are not all."""
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


def match_term(tenant: str, term: Term) -> Condition:
    """Return what a message that has the term must be; more may be, see `is_decided`."""
    match term.kind:
        case "word":
            return _match_words(tenant, term.words)
        case "phrase":
            return join_conditions(
                (_match_words(tenant, term.words), _match_text(tenant, term.text)), "OR"
            )
        case "prefix" | "substring":
            return _match_text(tenant, term.text)


def is_decided(term: Term) -> bool:
    """Return whether `match_term` is the term itself, so that no text need be looked into."""
    if term.kind == "word" and len(term.words) == 1:
        return len(term.words[0]) < LONGEST_WORD
    return term.kind == "substring"


def _match_words(tenant: str, words: Sequence[str]) -> Condition:
    """Every stem; also what has more words than fit into its index."""
    if not words:
        return Condition("false", ())
    return _matching(tenant, [_quote(lexeme(word)) for word in words])


def _match_text(tenant: str, text: str) -> Condition:
    """The characters side by side, in whatever words the text falls into."""
    small = fold_case(text)
    if _TRIGRAM.search(small):
        holding = Condition("m.folded LIKE ?", (f"%{_escape(small)}%",))
    else:  # without a trigram to go by, the index of them would be read whole
        holding = Condition("strpos(m.folded, ?) > 0", (small,))
    pieces = list(_pieces(text))
    return join_conditions((_matching(tenant, pieces), holding)) if pieces else holding


def _matching(tenant: str, parts: Sequence[str]) -> Condition:
    query = " & ".join(dict.fromkeys(parts))
    return Condition(
        "m.words @@ ?::tsquery",
        (f"{_quote(tenant_lexeme(tenant))} & (({query}) | {_quote(MORE)})",),
    )


def _pieces(text: str) -> Iterator[str]:
    """Yield what the index of words must have where the text is part of a message.

    A word with something else on both sides is a whole word there too. One at the end may go on
    there; its stem keeps its beginning if that ends in a digit: endings are letters, and at
    most one of a doubled character goes with them.
    """
    plain_text = without_accents(text)
    for found in WORD.finditer(plain_text):
        word = found[0]
        if not found.start():
            continue
        if found.end() < len(plain_text):
            yield _quote(lexeme(word))
        elif word[-1].isdigit() and len(word) > _SHORTEST_BEGINNING:
            yield f"{_quote(lexeme(word[:-1]))}:*"
    two = list(pairs(fold_case(text)))
    yield from (_quote(pair) for pair in two if len(pair) == 2)
    if two and len(two[0]) == 1:
        yield f"{_quote(two[0])}:*"


def _escape(text: str) -> str:
    return re.sub(r"([\\%_])", r"\\\1", text)


def _quote(word: str) -> str:
    return "'" + word.replace("\\", "\\\\").replace("'", "''") + "'"
