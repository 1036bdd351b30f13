"""A gate: whether a run is worse than an earlier one by more than chance."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct

from foldaway.errors import NotReadable
from foldaway.lab.figures import FAULTS, LESS_IS_BETTER, RATES
from foldaway.lab.output import read_summary
from foldaway.lab.results import ScoreLine

_LEAST = 1e-9
"""Below this a difference is rounding."""


class Fall(Struct, frozen=True, kw_only=True):
    """A figure that got worse; `bound` is the end of the earlier interval that it passed."""

    part: str
    family: str
    strategy: str
    budget: float
    steps: int
    figure: str
    was: float
    bound: float
    now: float

    @property
    def sentence(self) -> str:
        """What fell, for people."""
        where = f"{self.family} {self.part} {self.budget:.0%}"
        after = f" after {self.steps} compactions" if self.part == "drift" else ""
        return (
            f"{where}{after}: {self.figure} {self.was:.3f} -> {self.now:.3f} "
            f"(allowed to {self.bound:.3f})"
        )


class GateResult(Struct, frozen=True):
    """What fell since the baseline, and on how many sessions that rests."""

    falls: list[Fall]
    sessions: int


def compare_to_baseline(run: Path, baseline: Path, strategy: str) -> GateResult:
    """Return what got worse for a strategy between two runs, by their folders or summaries.

    Raises `NotReadable` if they cannot be compared.
    """
    before, now = read_summary(baseline), read_summary(run)
    if before.manifest.digest != now.manifest.digest:
        raise NotReadable(
            "is a run of other sessions than the baseline",
            remedy="run both on the same files, or make a new baseline",
        )
    if not any(line.strategy == strategy for line in before.lines):
        raise NotReadable(
            f"has no line of {strategy!r}", where=str(baseline), remedy="name a strategy of its run"
        )
    return GateResult(find_falls(before.lines, now.lines, strategy), len(now.manifest.sessions))


def find_falls(before: Sequence[ScoreLine], now: Sequence[ScoreLine], strategy: str) -> list[Fall]:
    """Return what got worse for a strategy: scores beyond their interval, and any new fault.

    Inventions, broken references, leaks and broken rules have no interval: one more is one too
    many. A line that is missing now has fallen whole.
    """
    there = {_key(line): line for line in now}
    found: list[Fall] = []
    for line in before:
        if line.strategy == strategy:
            found.extend(_find_falls(line, there.get(_key(line))))
    return found


def _key(line: ScoreLine) -> tuple[str, str, float, int, str]:
    return line.part, line.family, line.budget, line.steps, line.strategy


def _find_falls(was: ScoreLine, now: ScoreLine | None) -> list[Fall]:
    found: list[Fall] = []
    for name in RATES:
        figure = was.figures.get(name)
        if figure is None:
            continue
        new = None if now is None else now.figures.get(name)
        sign = -1 if name in LESS_IS_BETTER else 1
        bound = figure.high if sign < 0 else figure.low
        if new is None or sign * (bound - new.mean) > _LEAST:
            found.append(_fall(was, name, figure.mean, bound, 0.0 if new is None else new.mean))
    for name in FAULTS:
        old, new_count = was.counts.get(name, 0), 0 if now is None else now.counts.get(name, 0)
        if new_count > old:
            found.append(_fall(was, name, old, old, new_count))
    broken = sum((was.violations or {}).values())
    broken_now = 0 if now is None else sum((now.violations or {}).values())
    if broken_now > broken:
        found.append(_fall(was, "violations", broken, broken, broken_now))
    return found


def _fall(line: ScoreLine, name: str, was: float, bound: float, now: float) -> Fall:
    return Fall(
        part=line.part,
        family=line.family,
        strategy=line.strategy,
        budget=line.budget,
        steps=line.steps,
        figure=name,
        was=was,
        bound=bound,
        now=now,
    )
