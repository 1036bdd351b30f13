"""Whether two trees redact the same: `python bench/redact_same.py OTHER [FOLDER ...]`.

OTHER is a checkout of another commit. Every text file of this repository and of each FOLDER (of
gzip'ed files what they hold, of lines of JSON their `text`) passes the redactors of both trees
under three policies, in alternating rounds. Prints each text whose spans or kinds differ and the
best CPU seconds of both, and exits 1 if there is one.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from time import process_time

ROOT = Path(__file__).resolve().parents[1]
OURS = ("tests", "docs", "bench", "src", "examples")
PIECE, MOST = 200_000, 4_000_000
"""Bytes of a text, and of a file: what is longer is cut."""
POLICIES: tuple[dict[str, bool], ...] = ({}, {"personal": False}, {"mentions": True, "code": True})


def main() -> int:
    """Compare, and say what differs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("other", type=Path)
    parser.add_argument("folders", nargs="*", type=Path)
    parser.add_argument("--rounds", type=int, default=1)
    given = parser.parse_args()
    folders = [*(ROOT / name for name in OURS), *given.folders]
    files = [str(path) for folder in folders for path in sorted(folder.rglob("*"))]
    before = after = []
    taken: dict[str, float] = {}
    for _ in range(given.rounds):
        for tree in (given.other.resolve(), ROOT):
            before, (after, seconds) = after, _ask(tree, files)
            taken[tree.name] = min(seconds, taken.get(tree.name, seconds))
    differing = [pair for pair in zip(before, after, strict=True) if pair[0] != pair[1]]
    for pair in differing:
        print(*pair, sep="\n  ")
    spans = sum(len(found) for _, _, each in after for found in each)
    size = sum(length for _, length, _ in after)
    print(f"{len(after):,} texts, {size / 1e6:.1f} MB, {len(POLICIES)} policies, {spans:,} spans")
    print(*(f"{name}: {seconds:.2f} s of CPU" for name, seconds in taken.items()), sep=", ")
    print(f"{len(differing)} texts differ")
    return 1 if differing else 0


def _ask(tree: Path, files: list[str]) -> tuple[list[tuple[str, int, list[list[object]]]], float]:
    """Return what the redactors of a tree find, and how long that took."""
    code = f"import runpy; runpy.run_path({__file__!r}, run_name='worker')"
    run = subprocess.run(
        [sys.executable, "-c", code], input=json.dumps(files).encode(), stdout=subprocess.PIPE,
        check=True, env={**os.environ, "PYTHONPATH": str(tree / "src")},
    )  # fmt: skip
    found, seconds = json.loads(run.stdout)
    return found, seconds


def work() -> None:
    """Print what the redactors of the package that is importable find."""
    from foldaway.redaction import RedactionPolicy, Redactor

    redactors = [Redactor(RedactionPolicy(**policy)) for policy in POLICIES]
    found: list[object] = []
    seconds = 0.0
    for name in json.load(sys.stdin):
        for number, text in enumerate(_texts(Path(name))):
            start = process_time()
            spans = [[span[:3] for span in redactor.spans(text)] for redactor in redactors]
            seconds += process_time() - start
            found.append((f"{name}#{number}", len(text), spans))
    json.dump([found, seconds], sys.stdout)


def _texts(path: Path) -> Iterator[bytes]:
    if not path.is_file() or path.suffix in (".pyc", ".bin"):
        return
    with gzip.open(path) if path.suffix == ".gz" else open(path, "rb") as file:
        data = file.read(MOST)
    if ".jsonl" in path.name and b'"text": "' in data[:1000]:
        yield from (_text_of(line) for line in data.split(b"\n"))
    elif data.count(0, 0, 1000) < 10:
        yield from (data[at : at + PIECE] for at in range(0, len(data), PIECE))


def _text_of(line: bytes) -> bytes:
    try:
        return json.loads(line)["text"].encode("utf-8", "surrogatepass")
    except (ValueError, KeyError, TypeError, AttributeError):
        return line


if __name__ == "__main__":
    sys.exit(main())
if __name__ == "worker":
    work()
