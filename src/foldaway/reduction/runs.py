"""What runs print: tests, builds and stack traces.

Failures, their reasons and how it ended are shown; what went well is only counted.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from foldaway._core import Regex
from foldaway.reduction.excerpt import Lines, read_lines
from foldaway.reduction.lines import WORDS, indices, line_starts
from foldaway.reduction.listings import reduce_search
from foldaway.reduction.ranking import (
    Ranking,
    RankSettings,
    line_render,
    rank_lines,
    ranking_of,
    without,
    without_days,
)
from foldaway.reduction.reduced import ReductionDraft, ReductionRequest, Render, clip_line, plural
from foldaway.reduction.signals import failing_packages, failing_spans, failing_tests

_TEST = RankSettings(noise=tuple(WORDS["test_noise"]), warning=90, detail_lines=6)

_MOST_NAMES = 400
"""How many failing tests are named."""


def reduce_test(text: str, ask: ReductionRequest) -> Render:
    """Read the output of a test runner.

    If not all lines that name a failing test fit, the names come first, as one list.
    """
    lines = read_lines(text, ask.room_chars)
    ranking = rank_lines(lines, _TEST)
    whole = line_render(ranking, ask.reference, dress=without_days)
    joined = "\n".join(lines.texts)
    tests, packages = (failing_tests(joined, _MOST_NAMES), failing_packages(joined, _MOST_NAMES))
    names = tuple(dict.fromkeys((*tests, *packages.values())))
    spans = [*failing_spans(joined, _MOST_NAMES), *((at, at) for at in packages)]
    named = set(indices(line_starts(lines.texts), spans))
    rest = line_render(without(ranking, named, {}), ask.reference, dress=without_days)

    def render(budget_chars: int) -> ReductionDraft:
        listed = f"[{plural(len(names), 'failing test')}: {', '.join(names)}]"
        draft = whole(budget_chars)
        if all(name in draft.text for name in names):
            return draft
        head = clip_line(listed, budget_chars * 9 // 10)
        draft = rest(budget_chars - len(head))
        return replace(draft, text=f"{head}\n{draft.text}")

    return render


_BUILD = RankSettings(noise=tuple(WORDS["build_noise"]), warning=300, detail_lines=3)

_DIAGNOSTIC = Regex(r"(?:\[[^\]]{1,30}\] )?([^\s:()]{1,200}):(\d{1,7}(?::\d{1,5})?):? (?=\S)(.*)")
_DIGITS = Regex(r"\d+")
_ALSO_CHARS = 240
"""The room for the other places of a message."""
_MESSAGE_CHARS = 220
"""A longer diagnostic is cut in its middle."""
_DETAIL_LINES = 2
"""The lines with the source and the caret below a diagnostic."""
_DENSE = 0.6
"""From this share of diagnostics on they are shown by file."""


def reduce_build(text: str, ask: ReductionRequest) -> Render:
    """Read the output of a compiler, a linter or a package manager.

    If it is little else than diagnostics, they are shown by file.
    """
    lines = read_lines(text, ask.room_chars)
    full = [line for line in lines.texts if line.strip()]
    found = sum(1 for line in full if _DIAGNOSTIC.match(line))
    if found > _DENSE * len(full):
        return reduce_search(text, ask, noun="finding")
    return line_render(_gather(rank_lines(lines, _BUILD)), ask.reference)


def _gather(ranking: Ranking) -> Ranking:
    """Return the ranking with one line for each message, and the other places behind it."""
    texts = ranking.lines.texts
    groups: dict[str, list[tuple[int, str, str]]] = {}
    for at, text in enumerate(texts):
        found = _DIAGNOSTIC.match(text) if ":" in text else None
        if found:
            key = _DIGITS.sub("", found[3])
            groups.setdefault(key, []).append((at, found[1], found[2]))
    hidden: set[int] = set()
    shown: dict[int, str] = {}
    for (first, path, _), *others in groups.values():
        if others:
            places = _places(path, [(path, place) for _, path, place in others])
            shown[first] = f"{clip_line(texts[first], _MESSAGE_CHARS)} [also {places}]"
            for at, _, _ in others:
                hidden.update(range(at, at + 1 + _details(texts, at)))
        elif len(texts[first]) > _MESSAGE_CHARS:
            shown[first] = clip_line(texts[first], _MESSAGE_CHARS)
    return without(ranking, hidden, shown)


def _places(path: str, others: Sequence[tuple[str, str]]) -> str:
    """Return e.g. "12:5, 13:5, b.go:7:1", a path only if it differs from the one before."""
    parts: list[str] = []
    size = 0
    for at, (other, place) in enumerate(others):
        parts.append(place if other == path else f"{other}:{place}")
        path = other
        size += len(parts[-1]) + 2
        if size > _ALSO_CHARS and at + 1 < len(others):
            parts.append(f"{plural(len(others) - at - 1, 'place')} more")
            break
    return ", ".join(parts)


def _details(texts: Sequence[str], at: int) -> int:
    """Return how many of the next lines show the source of a diagnostic."""
    for step in range(1, _DETAIL_LINES + 1):
        if at + step >= len(texts) or texts[at + step][:1] not in (" ", "\t", "^"):
            return step - 1
    return _DETAIL_LINES


_FRAME = Regex(
    r"\s+at |\s+File \"|\t\S+:\d+ \+0x|\s+\d+: +(?:0x)?\S|\s+from \S+:\d+:in|#\d+ +\S"
    r"|\s+\S+\.go:\d+"
)
_HEAD = Regex(
    r"Traceback |Caused by: |Exception in thread |goroutine \d+|thread '|panic: |During handling of"
    r"|The above exception|\w[\w.$]*(?:Error|Exception|Warning|Exit|Interrupt)\b|Uncaught |\S+: \S"
)
_LIBRARY = Regex(
    r"site-packages|dist-packages|node_modules|/usr/lib|/lib/python|<frozen |node:internal"
    r"|internal/|\bat (?:java|javax|jdk|sun|scala|kotlin|org\.(?:junit|spring|apache|gradle))\w*\."
    r"|/rustc/|\bcore::|\bstd::|tokio::|/go/src/|/go/pkg/mod/|runtime/|\.cargo/registry|\\lib\\"
)
_ENDS = 4
"""How many frames at each end of a trace are raised."""


def reduce_trace(text: str, ask: ReductionRequest) -> Render:
    """Read one stack trace or many."""
    lines = read_lines(text, ask.room_chars)
    ranking = _rank(lines) if not lines.in_pieces else rank_lines(lines)
    return line_render(ranking, ask.reference)


def _rank(lines: Lines) -> Ranking:
    texts = lines.texts
    scores = [0.0] * len(texts)
    frames: list[int] = []
    seen: set[str] = set()
    for at, text in enumerate(texts):
        if _FRAME.match(text):
            frames.append(at)
            continue
        if frames and text[:1] in " \t":
            continue  # the source line under a frame, ranked below with it
        if text.strip():
            scores[at] = 900 if _HEAD.match(text) else 500
        if text[:1] not in " \t":
            _rank_frames(texts, frames, scores, seen)
            frames = []
    _rank_frames(texts, frames, scores, seen)
    for at in range(1, len(texts)):
        if texts[at].strip() and not scores[at]:
            scores[at] = max(scores[at - 1] - 50, 1)
    return ranking_of(lines, scores)


def _rank_frames(
    texts: Sequence[str], frames: Sequence[int], scores: list[float], seen: set[str]
) -> None:
    """Rank the frames of one trace: its ends, own code, the first time a frame is seen."""
    for rank, at in enumerate(frames):
        near = min(rank, len(frames) - 1 - rank)
        own = not _LIBRARY.search(texts[at])
        score = 300.0 + (200 if own else 0) + (100 - 20 * near if near < _ENDS else 0)
        scores[at] = score if texts[at] not in seen else 5.0
        seen.add(texts[at])
