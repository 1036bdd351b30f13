"""The searching half of the indexes of SQLite: words by FTS5, characters by trigrams.

Every word stands in quotes, so that no text is a syntax error. Trigrams give candidates, which are
then looked up in the real text; what an index does not have yet is looked up too.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from holdfast.search.find import Postings, Row, find
from holdfast.search.places import holds
from holdfast.search.values import Match, Term, Wanted
from holdfast.stores.bodies import unpack
from holdfast.stores.database import Statements
from holdfast.stores.sqlite.conditions import Conditions, conditions, within
from holdfast.stores.sqlite.index import mark

_GRAM = 3
_MOST_GRAMS = 6
_CANDIDATES = 2_000
_VERIFIED = 200
"""Texts are looked into until so many hold what is wanted, or until `_ENOUGH` of `_LOOKED`."""
_LOOKED = 400
_ENOUGH = 60
_SHORT_ROWS = 5_000
_SHORT_SCAN = 1_000
_BATCH = 100
_JOINED = "CROSS JOIN messages AS m ON m.id = {0} CROSS JOIN sessions AS s ON s.key = m.session"
_COLUMNS = "m.id, m.session, s.id, s.root, m.position, m.role, m.time"


def match(tx: Statements, tenant: str, wanted: Wanted, most: int) -> list[Match]:
    """Return at most `most` messages that fit, the best first."""
    where = conditions(tenant, wanted)
    return find(SqliteIndex(tx, where, within(tx, tenant, wanted), wanted), wanted, most)


def reads_substrings(wanted: Wanted) -> bool:
    """Return whether the index of trigrams is asked."""
    return any(not _by_words(term) or _by_both(term) for term in wanted.query.terms)


class SqliteIndex:
    """The two indexes of a file, as one state of it has them: an `Index` of `search.find`."""

    def __init__(
        self, tx: Statements, where: Conditions, ids: tuple[int, int], wanted: Wanted
    ) -> None:
        self._tx = tx
        self._where = where
        self._range = ids
        self._without = wanted.query.without
        self._texts: dict[int, str] = {}
        self._known: dict[tuple[str, str, int, bool], list[int]] = {}

    def total(self) -> float:
        """Return the newest id: nearly all are there."""
        found = self._tx.row("SELECT max(id) FROM messages")
        return float(found[0] or 0) if found else 0.0

    def having(self, terms: Sequence[Term], most: int, *, oldest: bool) -> Postings:
        """Return what has all terms; of those that must be looked up in the text, the newest."""
        if not terms:
            ids = self._all(most, oldest, 0)
            return self._counted(ids, len(ids) < most)
        ids, complete = self._all_of(terms, most, oldest)
        if len(ids) < min(most, _ENOUGH) and any(_by_both(term) for term in terms):
            exact = [_as_substring(term) if _by_both(term) else term for term in terms]
            more, complete = self._all_of(exact, most, oldest)
            ids = sorted({*ids, *more}, reverse=not oldest)[:most]
        return self._counted(ids, complete)

    def rows(self, ids: Sequence[int]) -> list[Row]:
        """Return those that pass the filters."""
        found = self._tx.rows(
            f"SELECT {_COLUMNS} FROM json_each(?) AS j {_JOINED.format('j.value')}"
            f" WHERE {self._where.sql}",
            (_json(ids), *self._where.values),
        )
        return [Row(*row) for row in found]

    def at(self, places: Sequence[tuple[int, int]]) -> list[Row]:
        """Return those that pass the filters."""
        found = self._tx.rows(
            f"SELECT {_COLUMNS} FROM json_each(?) AS j CROSS JOIN messages AS m"
            " ON m.tenant = ? AND m.session = json_extract(j.value, '$[0]')"
            " AND m.position = json_extract(j.value, '$[1]')"
            " CROSS JOIN sessions AS s ON s.key = m.session"
            f" WHERE {self._where.sql}",
            (_json(places), self._where.values[0], *self._where.values),
        )
        return [Row(*row) for row in found]

    def texts(self, ids: Sequence[int]) -> dict[int, str]:
        """Return at least these; what was read once is kept."""
        missing = [message for message in ids if message not in self._texts]
        if missing:
            rows = self._tx.rows(
                "SELECT m.id, b.tenant, b.key, b.parts, b.packed FROM json_each(?) AS j"
                " CROSS JOIN messages AS m ON m.id = j.value"
                " CROSS JOIN bodies AS b ON b.key = m.body",
                (_json(missing),),
            )
            for message, *body in rows:
                self._texts[message] = unpack(self._tx, *body)[1].decode()
        return self._texts

    def _all(self, most: int, oldest: bool, above: int) -> list[int]:
        found = self._tx.rows(
            "SELECT m.id FROM messages AS m CROSS JOIN sessions AS s ON s.key = m.session"
            f" WHERE m.id > ? AND {self._where.sql} ORDER BY m.id {_order(oldest)} LIMIT ?",
            (above, *self._where.values, most),
        )
        return [row[0] for row in found]

    def _matching(self, index: str, expression: str, most: int, oldest: bool) -> list[int]:
        asked = (index, expression, most, oldest)
        if asked not in self._known:
            found = self._tx.rows(
                f"SELECT m.id FROM {index} AS i {_JOINED.format('i.rowid')}"
                f" WHERE {index} MATCH ? AND i.rowid BETWEEN ? AND ? AND {self._where.sql}"
                f" ORDER BY i.rowid {_order(oldest)} LIMIT ?",
                (expression, *self._range, *self._where.values, most),
            )
            self._known[asked] = [row[0] for row in found]
        return self._known[asked]

    def _all_of(self, terms: Sequence[Term], most: int, oldest: bool) -> tuple[list[int], bool]:
        """Return what has all of the terms, and whether there is no more of it.

        Candidates come from whichever index has few of them; what it does not know is looked up
        in their text.
        """
        by_words = [term for term in terms if _by_words(term)]
        by_text = [term for term in terms if not _by_words(term)]
        if not by_text:
            ids = self._words(by_words, most, oldest)
            if all(_by_words(term) for term in self._without):
                return ids, len(ids) < most
            return self._verified(ids, (), complete=len(ids) < most)
        long = [term for term in by_text if len(term.text) >= _GRAM]
        words = self._words(by_words, _CANDIDATES, oldest) if by_words else []
        few = bool(by_words) and len(words) < _CANDIDATES
        if few and (len(words) < _BATCH or not long):
            return self._verified(words, by_text, complete=True)
        if not long:
            ids = words or self._short(by_text, oldest)
            return self._verified(ids, by_text, complete=len(ids) < _SHORT_SCAN)
        ids = self._grams(long, oldest)
        if few and len(ids) >= _CANDIDATES:
            return self._verified(words, by_text, complete=True)
        if few:
            known = set(words)
            found = [message for message in ids if message in known]
            return self._verified(found, by_text, complete=True)
        return self._verified(ids, terms, complete=len(ids) < _CANDIDATES)

    def _words(self, terms: Sequence[Term], most: int, oldest: bool) -> list[int]:
        wanted = " AND ".join(_word(term) for term in terms)
        unwanted = " OR ".join(_word(term) for term in self._without if _by_words(term))
        expression = f"({wanted}) NOT ({unwanted})" if unwanted else wanted
        ids = self._matching("words", expression, most, oldest)
        late, _ = self._verified(self._late("words", oldest), terms, complete=True)
        return [*ids, *late][:most] if oldest else [*late, *ids][:most]

    def _grams(self, terms: Sequence[Term], oldest: bool) -> list[int]:
        grams = dict.fromkeys(gram for term in terms for gram in _grams_of(term.text))
        expression = " AND ".join(_quoted(gram) for gram in grams)
        ids = self._matching("trigrams", expression, _CANDIDATES, oldest)
        late = self._late("trigrams", oldest)
        return [*ids, *late] if oldest else [*late, *ids]

    def _late(self, index: str, oldest: bool) -> list[int]:
        """Return the messages that an index does not have yet."""
        asked = (index, "", 0, oldest)
        if asked not in self._known:
            self._known[asked] = self._all(-1, oldest, mark(self._tx, index))
        return self._known[asked]

    def _short(self, terms: Sequence[Term], oldest: bool) -> list[int]:
        """Return candidates for one or two characters: what has a trigram that begins with them.

        Where these are too many to be counted, the newest messages are looked through instead.
        """
        begin = max((term.text for term in terms), key=len).lower()
        found = self._tx.rows(
            "SELECT doc FROM grams WHERE term >= ? AND term < ? LIMIT ?",
            (begin, begin + "\U0010ffff", _SHORT_ROWS),
        )
        if len(found) < _SHORT_ROWS:
            ids = [*self._late("trigrams", oldest), *(row[0] for row in found)]
            return sorted((row.id for row in self.rows(list(set(ids)))), reverse=not oldest)
        return self._all(_SHORT_SCAN, oldest, 0)

    def _verified(
        self, ids: Iterable[int], terms: Sequence[Term], *, complete: bool
    ) -> tuple[list[int], bool]:
        """Return the first whose text has all terms and nothing unwanted, and whether it is all."""
        kept: list[int] = []
        waiting = list(dict.fromkeys(ids))
        for start in range(0, len(waiting), _BATCH):
            if len(kept) >= (_VERIFIED if start < _LOOKED else _ENOUGH):
                return kept, False
            batch = waiting[start : start + _BATCH]
            texts = self.texts(batch)
            kept += [message for message in batch if self._fits(texts[message], terms)]
        return kept, complete

    def _fits(self, text: str, terms: Sequence[Term]) -> bool:
        return all(holds(text, term) for term in terms) and not any(
            holds(text, term) for term in self._without
        )

    def _counted(self, ids: list[int], complete: bool) -> Postings:
        """Guess how many there are from how far back the newest reach, where these are not all."""
        count = float(len(ids))
        if ids and not complete:
            count *= max(self.total() / (abs(ids[0] - ids[-1]) + 1), 1.0)
        return Postings(ids, count)


def _by_words(term: Term) -> bool:
    """Whether the index of words decides; it has stems, so it knows no beginnings of words."""
    if term.kind == "prefix":
        return len(term.text) < _GRAM and bool(term.words)
    return term.kind in ("word", "phrase")


def _by_both(term: Term) -> bool:
    """Whether the text is looked into too: a phrase can begin within a word, and the index of
    words does not take all letters of all scripts for letters.
    """
    return term.kind == "phrase" or (term.kind == "word" and not term.text.isascii())


def _as_substring(term: Term) -> Term:
    return Term(kind="substring", text=term.text)


def _word(term: Term) -> str:
    return _quoted(term.text) + ("*" if term.kind == "prefix" else "")


def _quoted(text: str) -> str:
    return '"' + text.replace('"', '""') + '"'


def _grams_of(text: str) -> list[str]:
    """Return pieces of three characters from all over a text; of a long one not all are needed."""
    last = len(text) - _GRAM
    step = max(1, -(-last // _MOST_GRAMS))
    return [text[at : at + _GRAM] for at in (*range(0, last, step), last)]


def _order(oldest: bool) -> str:
    return "ASC" if oldest else "DESC"


def _json(value: object) -> str:
    return msgspec.json.encode(value).decode()
