"""Drift: the same history brought to the same size in one compaction, or in 2, 4 and 8.

The messages before the cut arrive in as many stretches as there are compactions, each stretch
ends before an agent message, and each compaction aims at the asked share of all that came so far.
So the last view has the same budget and the same truth in every row, and what differs is the way.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TypeAlias

from msgspec.structs import replace

from holdfast.engine.compressor import Compressor
from holdfast.lab.scoring.render import is_system, render, render_all, spoken
from holdfast.lab.scoring.session import Message
from holdfast.lab.scoring.shown import Shown
from holdfast.lab.ways.ours import shown_view
from holdfast.lab.ways.way import Shrink
from holdfast.policy import Policy
from holdfast.tokens.estimate import estimate_text

STEPS = (1, 2, 4, 8)
Resolves: TypeAlias = Callable[[str], bool]

_WINDOW = 12
"""Windows per budget: a tail of 0.6 and a summary of 0.4 of the budget come out of the policy."""
SUMMARY_SHARE = 0.4
_POLICY = Policy(
    floor_tokens=0,
    threshold=0.5,
    target_ratio=0.10,
    soft_ceiling=1.0,
    summary_min_tokens=1_000_000,
    summary_max_tokens=1_000_000,
    summary_window_share=SUMMARY_SHARE / _WINDOW,
)


def stretches(messages: Sequence[Message], count: int) -> list[list[Message]]:
    """Return the messages in stretches of about the same size, each ending before the agent."""
    sizes = [len(render(message)) for message in messages]
    parts: list[list[Message]] = [[]]
    seen, total = 0, sum(sizes)
    for message, size in zip(messages, sizes, strict=True):
        due = len(parts) < count and seen >= total * len(parts) / count
        if due and message["role"] == "assistant" and spoken(parts[-1]):
            parts.append([])
        parts[-1].append(message)
        seen += size
    return parts


def long_lived(parts: Sequence[Sequence[Message]], budget: float) -> Shown:
    """Return the view of one compressor that took the stretches as they came."""
    engine = Compressor(context_length=1_000_000, policy=_POLICY)
    seen: list[Message] = []
    for part in parts:
        seen.extend(part)
        tokens = max(int(estimate_text(render_all(spoken(seen))) * budget), 1)
        engine.append(*part)
        engine.use_model("", tokens * _WINDOW)
        engine.compact(force=True)
    return shown_view(engine.messages, _outside(seen))


def again_and_again(shrink: Shrink, parts: Sequence[Sequence[Message]], budget: float) -> Shown:
    """Return what a way makes of its own output and the next stretch, to the last one.

    A way that gives text is handed its text back as what a user said.
    """
    seen: list[Message] = []
    view: list[Message] = []
    shown, known = Shown(text="", tokens=0), list[Resolves]()
    for part in parts:
        seen.extend(part)
        tokens = int(estimate_text(render_all(spoken(seen))) * budget)
        shown = shrink([*view, *part], tokens)
        if shown.failed:
            return shown
        if shown.resolves is not None:
            known.append(shown.resolves)
        view = list(shown.messages) or [
            *filter(is_system, seen),
            {"role": "user", "content": shown.text},
        ]
    return replace(shown, resolves=partial(_any, known) if known else None)


def _any(known: Sequence[Resolves], reference: str) -> bool:
    """Return whether one of the compactions knows a reference: their originals are all kept."""
    return any(resolves(reference) for resolves in known)


def _outside(messages: Sequence[Message]) -> int:
    return estimate_text(render_all(filter(is_system, messages)))
