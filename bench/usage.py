"""Speed and growth of `foldaway` and `foldaway usage` on a synthetic home of Claude Code sessions.

    python bench/usage.py                 40 and 400 files of about 620 KB
    python bench/usage.py --files 100     100 and 1,000
    python bench/usage.py --json FILE     the figures as JSON too

Each command runs in a process of its own: first on an empty cache, again with everything in it,
and again after one file grew. A row shows CPU seconds with the start of the process, and the last
row how many times as much ten times as many files take. The time that a start without work takes
(`--version`) is in the first column: it does not grow.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
ANSWERS = 120
RESULT = "src/module_{0}.py:{0}: def handler_{0}(request): return lookup(request, {0})\n"
RUNS = ("start", "usage, first", "usage, again", "usage, one grew", "foldaway, first", "again")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--files", type=int, default=40)
    parser.add_argument("--json", type=Path, metavar="FILE")
    options = parser.parse_args()
    rows: dict[int, list[float]] = {}
    with tempfile.TemporaryDirectory() as scratch:
        for files in (options.files, 10 * options.files):
            home = Path(scratch) / str(files)
            size = write_home(home, files)
            rows[files] = measure(home)
            print(f"{files:,} files, {size / 1e6:,.0f} MB", file=sys.stderr)
    print(f"| files | {' | '.join(RUNS)} |\n|{' --: |' * (len(RUNS) + 1)}")
    for files, found in rows.items():
        print(f"| {files:,} | {' | '.join(f'{seconds:.2f}' for seconds in found)} |")
    few, many = rows.values()
    grown = " | ".join(f"{more / less:.1f}" for less, more in zip(few, many, strict=True))
    print(f"| ratio | {grown} |")
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
    return 0


def measure(home: Path) -> list[float]:
    """Return the CPU seconds of each run."""
    found = [_run(home, "--version"), _run(home, "usage"), _run(home, "usage")]
    first = next(home.rglob("*.jsonl"))
    with first.open("a", encoding="utf-8") as file:
        file.write(first.read_text().splitlines()[-1].replace("msg_", "msg_more_") + "\n")
    return [*found, _run(home, "usage"), _run(home), _run(home)]


def write_home(home: Path, files: int) -> int:
    """Write sessions with usage, and return their bytes."""
    size = 0
    for number in range(files):
        path = home / ".claude/projects" / f"p{number % 20}" / f"s{number}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        text = "".join(json.dumps(line) + "\n" for line in session(number))
        size += path.write_text(text, encoding="utf-8")
    return size


def session(number: int) -> list[dict[str, Any]]:
    """Return a session that reads a file before every answer."""
    own = {"sessionId": f"s-{number}", "cwd": f"/work/p{number % 20}"}
    ask = {"role": "user", "content": "Find out why the tests are red."}
    lines: list[dict[str, Any]] = [{**own, "type": "user", "uuid": "u0", "message": ask}]
    prompt = 20_000
    for at in range(ANSWERS):
        time = f"2026-0{number % 9 + 1}-15T1{at // 60}:{at % 60:02}:00Z"
        usage = {"input_tokens": 3, "output_tokens": 200, "cache_creation_input_tokens": 900,
                 "cache_read_input_tokens": prompt}  # fmt: skip
        call = {"type": "tool_use", "id": f"t{at}", "name": "Read",
                "input": {"file_path": f"src/module_{at % 40}.py"}}  # fmt: skip
        result = "".join(RESULT.format(at + line) for line in range(60))
        lines += [
            {**own, "type": "assistant", "uuid": f"a{at}", "timestamp": time, "message": {
                "id": f"msg_{number}_{at}", "model": "claude-sonnet-4-5", "role": "assistant",
                "usage": usage, "content": [call]}},
            {**own, "type": "user", "uuid": f"r{at}", "timestamp": time, "message": {
                "role": "user", "content": [
                    {"type": "tool_result", "tool_use_id": f"t{at}", "content": result}]}},
        ]  # fmt: skip
        prompt += 1_100
    return lines


def _run(home: Path, *arguments: str) -> float:
    """Return the CPU seconds of one command in a process of its own."""
    places = {"HOME": str(home), "FOLDAWAY_HOME": str(home / "h"), "PYTHONPATH": str(ROOT / "src")}
    kept = {key: value for key, value in os.environ.items() if not key.startswith("FOLDAWAY_")}
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(
        [sys.executable, "-m", "foldaway", *arguments], env=kept | places, cwd=home, check=True,
        stdout=subprocess.DEVNULL,
    )  # fmt: skip
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


if __name__ == "__main__":
    raise SystemExit(main())
