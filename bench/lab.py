"""The published comparison: a half of the shared sessions through the lab, beside other tools.

    python bench/lab.py sample      the frozen sample of the test half, peers at 20 %
    python bench/lab.py quick       three of each family of the tuning half, 20 % alone, no peers
    python bench/lab.py full        the whole test half, peers at 20 %
    python bench/lab.py tuning      the tuning half, as far as asked for

`--strategies`, `--budgets`, `--no-drift` and `--jobs` are those of `foldaway lab run`; strategies
of peers (notes/lab-peers.md) can be named too, and with `--strategies` no others are run. `--set
FILE…` takes sessions of your own in place of the shared ones. Results are in bench/.out/NAME, or
in the folder of `-o`; `sample` is what bench/notes/benchmarks.md shows. `lab_sample.json` holds
the ids; they were drawn once, evenly over the sizes of each family, before any score of this
command was seen.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import sys
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "src"))
sys.path.insert(0, str(Path(__file__).resolve().parent))

from foldaway.cli.lab import show_run
from foldaway.lab import RunSettings, describe_run
from halves.sessions import FAMILIES, all_recorded, find_data, project_of, read_family
from halves.split import read_split
from peers.ask import Peers
from peers.strategies import peer_strategies
from peers.table import MODES

HERE = Path(__file__).resolve().parent
SAMPLE_FILE = HERE / "lab_sample.json"
OUT = HERE / ".out"
PEER_FOLDER = HERE / ".peers"
MOST = {"claude-code": 12, "codex": 9, "opencode": 9, "swe-agent": 9, "tau-bench": 16,
        "tau2": 12, "sql": 3, "bfcl": 8}  # fmt: skip
QUICK = 3
LEAST_TOKENS = 1
"""Whether a session is long enough is asked here, family by family."""


def main() -> int:
    options = _options()
    if options.set:
        return _run([Path(name) for name in options.set], None, options)
    data = find_data()
    if data is None:
        print("skipped: no data; set FOLDAWAY_DATA or put it at ../shared/data")
        return 0
    if options.what == "draw":
        return _draw(data)
    half = "tuning" if options.what in ("tuning", "quick") else "test"
    ids = _half(data, half)
    if options.what == "sample":
        drawn = frozenset(json.loads(SAMPLE_FILE.read_text(encoding="utf-8"))["sessions"])
        ids = {name: [one for one in rows if one in drawn] for name, rows in ids.items()}
    if options.what == "quick":
        ids = {name: _spread(rows, QUICK) for name, rows in ids.items()}
    OUT.mkdir(exist_ok=True)
    source = OUT / "all.jsonl.gz"
    if not source.exists():
        _write(source, data)
    return _run([source], frozenset(one for rows in ids.values() for one in rows), options)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="The published comparison.")
    add = parser.add_argument
    add("what", choices=["sample", "quick", "full", "tuning", "draw"])
    add("--set", nargs="+", metavar="FILE", help="sessions of your own, as `foldaway lab run`")
    add("--strategies", default="", metavar="S,S…")
    add("--budgets", default="", metavar="P,P…", help="per cents; 20 alone for `quick`")
    add("--no-drift", action="store_true")
    add("--jobs", type=int, default=os.cpu_count() or 1)
    add("-o", "--output", type=Path)
    return parser.parse_args()


def _run(paths: list[Path], only: frozenset[str] | None, options: argparse.Namespace) -> int:
    """Put the sessions through the lab, beside the peers unless others are named."""
    names = tuple(name for name in options.strategies.split(",") if name)
    with_peers = any(name in MODES for name in names)
    if not names and options.what in ("sample", "full"):
        with_peers = True
    budgets = options.budgets or ("20" if options.what == "quick" else "5,10,20,30,50")
    settings = RunSettings(
        budgets=tuple(sorted(float(part) / 100 for part in budgets.split(","))),
        strategies=names,
        only=only,
        min_tokens=LEAST_TOKENS,
        has_drift=not options.no_drift,
        peers=partial(peer_strategies, PEER_FOLDER) if with_peers else None,
        peer_budgets=(0.2,) if with_peers else (),
    )
    _install(settings)
    sample = settings.read_sample(paths)
    folder = options.output or OUT / options.what
    tell = partial(print, "cuts done:", file=sys.stderr)
    written = sample.measure(folder, jobs=options.jobs, tell=tell)
    show_run(describe_run(written.lines))
    for note in (*sample.problems, *written.notes):
        print(note, file=sys.stderr)
    return 0


def _install(settings: RunSettings) -> None:
    """Make the environments of the peers once, before several processes want them."""
    peers = Peers(PEER_FOLDER)
    for name in settings.choose():
        if name in MODES:
            failure = peers.install(name, partial(print, file=sys.stderr))
            if failure is not None:
                print(f"{name}: {failure.error}; the table will say so", file=sys.stderr)


def _half(data: Path, half: str) -> dict[str, list[str]]:
    """Return the ids of a half by family, the smallest sessions first."""
    halves = read_split()
    found: dict[str, list[str]] = {}
    for family in FAMILIES:
        rows = [row for row in read_family(data, family) if halves.get(row.id) == half]
        found[family.name] = [row.id for row in sorted(rows, key=lambda row: (row.tokens, row.id))]
    return found


def _write(path: Path, data: Path) -> None:
    """Write all sessions that there are as one set, with their families and projects."""
    draft = path.with_suffix(".part")
    with gzip.open(draft, "wt", encoding="utf-8", compresslevel=1) as out:
        for recorded in all_recorded(data):
            record = {
                "id": recorded.id, "family": recorded.family, "project": project_of(recorded),
                "messages": recorded.messages, "meta": recorded.meta,
            }  # fmt: skip
            out.write(json.dumps(record, ensure_ascii=False) + "\n")
    draft.replace(path)


def _spread(ids: list[str], most: int) -> list[str]:
    """Return at most so many, evenly over their order."""
    most = min(most, len(ids))
    return [ids[int((at + 0.5) * len(ids) / most)] for at in range(most)]


def _draw(data: Path) -> int:
    """Draw the sample: of each family so many, evenly over their sizes."""
    kept: list[str] = []
    for name, ids in _half(data, "test").items():
        kept += _spread(ids, MOST[name])
    SAMPLE_FILE.write_text(json.dumps({"sessions": kept}, indent=1) + "\n", encoding="utf-8")
    print(f"{len(kept)} sessions")
    return 0


if __name__ == "__main__":
    sys.exit(main())
