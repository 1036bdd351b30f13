"""The published comparison: a half of the shared sessions through `foldaway lab run`.

    python bench/lab.py sample      the frozen sample of the test half, peers at 20 %
    python bench/lab.py quick       three of each family of the tuning half, 20 % alone, no peers
    python bench/lab.py full        the whole test half, peers at 20 %
    python bench/lab.py tuning      the tuning half, as far as asked for

Further options go to `foldaway lab run`; with `--strategies` no peers are run. Results are in
bench/.out/NAME; `sample` is what docs/benchmarks.md shows. `lab_sample.json` holds the ids; they
were drawn once, evenly over the sizes of each family, before any score of this command was seen.
"""

from __future__ import annotations

import argparse
import gzip
import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "src"))
sys.path.insert(0, str(Path(__file__).resolve().parent))

from foldaway.cli import run
from halves.sessions import FAMILIES, all_recorded, find_data, project_of, read_family
from halves.split import read_split

HERE = Path(__file__).resolve().parent
SAMPLE_FILE = HERE / "lab_sample.json"
OUT = HERE / ".out"
MOST = {"claude-code": 12, "codex": 9, "opencode": 9, "swe-agent": 9, "tau-bench": 16,
        "tau2": 12, "sql": 3, "bfcl": 8}  # fmt: skip
QUICK = 3
LEAST_TOKENS = "1"
"""Whether a session is long enough is asked here, family by family."""


def main() -> int:
    parser = argparse.ArgumentParser(description="The published comparison.")
    parser.add_argument("what", choices=["sample", "quick", "full", "tuning", "draw"])
    options, rest = parser.parse_known_args()
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
    source, only = OUT / "all.jsonl.gz", OUT / f"{options.what}.json"
    if not source.exists():
        _write(source, data)
    only.write_text(json.dumps(sorted(one for rows in ids.values() for one in rows)))
    asked = ["--budgets", "20"] if options.what == "quick" else ["--peers"]
    if options.what == "tuning" or "--strategies" in rest:
        asked = []
    return run(
        ["lab", "run", str(source), "--only", str(only), "-o", str(OUT / options.what),
         "--min-tokens", LEAST_TOKENS, "--peer-folder", str(HERE / ".peers"), *asked, *rest]
    )  # fmt: skip


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
