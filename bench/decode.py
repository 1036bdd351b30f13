"""Decode + group + check against `json.loads` of the same bytes, in the same run.

    python bench/decode.py            a table
    python bench/decode.py --json     the same as JSON
    python bench/decode.py --quick    without the 100,000 generated messages

CPU time, best of several rounds, garbage collector on. Aims: at most 10 times `json.loads`,
linear growth, `import foldaway` under 120 ms. Real sessions are read from $FOLDAWAY_DATA or
../shared/data beside the repository; where they are absent their rows are left out.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import resource
import subprocess
import sys
import time
import tracemalloc
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from foldaway.dialects.checking import check_transcript
from foldaway.dialects.document import Document
from foldaway.dialects.profiles import profile_for
from foldaway.testing import Talk, assistant, call, result, talk, think, user
from foldaway.transcript import groups

REPOSITORY = Path(__file__).resolve().parents[1]
DATA = Path(os.environ.get("FOLDAWAY_DATA", REPOSITORY.parent / "shared" / "data"))
SIZES = (1_000, 10_000, 100_000)
GENERATED = ("openai-chat", "openai-responses", "anthropic", "gemini", "sharegpt")
RATIO_AIM = 10.0
IMPORT_AIM_MS = 120.0
GROWTH_AIM = 1.5


class Row(NamedTuple):
    """One measured input."""

    name: str
    messages: int
    megabytes: float
    loads_ms: float
    decode_ms: float
    all_ms: float
    ratio: float
    us_per_message: float
    violations: int


def main() -> int:
    options = _options()
    rows = [_measured(name, data, dialect) for name, data, dialect in _inputs(options.quick)]
    found: dict[str, Any] = {
        "rows": [row._asdict() for row in rows],
        "growth": {dialect: _growth(rows, dialect) for dialect in GENERATED},
        "import_ms": _import_ms(),
        "memory": _memory(),
    }
    found["within_aims"] = (
        all(row.ratio <= RATIO_AIM for row in rows)
        and found["import_ms"] <= IMPORT_AIM_MS
        and all(growth["relative"] <= GROWTH_AIM for growth in found["growth"].values())
    )
    print(json.dumps(found, indent=2) if options.json else _table(rows, found))
    return 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--quick", action="store_true", help="leave out the largest inputs")
    return parser.parse_args()


def _inputs(quick: bool) -> Iterator[tuple[str, bytes, str | None]]:
    for path in sorted((DATA / "sessions").glob("*.jsonl.gz")):
        name = path.name.removesuffix(".jsonl.gz")
        yield f"real {name}", gzip.decompress(path.read_bytes()), None
    for dialect in GENERATED:
        for size in SIZES[:-1] if quick else SIZES:
            yield f"{dialect} {size:,}", _generated(dialect, size), dialect


def _generated(dialect: str, size: int) -> bytes:
    """Return a list of about `size` messages like those of a coding agent."""
    one = _day(0).wire(dialect)
    days = -(-size // len(one))
    wire = [item for day in range(days) for item in _day(day).wire(dialect)]
    return json.dumps(wire, ensure_ascii=False, separators=(",", ":")).encode()


def _day(number: int) -> Talk:
    first, second = f"call_{number}_a", f"call_{number}_b"
    signature = f"sig{number:08d}" * 12
    return talk(
        user(f"Please fix issue {number}: the parser drops the last field. " * 3),
        assistant(
            think("The parser splits on commas; quoted commas break it. " * 4, signature=signature),
            "I will look at the parser first.",
            call("read_file", call_id=first, path=f"src/parser_{number}.py", limit=200),
            call("bash", call_id=second, command=f"pytest -x tests/test_parser_{number}.py"),
        ),
        result("def parse(line):\n    return line.split(',')\n" * 12, of=first),
        result("E   AssertionError: assert ['a'] == ['a', 'b']\n" * 8, of=second),
        assistant("Fixed: the parser now honours quotes, and the test passes. " * 3),
    )


def _measured(name: str, data: bytes, dialect: str | None) -> Row:
    rounds = 3 if len(data) > 20_000_000 else 5
    lines = b"\n{" in data[:2_000_000]
    loads_ms = _best_ms(lambda: _loads(data, lines), rounds)
    decode_ms = _best_ms(lambda: Document.read(data, dialect=dialect), rounds)
    all_ms = _best_ms(lambda: _everything(data, dialect), rounds)
    document = Document.read(data, dialect=dialect)
    count = sum(len(record.transcript.messages) for record in document.records)
    return Row(
        name, count, len(data) / 1e6, loads_ms, decode_ms, all_ms, all_ms / loads_ms,
        all_ms * 1_000 / count, _everything(data, dialect),
    )  # fmt: skip


def _loads(data: bytes, lines: bool) -> None:
    if lines:
        for line in data.splitlines():
            json.loads(line)
    else:
        json.loads(data)


def _everything(data: bytes, dialect: str | None) -> int:
    """Read, group and check every transcript; return the number of violations."""
    document: Document = Document.read(data, dialect=dialect)
    found = 0
    for record in document.records:
        transcript = record.transcript
        groups(transcript.messages)
        found += len(check_transcript(transcript, profile_for(transcript.dialect)))
    return found


def _best_ms(run: Callable[[], object], rounds: int) -> float:
    best = float("inf")
    for _ in range(rounds):
        start = time.process_time()
        run()
        best = min(best, time.process_time() - start)
    return best * 1_000


def _growth(rows: list[Row], dialect: str) -> dict[str, float]:
    """Return the cost of a message in the largest generated input over that in the smallest.

    `json.loads` grows as well (caches, collector), so that linear means: not faster than it.
    """
    own = [row for row in rows if row.name.startswith(f"{dialect} ")]
    first, last = own[0], own[-1]
    ours = last.us_per_message / first.us_per_message
    loads = (last.loads_ms / last.messages) / (first.loads_ms / first.messages)
    return {"ours": round(ours, 2), "loads": round(loads, 2), "relative": round(ours / loads, 2)}


def _import_ms() -> float:
    """Return the CPU time of `import foldaway` in a new interpreter, best of ten."""
    code = (
        "import time; start = time.process_time(); import foldaway; "
        "print((time.process_time() - start) * 1000)"
    )
    runs = [
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        for _ in range(10)
    ]
    return min(float(run.stdout) for run in runs)


def _memory() -> dict[str, float]:
    """Return bytes per message of a decoded list of 10,000, beside the parsed value alone."""
    data = _generated("openai-chat", 10_000)
    value, parsed = _traced(lambda: json.loads(data))
    document, decoded = _traced(lambda: Document.read(data, dialect="openai-chat"))
    count = len(value)
    del value
    before = _resident()
    kept = [Document.read(data, dialect="openai-chat") for _ in range(5)]
    grown = _resident() - before
    del document
    return {
        "json_loads_bytes_per_message": round(parsed / count),
        "decoded_bytes_per_message": round(decoded / count),
        "resident_bytes_per_message": round(grown / count / len(kept)),
    }


def _traced(run: Callable[[], Any]) -> tuple[Any, int]:
    tracemalloc.start()
    made = run()
    size, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return made, size


def _resident() -> int:
    """Return the resident size in bytes now, or at its highest where the system tells no more."""
    status = Path("/proc/self/statm")
    if status.exists():
        return int(status.read_text().split()[1]) * resource.getpagesize()
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1_024


def _table(rows: list[Row], found: dict[str, Any]) -> str:
    head = f"{'input':38} {'messages':>9} {'MB':>6} {'loads':>8} {'decode':>8} {'+group+check':>12}"
    lines = [f"{head} {'ratio':>6} {'µs/msg':>7} {'found':>6}"]
    lines += [
        f"{row.name:38} {row.messages:9,} {row.megabytes:6.1f} {row.loads_ms:8.1f} "
        f"{row.decode_ms:8.1f} {row.all_ms:12.1f} {row.ratio:6.2f} {row.us_per_message:7.2f} "
        f"{row.violations:6}"
        for row in rows
    ]
    growth = ", ".join(
        f"{dialect} {times['ours']} ({times['loads']})"
        for dialect, times in found["growth"].items()
    )
    memory = found["memory"]
    return "\n".join([
        *lines,
        "",
        "times in ms of CPU, best of several rounds; ratio = (decode + group + check) / json.loads",
        f"cost of a message, largest over smallest input (json.loads): {growth}",
        f"import foldaway: {found['import_ms']:.0f} ms",
        f"memory per message: {memory['decoded_bytes_per_message']} bytes decoded "
        f"({memory['json_loads_bytes_per_message']} for the parsed value alone), "
        f"{memory['resident_bytes_per_message']} resident",
        f"within the aims: {'yes' if found['within_aims'] else 'no'}",
    ])  # fmt: skip


if __name__ == "__main__":
    sys.exit(main())
