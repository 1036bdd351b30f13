"""The searching half of the indexes of SQLite: words by FTS5, characters by trigrams.

Every word stands in quotes, so that no text is a syntax error. Trigrams give candidates, which are
then looked up in the real text; what an index does not have yet is looked up too.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from copy import copy
from itertools import product
from typing import Self

from foldaway.search import Match, Postings, Reveal, Row, Term, Wanted, find
from foldaway.stores.database import Row as TableRow
from foldaway.stores.database import Statements
from foldaway.stores.matching import (
    COLUMNS,
    STORED,
    Condition,
    StoredIndex,
    as_json,
    join_conditions,
)
from foldaway.stores.rows import plain
from foldaway.stores.sqlite.index import LAST_ID, blocks, mark, table

_GRAM = 3
"""Characters of a piece in the index of substrings."""
_MOST_GRAMS = 6
"""Pieces of one text that are asked for; more would hardly leave fewer candidates."""
_CANDIDATES = 2_000
"""Messages that one index is asked for at most."""
_VERIFIED = 200
"""Texts are looked into until so many hold what is wanted, or `_ENOUGH` of more than `_LOOKED`."""
_LOOKED = 400
_ENOUGH = 60
_SHORT_ROWS = 5_000
_SHORT_SCAN = 1_000
"""For one or two characters: places in the index, otherwise messages, that are gone through."""
_BATCH = 100
_LEAST = 10
"""Texts that are read at once, at most and at least."""
_GRAMS_OF_ONE = 20
"""Candidates for each message that is wanted; more than nine of ten hold what the trigrams say."""
_JOINED = "CROSS JOIN messages AS m ON m.id = {0} CROSS JOIN sessions AS s ON s.key = m.session"
_END = (
    "SELECT m.id FROM messages AS m WHERE m.tenant = k.tenant AND m.session = k.key"
    " ORDER BY m.position {} LIMIT 1"
)


def match(
    tx: Statements, tenant: str, wanted: Wanted, most: int, reveal: Reveal | None = None
) -> list[Match]:
    """Return at most `most` messages that fit, the best first."""
    return find(SqliteIndex(tx, tenant, wanted, reveal), wanted, most)


def reads_substrings(wanted: Wanted) -> bool:
    """Return whether the index of trigrams is asked."""
    return any(not _is_decided_by_words(term) or _is_read_too(term) for term in wanted.query.terms)


class SqliteIndex(StoredIndex[Statements]):
    """The two indexes of a file, as one state of it has them: an `Index` of `search.find`."""

    position_function = "instr"

    def __init__(
        self, tx: Statements, tenant: str, wanted: Wanted, reveal: Reveal | None = None
    ) -> None:
        super().__init__(tx, tenant, wanted, reveal)
        self._range = self._find_bounds(wanted)
        self._known: dict[tuple[str, str, int, bool], list[int]] = {}
        self._rows: dict[int, Row] = {}
        self._begun: dict[str, tuple[set[int], bool]] = {}
        self._total: float | None = None
        self._starts: list[tuple[int, int]] | None = None

    def total(self) -> float:
        """Return the newest id: nearly all are there."""
        if self._total is None:
            found = self._tx.row("SELECT max(id) FROM messages")
            self._total = float(found[0] or 0) if found else 0.0
        return self._total

    def having(
        self, terms: Sequence[Term], most: int, *, oldest: bool, checked: bool = True
    ) -> Postings:
        """Return what has all terms; of those that must be looked up in the text, the newest."""
        if not terms:
            ids = self._list_all(most, oldest, 0)
            return self._estimate_count(ids, len(ids) < most)
        checked = checked and self.hides
        ids, complete = self._list_all_of(terms, most, oldest, checked)
        if len(ids) < min(most, _ENOUGH) and any(_is_read_too(term) for term in terms):
            exact = [_as_substring(term) if _is_read_too(term) else term for term in terms]
            more, complete = self._list_all_of(exact, most, oldest, checked)
            ids = sorted({*ids, *more}, reverse=not oldest)
        return self._estimate_count(ids[:most], complete and len(ids) <= most)

    def beyond(self, roots: Iterable[str], last: int) -> Self:
        """Return the same index with less in it; texts that were read are known there too."""
        found = copy(self)
        found._where = join_conditions((self._where, self._none_of("s.root", sorted(roots))))
        found._range = (self._range[0], min(self._range[1], last - 1))
        found._known = {}
        return found

    def rows(self, ids: Sequence[int]) -> list[Row]:
        """Return those that pass the filters; what was found passes them."""
        self._rows_of([message for message in ids if message not in self._rows])
        return [self._rows[message] for message in ids if message in self._rows]

    def _rows_of(self, ids: Sequence[int]) -> list[Row]:
        found = (
            self._tx.rows(
                f"SELECT {COLUMNS} FROM json_each(?) AS j {_JOINED.format('j.value')}"
                f" WHERE {self._where.sql}",
                (as_json(ids), *self._where.values),
            )
            if ids
            else []
        )
        rows = [Row(*row) for row in found]
        self._rows.update((row.id, row) for row in rows)
        return rows

    def at(self, places: Sequence[tuple[int, int]]) -> list[Row]:
        """Return those that pass the filters."""
        found = self._tx.rows(
            f"SELECT {COLUMNS} FROM json_each(?) AS j CROSS JOIN messages AS m"
            " ON m.tenant = ? AND m.session = json_extract(j.value, '$[0]')"
            " AND m.position = json_extract(j.value, '$[1]')"
            " CROSS JOIN sessions AS s ON s.key = m.session"
            f" WHERE {self._where.sql}",
            (as_json(places), self._tenant, *self._where.values),
        )
        return [Row(*row) for row in found]

    def _read_stored(self, ids: Sequence[int]) -> list[TableRow]:
        return self._tx.rows(
            f"SELECT {STORED} FROM json_each(?) AS j {_JOINED.format('j.value')}"
            " CROSS JOIN bodies AS b ON b.key = m.body",
            (as_json(ids),),
        )

    def _match_tenant(self) -> Condition:
        # the plus keeps SQLite from an index on the tenant, which all messages of a file share
        return Condition("+m.tenant = ?", (self._tenant,))

    def _one_of(self, column: str, names: Sequence[str]) -> Condition:
        return Condition(f"{column} IN ({', '.join('?' * len(names))})", tuple(names))

    def _none_of(self, column: str, names: Sequence[str]) -> Condition:
        return Condition(f"{column} NOT IN (SELECT value FROM json_each(?))", (as_json(names),))

    def _match_outside(self, places: Sequence[tuple[str, int, int]]) -> Condition:
        return Condition(
            "NOT EXISTS (SELECT 1 FROM json_each(?) AS l WHERE json_extract(l.value, '$[0]') = s.id"
            " AND m.position >= json_extract(l.value, '$[1]')"
            " AND m.position < json_extract(l.value, '$[2]'))",
            (as_json(places),),
        )

    def _match_sessions(self, names: Sequence[str]) -> Condition:
        named = _begin_with(names)
        return Condition(
            f"(m.session IN (SELECT t.key FROM sessions AS t WHERE t.tenant = ? AND {named.sql})"
            " OR EXISTS (SELECT 1 FROM segments AS g JOIN sessions AS t ON t.key = g.session"
            " WHERE g.tenant = ? AND g.owner = m.session"
            f" AND m.position >= g.start AND m.position < g.stop AND {named.sql}))",
            (self._tenant, *named.values, self._tenant, *named.values),
        )

    def _find_bounds(self, wanted: Wanted) -> tuple[int, int]:
        """Return the first and last id that can be found: those of the sessions that are looked in.

        It spares an index most of a common word, if only one session or folder of thousands is
        asked.
        """
        low, high = 0, LAST_ID
        for filters in (wanted.filters, wanted.query.filters):
            asked: list[Condition] = []
            if filters.folders is not None:
                asked.append(self._one_of("k.cwd", filters.folders))
            if filters.sessions:
                named = _begin_with([plain(name) for name in filters.sessions])
                roots = f"SELECT t.root FROM sessions AS t WHERE t.tenant = ? AND {named.sql}"
                asked.append(Condition(f"k.root IN ({roots})", (self._tenant, *named.values)))
            for which in asked:
                found = self._tx.row(
                    f"SELECT min(({_END.format('ASC')})), max(({_END.format('DESC')}))"
                    f" FROM sessions AS k WHERE k.tenant = ? AND {which.sql}",
                    (self._tenant, *which.values),
                ) or (None, None)
                low, high = max(low, found[0] or 0), min(high, found[1] or 0)
        return low, high

    def _list_all(self, most: int, oldest: bool, above: int) -> list[int]:
        low, high = self._range
        found = self._tx.rows(
            "SELECT m.id FROM messages AS m CROSS JOIN sessions AS s ON s.key = m.session"
            f" WHERE m.id BETWEEN ? AND ? AND {self._where.sql}"
            f" ORDER BY m.id {_order(oldest)} LIMIT ?",
            (max(low, above + 1), high, *self._where.values, most),
        )
        return [row[0] for row in found]

    def _matching(self, index: str, expression: str, most: int, oldest: bool) -> list[int]:
        asked = (index, expression, most, oldest)
        if asked not in self._known:
            found: list[TableRow] = []
            for number in self._blocks(oldest=oldest):
                name = table(index, number)
                found += self._tx.rows(
                    f"SELECT {COLUMNS} FROM {name} AS i {_JOINED.format('i.rowid')}"
                    f" WHERE {name} MATCH ? AND i.rowid BETWEEN ? AND ? AND {self._where.sql}"
                    f" ORDER BY i.rowid {_order(oldest)} LIMIT ?",
                    (expression, *self._range, *self._where.values, most - len(found)),
                )
                if len(found) >= most:
                    break
            self._rows.update((row[0], Row(*row)) for row in found)
            self._known[asked] = [row[0] for row in found]
        return self._known[asked]

    def _blocks(self, *, oldest: bool = False) -> list[int]:
        """Return the numbers of the blocks that have some of the ids, the newest first or last."""
        if self._starts is None:
            self._starts = blocks(self._tx)
        ends = [*(start for _, start in self._starts[1:]), LAST_ID + 1]
        low, high = self._range
        found = [
            number
            for (number, start), end in zip(self._starts, ends, strict=True)
            if start <= high and low < end
        ]
        return found if oldest else found[::-1]

    def _list_all_of(
        self, terms: Sequence[Term], most: int, oldest: bool, checked: bool
    ) -> tuple[list[int], bool]:
        """Return what has all of the terms, and whether there is no more of it.

        Candidates come from whichever index has few of them; what it does not know is looked up
        in their text, and everything if each is `checked` as it is shown: then of the first
        `most` of them nothing depends on those that are shown otherwise.
        """
        by_words = [term for term in terms if _is_decided_by_words(term)]
        by_text = [term for term in terms if not _is_decided_by_words(term)]
        enough = most + 1 if checked else min(most + 1, _VERIFIED)
        if not by_text and checked:
            return self._list_all_shown(by_words, most, oldest)
        if not by_text:
            ids = self._words(by_words, most, oldest)
            if all(_is_decided_by_words(term) for term in self._without):
                return ids, len(ids) < most
            return self._verify(ids, (), len(ids) < most, enough)
        long = [term for term in by_text if len(term.text) >= _GRAM]
        words = self._words(by_words, _CANDIDATES, oldest) if by_words else []
        few = bool(by_words) and len(words) < _CANDIDATES
        looked_up = terms if checked else by_text
        if few and (len(words) < _BATCH or not long):
            return self._verify(words, looked_up, True, enough)
        if not long:
            ids, is_all = (words, False) if words else self._list_short(by_text, oldest)
            return self._verify(ids, looked_up, is_all, enough)
        asked = min(_CANDIDATES, _GRAMS_OF_ONE * most)
        ids = self._grams(long, asked, oldest)
        if few and len(ids) >= asked:
            return self._verify(words, looked_up, True, enough)
        if few:
            known = set(words)
            found = [message for message in ids if message in known]
            return self._verify(found, looked_up, True, enough)
        return self._verify(ids, terms, len(ids) < asked, enough)

    def _list_all_shown(
        self, terms: Sequence[Term], most: int, oldest: bool
    ) -> tuple[list[int], bool]:
        """Return what shows all of the terms. Few messages hide one, so few more are asked for."""
        asked = 2 * most
        while True:
            ids = self._words(terms, asked, oldest)
            found, complete = self._verify(ids, terms, len(ids) < asked, most + 1)
            if complete or len(found) > most or asked >= _CANDIDATES:
                return found, complete
            asked *= 4

    def _words(self, terms: Sequence[Term], most: int, oldest: bool) -> list[int]:
        wanted = " AND ".join(_word(term) for term in terms)
        without = () if self.hides else self._without
        unwanted = " OR ".join(_word(term) for term in without if _is_decided_by_words(term))
        expression = f"({wanted}) NOT ({unwanted})" if unwanted else wanted
        ids = self._matching("words", expression, most, oldest)
        late = self.fitting(self._list_late("words", oldest), terms)
        return [*ids, *late][:most] if oldest else [*late, *ids][:most]

    def _grams(self, terms: Sequence[Term], most: int, oldest: bool) -> list[int]:
        grams = dict.fromkeys(gram for term in terms for gram in _grams_of(term.text))
        expression = " AND ".join(_quote(gram) for gram in grams)
        ids = self._matching("trigrams", expression, most, oldest)
        late = self._list_late("trigrams", oldest)
        return [*ids, *late] if oldest else [*late, *ids]

    def _list_late(self, index: str, oldest: bool) -> list[int]:
        """Return the messages that an index does not have yet."""
        asked = (index, "", 0, oldest)
        if asked not in self._known:
            self._known[asked] = self._list_all(-1, oldest, mark(self._tx, index))
        return self._known[asked]

    def _list_short(self, terms: Sequence[Term], oldest: bool) -> tuple[list[int], bool]:
        """Return candidates for one or two characters, and whether there are no more: what has a
        trigram that begins with them.

        Where these are too many to be gone through, it is some of them beside the newest messages.
        """
        begin = max((term.text for term in terms), key=len)
        if begin not in self._begun:
            self._begun[begin] = self._list_beginning(begin)
        docs, is_all = self._begun[begin]
        low, high = self._range
        ids = [doc for doc in {*self._list_late("trigrams", oldest), *docs} if low <= doc <= high]
        found = {row.id for row in self._rows_of(ids)}
        if not is_all:
            newest = self._list_all(_SHORT_SCAN, oldest, 0)
            found.update(newest)
            is_all = len(newest) < _SHORT_SCAN
        return sorted(found, reverse=not oldest), is_all

    def _list_beginning(self, text: str) -> tuple[set[int], bool]:
        """Return what has a trigram that begins with one or two characters, and whether it is all.

        SQLite leaves the capitals of newer versions of Unicode as they are, Python does not; and it
        takes a micro sign for a mu, which in Python is more than small letters.
        """
        either = product(*({char, char.lower(), char.casefold()} for char in text))
        docs: set[int] = set()
        is_all = True
        for begin in sorted({text.lower(), *map("".join, either)}):
            left = _SHORT_ROWS
            for number in self._blocks():
                found = self._tx.rows(
                    f"SELECT doc FROM {table('grams', number)}"
                    " WHERE term >= ? AND term < ? LIMIT ?",
                    (begin, begin + "\U0010ffff", left),
                )
                docs.update(row[0] for row in found)
                left -= len(found)
                if not left:
                    is_all = False
                    break
        return docs, is_all

    def _verify(
        self, ids: Iterable[int], terms: Sequence[Term], complete: bool, enough: int
    ) -> tuple[list[int], bool]:
        """Return the first whose text has all terms and nothing unwanted, and whether it is all.

        If secrets are hidden, no more than `enough`: how many more the last batch has depends on
        what is hidden in it.
        """
        kept: list[int] = []
        waiting = list(dict.fromkeys(ids))
        start = 0
        while start < len(waiting):
            if len(kept) >= (enough if start < _LOOKED or self.hides else min(enough, _ENOUGH)):
                return kept[:enough] if self.hides else kept, False
            few = max(enough - len(kept), _LEAST) if enough < _VERIFIED else _BATCH
            stop = start + min(few, _BATCH)
            kept += self.fitting(waiting[start:stop], terms)
            start = stop
        if self.hides and len(kept) > enough:
            return kept[:enough], False
        return kept, complete

    def _estimate_count(self, ids: list[int], complete: bool) -> Postings:
        """Guess how many there are from how far back the newest reach, where these are not all."""
        count = float(len(ids))
        if ids and not complete:
            count *= max(self.total() / (abs(ids[0] - ids[-1]) + 1), 1.0)
        return Postings(ids, count, complete)


def _is_decided_by_words(term: Term) -> bool:
    """Whether the index of words decides; it has stems, so it knows no beginnings of words."""
    if term.kind == "prefix":
        return len(term.text) < _GRAM and bool(term.words)
    return term.kind in ("word", "phrase")


def _is_read_too(term: Term) -> bool:
    """Whether the text is looked into too: a phrase can begin within a word, and the index of
    words does not take all letters of all scripts for letters.
    """
    return term.kind == "phrase" or (term.kind == "word" and not term.text.isascii())


def _as_substring(term: Term) -> Term:
    return Term(kind="substring", text=term.text)


def _word(term: Term) -> str:
    return _quote(term.text) + ("*" if term.kind == "prefix" else "")


def _quote(text: str) -> str:
    return '"' + text.replace('"', '""') + '"'


def _grams_of(text: str) -> list[str]:
    """Return pieces of three characters from all over a text; of a long one not all are needed."""
    last = len(text) - _GRAM
    step = max(1, -(-last // _MOST_GRAMS))
    return [text[at : at + _GRAM] for at in (*range(0, last, step), last)]


def _order(oldest: bool) -> str:
    return "ASC" if oldest else "DESC"


def _begin_with(names: Sequence[str]) -> Condition:
    """Return that the id of a session `AS t` begins with one of the names."""
    return join_conditions(
        (Condition("substr(t.id, 1, length(?)) = ?", (name, name)) for name in names), "OR"
    )
