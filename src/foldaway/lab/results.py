"""The values of a run: its rows, means over sessions with intervals, its summary."""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Sequence
from functools import lru_cache
from operator import itemgetter
from typing import Any, Literal, TypeAlias

from msgspec import Struct

from foldaway.caching import Prices
from foldaway.lab.figures import COST, FAULTS, FIGURES, OVER, RATES, SPEED, USED
from foldaway.lab.scoring.tally import STATEMENTS, StatementTally

OURS = "foldaway"
WITH_MODEL = "foldaway+model"
LONG_LIVED = "foldaway-long-lived"
OWN = "agents-own-summary"
BASE = "head+tail"
"""The strategy with which the others are compared, session by session."""
BARE_LIST = "bare-list"
ADVERSARIES = frozenset({BARE_LIST})
"""Strategies that keep no usable text: they show that a score can be gamed."""

Part: TypeAlias = Literal["cut", "drift", "own"]
"""`cut`: at a share of the session; `drift`: the last cut after several compactions; `own`: where
the agent of the session compacted itself."""
TableKey: TypeAlias = tuple[Part, str, float, int]
"""What the rows of a table share: part, family, budget (0 for `own`) and number of compactions."""

MAIN_SHARE = 0.2
"""The share of tokens that the tables show and drift is measured at: what a compaction leaves."""
_OVER = 1.05
"""Tokens are estimates: a view may take a twentieth more than it was allowed."""
_DRAWS = 1_000
"""Of the bootstrap: enough for the 2.5 % at either end to stand on 25 draws."""
_SEED = 20
"""Any number; a fixed one, so that two runs give the same intervals."""
_DIGITS = 5
_TOKENS = 100_000
"""CPU times are given for this much history."""
FORMAT = 1
"""Of `run.json` and `rows.jsonl`; a run in another format is not continued."""


class ScoreRow(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One line of `rows.jsonl`. Of `failed` ones there are no figures."""

    part: Part
    session: str
    family: str
    strategy: str
    cut: int
    """Position of the first message that no strategy saw, system prompts not counted."""
    budget: float
    """Share of the tokens before the cut that was allowed; for `own` what the agent's took."""
    steps: int = 1
    tokens_before: int = 0
    allowed: int = 0
    """Tokens allowed: the budget, or for others what Foldaway took if it had to go over."""
    tokens: int = 0
    rates: dict[str, float | None] = {}
    counts: dict[str, int] = {}
    violations: dict[str, int] | None = None
    """By provider; None where the strategy gives text and no messages."""
    cost: float | None = None
    """Price of the rest of the session over that of going on with everything."""
    cpu_ms: float = 0.0
    note: str = ""
    failed: str = ""
    statements: dict[str, StatementTally] = {}
    """By kind, what a record claims and what it should tell; empty if there are no messages."""
    missed: dict[str, list[str]] = {}
    """What was lost, in the session's own words; empty unless asked for."""

    @property
    def used(self) -> float:
        """Tokens taken, as a share of the budget that was asked for."""
        return self.tokens / max(int(self.tokens_before * self.budget), 1)

    @property
    def is_over(self) -> bool:
        """Whether it took more than it was allowed."""
        return self.tokens > _OVER * self.allowed


class MeanInterval(Struct, frozen=True):
    """A mean over sessions, its 95 % interval, and how many sessions it stands on."""

    mean: float
    low: float
    high: float
    sessions: int


class PooledShare(Struct, frozen=True):
    """A share of all that sessions have together, its 95 % interval by session, and its counts."""

    share: float
    low: float
    high: float
    part: float
    whole: float


def pool_shares(pairs: Sequence[tuple[float, float]]) -> PooledShare | None:
    """Return the sum of the first over that of the second, a pair a session; None without any."""
    known = tuple(pair for pair in pairs if pair[1])
    if not known:
        return None
    part, whole = (sum(column) for column in zip(*known, strict=True))
    if len(known) == 1 or part in (0, whole):
        share = round(part / whole, _DIGITS)
        return PooledShare(share, share, share, part, whole)
    drawn = [
        [sum(column) for column in zip(*draw(known), strict=True)] for draw in _draws(len(known))
    ]
    shares = sorted(one / of for one, of in drawn)
    low, high = shares[int(_DRAWS * 0.025)], shares[int(_DRAWS * 0.975) - 1]
    return PooledShare(
        round(part / whole, _DIGITS), round(low, _DIGITS), round(high, _DIGITS), part, whole
    )


class StatementLine(Struct, frozen=True):
    """How many claims of one kind are right, and how much of what is so is told."""

    precision: PooledShare | None
    recall: PooledShare | None


def statement_lines(rows: Iterable[ScoreRow]) -> dict[str, StatementLine]:
    """Return precision and recall of each kind, pooled over the sessions of these rows."""
    sums: dict[str, dict[str, Counter[int]]] = {}
    for row in rows:
        for kind, tally in row.statements.items():
            counts = sums.setdefault(kind, {}).setdefault(row.session, Counter())
            counts.update(dict(enumerate((tally.right, tally.claimed, tally.told, tally.true))))
    found: dict[str, StatementLine] = {}
    for kind in STATEMENTS:
        sessions = sums.get(kind, {}).values()
        line = StatementLine(
            pool_shares([(counts[0], counts[1]) for counts in sessions]),
            pool_shares([(counts[2], counts[3]) for counts in sessions]),
        )
        if line.precision or line.recall:
            found[kind] = line
    return found


def mean_interval(values: Sequence[float]) -> MeanInterval | None:
    """Return the mean of the sessions' scores; None without any."""
    return _estimate(tuple(values)) if values else None


@lru_cache(maxsize=10_000)
def _estimate(values: tuple[float, ...]) -> MeanInterval:
    size = len(values)
    if len(set(values)) == 1:
        same = round(values[0], _DIGITS)
        return MeanInterval(same, same, same, size)
    means = sorted(sum(draw(values)) / size for draw in _draws(size))
    low, high = means[int(_DRAWS * 0.025)], means[int(_DRAWS * 0.975) - 1]
    middle = round(sum(values) / size, _DIGITS)
    return MeanInterval(middle, round(low, _DIGITS), round(high, _DIGITS), size)


@lru_cache(maxsize=256)
def _draws(size: int) -> list[Callable[[tuple[Any, ...]], tuple[Any, ...]]]:
    """Return the draws for `size` sessions, at least two: the same for all figures."""
    draw, places = random.Random(_SEED), range(size)
    return [itemgetter(*draw.choices(places, k=size)) for _ in range(_DRAWS)]


def mean(values: Sequence[float | None]) -> float | None:
    """Return the mean of what is there."""
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None


class ScoreLine(Struct, frozen=True, kw_only=True):
    """One strategy in one family, at one budget or after one number of compactions."""

    part: Part
    family: str
    strategy: str
    budget: float
    """0 where each session has its own: what its agent's summary took."""
    steps: int
    sessions: int
    cuts: int
    figures: dict[str, MeanInterval]
    """By name; a figure that no session has is left out."""
    against: dict[str, MeanInterval]
    """The same minus those of head+tail, session by session."""
    counts: dict[str, int]
    violations: dict[str, int] | None
    failed: str = ""
    """Why there are no figures, or with how many cuts it failed."""
    statements: dict[str, StatementLine] = {}
    """By kind, for strategies that give messages."""


class RunManifest(Struct, frozen=True, kw_only=True):
    """What a run was asked; another run may go on in its folder only if this is the same."""

    format: int = FORMAT
    version: str
    strategies: tuple[str, ...]
    budgets: tuple[float, ...]
    peer_budgets: tuple[float, ...] = ()
    main: float
    drifting: tuple[str, ...]
    asked: dict[str, str]
    """Further settings that change figures: model, summarizer."""
    peers: dict[str, str] = {}
    """Strategies that are other tools, and what each does; only `bench/lab.py` has any."""
    sessions: tuple[str, ...]
    digest: str
    """Of the text of all sessions that were read, also of those that were not run."""


class PlayManifest(Struct, frozen=True, kw_only=True):
    """What a run of plays was asked; the same rule holds for its folder."""

    format: int = FORMAT
    version: str
    tasks: int
    seed: int
    strategies: tuple[str, ...]
    window: int
    prices: Prices
    player: str
    """A model by its name, or `scripted`."""


class RunSummary(Struct, frozen=True, kw_only=True):
    """What `summary.json` holds."""

    manifest: RunManifest
    skipped: list[str]
    """Files and lines that could not be read."""
    lines: list[ScoreLine]


class WrittenRun(Struct, frozen=True):
    """A run's table, and what could not be written."""

    lines: list[ScoreLine]
    notes: list[str]


def summarize(rows: Sequence[ScoreRow]) -> list[ScoreLine]:
    """Return a line for each family, budget, number of compactions and strategy.

    A session counts once: its cuts are averaged first. The order is that of the rows.
    """
    lines: list[ScoreLine] = []
    for key, table in group_by_table(rows):
        base = _group_by_session(table.get(BASE, ()))
        lines += [_line(key, strategy, mine, base) for strategy, mine in table.items()]
    return lines


def group_by_table(rows: Iterable[ScoreRow]) -> list[tuple[TableKey, dict[str, list[ScoreRow]]]]:
    """Return the rows of each table by strategy, the tables in order."""
    found: dict[TableKey, dict[str, list[ScoreRow]]] = {}
    for row in rows:
        budget = 0.0 if row.part == "own" else row.budget
        table = found.setdefault((row.part, row.family, budget, row.steps), {})
        table.setdefault(row.strategy, []).append(row)
    return sorted(found.items(), key=lambda item: item[0])


def count_broken_rules(rows: Iterable[ScoreRow]) -> dict[str, int] | None:
    """Return how often rules of each provider are broken; None if no row could be checked."""
    checked = [row.violations for row in rows if row.violations is not None]
    broken: Counter[str] = Counter()
    for one in checked:
        broken.update(one)
    return dict(broken) if checked else None


def _line(
    key: TableKey, strategy: str, rows: Sequence[ScoreRow], base: dict[str, dict[str, float]]
) -> ScoreLine:
    part, family, budget, steps = key
    made = [row for row in rows if not row.failed]
    by_session = _group_by_session(made)
    failed = [row.failed for row in rows if row.failed]
    differences = [
        {name: value - base[one][name] for name, value in values.items() if name in base[one]}
        for one, values in by_session.items()
        if one in base
    ]
    return ScoreLine(
        part=part,
        family=family,
        strategy=strategy,
        budget=budget,
        steps=steps,
        sessions=len(by_session),
        cuts=len(made),
        figures=_intervals(FIGURES, by_session.values()),
        against=_intervals(RATES, differences),
        counts={name: sum(row.counts.get(name, 0) for row in made) for name in FAULTS},
        violations=count_broken_rules(made),
        statements=statement_lines(made),
        failed="" if not failed else failed[0] if not made else f"{len(failed)} cuts: {failed[0]}",
    )


def _group_by_session(rows: Iterable[ScoreRow]) -> dict[str, dict[str, float]]:
    """Return the figures of each session, its cuts averaged."""
    cuts: dict[str, list[dict[str, float | None]]] = defaultdict(list)
    for row in rows:
        if not row.failed:
            cuts[row.session].append(values_of(row))
    found: dict[str, dict[str, float]] = {}
    for session, values in cuts.items():
        means = {name: mean([value[name] for value in values]) for name in FIGURES}
        found[session] = {name: value for name, value in means.items() if value is not None}
    return found


def values_of(row: ScoreRow) -> dict[str, float | None]:
    """Return the figures of a row; None if there was nothing to keep."""
    return {
        **{name: row.rates.get(name) for name in RATES},
        USED: row.used,
        OVER: float(row.is_over),
        COST: row.cost,
        SPEED: row.cpu_ms / row.tokens_before * _TOKENS if row.tokens_before else None,
    }


def _intervals(
    names: Iterable[str], sessions: Collection[dict[str, float]]
) -> dict[str, MeanInterval]:
    """Return the mean of each figure over the sessions that have it."""
    found = {name: mean_interval([one[name] for one in sessions if name in one]) for name in names}
    return {name: value for name, value in found.items() if value is not None}
