"""Which facts go into a summary: each adds what is not said yet, for what it costs.

The weights below are what makes a term worth more than 1.0. They were set by hand, on the tuning
half of the sessions: `python bench/quality.py` measures what they keep (far and bound recall).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from heapq import heappop, heappush

from msgspec import Struct
from msgspec.structs import replace

from foldaway._core import Regex
from foldaway.facts.ledger.fact import ROW, Fact, Ledger
from foldaway.facts.rows import shorten_row

_ENTRY_CHARS = 6
"""What stands around a line."""
_OVERHEAD_CHARS = 40
"""Weighs against many short entries: each has its own mark and source."""
_ID = 1.0
"""A name with a digit in it: an id, a version, a hash."""
_NUMBER = 0.3
"""What a bare number or time is worth beside a name."""
_REPEATED = 1.0
"""For each further message that names it, up to `_MOST_REPEATS`."""
_MOST_REPEATS = 4
"""Further messages that count; chosen, more mentions say nothing more."""
_BY_USER = 2.0
"""Named by the user."""
_BY_AGENT = 2.5
"""In a command, a decision or the words of the agent."""
_LONG_NUMBER = 7
"""A number with at least this many characters is an id."""
_RECENT = 0.8
"""Named in the newest message, in proportion less before."""
_PATH = 0.5
"""A path."""
_SHOWN = 0.15
"""What is still shown to the model needs no second place."""
_ROW = 10.0
"""An item of data: what the agent says of items is picked from them."""
_ROW_SHARE = 0.2
"""Of the room, what one item of data takes at most; chosen, so that several are told."""
_LEAST_ROW_CHARS = 90
"""An item of data is not shortened below this; an id with its route and prices."""
_ON_TOPIC = 6.0
"""Speaks of what a compaction was told to focus on."""
_LATELY = 3.0
"""Speaks of what the newest requests are about; half of what a focus weighs, because nobody said
that it is one."""
_LATEST_ASKS, _MOST_LATEST_WORDS, _LEAST_LATEST_CHARS = 3, 12, 5
"""How many requests are the newest, how many of their words count, and how long these are: shorter
ones are parts of other words. Three as in what a model is told; the others are chosen."""
_MOST_OTHERS = 0.6
"""Of the requests before: a word that more of them have distinguishes no topic, though all of the
newest have it; chosen."""


_IS_NUMBER = Regex(r"[\x00-@\[-`{-\x7f]+\Z")
_HAS_DIGIT = Regex(r"\d")
_WORD = Regex(r"\w+")


class Candidate(Struct, frozen=True, gc=False):
    """A fact that may stand in the summary; `base` is its worth beside that of its terms."""

    fact: Fact
    base: float = 0.0
    cost: int = 0
    """The characters that it takes, if not the length of its text."""


class TermWeights(dict[str, float]):
    """What each term is worth: named by the user, used by the agent, repeated, recent.

    A term is weighed when it is first asked for.
    """

    def __init__(
        self,
        ledger: Ledger,
        shown: frozenset[str],
        topic: Topic | None,
        carried: Sequence[Fact] = (),
        asked: Iterable[str] = (),
    ) -> None:
        super().__init__()
        by_user = {term for ask in ledger.asks for term in ask.fact.terms}
        by_user.update(asked)
        by_agent = {term for fact in ledger.commands for term in fact.terms}
        by_agent.update(term for fact in ledger.decisions for term in fact.terms)
        seen: dict[str, int] = {}
        last: dict[str, int] = {}
        seen_of, last_of = seen.get, last.get
        for fact in carried:
            if fact.kind != "line" or fact.head == "agent":
                by_agent.update(fact.terms)
            for term in fact.terms:
                seen[term] = seen_of(term, 0) + 1
        for fact in ledger.lines.values():
            at, terms = fact.at, fact.terms
            if fact.head == "agent":
                by_agent.update(terms)
            for term in terms:
                if last_of(term) != at:
                    seen[term] = seen_of(term, 0) + 1
                    last[term] = at
        self._by_user, self._by_agent = by_user, by_agent
        self._seen, self._last = seen, last
        self._span = max(last.values(), default=0) or 1
        self._shown = shown
        self._topic = topic

    def __missing__(self, term: str) -> float:
        self.weigh((term,))
        return self[term]

    def weigh(self, terms: Iterable[str]) -> None:
        """Weigh terms that will be asked for, all at once."""
        by_user, by_agent, seen, last = self._by_user, self._by_agent, self._seen, self._last
        span, shown, topic = self._span, self._shown, self._topic
        seen_of, last_of = seen.get, last.get
        for term in terms:
            repeats = seen_of(term, 1) - 1
            weight = 1.0 + _REPEATED * (repeats if repeats < _MOST_REPEATS else _MOST_REPEATS)
            weight += _RECENT * last_of(term, 0) / span
            if term in by_user:
                weight += _BY_USER
            if term in by_agent:
                weight += _BY_AGENT
            if "/" in term:
                weight += _PATH
            elif not term.isalpha():
                if len(term) < _LONG_NUMBER and term[0] != "$" and _IS_NUMBER.match(term):
                    weight *= _NUMBER
                elif _HAS_DIGIT.search(term):
                    weight += _ID
            if topic is not None:
                weight += topic.worth(term)
            self[term] = weight * _SHOWN if term in shown else weight


def choose(
    candidates: Iterable[Candidate],
    weights: TermWeights,
    room_chars: float,
    told: Iterable[str] = (),
) -> list[Candidate]:
    """Return candidates that fit, best first: most new worth for each character.

    `told` are terms that stand in the summary anyway. What a candidate adds falls as others are
    taken, so it is weighed again when its turn comes. That uses `weights` up: what is said is
    worth nothing more.
    """
    most = max(int(room_chars * _ROW_SHARE), _LEAST_ROW_CHARS)
    rows = [_shortened(row, most) if row.fact.key == ROW else row for row in candidates]
    facts = [row.fact for row in rows]
    terms = [fact.terms for fact in facts]
    weights.weigh(set[str]().union(*terms))
    weights.update(dict.fromkeys(told, 0.0))
    weight_of = weights.__getitem__
    sizes = [
        (row.cost or len(fact.text)) + _OVERHEAD_CHARS
        for row, fact in zip(rows, facts, strict=True)
    ]
    gains = [
        sum(map(weight_of, held), row.base) / size
        for held, row, size in zip(terms, rows, sizes, strict=True)
    ]
    costs = [row.cost or len(row.fact.text) + _ENTRY_CHARS for row in rows]
    least = min(costs, default=0)
    order = iter(sorted(range(len(rows)), key=gains.__getitem__, reverse=True))
    number = next(order, -1)
    again: list[tuple[float, int]] = []
    taken: list[Candidate] = []
    while room_chars >= least:
        was = gains[number] if number >= 0 else 0.0
        if again and again[0] < (-was, number):
            _, one = heappop(again)
        elif was > 0:
            one, number = number, next(order, -1)
        else:
            break
        gain = sum(map(weight_of, terms[one]), rows[one].base) / sizes[one]
        if gain <= 0:
            continue
        following = gains[number] if number >= 0 else 0.0
        if gain < following or (again and gain < -again[0][0]):
            heappush(again, (-gain, one))
            continue
        if costs[one] > room_chars:
            continue
        room_chars -= costs[one]
        weights.update(dict.fromkeys(terms[one], 0.0))
        taken.append(rows[one])
    return taken


def _shortened(row: Candidate, most: int) -> Candidate:
    """Return an item of data with its first fields, if there is little room; it costs its head
    too, which stands before it.
    """
    fact = row.fact
    text = shorten_row(fact.text, most)
    if text != fact.text:
        terms = tuple(term for term in fact.terms if term in text)
        fact = replace(fact, text=text, terms=terms)
    return Candidate(fact, row.base + _ROW, len(text) + len(fact.head))


class Topic(Struct, frozen=True):
    """What the work is about: words of a focus that somebody gave, or of the newest requests."""

    words: tuple[str, ...]
    is_given: bool = False
    """Whether it is a focus."""

    def is_in(self, text: str) -> bool:
        """Return whether a text speaks of it."""
        small = text.casefold()
        for word in self.words:  # noqa: SIM110 a generator costs more
            if word in small:
                return True
        return False

    def share_in(self, text: str) -> float:
        """Return of how many of its words a text speaks, from 0.0 to 1.0."""
        small = text.casefold()
        return sum(word in small for word in self.words) / len(self.words)

    def worth(self, term: str) -> float:
        """Return what a term is worth more for it."""
        return (_ON_TOPIC if self.is_given else _LATELY) * self.is_in(term)


def find_topic(focus: str, asks: Sequence[str] = ()) -> Topic | None:
    """Return the topic: the focus, or what the newest of the requests are about if there is none.
    None if nothing is known of a topic.
    """
    words = [word for word in _WORD.findall(focus.casefold()) if len(word) > 2]
    if words:
        return Topic(tuple(words), is_given=True)
    latest = _latest_words(asks)
    return Topic(tuple(latest)) if latest else None


def _latest_words(asks: Sequence[str]) -> list[str]:
    """Return words of the newest requests that most of the others do not have."""
    said = [frozenset(_WORD.findall(ask.casefold())) for ask in asks]
    newest, others = said[-_LATEST_ASKS:], said[:-_LATEST_ASKS]
    latest = dict.fromkeys(
        word for ask in asks[: -_LATEST_ASKS - 1 : -1] for word in _WORD.findall(ask.casefold())
    )
    rare = [
        word
        for word in latest
        if len(word) >= _LEAST_LATEST_CHARS
        and (
            2 * sum(word in one for one in said) <= len(said)
            or (
                all(word in one for one in newest)
                and sum(word in one for one in others) <= _MOST_OTHERS * len(others)
            )
        )
    ]
    return rare[:_MOST_LATEST_WORDS]
