"""Prose: main headings, then the sentences that say most, each below its own heading."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from html import unescape
from itertools import chain
from math import log
from typing import Final

from foldaway._core import Regex
from foldaway.reduction.excerpt import Lines, read_lines
from foldaway.reduction.lines import WORDS
from foldaway.reduction.ranking import line_render, rank_lines, ranking_of
from foldaway.reduction.reduced import ReductionRequest, Render

_SENTENCE_END = Regex(
    r"(?:(?<=[.!?])|(?<=[.!?][\"')\]]))\s+(?=[\"'(\[]?[A-Z0-9À-ÞА-Я`*])|(?<=[。！？])"
)
_WORD = Regex(r"[^\W\d_]{3,30}")
_EVIDENCE = Regex(r"\d|`|/\w|\w\.\w|_\w|[a-z][A-Z]")
_CUE = Regex(
    r"\b(?:because|therefore|however|error"
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
        return line_render(rank_lines(lines), ask.reference)
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


_MOST_CHARS: Final = 8_000_000
"""Of a longer page the rest is not read."""

_HIDDEN = Regex(r"<(script|style|noscript|svg|template|head)(?=[\s>/])", re.I)
_CLOSES = {
    name: Regex(f"</{name}", re.I)
    for name in ("script", "style", "noscript", "svg", "template", "head")
}
_TITLE = Regex(r"<title[^<>]{0,200}>([^<]{0,500})</title", re.I)
_TAG = Regex(r"<(/?)([a-zA-Z][a-zA-Z0-9]{0,20})[^<>]*>")
_REST = Regex(r"<[!?/a-zA-Z][^<>]*>")
_BLOCKS = WORDS["html_blocks"]


def reduce_html(text: str, ask: ReductionRequest) -> Render:
    """Read a page; the result is plain text."""
    return reduce_prose(html_text(text), ask)


def html_text(text: str) -> str:
    """Return what a reader sees of a page: headings marked `#`, list items `-`, cells `|`."""
    text = text[:_MOST_CHARS]
    title = _TITLE.search(text, 0, 100_000)
    text = _without_comments(_without_hidden(text))
    shown = _REST.sub("", _TAG.sub(_mark, text))
    lines = [" ".join(line.split()) for line in unescape(shown).split("\n")]
    body = "\n".join(line for line in lines if line and line not in "-|#")
    return f"# {unescape(title[1]).strip()}\n{body}" if title else body


def _mark(tag: re.Match[str]) -> str:
    name = tag[2].lower()
    if len(name) == 2 and name[0] == "h" and name[1] in "123456":
        return "\n" if tag[1] else f"\n{'#' * int(name[1])} "
    if name == "li":
        return "\n" if tag[1] else "\n- "
    if name in ("td", "th"):
        return " | " if tag[1] else ""
    return "\n" if name in _BLOCKS else ""


def _without_hidden(text: str) -> str:
    """Return the text without elements that nobody reads; one that is never closed stays."""
    parts: list[str] = []
    at = 0
    found = _HIDDEN.search(text)
    unclosed: set[str] = set()
    while found:
        name = found[1].lower()
        close = None if name in unclosed else _CLOSES[name].search(text, found.end())
        if close is None:
            unclosed.add(name)
            found = _HIDDEN.search(text, found.end())
            continue
        parts.append(text[at : found.start()])
        end = text.find(">", close.end())
        at = len(text) if end < 0 else end + 1
        found = _HIDDEN.search(text, at)
    parts.append(text[at:])
    return "".join(parts)


def _without_comments(text: str) -> str:
    parts: list[str] = []
    at = 0
    start = text.find("<!--")
    while start >= 0:
        stop = text.find("-->", start)
        if stop < 0:
            break
        parts.append(text[at:start])
        at = stop + 3
        start = text.find("<!--", at)
    parts.append(text[at:])
    return "".join(parts)
