"""Every long run of the project, each as one command, and the table of what came of them.

    python bench/everything.py                     all of everything.toml, in its order: hours
    python bench/everything.py --short             those that take over an hour in a shorter form
    python bench/everything.py soak test-browser   some of them
    python bench/everything.py --table [FOLDER…]   the table of what has been run, in Markdown

What a run printed and how it ended is in bench/.out/everything; a run that is there for this commit
is not repeated (`--again` does). Runs of several checkouts can go side by side, and `--table` takes
all their folders. Exits with 1 if a run failed.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import time
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
OUT = ROOT / "bench" / ".out" / "everything"
_CLOSING = re.compile(
    r"^(?:=+ )?(?P<said>(?:\d+ \w+, )*\d+ (?:passed|failed|errors?|skipped)\b[^=]*?)(?: =+)?$", re.M
)
"""How pytest ends; a target may run it more than once."""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("names", nargs="*", help="targets of make, or folders for --table")
    parser.add_argument("--short", action="store_true")
    parser.add_argument("--again", action="store_true")
    parser.add_argument("--table", action="store_true")
    given = parser.parse_args()
    if given.table:
        print(table([Path(name) for name in given.names] or [OUT]))
        return 0
    runs = tomllib.loads((ROOT / "bench" / "everything.toml").read_text())["run"]
    unknown = set(given.names) - {target(run["command"]) for run in runs}
    if unknown:
        parser.error(f"everything.toml has no {', '.join(sorted(unknown))}")
    chosen = [run for run in runs if not given.names or target(run["command"]) in given.names]
    form = "short" if given.short else "command"
    commands = [run.get(form, run["command"]) for run in chosen]
    codes = [result_of(command, again=given.again)["code"] for command in commands]
    return 1 if any(codes) else 0


def target(command: str) -> str:
    """Return what `make` makes."""
    return command.split()[1]


def result_of(command: str, *, again: bool) -> dict[str, Any]:
    """Run a command, unless its result for this commit is there, and keep the result."""
    OUT.mkdir(parents=True, exist_ok=True)
    file = OUT / f"{target(command)}.json"
    commit = _git("rev-parse", "--short=8", "HEAD") + ("+" if _git("status", "--short") else "")
    if file.is_file() and not again:
        known = json.loads(file.read_text())
        if (known["command"], known["commit"]) == (command, commit):
            return known
    print(f"{command} …", flush=True)
    began, wall = time.strftime("%Y-%m-%d %H:%M"), time.monotonic()
    log = file.with_suffix(".log")
    with log.open("wb") as out:
        done = subprocess.run(
            ["sh", "-c", command], cwd=ROOT, stdin=subprocess.DEVNULL, stdout=out,
            stderr=subprocess.STDOUT, check=False,
        )  # fmt: skip
    result = {
        "command": command, "commit": commit, "began": began, "code": done.returncode,
        "minutes": round((time.monotonic() - wall) / 60, 1), "load": round(os.getloadavg()[2], 1),
        "said": closing(log.read_text(errors="replace")),
    }  # fmt: skip
    file.write_text(json.dumps(result, indent=1) + "\n")
    print(f"  {done.returncode}, {result['minutes']} minutes: {result['said']}", flush=True)
    return result


def closing(text: str) -> str:
    """Return what a run said at its end: pytest's closing lines, or its last line."""
    said = [match["said"] for match in _CLOSING.finditer(text)]
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return "; ".join(said) or (lines[-1][:200] if lines else "nothing")


def table(folders: Sequence[Path]) -> str:
    """Return what was run as a table in Markdown, in the order of its start."""
    files = [file for folder in folders for file in folder.glob("*.json")]
    results = sorted((json.loads(file.read_text()) for file in files), key=lambda one: one["began"])
    rows = [
        f"| `{one['command']}` | {one['commit']} | {one['began']} | {one['minutes']:.0f} |"
        f" {one['load']:.0f} | {one['code']} | {one['said'].replace('|', '/')} |"
        for one in results
    ]
    head = "| command | commit | began | minutes | load | exit code | what it said at its end |"
    return "\n".join([head, "| --- | --- | --- | --: | --: | --: | --- |", *rows])


def _git(*arguments: str) -> str:
    done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=True)
    return done.stdout.strip()


if __name__ == "__main__":
    sys.exit(main())
