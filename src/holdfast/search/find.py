"""A search, over any index of messages: two tries, then ranking."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from msgspec import Struct

from holdfast.search.places import holds
from holdfast.search.query import parted
from holdfast.search.rank import REACH, Place, freshness, rarity, read, scores
from holdfast.search.values import Match, Term, Wanted

NEWEST = 2_000
"""Of the messages that have all terms, how many are looked at."""
SORTED = 20_000
"""The same where they are to be listed by their time."""
NEWEST_OF_ONE = 400
"""The same for a single term, where not all of them need be there."""
_WEIGHED = 600
_READ = 40


class Postings(Struct, frozen=True, gc=False):
    """Messages that have something, and how many of them there are, at least about."""

    ids: list[int]
    count: float


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

    def total(self) -> float:
        """Return about how many messages there are."""
        ...

    def having(self, terms: Sequence[Term], most: int, *, oldest: bool) -> Postings:
        """Return messages that have all of the terms and nothing of `Query.without`.

        The newest first, or the oldest; at most `most`. No terms: all messages.
        """
        ...

    def rows(self, ids: Sequence[int]) -> list[Row]:
        """Return the messages of these ids, in any order."""
        ...

    def at(self, places: Sequence[Place]) -> list[Row]:
        """Return the messages at these places (`Row.session`, position), those that there are."""
        ...

    def texts(self, ids: Sequence[int]) -> dict[int, str]:
        """Return the text of each."""
        ...


def find(index: Index, wanted: Wanted, most: int) -> list[Match]:
    """Return at most `most` messages that fit, the best first.

    First those that have every term but the small words. Where these are few, or where the query
    is a sentence, also those that have some of the terms, and then the messages beside them. What
    stood in quotes is in every hit.
    """
    terms = tuple(term for term in wanted.query.terms if not term.small) or wanted.query.terms
    oldest = wanted.sort == "oldest"
    if not terms:
        return _listed(index, index.having((), SORTED, oldest=oldest).ids, wanted, most)
    by_time = wanted.sort != "relevance"
    whole = index.having(terms, SORTED if by_time else NEWEST, oldest=oldest)
    if by_time and whole.ids:
        return _listed(index, whole.ids, wanted, most)
    if not whole.ids:
        terms = parted(terms)
    return _ranked(index, wanted, terms, whole, most)


def _listed(index: Index, ids: list[int], wanted: Wanted, most: int) -> list[Match]:
    """Return the newest or oldest by their own time, which is not that of being stored."""
    rows = sorted(index.rows(ids), key=lambda row: (row.time, row.id))
    if wanted.sort != "oldest":
        rows.reverse()
    del rows[most:]
    texts = index.texts([row.id for row in rows])
    return [_match(row, 0.0, texts[row.id]) for row in rows]


class _Weighed(Struct, frozen=True):
    """Candidates, each with the weight of the terms that it has, and the weight of each term."""

    having: dict[int, float]
    weights: list[float]
    everything: float


def _ranked(
    index: Index, wanted: Wanted, terms: tuple[Term, ...], whole: Postings, most: int
) -> list[Match]:
    """Weigh the candidates by the terms that they have, then read the best and those beside."""
    sentence = _is_sentence(wanted)
    weighed = _weigh(index, terms, whole, loosely=sentence or len(whole.ids) < most)
    rows = _choose(index, weighed.having, max(most, _READ))
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
    best = hits[:most]
    if wanted.sort != "relevance":
        sign = 1 if wanted.sort == "oldest" else -1
        best.sort(key=lambda hit: (sign * hit[2].time, sign * hit[2].id))
    return [_match(row, score, texts[row.id]) for _, score, row in best]


def _weigh(index: Index, terms: tuple[Term, ...], whole: Postings, *, loosely: bool) -> _Weighed:
    total = index.total()
    having: dict[int, float] = {}
    weights: list[float] = []
    quoted = tuple(term for term in terms if term.quoted)
    for term in terms:
        asked = quoted if term.quoted else (*quoted, term)
        found = whole if asked == terms else index.having(asked, NEWEST_OF_ONE, oldest=False)
        weights.append(rarity(found.count, total))
        for message in found.ids if loosely else ():
            having[message] = having.get(message, 0.0) + weights[-1]
    everything = sum(weights)
    having.update(dict.fromkeys(whole.ids, everything))
    return _Weighed(having, weights, everything)


def _choose(index: Index, having: dict[int, float], most: int) -> dict[Place, Row]:
    """Return the best candidates and the messages beside them."""
    best = sorted(having, key=lambda message: (-having[message], -message))[:_WEIGHED]
    rows = {(row.session, row.position): row for row in index.rows(best)}
    first = _with_neighbours(rows, having)[:most]
    near = {
        (session, position + distance): None
        for session, position in first
        for distance in range(-REACH, REACH + 1)
        if position + distance >= 0
    }
    for place in first:
        del near[place]
    beside = {(row.session, row.position): row for row in index.at(list(near))}
    return {**{place: rows[place] for place in first}, **beside}


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
    return not any(holds(text, term) for term in wanted.query.without)


def _match(row: Row, score: float, text: str) -> Match:
    return Match(
        session_id=row.session_id,
        root_id=row.root_id,
        position=row.position,
        role=row.role,
        time=row.time,
        score=score,
        text=text,
    )
