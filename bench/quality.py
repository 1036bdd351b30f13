"""What survives a compaction, on the half of the shared sessions that is there to be tuned on.

    python bench/quality.py                       at 20 % of the tokens, beside the plain cuts
    python bench/quality.py --budgets 10 20 35    what is used later, and questions about the past
    python bench/quality.py --worst 5             with what was lost in the worst sessions
    python bench/quality.py --drift               after 1, 2, 4 and 8 compactions too
    python bench/quality.py --prose               with a stub for a model that names nothing
    python bench/quality.py --half wider          on sessions that are in neither half
    python bench/quality.py --cuts 50 70 90       where the tuning half is not cut otherwise

Both sides are in one table: `bound` and its neighbors for what the agent used later, `answers` for
questions about the past. `oracle` chooses lines by what follows the cut: a ceiling, no strategy.
The scores are those of `foldaway lab`; `quality_split.json` holds the halves. The other half is
published by `bench/lab.py` and is not for tuning; `halves/wider.py` says what the wider set is.
"""

from __future__ import annotations

import argparse
import sys
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "src"))
sys.path.insert(0, str(Path(__file__).resolve().parent))

from msgspec.structs import replace

from foldaway.cli.lab import show_run
from foldaway.lab import describe_run
from foldaway.lab.results import ScoreRow, summarize
from foldaway.lab.runs import DRIFTING
from foldaway.lab.scoring.needed import Elsewhere, common_knowledge
from foldaway.lab.scoring.score import CUTS
from foldaway.lab.scoring.session import LabSession
from foldaway.lab.scoring_rows import TrialTerms, session_rows
from foldaway.lab.strategies import PLAIN, Strategy, choose_strategies, use_foldaway
from halves.oracle import oracle_of
from halves.parallel import in_parallel
from halves.prose import EmptyProse
from halves.sessions import FAMILIES, all_recorded, chosen_sessions, find_data, for_lab
from halves.split import read_split
from halves.wider import wider_sessions
from halves.worst import print_untrue, print_worst

STRATEGIES = (*DRIFTING, "bare-list")


def main() -> int:
    options = _options()
    data = find_data()
    if data is None:
        print("skipped: no data; set FOLDAWAY_DATA or put it at ../shared/data")
        return 0
    sessions = sorted(_sessions(data, options), key=lambda session: -session.tokens)
    strategies = choose_strategies(STRATEGIES, PLAIN)
    if options.prose:
        prose = Strategy("foldaway+prose", "ours", "with empty prose", use_foldaway(EmptyProse()))
        strategies = {prose.name: prose, **strategies}
    budgets = tuple(percent / 100 for percent in options.budgets)
    terms = TrialTerms(
        strategies=strategies, budgets=budgets, peer_budgets=(), main=budgets[0],
        drifting=frozenset(DRIFTING) if options.drift else frozenset(),
        with_missed=bool(options.worst or options.drift),
        cuts=tuple(percent / 100 for percent in options.cuts),
    )  # fmt: skip
    elsewhere = common_knowledge(map(for_lab, all_recorded(data)))
    work = partial(_rows, elsewhere=elsewhere, terms=terms)
    rows: list[ScoreRow] = [
        row for found in in_parallel(work, sessions, options.jobs, "sessions") for row in found
    ]
    show_run(describe_run(summarize(rows), everything=True), wide=True)
    if options.worst:
        print_worst(rows, options.worst)
    if options.drift:
        print_untrue(rows)
    return 0


def _rows(session: LabSession, elsewhere: Elsewhere, terms: TrialTerms) -> list[ScoreRow]:
    """Return the rows of one session, with an oracle that knows what follows in it."""
    oracle = oracle_of(session, elsewhere)
    tried = {**terms.strategies, oracle.name: oracle}
    return session_rows(session, elsewhere, replace(terms, strategies=tried))


def _sessions(data: Path, options: argparse.Namespace) -> list[LabSession]:
    if options.half == "wider":
        return list(wider_sessions(data, read_split()))
    found = chosen_sessions(data, read_split(), "tuning", options.families, options.limit)
    return list(map(for_lab, found))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="What survives a compaction; the tuning half.")
    add = parser.add_argument
    add("--families", nargs="+", choices=[family.name for family in FAMILIES], default=[])
    add("--half", choices=["tuning", "wider"], default="tuning")
    add("--cuts", nargs="+", type=float, default=[100 * share for share in CUTS], metavar="PERCENT")
    add("--budgets", nargs="+", type=float, default=[20], metavar="PERCENT")
    add("--limit", type=int, default=0, metavar="N", help="at most N sessions of each family")
    add("--jobs", type=int, default=2, metavar="N", help="processes (2)")
    add("--worst", type=int, default=0, metavar="N", help="what was lost in the N worst sessions")
    add("--drift", action="store_true", help="after 1, 2, 4 and 8 compactions, first budget")
    add("--prose", action="store_true",
        help="with a stub for a model whose prose fills its room and names nothing")  # fmt: skip
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
