"""Kills, power cuts, full disks and eight writers, with a table at the end: `make soak-faults`.

    python tests/soak_faults/run.py --kills 50 --cuts 50 --full 10 --seconds 20

Every kill, cut and full disk is aimed at one of import, append, compact, memory and undo, at a
random place within it. After each, the home is read back and checked against what was acknowledged
(`home.py`), and the next fault strikes the home that the last one left. Processes are forked, so
that none has to load anything.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parents[1] / "stores" / "faults")]

from faults import CHAIN, cuts, full_disks, kills  # noqa: E402
from home import build  # noqa: E402
from writers import write_together  # noqa: E402

_OUT = Path(__file__).parents[2] / "bench" / ".out" / "soak_faults.json"
_LANES = 2
"""Processes that strike at a time, as on the machine of two cores that the budget is for."""
_SHOWN = 20
Found = dict[str, Any]


def main() -> int:
    """Run all parts; 1 if any promise was broken."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=1000)
    parser.add_argument("--cuts", type=int, default=1000)
    parser.add_argument("--full", type=int, default=50)
    parser.add_argument("--seconds", type=float, default=600.0, help="of eight writers")
    parser.add_argument("--out", default=str(_OUT), help="a file for the figures; empty for none")
    asked = parser.parse_args()
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="soak-faults-") as name:
        folder = Path(name)
        build(folder)
        parts = {
            "kill -9": strike("kill -9", kills, folder, asked.kills),
            "power cut": strike("power cut", cuts, folder, asked.cuts),
            "full disk": strike("full disk", full_disks, folder, asked.full),
        }
        writers = write_together(folder, asked.seconds, tell)
    found = {"seconds": round(time.monotonic() - began), "faults": parts, "writers": writers}
    if asked.out:
        Path(asked.out).parent.mkdir(parents=True, exist_ok=True)
        Path(asked.out).write_text(json.dumps(found, indent=1) + "\n")
    show(found)
    return int(any(part["broken"] for part in parts.values()) or bool(writers["lost"]))


def strike(
    name: str, fault: Callable[[Path, int], Iterator[Found]], folder: Path, total: int
) -> Found:
    """Let a fault strike `total` times, in several processes; return the counts."""
    began, counts, broken = time.monotonic(), Counter[str](), list[str]()
    done = 0
    for one in _in_lanes(fault, folder, total):
        done += 1
        counts[f"{one['kind']} {one['where']}"] += 1
        if one["broken"]:
            broken.append(one["broken"])
            tell(f"\n{name} {one['number']}: {one['broken'][:500]}\n")
        left = (time.monotonic() - began) / done * (total - done)
        tell(f"\r{name}: {done:,} of {total:,}, {len(broken)} broken, {left:.0f} s left   ")
    tell("\n")
    return {"total": done, "counts": dict(sorted(counts.items())), "broken": broken[:_SHOWN],
            "seconds": round(time.monotonic() - began)}  # fmt: skip


def _in_lanes(
    fault: Callable[[Path, int], Iterator[Found]], folder: Path, total: int
) -> Iterator[Found]:
    read, write = os.pipe()
    children: list[int] = []
    for lane in range(_LANES):
        child = os.fork()
        if not child:
            os.close(read)
            _lane(fault, folder, range(lane * CHAIN, total, _LANES * CHAIN), total, write)
        children.append(child)
    os.close(write)
    with os.fdopen(read) as lines:
        for line in lines:
            yield json.loads(line)
    for child in children:
        if os.waitpid(child, 0)[1]:
            raise SystemExit("a process of the soak itself failed")


def _lane(
    fault: Callable[[Path, int], Iterator[Found]], folder: Path, starts: range, total: int, to: int
) -> None:
    """Run chains of faults, each on a home of its own; never returns."""
    code = 1
    try:
        for start in starts:
            work = folder / f"home {start}"
            work.mkdir()
            numbers = range(start, min(start + CHAIN, total))
            for number, one in zip(numbers, fault(work, start), strict=False):
                os.write(to, (json.dumps({"number": number, **one}) + "\n").encode())
            shutil.rmtree(work)
        code = 0
    finally:
        os._exit(code)


def show(found: Found) -> None:
    """Print the table."""
    tell(f"\n{'fault':<12}{'aimed at':<24}{'times':>8}\n")
    for name, part in found["faults"].items():
        for kind, count in part["counts"].items():
            tell(f"{name:<12}{kind:<24}{count:>8,}\n")
        tell(f"{name:<12}{'broken promises':<24}{len(part['broken']):>8,}   "
             f"of {part['total']:,} in {part['seconds']} s\n")  # fmt: skip
    writers = found["writers"]
    tell(f"8 writers   {writers['appends']:,} appends in {writers['seconds']:.0f} s, "
         f"{writers['per_second']:,.0f} a second, p50 {writers['p50_ms']} ms, "
         f"p99 {writers['p99_ms']} ms, longest {writers['longest_ms']} ms, "
         f"lost {writers['lost']}\n{found['seconds']} s in all\n")  # fmt: skip


def tell(text: str) -> None:
    """Print at once."""
    sys.stdout.write(text)
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
