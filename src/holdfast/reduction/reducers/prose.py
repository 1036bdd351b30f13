"""Prose: main headings, then the sentences that say most, each below its own heading."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from itertools import chain
from math import log

from holdfast.reduction.excerpt import Lines, read_lines
from holdfast.reduction.pack import line_render, ranking_of
from holdfast.reduction.rank import Taste, rank_lines
from holdfast.reduction.reduced import ReductionRequest, Render

_SENTENCE_END = re.compile(
    r"(?:(?<=[.!?])|(?<=[.!?][\"')\]]))\s+(?=[\"'(\[]?[A-Z0-9À-ÞА-Я`*])|(?<=[。！？])"
)
_WORD = re.compile(r"[^\W\d_]{3,30}")
_EVIDENCE = re.compile(r"\d|`|/\w|\w\.\w|_\w|[a-z][A-Z]")
_CUE = re.compile(
    r"\b(?:must|never|always|only|should|because|therefore|however|important|note|warning|error"
    r"|fail(?:s|ed|ure)?|fix(?:ed)?|bug|root cause|conclusion|summary|result|recommend\w*|todo|next"
    r"|decision|decided|finding|caveat|limit\w*)\b",
    re.I,
)
_PARAGRAPH_CHARS = 200
_SHORT_CHARS = 20
_COMMON = 0.4
"""Words in more of the sentences than this tell none of them from the others."""
_MOST_WEIGHED = 20_000


def reduce_prose(text: str, ask: ReductionRequest) -> Render:
    """Read text for people: Markdown, reports, pages."""
    lines = read_lines(text, ask.room_chars)
    if lines.in_pieces:
        return line_render(rank_lines(lines, Taste()), ask.reference)
    lines = _sentences(lines)
    ranking = ranking_of(lines, _scores(lines.texts))
    noun = "sentence" if lines.is_whole else ""
    return line_render(ranking, ask.reference, noun=noun, mark=lambda _absent, _noun: "[…]")


def _sentences(lines: Lines) -> Lines:
    """Return long paragraphs as a line for each sentence."""
    if not lines.is_whole:
        return lines
    texts: list[str] = []
    for line in lines.texts:
        if len(line) > _PARAGRAPH_CHARS:
            texts.extend(piece for piece in _SENTENCE_END.split(line) if piece)
        else:
            texts.append(line)
    return Lines(texts, range(len(texts)), len(texts))


def _scores(texts: Sequence[str]) -> list[float]:
    """Return what each sentence is worth: words that many others share, evidence, place."""
    words = [set(_WORD.findall(text.lower())) for text in texts[:_MOST_WEIGHED]]
    often = Counter(chain.from_iterable(words))
    weights = {word: log(n) for word, n in often.items() if 1 < n <= 2 + _COMMON * len(words)}
    total = len(texts)
    scores: list[float] = []
    seen: set[str] = set()
    fenced = False
    for at, text in enumerate(texts):
        bare = text.strip()
        if bare.startswith("```"):
            fenced = not fenced
        if bare in seen:
            scores.append(1.0)
            continue
        if len(bare) > _SHORT_CHARS:
            seen.add(bare)
        group = words[at] if at < _MOST_WEIGHED else set[str]()
        scores.append(_score(bare, group, weights, at / total, fenced=fenced))
    _raise_headings(texts, scores)
    return scores


def _raise_headings(texts: Sequence[str], scores: list[float]) -> None:
    """Leave the main headings first; put each other one just before the best of its section.

    A list of all headings says what there was, and nothing of it.
    """
    levels = map(_level, texts, scores)
    main = min((level for level in levels if level), default=0)
    best = [0.0] * (_DEEPEST + 1)
    for at in range(len(texts) - 1, -1, -1):
        level = _level(texts[at], scores[at])
        if level:
            scores[at] = scores[at] if level == main else best[level] + _STEP / 2
            best[level:] = [0.0] * len(best[level:])
        else:
            scores[at] -= at * _STEP
            best = [max(scores[at], one) for one in best]


def _level(text: str, score: float) -> int:
    if score < _HEADING:
        return 0
    return min(len(text.strip()) - len(text.strip().lstrip("#")), _DEEPEST)


_HEADING = 1000.0
_STEP = 1e-6
"""By so much the later of two equal sentences is worth less."""
_DEEPEST = 6


def _score(
    bare: str, group: set[str], weights: dict[str, float], place: float, *, fenced: bool
) -> float:
    if not bare:
        return 0
    if bare.startswith("#") and not fenced:
        return _HEADING
    if not bare.strip("`-*_= "):  # a fence, a rule
        return 2.0
    if fenced:
        return 20.0
    shared = sum([weights[word] for word in group if word in weights])
    score = 10 * shared / (3 + len(group)) ** 0.5
    score += 25 if _EVIDENCE.search(bare) else 0
    score += 15 if _CUE.search(bare) else 0
    score += 25 if place < 0.05 or place > 0.92 else 0
    return score + 20
