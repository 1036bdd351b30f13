"""How long a turn waits while a slow summarizer writes in the background.

A session grows message by message past the pressure warning; a summarizer takes some seconds to
answer. Measured is the wall time of every turn (append, then compact): the longest, and the
quantiles, while the summary is under way, at the swap, and after it. Beside it the same session
with the summary in the foreground.

    python bench/background.py [--seconds 5] [--messages 4000] [--json FILE]
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "src"))
sys.path.insert(0, str(Path(__file__).resolve().parent))

from compress import generated
from foldaway._core.ports import SummaryAnswer, SummaryRequest
from foldaway.engine.compressor import Compressor
from foldaway.summarizers.writers import writers_of

ANSWER = json.dumps({
    "completed": [{"text": "The agent looked through the values.", "source": ""}],
    "decisions": [{"text": "Everything was checked before it was changed.", "source": ""}],
})  # fmt: skip


class Slow:
    """Stands for a paid model: it answers the same after a while."""

    name = "stub:slow"
    context_length = 200_000

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self.asked = 0

    def summarize(self, request: SummaryRequest, timeout: float) -> SummaryAnswer:
        del request, timeout
        self.asked += 1
        time.sleep(self._seconds)
        return SummaryAnswer(text=ANSWER)

    async def asummarize(self, request: SummaryRequest, timeout: float) -> SummaryAnswer:
        return self.summarize(request, timeout)


def main() -> int:
    options = _options()
    messages = generated(options.messages, "loops")
    rows = [_run(messages, options.seconds, background=way) for way in (True, False)]
    print("milliseconds of wall clock a turn (append + compact); a summary takes "
          f"{options.seconds:g} s")  # fmt: skip
    print(f"{'':12} {'turns':>7} {'median':>8} {'p99':>8} {'longest':>9} "
          f"{'begins':>8} {'swap':>8} {'compactions':>12} {'under way':>10}")  # fmt: skip
    for row in rows:
        print(f"{row['way']:12} {row['turns']:7,} {row['median']:8.2f} {row['p99']:8.2f} "
              f"{row['longest']:9.1f} {row['begins']:8.1f} {row['swap']:8.1f} "
              f"{row['compactions']:12} {row['under_way']:10,}")  # fmt: skip
    if options.json:
        Path(options.json).write_text(json.dumps(rows, indent=1))
    return 0


def _run(messages: list[Any], seconds: float, *, background: bool) -> dict[str, Any]:
    """Let a session grow at about forty messages a second while a summary is under way."""
    slow = Slow(seconds)
    made = Compressor(
        context_length=200_000,
        summarizer=writers_of(slow, on_failure="abort"),
        background=background,
    )
    taken: list[float] = []
    begins: list[float] = []
    swaps: list[float] = []
    under_way = 0
    for message in messages:
        was = made.is_preparing
        started = time.perf_counter()
        made.append(message)
        report = made.compact()
        took = (time.perf_counter() - started) * 1e3
        taken.append(took)
        if report.status == "compacted":
            swaps.append(took)
        elif made.is_preparing and not was:
            begins.append(took)
        if made.is_preparing and not made.is_prepared:
            under_way += 1
            time.sleep(0.025)
        if len(swaps) >= 2:
            break
    taken.sort()
    return {
        "way": "background" if background else "foreground", "turns": len(taken),
        "median": taken[len(taken) // 2], "p99": taken[int(len(taken) * 0.99)],
        "longest": taken[-1], "begins": max(begins, default=0.0), "swap": max(swaps, default=0.0),
        "compactions": len(swaps), "under_way": under_way,
    }  # fmt: skip


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=5.0)
    parser.add_argument("--messages", type=int, default=4_000)
    parser.add_argument("--json", metavar="FILE")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
