"""What a word list, a weight or a function moves: the tuning sessions with and without it.

    python bench/ablate.py facts/ledger/rank.py "_ID = 0.0"
    python bench/ablate.py facts/ledger/outcome.py "def is_look(command): return False" --limit 8

The code is written below the module in a copy of the tree, so that it replaces what has its name.
Each session is cut at 60 % and compacted to a fifth, once and in four steps. It tells how many
views are other ones, the means over families that moved, and the statements whose counts moved.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections import defaultdict
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any

from foldaway.lab.results import mean
from foldaway.lab.scoring.needed import Elsewhere, common_knowledge, prepare
from foldaway.lab.scoring.score import cases_of, score
from foldaway.lab.scoring.session import LabSession
from foldaway.lab.scoring.statements import judge
from foldaway.lab.scoring.tally import tally
from foldaway.lab.scoring_rows import compact_repeatedly, split_stretches, truth_of
from foldaway.lab.strategies import PLAIN, choose_strategies
from halves.parallel import in_parallel
from halves.sessions import all_recorded, chosen_sessions, find_data, for_lab
from halves.split import read_split

SOURCE = Path(__file__).resolve().parent.parent / "src"
RATES = ("bound", "far", "answers")
SIZE, CUT, STEPS = 0.2, 0.6, 4
SHOWN = 0.0005


def main() -> int:
    options = _options()
    if options.into:
        Path(options.into).write_text(json.dumps(_measured(options)), encoding="utf-8")
        return 0
    with tempfile.TemporaryDirectory() as folder:
        tree = Path(folder) / "src"
        shutil.copytree(SOURCE, tree)
        sides: list[list[dict[str, Any]]] = []
        for code in ("", options.code):
            with (tree / "foldaway" / options.module).open("a", encoding="utf-8") as module:
                module.write(f"\n\n{code}\n")
            into = str(Path(folder) / "rows.json")
            own = [sys.executable, "-B", __file__, *sys.argv[1:], "--into", into]
            subprocess.run(own, check=True, env={**os.environ, "PYTHONPATH": str(tree)})
            sides.append(json.loads(Path(into).read_text(encoding="utf-8")))
    print_moved(*sides)
    return 0


def _measured(options: argparse.Namespace) -> list[dict[str, Any]]:
    data = find_data()
    assert data is not None, "no data; set FOLDAWAY_DATA or put it at ../shared/data"
    elsewhere = common_knowledge(map(for_lab, all_recorded(data)))
    found = chosen_sessions(data, read_split(), "tuning", options.families, options.limit)
    work = partial(_rows, elsewhere=elsewhere)
    many = in_parallel(work, list(map(for_lab, found)), options.jobs, "sessions")
    return [row for rows in many for row in rows]


def _rows(session: LabSession, elsewhere: Elsewhere) -> list[dict[str, Any]]:
    shrink = choose_strategies(("foldaway",), PLAIN)["foldaway"].shrink
    rows: list[dict[str, Any]] = []
    for case in cases_of(prepare(session), elsewhere, (CUT,)):
        parts = split_stretches(case.messages, STEPS)
        views = {"once": shrink(case.messages, int(case.tokens * SIZE))}
        if len(parts) == STEPS:
            views["in four"] = compact_repeatedly(shrink, parts, SIZE)
        for kind, view in views.items():
            told = tally(judge(view.messages, case.messages, truth_of(case)))
            rows.append({
                "family": session.family, "kind": kind, "rates": score(case, view).rates,
                "hash": sha256(view.text.encode(errors="replace")).hexdigest(),
                "told": {name: (one.right, one.claimed, one.told, one.true)
                         for name, one in told.items()},
            })  # fmt: skip
    return rows


def print_moved(before: list[dict[str, Any]], after: list[dict[str, Any]]) -> None:
    other = sum(one["hash"] != two["hash"] for one, two in zip(before, after, strict=True))
    print(f"{other} of {len(after)} views are other ones")
    was, now = _means(before), _means(after)
    for key, value in now.items():
        if abs(value - was[key]) >= SHOWN:
            print(f"{' '.join(key)}: {was[key]:.3f} -> {value:.3f}")
    counted, recounted = _told(before), _told(after)
    for name, counts in recounted.items():
        if counts != counted[name]:
            print(f"{name} (right, claimed, told, true): {counted[name]} -> {counts}")


def _means(rows: list[dict[str, Any]]) -> dict[tuple[str, str], float]:
    found: dict[tuple[str, str], float] = {}
    for kind in ("once", "in four"):
        for rate in RATES:
            families: defaultdict[str, list[float | None]] = defaultdict(list)
            for row in rows:
                if row["kind"] == kind:
                    families[row["family"]].append(row["rates"][rate])
            if (value := mean(list(map(mean, families.values())))) is not None:
                found[kind, rate] = value
    return found


def _told(rows: list[dict[str, Any]]) -> dict[str, list[int]]:
    sums: defaultdict[str, list[int]] = defaultdict(lambda: [0, 0, 0, 0])
    for row in rows:
        for name, counts in row["told"].items():
            sums[name] = [sum(pair) for pair in zip(sums[name], counts, strict=True)]
    return dict(sums)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="What a list, a weight or a function moves.")
    add = parser.add_argument
    add("module", help="below src/foldaway, such as facts/ledger/rank.py")
    add("code", help="what replaces a name in it")
    add("--families", nargs="+", default=[], metavar="NAME")
    add("--limit", type=int, default=5, metavar="N", help="at most N sessions of each family (5)")
    add("--jobs", type=int, default=2, metavar="N", help="processes (2)")
    add("--into", default="", help=argparse.SUPPRESS)
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
