"""Messages in memory as an index: found by reading them, for what is in no store."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Self

from msgspec import Struct

from holdfast.search.find import Postings, Row, find
from holdfast.search.places import flat, places
from holdfast.search.query import parse_query
from holdfast.search.rank import Place
from holdfast.search.values import Match, Query, Term, Wanted


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
        self._flats = [flat(one.text) for one in held]
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
            id=number, session=0, session_id="", root_id="", position=one.position, role=one.role,
            time=float(number),
        )  # fmt: skip

    def _with(self, term: Term) -> list[int]:
        if term not in self._having:
            self._having[term] = [
                number
                for number, one in enumerate(self._held)
                if next(places(one.text, self._flats[number], term), None) is not None
            ]
        return self._having[term]
