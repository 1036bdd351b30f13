"""The searching half of the index: words by their stems, characters by the folded text.

No query is a syntax error: every word of a `tsquery` stands in quotes. Where the server has
`pg_trgm`, it finds characters by that; otherwise the folded texts are gone through, the newest
first, all of them if need be.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from copy import copy
from typing import Any, Self

from holdfast.search.find import Postings, Row, find
from holdfast.search.message_texts import MessageTexts
from holdfast.search.values import Match, Reveal, Term, Wanted, Written
from holdfast.stores.bodies import unpack
from holdfast.stores.postgres.conditions import (
    PostgresConditions,
    having,
    is_decided,
    joined,
    passing,
)
from holdfast.stores.postgres.index import MORE
from holdfast.stores.postgres.opening import has_trigrams
from holdfast.stores.postgres.statements import Open

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
