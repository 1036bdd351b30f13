"""Stack traces: what was raised, own frames before those of libraries, recursion folded."""

from __future__ import annotations

import re
from collections.abc import Sequence

from holdfast.reduction.excerpt import Lines, read_lines
from holdfast.reduction.pack import Ranking, line_render, ranking_of
from holdfast.reduction.rank import Taste, rank_lines
from holdfast.reduction.reduced import ReductionRequest, Render

_FRAME = re.compile(
    r"\s+at |\s+File \"|\t\S+:\d+ \+0x|\s+\d+: +(?:0x)?\S|\s+from \S+:\d+:in|#\d+ +\S"
    r"|\s+\S+\.go:\d+"
)
_HEAD = re.compile(
    r"Traceback |Caused by: |Exception in thread |goroutine \d+|thread '|panic: |During handling of"
    r"|The above exception|\w[\w.$]*(?:Error|Exception|Warning|Exit|Interrupt)\b|Uncaught |\S+: \S"
)
_LIBRARY = re.compile(
    r"site-packages|dist-packages|node_modules|/usr/lib|/lib/python|<frozen |node:internal"
    r"|internal/|\bat (?:java|javax|jdk|sun|scala|kotlin|org\.(?:junit|spring|apache|gradle))\w*\."
    r"|/rustc/|\bcore::|\bstd::|tokio::|/go/src/|/go/pkg/mod/|runtime/|\.cargo/registry|\\lib\\"
)
_ENDS = 4


def reduce_trace(text: str, ask: ReductionRequest) -> Render:
    """Read one stack trace or many."""
    lines = read_lines(text, ask.room_chars)
    ranking = _ranked(lines) if not lines.in_pieces else rank_lines(lines, Taste())
    return line_render(ranking, ask.reference)


def _ranked(lines: Lines) -> Ranking:
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
