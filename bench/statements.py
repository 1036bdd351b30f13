"""What the record claims: how much of it is true, and how much of what is true it tells.

    python bench/statements.py                        the tuning half at 20 %, cut at 60 %
    python bench/statements.py --family coding --limit 10
    python bench/statements.py --show wrong           with every verdict against the record
    python bench/statements.py --show all --kind blockers
    python bench/statements.py --half test            for a final run only

Precision is the share of claims that are right, recall the share of what is so that the view tells;
both pooled, with 95 % intervals by session. Below: whether sizes are kept. The writer is the
`foldaway` of PYTHONPATH, or of this tree if that is not set; the judge is always this tree's.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import Any

from foldaway.lab.results import PooledShare, ScoreRow, pool_shares, statement_lines
from foldaway.lab.scoring.session import (
    JudgedView,
    LabSession,
    Message,
    cut_at,
    render,
    render_all,
    without_system,
)
from foldaway.lab.scoring.statements import judge
from foldaway.lab.scoring.tally import STATEMENTS, StatementVerdict, tally
from foldaway.lab.scoring.truth import truth_at
from foldaway.lab.strategies import PLAIN, Strategy, choose_strategies
from foldaway.transcript.estimate import estimate_text
from halves.own_lab import measured_tree  # first: it decides which tree is measured
from halves.parallel import in_parallel
from halves.sessions import chosen_sessions, find_data, for_lab
from halves.split import read_split

CODING = ("claude-code", "codex", "opencode", "swe-agent")
GROUPS = {"coding": CODING, "dialogue": ("tau-bench", "tau2", "sql", "bfcl")}
SIZES = (0.1, 0.2, 0.3, 0.4)
LARGE_TOKENS = 8_000
"""From this many tokens before the cut on a record has room; the aims are set for these."""
WITHIN = 1.05
ROOM_TOKENS = 200
"""Beside the newest request, for a record of a few lines and the frame around it."""


def main() -> int:
    options = _options()
    data = find_data()
    if data is None:
        print("skipped: no data; set FOLDAWAY_DATA or put it at ../shared/data")
        return 0
    print(f"writer: {measured_tree()}")
    half = "test" if options.half == "test" else "tuning"
    families = [name for group in options.family for name in GROUPS.get(group, (group,))]
    found = chosen_sessions(data, read_split(), half, families, options.limit)
    sessions = sorted(map(for_lab, found), key=lambda session: -session.tokens)
    strategy = choose_strategies((options.strategy,), PLAIN)[options.strategy]
    work = partial(measure, strategy=strategy, cuts=[cut / 100 for cut in options.cuts])
    rows = [row for many in in_parallel(work, sessions, options.jobs, "sessions") for row in many]
    for name, group in GROUPS.items():
        mine = [row for row in rows if row["family"] in group]
        for title, least in (
            (name, 0),
            (f"{name}, {LARGE_TOKENS:,} tokens and more", LARGE_TOKENS),
        ):
            large = [row for row in mine if row["before"] >= least]
            if large and (not least or len(large) < len(mine)):
                print_table(title, large)
    if options.show:
        print_verdicts(rows, options.show, options.kind)
    if options.json:
        Path(options.json).write_text(json.dumps(rows, default=str), encoding="utf-8")
    return 0


def measure(session: LabSession, strategy: Strategy, cuts: list[float]) -> list[dict[str, Any]]:
    """Return for each cut of a session the verdicts at 20 %, and the tokens at each size."""
    messages = without_system(session.messages)
    sizes = [len(render(message)) for message in messages]
    found: list[dict[str, Any]] = []
    for cut in sorted({cut_at(messages, sizes, share) or 0 for share in cuts} - {0}):
        seen = _before(session.messages, messages[cut - 1])
        tokens = estimate_text(render_all(messages[:cut]))
        views: dict[float, JudgedView] = {
            size: strategy.shrink(seen, int(tokens * size)) for size in SIZES
        }
        truth = truth_at(messages[:cut], messages[cut:])
        asked = estimate_text(truth.request.text) if truth.request else 0
        found.append({
            "session": session.id, "family": session.family, "cut": cut, "before": tokens,
            "asked": asked, "tokens": {size: view.tokens for size, view in views.items()},
            "verdicts": judge(views[0.2].messages, seen, truth),
        })  # fmt: skip
    return found


def _before(messages: list[Message], last: Message) -> list[Message]:
    end = next(at for at, message in enumerate(messages) if message is last)
    return messages[: end + 1]


def print_table(title: str, rows: list[dict[str, Any]]) -> None:
    sessions = len({row["session"] for row in rows})
    print(f"\n{title}: {sessions} sessions, {len(rows)} cuts")
    print(f"{'':16}{'precision':38}recall")
    scored = [
        ScoreRow(part="cut", session=row["session"], family="", strategy="", cut=row["cut"],
                 budget=0.2, statements=tally(row["verdicts"]))
        for row in rows
    ]  # fmt: skip
    lines = statement_lines(scored)
    for kind in STATEMENTS:
        if kind in lines:
            print(f"{kind:16}{_share(lines[kind].precision):38}{_share(lines[kind].recall)}")
    print_sizes(rows)


def print_sizes(rows: list[dict[str, Any]]) -> None:
    """Print how often a size is kept, and how often asking for less gave more."""
    for size in SIZES:
        kept = [row["tokens"][size] <= WITHIN * row["before"] * size for row in rows]
        room = [row["asked"] + ROOM_TOKENS <= row["before"] * size for row in rows]
        pairs = [pair for pair, has_room in zip(zip(rows, kept, strict=True), room, strict=True)
                 if has_room]  # fmt: skip
        used = sorted(row["tokens"][size] / max(row["before"] * size, 1) for row in rows)
        print(f"{f'size {size:.0%} kept':16}{_by_session(zip(rows, kept, strict=True)):38}"
              f"with room for the request {_by_session(pairs)}; "
              f"used: median {used[len(used) // 2]:.2f}, worst {used[-1]:.2f}")  # fmt: skip
    for word, slack in (("monotone", 1.0), ("within 5 %", WITHIN)):
        kept = [not _falls(row["tokens"], slack) for row in rows]
        print(f"{word:16}{_by_session(zip(rows, kept, strict=True))}")


def _by_session(pairs: Iterable[tuple[dict[str, Any], bool]]) -> str:
    """Return the share of cuts that are so, with its interval by session."""
    sums: dict[str, list[int]] = {}
    for row, is_so in pairs:
        counts = sums.setdefault(row["session"], [0, 0])
        counts[0] += is_so
        counts[1] += 1
    return _share(pool_shares([(one, of) for one, of in sums.values()]))


def _falls(tokens: dict[float, int], slack: float) -> bool:
    """Return whether a smaller size ever gave more than a larger one."""
    ordered = [tokens[size] for size in SIZES]
    return any(less > slack * more for at, less in enumerate(ordered) for more in ordered[at + 1 :])


def print_verdicts(rows: list[dict[str, Any]], which: str, kind: str) -> None:
    for row in rows:
        verdicts: list[StatementVerdict] = row["verdicts"]
        for one in verdicts:
            if kind not in ("", one.kind) or (which == "wrong" and one.is_right is not False):
                continue
            mark = {True: "right", False: "WRONG" if one.is_claim else "LOST", None: "?"}
            print(f"{row['session']} cut {row['cut']}: {one.kind}: {mark[one.is_right]}: "
                  f"{one.text} ({one.why})")  # fmt: skip


def _share(found: PooledShare | None) -> str:
    if found is None:
        return "–"
    return f"{found.share:.3f} [{found.low:.2f}, {found.high:.2f}]  {found.part:g}/{found.whole:g}"


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="What the record claims, judged beside the logs.")
    add = parser.add_argument
    add("--half", choices=["tune", "test"], default="tune")
    add("--family", nargs="+", default=[], metavar="NAME", help="coding, dialogue, or a family")
    add("--limit", type=int, default=0, metavar="N", help="at most N sessions of each family")
    add("--cuts", nargs="+", type=float, default=[60], metavar="PERCENT")
    add("--strategy", default="foldaway", metavar="NAME")
    add("--show", choices=["wrong", "all"], default="", help="print verdicts")
    add("--kind", choices=["", *STATEMENTS], default="", help="of this kind only")
    add("--json", default="", metavar="FILE", help="write all rows")
    add("--jobs", type=int, default=2, metavar="N", help="processes (2)")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
