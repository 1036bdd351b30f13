"""What strategies cost on the shared sessions: `python bench/economics.py --half test`.

Every answer of an agent is a call of the model over all that was said before; the cache is that of
the model's provider. The fixed threshold that is best on the tuning half of a family is held
against compacting when it pays, on the other half. `quality_split.json` holds the two halves.
"""

# matplotlib leaves the types of its **kwargs open
# pyright: reportUnknownMemberType=false

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "src"))
sys.path.insert(0, str(Path(__file__).resolve().parent))

import matplotlib
from msgspec.structs import replace

from economics_facts import print_facts
from foldaway.caching.catalog import prices_of
from foldaway.dialects.loading import load
from foldaway.lab.replay import Recording, Replay, ReplayTerms, record, replay
from foldaway.lab.report.panels import BLUE, GREY, INK, SETTINGS, strategy_rows, svg_text
from foldaway.lab.scoring.needed import common_knowledge
from foldaway.lab.simulation import (
    THRESHOLDS,
    ReplayStrategy,
    StrategyCost,
    add_up,
    append_only,
    compacting,
    policy_at,
    quantiles,
    strategies_for,
)
from halves.parallel import in_parallel
from halves.sessions import FAMILIES, Recorded, all_recorded, chosen_sessions, find_data, for_lab
from halves.split import read_split

CODING = ("claude-code", "codex", "opencode")
CODING_WINDOW = 200_000
"""What Claude models have. The other families fit into it ten times over, so that nothing would
ever happen: their window is twice the largest session of the tuning half."""
ALLOWED = 1.05
SPREAD = (0.0, 0.10, 0.25, 0.50, 0.75, 0.90, 1.0)
"""Shares of the sessions: ends of the line, thin box 10 to 90 %, box 25 to 75 %, the middle."""
MOST = 3.0
"""Three times the cost of doing nothing; what lies beyond is drawn at the edge."""


@dataclass(frozen=True)
class Family:
    name: str
    window: int
    tuning: list[Recording]
    test: list[Recording]


def main() -> int:
    options = _options()
    data = find_data()
    if data is None:
        print("skipped: no data; set FOLDAWAY_DATA or put it at ../shared/data")
        return 0
    prices = prices_of(options.model)
    if prices is None:
        print(f"skipped: no prices for {options.model}")
        return 0
    terms = ReplayTerms(
        prices=prices, context_length=options.window or CODING_WINDOW, ttl=options.ttl,
        pause_seconds=options.pause, model_summary=options.summaries == "model",
    )  # fmt: skip
    names = options.families or [family.name for family in FAMILIES]
    if options.facts:
        _facts(data, names, terms, options)
        return 0
    for name in names:
        family = _family(data, name, options.chain, options.window)
        terms = replace(terms, context_length=family.window)
        if options.oracle:
            _look_back(family, terms, options.jobs)
        else:
            _compare(family, terms, options)
    return 0


def _facts(data: Path, names: list[str], terms: ReplayTerms, options: argparse.Namespace) -> None:
    elsewhere = common_knowledge(map(for_lab, all_recorded(data)))
    for name in names:
        found = chosen_sessions(data, read_split(), options.half, [name], options.limit)
        print_facts(name, list(map(for_lab, found)), elsewhere, terms, options.jobs)


def _family(data: Path, name: str, chain: bool, given: int) -> Family:
    halves = {
        half: _recordings(chosen_sessions(data, read_split(), half, [name], 0), chain)
        for half in ("tuning", "test")
    }
    largest = max(recording.tokens for recording in halves["tuning"])
    window = CODING_WINDOW if name in CODING or chain else -(-2 * largest // 1_000) * 1_000
    return Family(name, given or window, halves["tuning"], halves["test"])


def _recordings(sessions: list[Recorded], chain: bool) -> list[Recording]:
    made = [record(load(session.messages, dialect="openai-chat")) for session in sessions]
    if not chain:
        return made
    first, *others = made
    entries = list(first.entries)
    for other in others:
        entries += other.entries[other.system_stop :]
    return [Recording(first.dialect, tuple(entries))]


def _compare(family: Family, terms: ReplayTerms, options: argparse.Namespace) -> None:
    strategies = strategies_for(THRESHOLDS)
    tuned = _outcomes(family.tuning, strategies, terms, options.jobs)
    # of several that cost the same, the one that acts least
    thresholds = [one for one in reversed(tuned) if one.strategy.startswith("threshold")]
    best = min(thresholds, key=lambda one: one.usd)
    if options.half == "tuning":
        _print_table(family, "tuning", family.tuning, tuned, best.strategy)
        return
    found = _outcomes(family.test, strategies, terms, options.jobs)
    _print_table(family, "test", family.test, found, best.strategy)
    _print_criteria(found, best.strategy)
    if options.plots:
        title = f"{family.name}: cost against append only, {len(family.test)} sessions (test half)"
        target = Path(options.plots) / f"economics-{family.name}.svg"
        target.write_text(spread_plot(title, found), encoding="utf-8")
    if options.json:
        with open(options.json, "a", encoding="utf-8") as out:
            out.write(json.dumps(_as_values(family, best.strategy, found)) + "\n")


def spread_plot(title: str, costs: Sequence[StrategyCost]) -> str:
    """Return as SVG how the cost of each strategy against append only spreads over sessions."""
    with matplotlib.rc_context(SETTINGS):
        figure, axes = strategy_rows(title, costs)
        for at, one in enumerate(costs):
            if not one.ratios:
                continue
            found = [min(value, MOST) for value in quantiles(one.ratios, SPREAD)]
            axes.plot([found[0], found[6]], [at, at], color=GREY, linewidth=1)
            axes.barh(at, found[5] - found[1], left=found[1], height=0.28, color=BLUE, alpha=0.35)
            axes.barh(at, found[4] - found[2], left=found[2], height=0.5, color=BLUE, alpha=0.75)
            axes.plot([found[3], found[3]], [at - 0.32, at + 0.32], color=INK, linewidth=2)
            axes.text(MOST, at, f"  ×{quantiles(one.ratios, (0.5,))[0]:.2f}", va="center")
        axes.set_xlim(0, MOST)
        axes.axvline(1, color=INK, linewidth=1)
        axes.set_xlabel("cost against append only")
        return svg_text(figure, title)


def _outcomes(
    recordings: list[Recording], strategies: list[ReplayStrategy], terms: ReplayTerms, jobs: int
) -> list[StrategyCost]:
    work = partial(_replays, terms=terms, thresholds=THRESHOLDS)
    rows = list(in_parallel(work, recordings, jobs, "sessions"))
    columns = [list(column) for column in zip(*rows, strict=True)]
    assert len(columns) == len(strategies)
    return [add_up(column, columns[0]) for column in columns]


def _replays(
    recording: Recording, terms: ReplayTerms, thresholds: tuple[float, ...]
) -> list[Replay]:
    return [
        replay(recording, strategy.name, strategy.start(recording, terms), terms)
        for strategy in strategies_for(thresholds)
    ]


def _look_back(family: Family, terms: ReplayTerms, jobs: int) -> None:
    """Print what the best compactions of each session, chosen in hindsight, save on the tuning
    half."""
    rows = list(in_parallel(partial(_best, terms=terms), family.tuning, jobs, "sessions"))
    base, best = sum(row[0].usd for row in rows), sum(row[1].usd for row in rows)
    gaining = sum(row[1].usd < row[0].usd for row in rows)
    compactions = sum(row[1].compactions for row in rows)
    print(f"{family.name:12} in hindsight ×{best / base:.4f}: {compactions} compactions in "
          f"{gaining} of {len(rows)} sessions")  # fmt: skip


def _best(recording: Recording, terms: ReplayTerms) -> tuple[Replay, Replay]:
    """Return append only, and the best of every call at which a compaction could stand, one call
    after another for as long as one more saves something."""
    base = best = replay(recording, "append only", append_only().start(recording, terms), terms)
    chosen: frozenset[int] = frozenset()
    while True:
        tried = [(_compacted(recording, chosen | {call}, terms), call)
                 for call in range(1, base.calls)]  # fmt: skip
        made, call = min(tried, key=lambda one: one[0].usd, default=(best, 0))
        if made.usd >= best.usd:
            return base, best
        best, chosen = made, chosen | {call}


def _compacted(recording: Recording, calls: frozenset[int], terms: ReplayTerms) -> Replay:
    strategy = compacting("in hindsight", policy_at(min(THRESHOLDS)), calls)
    return replay(recording, strategy.name, strategy.start(recording, terms), terms)


def _print_table(
    family: Family, half: str, recordings: list[Recording], found: list[StrategyCost], best: str
) -> None:
    sizes = [round(size) for size in quantiles([r.tokens for r in recordings], (0.1, 0.5, 0.9))]
    print(f"\n## {family.name}, {half} half: {len(recordings)} sessions, {found[0].calls:,} calls, "
          f"tokens a session {sizes} (10, 50, 90 %), window {family.window:,}")  # fmt: skip
    print(f"{'strategy':22} {'cost':>9} {'ratio':>6} {'input':>6} {'hits':>6} {'folds':>6} "
          f"{'over':>5}   by session: 10, 50, 90 %, most")  # fmt: skip
    base = _input(found[0])
    for one in found:
        spread = " ".join(f"{v:5.2f}" for v in quantiles(one.ratios, (0.1, 0.5, 0.9, 1.0)))
        mark = " ← best threshold of the tuning half" if one.strategy == best else ""
        print(f"{one.strategy:22} {one.usd:9.3f} {one.ratio:6.3f} {_input(one) / base:6.3f} "
              f"{one.hit_rate:6.1%} {one.compactions:6,} {one.overflowing_sessions:5,}   "
              f"{spread}{mark}")  # fmt: skip


def _input(one: StrategyCost) -> float:
    """Return the cost without the agent's own words, which are the same for all."""
    return one.bill.input_usd + one.summaries.usd


def _print_criteria(found: list[StrategyCost], best: str) -> None:
    by_name = {one.strategy: one for one in found}
    chosen, base = by_name[best], found[0]
    for name in ("when it pays", "when it pays + arrival"):
        plan = by_name[name]
        ratio = plan.usd / chosen.usd
        kept = "✓" if ratio <= ALLOWED else "✗"
        print(f"{name} against {best}: ×{ratio:.3f} (aim ≤ {ALLOWED}) {kept}")
        less = "less ✓" if plan.usd < base.usd else "the same" if plan.usd == base.usd else "more ✗"
        print(f"{name} against append only: ×{plan.ratio:.4f}: {less}")
    arrival = by_name["append only + arrival"]
    print(f"append only + arrival against append only: ×{arrival.ratio:.4f}")
    mask = by_name["masking every turn"]
    print(
        f"masking every turn ×{mask.ratio:.2f}, rare and deep ×{by_name['rare and deep'].ratio:.2f}"
    )


def _as_values(family: Family, best: str, found: list[StrategyCost]) -> dict[str, object]:
    return {
        "family": family.name, "window": family.window, "best": best,
        "rows": [{"strategy": one.strategy, "usd": one.usd, "ratio": one.ratio,
                  "compactions": one.compactions, "ratios": one.ratios} for one in found],
    }  # fmt: skip


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="What strategies cost on the shared sessions.")
    add = parser.add_argument
    add("--half", choices=("tuning", "test"), default="tuning")
    add("--families", nargs="+", choices=[family.name for family in FAMILIES], default=[])
    add("--model", default="claude-sonnet-4-5", metavar="M")
    add("--ttl", choices=("5m", "1h"), default="5m")
    add("--pause", type=float, default=60.0, metavar="S", help="silence before a user speaks (60)")
    add("--summaries", choices=("ledger", "model"), default="ledger")
    add("--chain", action="store_true", help="all sessions of a half one after another, as one")
    add("--window", type=int, default=0, metavar="N", help="the window, for every family")
    add("--oracle", action="store_true", help="the best compactions in hindsight, tuning half")
    add("--facts", action="store_true",
        help="the bill up to a cut at 60 %% beside what the view there holds")  # fmt: skip
    add("--limit", type=int, default=0, metavar="N", help="with --facts, N sessions a family")
    add("--jobs", type=int, default=2, metavar="N", help="processes (2)")
    add("--plots", metavar="FOLDER", help="draw how the costs spread, a file a family")
    add("--json", metavar="FILE", help="add all figures to a file, a line a family")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
