"""A search, over any index of messages: two tries, then ranking."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Protocol, Self

from msgspec import Struct

from foldaway.search.query import parse_query, split_terms
from foldaway.search.rank import REACH, Place, freshness, rarity, read, scores
from foldaway.search.values import Match, Query, Term, Wanted
from foldaway.search.words import flatten, has_term, places

NEWEST = 600
"""Of the messages that have all terms, how many are weighed against each other."""
SORTED = 20_000
"""The same if they are listed by their time."""
NEWEST_OF_ONE = 400
"""The same for a single term, if not all of them need be there."""
NEWEST_SHOWN = 60
"""Instead of both if secrets are hidden: to hide those of one message takes some 50 µs. Of the
questions of `bench/recall.py`, 100 find half a point more in one conversation of three."""
COUNTED_SHOWN = 40
"""The same for a term that is only weighed: by how far back they reach, it is rare or common."""
_READ = 40
_READ_OF_LINEAGE = 2
"""At least so many messages of each lineage are read, to choose the best."""
_AT_ONCE = 100
"""Texts that are read at once."""
_OF_OTHERS = 5
"""Messages that are asked for at once, in lineages that have none yet. They are mostly of one:
what is asked for next is of another."""


class Postings(Struct, frozen=True, gc=False):
    """Messages that have something, and how many of them there are, at least about."""

    ids: list[int]
    count: float
    whole: bool = True
    """Whether there are no more."""


class Row(Struct, frozen=True, gc=False):
    """A message without its text; `session` is the key by which the index knows its owner."""

    id: int
    session: int
    session_id: str
    root_id: str
    position: int
    role: str
    time: float


class Index(Protocol):
    """What a database must answer. All but `texts` give only messages that pass the filters."""

    @property
    def hides(self) -> bool:
        """Whether texts are shown without their secrets."""
        ...

    def total(self) -> float:
        """Return about how many messages there are."""
        ...

    def having(
        self, terms: Sequence[Term], most: int, *, oldest: bool, checked: bool = True
    ) -> Postings:
        """Return messages that have all of the terms and nothing of `Query.without`.

        The newest first, or the oldest; at most `most`. No terms: all messages. If secrets are
        hidden, each has them in what is shown; unless `checked`, `fits` has to say so.
        """
        ...

    def beyond(self, roots: Iterable[str], last: int) -> Self:
        """Return the index of what is older than the id `last` and of none of these lineages."""
        ...

    def rows(self, ids: Sequence[int]) -> list[Row]:
        """Return the messages of these ids, in any order."""
        ...

    def at(self, places: Sequence[Place]) -> list[Row]:
        """Return the messages at these places (`Row.session`, position), those that there are."""
        ...

    def texts(self, ids: Sequence[int]) -> dict[int, str]:
        """Return the text of each, as it is shown."""
        ...

    def fitting(self, ids: Sequence[int], terms: Sequence[Term]) -> list[int]:
        """Return those whose text has all of the terms and nothing of `Query.without`."""
        ...


def find(index: Index, wanted: Wanted, most: int) -> list[Match]:
    """Return at most `most` messages that fit, the best first.

    First those that have every term but the small words. Where these are few, or where the query
    is a sentence, also those that have some of the terms, and then the messages beside them. What
    stood in quotes is in every hit. If only the best of each lineage is wanted, there are `most`
    lineages if so many have a hit.
    """
    terms = tuple(term for term in wanted.query.terms if not term.small) or wanted.query.terms
    if not terms or wanted.sort != "relevance":
        found = _list_matches(index, terms, wanted, most)
        if found or not terms:
            return found
    return _rank_matches(index, wanted, terms, most)


def _list_matches(index: Index, terms: tuple[Term, ...], wanted: Wanted, most: int) -> list[Match]:
    """Return the newest or oldest by their own time, which is not that of being stored."""
    oldest = wanted.sort == "oldest"
    found = index.having(terms, SORTED, oldest=oldest, checked=False)
    rows = sorted(index.rows(found.ids), key=lambda row: (row.time, row.id), reverse=not oldest)
    first: dict[str | int, Row] = {}
    counts: Counter[str | int] = Counter()
    for start in range(0, len(rows), _AT_ONCE):
        some = rows[start : start + _AT_ONCE]
        if index.hides or not terms:
            fitting = set(index.fitting([row.id for row in some], terms))
            some = [row for row in some if row.id in fitting]
        for row in some:
            key = row.root_id if wanted.lineages else row.id
            if key not in first and len(first) == most:
                break
            first.setdefault(key, row)
            counts[key] += 1
        if len(first) == most:
            break
    texts = index.texts([row.id for row in first.values()])
    return [_match(row, 0.0, texts[row.id], counts[key] - 1) for key, row in first.items()]


class _Weighed(Struct, frozen=True):
    """Candidates, each with the weight of the terms that it has, and the weight of each term."""

    having: dict[int, float]
    weights: list[float]
    everything: float


class _Chosen(Struct, frozen=True):
    """The best candidates and the messages beside them, and how many each lineage has."""

    rows: dict[Place, Row]
    counts: Counter[str]


def _rank_matches(index: Index, wanted: Wanted, terms: tuple[Term, ...], most: int) -> list[Match]:
    """Weigh the candidates by the terms that they have, then read the best and those beside."""
    sentence = _is_sentence(wanted)
    weighed, terms = _weigh(index, wanted, terms, most, sentence=sentence)
    chosen = _choose(index, wanted, weighed.having, most)
    rows = chosen.rows
    texts = index.texts([row.id for row in rows.values()])
    readings = {
        place: read(texts[row.id], terms, weighed.weights, for_sentence=sentence)
        for place, row in rows.items()
    }
    ranks = scores(readings, weighed.weights)
    newest = max((row.time for row in rows.values()), default=0.0)
    besides = sentence and not any(term.quoted for term in terms)
    hits: list[tuple[bool, float, Row]] = []
    for place, row in rows.items():
        if row.id in weighed.having or (besides and _clear(texts[row.id], wanted)):
            score = ranks[place] * (1 + wanted.recency * freshness(row.time, newest))
            complete = weighed.having.get(row.id) == weighed.everything
            hits.append((complete and not sentence, score, row))
    hits.sort(key=lambda hit: (-hit[0], -hit[1], -hit[2].id))
    if wanted.lineages:
        firsts: dict[str, tuple[bool, float, Row]] = {}
        for hit in hits:
            firsts.setdefault(hit[2].root_id, hit)
        hits = list(firsts.values())
    best = hits[:most]
    if wanted.sort != "relevance":
        sign = 1 if wanted.sort == "oldest" else -1
        best.sort(key=lambda hit: (sign * hit[2].time, sign * hit[2].id))
    more = chosen.counts if wanted.lineages else Counter[str]()
    return [
        _match(row, score, texts[row.id], max(more[row.root_id] - (row.id in weighed.having), 0))
        for _, score, row in best
    ]


def _weigh(
    index: Index, wanted: Wanted, terms: tuple[Term, ...], most: int, *, sentence: bool
) -> tuple[_Weighed, tuple[Term, ...]]:
    """Return the candidates, and the terms that they were found by.

    Terms of scripts without blanks are parted if no message has them whole.
    """
    whole = index.having(terms, _limit(index, NEWEST, NEWEST_SHOWN), oldest=False)
    terms = terms if whole.ids else split_terms(terms)
    roots: set[str] = set()
    complete = [*whole.ids, *_find_elsewhere(index, wanted, terms, whole, roots, most)]
    loosely = sentence or (len(roots) if wanted.lineages else len(whole.ids)) < most
    having: dict[int, float] = {}
    weights: list[float] = []
    quoted = tuple(term for term in terms if term.quoted)
    for term in terms:
        asked = quoted if term.quoted else (*quoted, term)
        is_all = asked == terms
        limit = _limit(index, NEWEST_OF_ONE, NEWEST_SHOWN if loosely else COUNTED_SHOWN)
        found = whole if is_all else index.having(asked, limit, oldest=False)
        weights.append(rarity(found.count, index.total()))
        if loosely and not is_all:
            for message in (*found.ids, *_find_elsewhere(index, wanted, asked, found, roots, most)):
                having[message] = having.get(message, 0.0) + weights[-1]
    everything = sum(weights)
    having.update(dict.fromkeys(complete, everything))
    return _Weighed(having, weights, everything), terms


def _limit(index: Index, most: int, shown: int) -> int:
    return shown if index.hides else most


def _find_elsewhere(
    index: Index, wanted: Wanted, terms: Sequence[Term], found: Postings, roots: set[str], most: int
) -> list[int]:
    """Return further messages, of other lineages, until there are `most`; note these in `roots`.

    A few long sessions may hold all of the newest messages with a common word.
    """
    if not wanted.lineages:
        return []
    roots.update(row.root_id for row in index.rows(found.ids))
    more: list[int] = []
    while len(roots) < most and found.ids and not found.whole:
        found = index.beyond(roots, found.ids[-1]).having(terms, _OF_OTHERS, oldest=False)
        roots.update(row.root_id for row in index.rows(found.ids))
        more += found.ids
    return more


def _choose(index: Index, wanted: Wanted, having: dict[int, float], most: int) -> _Chosen:
    """Return the best candidates and the messages beside them."""
    best = sorted(having, key=lambda message: (-having[message], -message))
    if not wanted.lineages:
        rows = {(row.session, row.position): row for row in index.rows(best[:NEWEST])}
        first = _with_neighbours(rows, having)[: max(most, _READ)]
    else:
        known = {row.id: row for row in index.rows(best)}
        some = _limit_per_lineage([known[message] for message in best], NEWEST // most, NEWEST)
        rows = {(row.session, row.position): row for row in some}
        reads = max(most * _READ_OF_LINEAGE, _READ)
        ordered = [rows[place] for place in _with_neighbours(rows, having)]
        first = [
            (row.session, row.position) for row in _limit_per_lineage(ordered, reads // most, reads)
        ]
    near = {
        (session, position + distance): None
        for session, position in first
        for distance in range(-REACH, REACH + 1)
        if position + distance >= 0
    }
    for place in first:
        del near[place]
    beside = {(row.session, row.position): row for row in index.at(list(near))}
    counts = Counter(row.root_id for row in rows.values())
    return _Chosen({**{place: rows[place] for place in first}, **beside}, counts)


def _limit_per_lineage(rows: Sequence[Row], each: int, most: int) -> list[Row]:
    """Return the first `most`, at most `each` of a lineage as long as others have some."""
    counts: Counter[str] = Counter()
    taken: list[Row] = []
    left: list[Row] = []
    for row in rows:
        counts[row.root_id] += 1
        (taken if counts[row.root_id] <= max(each, 1) else left).append(row)
    return [*taken, *left][:most]


def _with_neighbours(rows: dict[Place, Row], having: dict[int, float]) -> list[Place]:
    """Return places, the best first, where what the message before has counts by half."""

    def weight(place: Place) -> float:
        session, position = place
        own = having[rows[place].id]
        before = rows.get((session, position - 1))
        after = rows.get((session, position + 1))
        return own + 0.5 * max(
            having[before.id] if before else 0.0, having[after.id] / 2 if after else 0.0
        )

    return sorted(rows, key=lambda place: (-weight(place), -rows[place].id))


def _is_sentence(wanted: Wanted) -> bool:
    """Whether it reads like something said and not like keywords: it has small words."""
    plain = [term for term in wanted.query.terms if term.kind in ("word", "phrase")]
    return any(term.small for term in plain) and any(not term.small for term in plain)


def _clear(text: str, wanted: Wanted) -> bool:
    return not any(has_term(text, term) for term in wanted.query.without)


def _match(row: Row, score: float, text: str, more: int) -> Match:
    return Match(
        session_id=row.session_id,
        root_id=row.root_id,
        position=row.position,
        role=row.role,
        time=row.time,
        score=score,
        text=text,
        more=more,
    )


class ScannedText(Struct, frozen=True, gc=False):
    """A message that can be found: its position, its role, and what it is found by."""

    position: int
    role: str
    text: str


def scan(held: Sequence[ScannedText], text: str, most: int) -> list[Match]:
    """Return at most `most` messages that fit a query, the best first, ranked as in a store.

    Any text is a query. The work is a pass over the texts for each of its terms.
    """
    query = parse_query(text)
    if not query.terms:
        return []
    return find(_Scanned(held, query), Wanted(query=query), most)


class _Scanned:
    """The index of a scan; an id is the place in the sequence."""

    def __init__(self, held: Sequence[ScannedText], query: Query) -> None:
        self._held = held
        self._flats = [flatten(one.text) for one in held]
        self._having: dict[Term, list[int]] = {}
        self._without = frozenset(at for term in query.without for at in self._with(term))
        self.hides = False
        self._at = {one.position: number for number, one in enumerate(held)}

    def total(self) -> float:
        """Return how many there are."""
        return float(len(self._held))

    def having(
        self, terms: Sequence[Term], most: int, *, oldest: bool, checked: bool = True
    ) -> Postings:
        """Return those that have all of the terms."""
        ids = set(range(len(self._held))) - self._without
        for term in terms:
            ids &= set(self._with(term))
        found = sorted(ids, reverse=not oldest)
        return Postings(found[:most], float(len(found)), len(found) <= most)

    def beyond(self, roots: Iterable[str], last: int) -> Self:
        """Return nothing: all of it is one lineage."""
        return type(self)((), Query())

    def fitting(self, ids: Sequence[int], terms: Sequence[Term]) -> list[int]:
        """Return all of them: `having` has read their texts."""
        return list(ids)

    def rows(self, ids: Sequence[int]) -> list[Row]:
        """Return the messages of these ids."""
        return [self._row(number) for number in ids]

    def at(self, places: Sequence[Place]) -> list[Row]:
        """Return the messages at these places."""
        found = (self._at.get(position) for _, position in places)
        return [self._row(number) for number in found if number is not None]

    def texts(self, ids: Sequence[int]) -> dict[int, str]:
        """Return the text of each."""
        return {number: self._held[number].text for number in ids}

    def _row(self, number: int) -> Row:
        one = self._held[number]
        return Row(
            id=number,
            session=0,
            session_id="",
            root_id="",
            position=one.position,
            role=one.role,
            time=float(number),
        )

    def _with(self, term: Term) -> list[int]:
        if term not in self._having:
            self._having[term] = [
                number
                for number, one in enumerate(self._held)
                if next(places(one.text, self._flats[number], term), None) is not None
            ]
        return self._having[term]
