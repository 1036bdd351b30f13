"""What plays say of strategies: shares, money, intervals, and ours next to the others."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Literal, TypeAlias

from msgspec import Struct

from foldaway.caching import Bill, usd
from foldaway.lab.play.game import Played
from foldaway.lab.play.strategies import OWN, PlayStrategy
from foldaway.lab.results import MeanInterval, PlayManifest, mean_interval

_Z = 1.959964
"""Of the normal distribution, for 95 %."""
LEAST_TASKS = 6
"""Fewer that all point one way come about by chance too often; as in the report of a run."""

Outcome: TypeAlias = Literal["better", "worse", "not apart", "too few"]
"""Of ours beside another strategy: `not apart` if the 95 % interval of the difference holds 0."""


class SolvedShare(Struct, frozen=True):
    """How many of all, and the 95 % interval of the share, after Wilson."""

    part: int
    whole: int
    low: float
    high: float

    @classmethod
    def of(cls, part: int, whole: int) -> SolvedShare:
        """Return the share of a part; of nothing it may be anything."""
        if not whole:
            return cls(0, 0, 0.0, 1.0)
        share, square = part / whole, _Z * _Z
        middle = (share + square / (2 * whole)) / (1 + square / whole)
        half = _Z * math.sqrt(share * (1 - share) / whole + square / (4 * whole * whole))
        half /= 1 + square / whole
        low = middle - half if part else 0.0
        return cls(part, whole, low, middle + half if part < whole else 1.0)

    @property
    def mean(self) -> float:
        """The share."""
        return self.part / self.whole if self.whole else 0.0


class Against(Struct, frozen=True, kw_only=True):
    """Ours minus another strategy, task by task; None if no task has both."""

    solved: MeanInterval | None
    usd: MeanInterval | None
    lost: dict[str, int]
    """In the tasks that only the other solved: in how many ours missed a kind of goal, or ended
    otherwise.
    """

    @property
    def in_solved(self) -> Outcome:
        """How ours compares in tasks solved."""
        return _outcome(self.solved, 1)

    @property
    def in_money(self) -> Outcome:
        """How ours compares in money."""
        return _outcome(self.usd, -1)


def _outcome(by: MeanInterval | None, sign: int) -> Outcome:
    if by is None or by.sessions < LEAST_TASKS:
        return "too few"
    low, high = sorted((sign * by.low, sign * by.high))
    return "better" if low > 0 else "worse" if high < 0 else "not apart"


class PlayLine(Struct, frozen=True, kw_only=True):
    """What a strategy came to. Plays whose model gave no answer count for nothing."""

    strategy: str
    what: str
    is_ours: bool
    solved: SolvedShare
    usd: MeanInterval | None
    """Per task."""
    usd_per_solved: float | None
    """All that was spent by the tasks that were solved; None if none was."""
    bill: Bill
    """Of all plays."""
    steps: float
    """Means per task, as are those that follow."""
    tokens: float
    """That were sent."""
    compactions: float
    recalls: float
    wrong: float
    wrong_after: float
    """Of those after the first compaction."""
    endings: dict[str, int]
    missed: dict[str, int]
    """In how many plays a kind of goal was missed."""
    families: dict[str, SolvedShare]
    against: Against | None
    """Ours minus this; None for ours itself."""

    @property
    def cells(self) -> tuple[str, ...]:
        """Solved, money a task, steps, recalls and wrong actions, for a table."""
        return (
            f"{self.solved.part}/{self.solved.whole}",
            _money(self),
            f"{self.steps:.0f}",
            f"{self.recalls:.1f}",
            f"{self.wrong:.1f}",
        )


class PlaySummary(Struct, frozen=True, kw_only=True):
    """What `play.json` holds."""

    manifest: PlayManifest
    verdict: list[str]
    """Sentences; those in which ours loses come first."""
    lines: list[PlayLine]
    failures: list[str]
    """Why models gave no answer, each once."""


def summarize_plays(
    manifest: PlayManifest, strategies: Iterable[PlayStrategy], plays: Sequence[Played]
) -> PlaySummary:
    """Return a line for each strategy, and how ours compares with the others."""
    ours = [one for one in plays if one.strategy == OWN]
    lines = [
        _line(strategy, [one for one in plays if one.strategy == strategy.name], ours)
        for strategy in strategies
    ]
    return PlaySummary(
        manifest=manifest,
        verdict=give_verdict(lines),
        lines=lines,
        failures=list(dict.fromkeys(one.why for one in plays if one.why)),
    )


def _line(strategy: PlayStrategy, plays: Sequence[Played], ours: Sequence[Played]) -> PlayLine:
    counted = [one for one in plays if one.is_counted]
    bill = sum((one.bill for one in counted), Bill())
    solved = sum(one.is_solved for one in counted)
    families = sorted({one.family for one in counted})

    def mean_of(figure: Callable[[Played], float]) -> float:
        return sum(map(figure, counted)) / len(counted) if counted else 0.0

    return PlayLine(
        strategy=strategy.name,
        what=strategy.what,
        is_ours=strategy.is_ours,
        solved=SolvedShare.of(solved, len(counted)),
        usd=mean_interval([one.bill.usd for one in counted]),
        usd_per_solved=bill.usd / solved if solved else None,
        bill=bill,
        steps=mean_of(lambda one: one.steps),
        tokens=mean_of(lambda one: one.bill.prompt_tokens),
        compactions=mean_of(lambda one: one.compactions),
        recalls=mean_of(lambda one: one.recalls),
        wrong=mean_of(lambda one: one.wrong),
        wrong_after=mean_of(lambda one: one.wrong_after),
        endings=dict(Counter(one.ending for one in plays)),
        missed=dict(Counter(kind for one in counted for kind in kinds_missed(one)).most_common()),
        families={
            family: SolvedShare.of(
                sum(one.is_solved for one in counted if one.family == family),
                sum(one.family == family for one in counted),
            )
            for family in families
        },
        against=None if strategy.name == OWN else _against(ours, counted),
    )


def kinds_missed(played: Played) -> set[str]:
    """Return the kinds of goals that a play missed, and how it ended if it was cut short. The kind
    of a goal is the first word of its name.
    """
    ending = {str(played.ending)} - {"done"}
    return ending | {name.split()[0] for name in played.missed}


def _against(ours: Sequence[Played], others: Sequence[Played]) -> Against:
    there = {one.task: one for one in others}
    pairs = [(one, there[one.task]) for one in ours if one.is_counted and one.task in there]
    return Against(
        solved=mean_interval([float(mine.is_solved) - other.is_solved for mine, other in pairs]),
        usd=mean_interval([mine.bill.usd - other.bill.usd for mine, other in pairs]),
        lost=dict(
            Counter(
                kind
                for mine, other in pairs
                if other.is_solved and not mine.is_solved
                for kind in sorted(kinds_missed(mine))
            ).most_common()
        ),
    )


def give_verdict(lines: Sequence[PlayLine]) -> list[str]:
    """Return in sentences where ours loses to a rival, then where the two are not apart, then where
    ours is better.
    """
    ours = next((line for line in lines if line.strategy == OWN), None)
    rivals = [line for line in lines if not line.is_ours]
    if ours is None or ours.usd is None or not rivals:
        return ["Nothing was played that could be compared."]
    if not any(line.solved.part for line in lines):
        return ["No strategy solved a task: this player cannot do them, and compares nothing."]
    found: list[str] = []
    for outcome, in_solved, in_money in _WORDS:
        solved = [one for one in rivals if one.against and one.against.in_solved == outcome]
        money = [one for one in rivals if one.against and one.against.in_money == outcome]
        if solved:
            found.append(f"{OWN} ({_count(ours)}) {in_solved} {_join(map(_tell_solved, solved))}.")
        if money:
            named = _join(f"{one.strategy} ({_money(one)})" for one in money)
            found.append(f"{OWN} ({_money(ours)} a task) {in_money} {named}.")
        if outcome == "worse" and not found:
            found.append(f"{OWN} loses to no rival, neither in tasks solved nor in money.")
    few = [one.strategy for one in rivals if one.against and one.against.in_solved == "too few"]
    if few:
        return [f"Too few tasks to compare {OWN} with {_join(few)}: play at least {LEAST_TASKS}."]
    return found


_WORDS: Sequence[tuple[Outcome, str, str]] = (
    ("worse", "solves fewer tasks than", "costs more than"),
    ("not apart", "solves as many tasks, within chance, as", "costs as much, within chance, as"),
    ("better", "solves more tasks than", "costs less than"),
)


def _tell_solved(line: PlayLine) -> str:
    """Return a rival with its tasks, and what ours missed in those that only the rival solved."""
    lost = line.against.lost if line.against else {}
    missed = ", ".join(f"{kind} {count}" for kind, count in lost.items())
    return f"{line.strategy} ({_count(line)}{f'; there {OWN} missed: {missed}' if missed else ''})"


def _count(line: PlayLine) -> str:
    return f"{line.solved.part} of {line.solved.whole}"


def _money(line: PlayLine) -> str:
    return dollars(line.usd.mean) if line.usd else "–"


def dollars(amount: float) -> str:
    """Return an amount in cents if it has any, with more digits otherwise."""
    return f"${amount:.2f}" if amount >= 0.1 else usd(amount)


def _join(names: Iterable[str]) -> str:
    *first, last = names
    return f"{', '.join(first)} and {last}" if first else last
