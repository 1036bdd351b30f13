"""How well a message fits: by its own words, by those around it, by its age.

BM25 with one change: a message is read together with its neighbours. An answer seldom repeats the
words of its question, so the message before counts most. Two more things count if the query is a
sentence: a message that asks counts more for the next one than a message that tells, and a message
counts more if somebody said it whom the query names. The weights were chosen on one of the three
LoCoMo conversations (`python bench/recall.py`), the others are the check.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import TypeAlias

from msgspec import Struct

from foldaway.search.values import Term
from foldaway.search.words import MOST_PLACES, flatten, places, words_of

Place: TypeAlias = tuple[int, int]
"""The key of a session within its index, and a position."""

REACH = 2
"""How far neighbours count."""
WEIGHTS = {-2: 0.2, -1: 0.6, 0: 1.0, 1: 0.2, 2: 0.1}
ASKED = 0.9
TOLD = 0.3
"""What the message before counts for a sentence: if it asks, and if it does not."""
SPEAKER = 0.2
"""How much more a message counts for a sentence that names who said it."""
_SATURATION = 0.6
"""The second occurrence of a word says much less than the first."""
_LENGTH = 0.6
"""How much a long message counts less; 1 is in proportion."""
_LONGEST = 4.0
"""A whole log file is not worth less than four ordinary messages."""
_NEAR_CHARS = 24
_NEAR = 0.1
"""Two terms close together, as part of the rarer one's weight: breaks ties."""
_HALF_LIFE = 30 * 86_400.0
_READ_CHARS = 60_000
_ASKS = re.compile(r"[?？؟](?=[\s\"'”’)\]]|$)")
_SPEAKER_NAME = re.compile(r"(?:\[[^\]\n]{1,60}\] ?)?([^\W\d_][^:\n]{0,40}):\s")
"""What comes before a colon at the start: `Ann: Hello`, `[9 May, 10:30] Ann: Hello`."""


class TermCounts(Struct, frozen=True, gc=False):
    """What one message has of each term: how often, and how long it is."""

    counts: tuple[int, ...]
    near: float
    """Weight of the terms that stand close together."""
    size: float
    before: float
    """How much it counts for the message after it."""
    fit: float
    """A factor on its score: over 1 if the query names who said it."""


def rarity(count: float, total: float) -> float:
    """Return the weight of a term that `count` of `total` messages have."""
    total = max(total, count, 1.0)
    return math.log(1 + (total - count + 0.5) / (count + 0.5))


def read(
    text: str, terms: Sequence[Term], weights: Sequence[float], *, for_sentence: bool
) -> TermCounts:
    """Return what a text has of the terms; of a long one its beginning is read."""
    text = text[:_READ_CHARS]
    flattened = flatten(text)
    counts: list[int] = []
    firsts: list[list[tuple[int, int]]] = []
    for term in terms:
        spans: list[tuple[int, int]] = []
        for span in places(text, flattened, term):
            spans.append(span)
            if len(spans) >= MOST_PLACES:
                break
        counts.append(len(spans))
        firsts.append(spans)
    near = 0.0
    for one in range(len(terms) - 1):
        if _close(firsts[one], firsts[one + 1]):
            near += min(weights[one], weights[one + 1])
    before, fit = WEIGHTS[-1], 1.0
    if for_sentence:
        before = ASKED if _is_question(text) else TOLD
        fit += SPEAKER * _is_by_named_speaker(text, terms)
    return TermCounts(tuple(counts), near, len(text) / 6 + 1, before, fit)


def scores(readings: Mapping[Place, TermCounts], weights: Sequence[float]) -> dict[Place, float]:
    """Return the score of each message, by its session and its position."""
    if not readings:
        return {}
    average = sum(reading.size for reading in readings.values()) / len(readings)
    norms = {
        place: min(1 - _LENGTH + _LENGTH * reading.size / average, _LONGEST)
        for place, reading in readings.items()
    }
    found: dict[Place, float] = {}
    for place, reading in readings.items():
        seen = [0.0] * len(weights)
        session, position = place
        for distance, share in WEIGHTS.items():
            other = (session, position + distance)
            near = readings.get(other)
            if near is None:
                continue
            if distance == -1:
                share = near.before
            for index, count in enumerate(near.counts):
                if count:
                    seen[index] += share * count / norms[other]
        total = sum(
            weight * times * (1 + _SATURATION) / (times + _SATURATION)
            for weight, times in zip(weights, seen, strict=True)
            if times
        )
        found[place] = (total + _NEAR * reading.near) * reading.fit
    return found


def freshness(time: float, newest: float) -> float:
    """Return 1 for the newest, half of it for each month before."""
    return 0.5 ** (max(newest - time, 0.0) / _HALF_LIFE)


def _is_question(text: str) -> bool:
    holds_mark = "?" in text or "？" in text or "؟" in text  # many times quicker than the pattern
    return holds_mark and _ASKS.search(text) is not None


def _is_by_named_speaker(text: str, terms: Sequence[Term]) -> bool:
    speaker = _SPEAKER_NAME.match(text)
    if speaker is None:
        return False
    names = words_of(speaker[1])
    return any(name in term.words for term in terms for name in names)


def _close(one: list[tuple[int, int]], two: list[tuple[int, int]]) -> bool:
    return any(
        -_NEAR_CHARS <= start - end <= _NEAR_CHARS or -_NEAR_CHARS <= first - stop <= _NEAR_CHARS
        for first, end in one
        for start, stop in two
    )
