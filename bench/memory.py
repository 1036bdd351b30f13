"""How long a turn waits for memory, whatever the memory does.

Turns run through `MemoryManager` with its default limits, the built-in memory of files always
first. Measured is the wall time that each turn gives to memory: turn start, prefetch, handing the
turn over, and warming the next one. Beside the files stand providers in this process that hang,
raise, return garbage or 10 MB, die in their thread, or keep the interpreter busy; then an MCP
server as a process of its own that does the same; and at last the files alone.

    python bench/memory.py [--turns 100] [--pause 0.05] [--only NAME …] [--json FILE]
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "src"))

from foldaway.memory.external.mcp import make
from foldaway.memory.files.provider import FilesProvider
from foldaway.memory.manager import MemoryLimits, MemoryManager
from foldaway.memory.provider import MemoryProvider, MemoryTurn

ROOT = Path(__file__).resolve().parent.parent
SERVER = ROOT / "tests" / "memory" / "external" / "memory_server.py"
ENTRIES = 30


class Acting(MemoryProvider):
    """Does in every method the same thing."""

    name = "acting"

    def __init__(self, act: Callable[[], Any]) -> None:
        self._act = act

    def prefetch(self, query: str, session_id: str) -> str:
        return self._act()

    def sync(self, turn: MemoryTurn) -> None:
        self._act()


def acts(over: threading.Event) -> dict[str, Callable[[], Any]]:
    """Return what a provider may do, until it is over."""

    def fails() -> Any:
        raise RuntimeError

    def dies() -> Any:
        raise SystemExit(3)

    def spins() -> Any:
        while not over.is_set():
            pass

    return {
        "well": lambda: "known",
        "hang": lambda: over.wait(300),
        "raise": fails,
        "garbage": lambda: {"not": ["a", "text"]},
        "10 MB": lambda: "x" * 10_000_000,
        "die": dies,
        "flood": spins,
    }


ORDERS = {
    "well": "which port", "hang": "!hang", "raise": "!fail", "garbage": "!garbage",
    "10 MB": "!big", "die": "!die", "flood": "!flood",
}  # fmt: skip


def case(folder: Path, name: str, over: threading.Event) -> tuple[MemoryProvider | None, str]:
    """Return the external provider of a case, and what the user says to it."""
    where, _, what = name.partition(": ")
    if where == "here":
        return Acting(acts(over)[what]), ORDERS["well"]
    if where != "mcp":
        return None, ORDERS["well"]
    args = [str(SERVER), str(folder / "kept")]
    external = make({"command": sys.executable, "args": args, "timeout": 5.0}, folder)
    external.sync(MemoryTurn(session_id="s", number=0, user="which port", agent="5433"))
    return external, ORDERS[what]


def measured(name: str, turns: int, pause: float) -> dict[str, Any]:
    """Return what the turns of one case waited, in milliseconds."""
    over = threading.Event()
    with tempfile.TemporaryDirectory() as held:
        external, said = case(Path(held), name, over)
        files = FilesProvider(Path(held) / "memory")
        for at in range(ENTRIES):
            files.call("memory", {
                "action": "add", "target": "memory", "content": f"fact {at} of staging",
            })  # fmt: skip
        manager = MemoryManager(files, external, limits=MemoryLimits(close_seconds=10.0))
        waited: list[float] = []
        for _ in range(turns):
            begun = time.perf_counter()
            manager.turn_started(said)
            manager.prefetch(said, "s")
            manager.sync(said, "answered", "s")
            manager.warm(said, "s")
            waited.append(1000 * (time.perf_counter() - begun))
            time.sleep(pause)
        status = manager.status().get(external.name if external else "files", {})
        over.set()
        manager.close()
        if external is not None:
            external.close()
    waited.sort()
    return {
        "case": name, "turns": turns, "p50": waited[turns // 2],
        "p99": waited[math.ceil(turns * 0.99) - 1], "longest": waited[-1],
        **{key: status[key] for key in ("late", "failures", "refused")},
    }  # fmt: skip


def main() -> None:
    names = ["files alone", *(f"here: {one}" for one in ORDERS), *(f"mcp: {one}" for one in ORDERS)]
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--turns", type=int, default=100)
    parser.add_argument("--pause", type=float, default=0.05)
    parser.add_argument("--only", nargs="+", default=names, choices=names, metavar="NAME")
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    rows: list[dict[str, Any]] = []
    limit = 1000 * MemoryLimits().prefetch_seconds
    print(f"limit of a prefetch: {limit:.0f} ms; milliseconds that a turn waits for memory")
    print(
        f"{'case':16} {'p50':>8} {'p99':>8} {'longest':>8} {'late':>6} {'failed':>7} {'refused':>8}"
    )
    for name in given.only:
        row = measured(name, given.turns, given.pause)
        rows.append(row)
        print(
            f"{name:16} {row['p50']:8.1f} {row['p99']:8.1f} {row['longest']:8.1f} "
            f"{row['late']:6} {row['failures']:7} {row['refused']:8}"
        )
    if given.json:
        given.json.write_text(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()
