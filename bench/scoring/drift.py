"""Drift: the same history brought to the same size in one compaction, or in 2, 4 and 8.

The messages before the cut arrive in as many stretches as there are compactions, each stretch
ends before an agent message, and each compaction aims at the asked share of all that came so far.
So the last view has the same budget and the same truth in every row, and what differs is the way.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import holdfast
from holdfast.pipeline.frame import SUMMARY_OPEN
from holdfast.tokens.estimate import estimate_text
from scoring.needed import Elsewhere, prepare
from scoring.render import is_system, render, render_all, spoken
from scoring.score import Case, cases_of, score
from scoring.sessions import Message, Session
from scoring.stats import Estimate, estimate, mean
from scoring.strategies import Shown
from scoring.view import summaries

STEPS = (1, 2, 4, 8)
WAYS = ("long-lived", "one-shot")
RATES = ("recall", "far", "bound", "files R", "constraints")

_WINDOW = 12
"""Windows per budget: a tail of 0.6 and a summary of 0.4 of the budget come out of the policy."""
_POLICY = holdfast.Policy(
    floor_tokens=0,
    threshold=0.5,
    target_ratio=0.10,
    soft_ceiling=1.0,
    summary_min_tokens=1_000_000,
    summary_max_tokens=1_000_000,
    summary_window_share=0.4 / _WINDOW,
)
_SLACK_TOKENS = 40
"""What the estimate of a whole summary may differ from that of its parts."""


@dataclass(frozen=True)
class DriftRow:
    """One session after so many compactions."""

    session: str
    family: str
    way: str
    steps: int
    used: float
    rates: dict[str, float | None]
    summaries: int
    over_tokens: int
    """By how much the summary is larger than its budget."""


def drift_rows(session: Session, budget: float, elsewhere: Elsewhere) -> list[DriftRow]:
    """Return a row for each way and number of compactions, at the last cut of a session."""
    cases = list(cases_of(prepare(session), elsewhere))
    if not cases:
        return []
    case, rows = cases[-1], list[DriftRow]()
    for steps in STEPS:
        parts = _stretches(case.messages, steps)
        if len(parts) < steps:
            break
        for way in WAYS:
            shown = _long_lived(parts, budget) if way == WAYS[0] else _again(parts, budget)
            rows.append(_row(session, case, way, steps, shown, budget))
    return rows


def _row(
    session: Session, case: Case, way: str, steps: int, shown: Shown, budget: float
) -> DriftRow:
    tokens = int(case.tokens * budget)
    found = score(case, shown, tokens)
    bodies = summaries(shown.messages)
    most = int(0.4 * tokens) + _SLACK_TOKENS
    over = max((estimate_text(body) - most for body in bodies), default=0)
    rates = {name: found.rates[name] for name in RATES}
    nested = shown.text.count(SUMMARY_OPEN)
    return DriftRow(session.id, session.family, way, steps, found.used, rates, nested, max(over, 0))


def _stretches(messages: Sequence[Message], count: int) -> list[list[Message]]:
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


def _long_lived(parts: Sequence[Sequence[Message]], budget: float) -> Shown:
    """Return the view of one compressor that took the stretches as they came."""
    engine = holdfast.Compressor(context_length=1_000_000, policy=_POLICY)
    seen: list[Message] = []
    for part in parts:
        seen.extend(part)
        tokens = max(int(estimate_text(render_all(spoken(seen))) * budget), 1)
        engine.append(*part)
        engine.update_model("", tokens * _WINDOW)
        engine.compact(force=True)
    return _view(engine.messages)


def _again(parts: Sequence[Sequence[Message]], budget: float) -> Shown:
    """Return what one-shot compressions of their own output come to."""
    seen: list[Message] = []
    view: list[Message] = []
    for part in parts:
        seen.extend(part)
        outside = estimate_text(render_all(filter(is_system, seen)))
        tokens = int(estimate_text(render_all(spoken(seen))) * budget)
        done = holdfast.compress(
            [*view, *part], target_tokens=outside + tokens, context_length=1_000_000
        )
        view = list(done.messages)
    return _view(view)


def _view(messages: Sequence[Message]) -> Shown:
    text = render_all(spoken(messages))
    return Shown(text, estimate_text(text), tuple(messages))


def print_drift(rows: Sequence[DriftRow]) -> None:
    """Print the scores after each number of compactions, and what the eighth cost."""
    for way in WAYS:
        whole = {row.session for row in rows if row.way == way and row.steps == STEPS[-1]}
        mine = [row for row in rows if row.way == way and row.session in whole]
        print(f"\ndrift, {way}: {len(whole)} sessions, the same history, truth and budget")
        print(f"{'compactions':12}{'used':>6}", *(f"{name:>16}" for name in RATES),
              "  summaries  over budget")  # fmt: skip
        for steps in STEPS:
            here = [row for row in mine if row.steps == steps]
            if not here:
                continue
            cells = [_cell(estimate(_known(here, name))) for name in RATES]
            nested = max(row.summaries for row in here)
            over = sum(row.over_tokens > 0 for row in here)
            used = mean([row.used for row in here]) or 0.0
            print(f"{steps:<12}{used:6.2f}", *cells, f"{nested:>10} at most {over:>6} views")
        print(f"{'8 minus 1':18}", *(_cell(_difference(mine, name)) for name in RATES))


def _known(rows: Sequence[DriftRow], name: str) -> list[float]:
    return [value for row in rows if (value := row.rates[name]) is not None]


def _difference(rows: Sequence[DriftRow], name: str) -> Estimate | None:
    last = {row.session: row.rates[name] for row in rows if row.steps == STEPS[-1]}
    pairs = [(row.rates[name], last[row.session]) for row in rows if row.steps == 1]
    return estimate([b - a for a, b in pairs if a is not None and b is not None])


def _cell(found: Estimate | None) -> str:
    if found is None:
        return f"{'–':>16}"
    return f"{f'{found.mean:.2f} {found.low:.2f}–{found.high:.2f}':>16}"
