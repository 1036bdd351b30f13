"""What the redactor hides in labelled texts of your own.

    python bench/redact_labelled.py FILE.jsonl... [--peer] [--missed]

A line is an object: `text`, and either `secrets` (start, end and perhaps a kind, in code points) or
`values` (each hidden wherever it stands); `group` is what the interval is taken over, a vendor or a
source. A secret counts as hidden only if every character of it is, for peers as `bench/redact.py`
says. Nothing of the texts is printed but with --missed.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

BENCH = Path(__file__).resolve().parent
sys.path.insert(0, str(BENCH))

from redact_outside import Found, Text, interval, scored, show_missed  # noqa: E402


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("files", type=Path, nargs="+")
    parser.add_argument("--peer", action="store_true", help="also ask the peers of redact.py")
    parser.add_argument("--missed", action="store_true", help="print what is missed")
    options = parser.parse_args()
    texts = [text for path in options.files for text in _texts(path)]
    found = scored(texts, peers=options.peer)
    secrets = sum(len(text.secrets) for text in texts)
    groups = len({text.package for text in texts})
    print(f"{len(texts):,} texts of {groups} groups, {secrets:,} secrets; % hidden\n")
    for name, rows in found.items():
        print(f"{name:16} {interval(rows, _hidden, 100)}")
    if options.missed:
        show_missed(texts)
    return 0


def _texts(path: Path) -> Iterator[Text]:
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        row = json.loads(line)
        spans = row.get("secrets") or [place for v in row["values"] for place in _places(row, v)]
        secrets = [(one[0], one[1], one[2] if len(one) > 2 else "secret") for one in spans]
        group = str(row.get("group", number))
        yield Text(
            str(row.get("id", f"{path.name}:{number}")), group, "pos", row["text"], secrets, []
        )


def _places(row: dict[str, Any], value: str) -> Iterator[tuple[int, int]]:
    at = row["text"].find(value)
    while at >= 0:
        yield at, at + len(value)
        at = row["text"].find(value, at + len(value))


def _hidden(row: Found) -> tuple[int, int]:
    flags = [hidden for _, hidden in row.secrets]
    return sum(flags), len(flags)


if __name__ == "__main__":
    raise SystemExit(main())
