"""What survives a compaction: Holdfast beside plain ways to cut, on real sessions, no model.

    python bench/quality.py                       the tuning half at 20 % of the tokens
    python bench/quality.py --worst 5             with what was lost in the worst sessions
    python bench/quality.py --drift               after 1, 2, 4 and 8 compactions
    python bench/quality.py --half test --json F  the test half: to publish, not to tune on

A session is cut at 40, 60 and 80 % of its text, before an agent message. A strategy sees what is
before the cut and gets a share of its tokens; what the agent then really used is the truth.
`scoring/` holds one question a file; `quality_split.json` the two halves.
"""

from __future__ import annotations

import argparse
import json
import sys
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "src"))
sys.path.insert(0, str(Path(__file__).resolve().parent))

from scoring.drift import drift_rows, print_drift
from scoring.prose import EmptyProse
from scoring.run import chosen_sessions, in_parallel, learn_common, score_all
from scoring.sessions import FAMILIES, find_data
from scoring.strategies import SUMMARIZERS
from scoring.tables import as_values, print_tables
from scoring.worst import print_worst


def main() -> int:
    options = _options()
    data = find_data()
    if data is None:
        print("skipped: no data; set HOLDFAST_DATA or put it at ../shared/data")
        return 0
    sessions = chosen_sessions(data, options.half, options.families, options.limit)
    elsewhere = learn_common(data, options.jobs)
    budgets = [percent / 100 for percent in options.budgets]
    if options.prose:
        SUMMARIZERS.append(EmptyProse())
    if options.drift:
        order = sorted(sessions, key=lambda session: -session.tokens)
        work = partial(drift_rows, budget=budgets[0], elsewhere=elsewhere)
        print_drift(
            [row for rows in in_parallel(work, order, options.jobs, "drift") for row in rows]
        )
        return 0
    rows = score_all(sessions, budgets, elsewhere, options.jobs)
    print_tables(rows, budgets)
    if options.worst:
        print_worst(rows, options.worst)
    if options.json:
        found = {"half": options.half} | as_values(rows, with_missed=options.half == "tuning")
        Path(options.json).write_text(json.dumps(found), encoding="utf-8")
    return 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="What survives a compaction.")
    add = parser.add_argument
    add("--half", choices=("tuning", "test"), default="tuning")
    add("--families", nargs="+", choices=[family.name for family in FAMILIES], default=[])
    add("--budgets", nargs="+", type=float, default=[20], metavar="PERCENT")
    add("--limit", type=int, default=0, metavar="N", help="at most N sessions of each family")
    add("--jobs", type=int, default=2, metavar="N", help="processes (2)")
    add("--worst", type=int, default=0, metavar="N", help="what was lost in the N worst sessions")
    add("--drift", action="store_true", help="after 1, 2, 4 and 8 compactions, first budget")
    add("--prose", action="store_true",
        help="with a stub for a model whose prose fills its room and names nothing")  # fmt: skip
    add("--json", metavar="FILE", help="write all figures to a file")
    options = parser.parse_args()
    if options.worst and options.half == "test":
        parser.error("--worst is for the tuning half: nobody tunes on the test half")
    return options


if __name__ == "__main__":
    sys.exit(main())
