"""How long it takes until a first compaction can begin: `python bench/startup.py [--rounds 7]`.

Each row runs in processes of its own, in alternating rounds, with byte code cached. A row shows the
least CPU time of its rounds, that time as a multiple of the anchor's (`import asyncio, json`, which
is the standard library alone), and how many modules of ours were loaded. The multiple is what to
compare between two machines or two commits; the modules have a limit in `tests/test_shape.py`.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
ANCHOR = "import asyncio, json"
ROWS = {
    "anchor": ANCHOR,
    "import foldaway": "import foldaway",
    "foldaway.compress": "import foldaway; foldaway.compress",
    "the first result": (
        "import foldaway; text = 'please fix the parser. ' * 200; "
        "foldaway.compress([{'role': ('user', 'assistant')[at % 2], 'content': f'{at} {text}'} "
        "for at in range(40)], target_tokens=4000)"
    ),
}
MEASURE = (
    "import sys, time; start = time.process_time(); {code}; taken = time.process_time() - start; "
    "print(taken, sum(name.split('.')[0] == 'foldaway' for name in sys.modules))"
)


def main() -> int:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--rounds", type=int, default=7)
    rounds = parser.parse_args().rounds
    best: dict[str, float] = {}
    modules: dict[str, int] = {}
    for turn in range(rounds + 1):
        for name, code in ROWS.items():
            seconds, modules[name] = _run(code)
            if turn:  # the first round writes the byte code
                best[name] = min(seconds, best.get(name, seconds))
    print("| | CPU ms | times the anchor | modules of ours |\n| --- | --: | --: | --: |")
    for name, seconds in best.items():
        times = seconds / best["anchor"]
        print(f"| {name} | {1000 * seconds:.0f} | {times:.1f} | {modules[name]} |")
    return 0


def _run(code: str) -> tuple[float, int]:
    """Return the CPU seconds of some code in a fresh process, and how many modules it loaded."""
    inherited = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    done = subprocess.run(
        [sys.executable, "-c", MEASURE.format(code=code)], capture_output=True, text=True,
        check=True, env={**inherited, "PYTHONPATH": str(ROOT / "src")},
    )  # fmt: skip
    seconds, modules = done.stdout.split()
    return float(seconds), int(modules)


if __name__ == "__main__":
    raise SystemExit(main())
