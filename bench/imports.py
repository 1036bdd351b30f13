"""Speed and memory of a first import: a synthetic home of Claude Code and Codex sessions.

    python bench/imports.py                      100,000 messages
    python bench/imports.py --messages 1000000   a large home
    python bench/imports.py --json FILE          the figures as JSON too

Homes of N/10 and N messages are written to a scratch folder, 100 messages a session, one session
in fifty ten times as long, half of the sessions of each agent. `foldaway import` then runs in a
process of its own on an empty store, and once more on the same home. Speed is megabytes of files
per second of CPU. Peak memory at N beside that at N/10 says whether it stays flat: what is held is
one file, so the growth is that of the longest session and not that of the home.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import resource
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
SESSION_MESSAGES = 100
LONG_EVERY, LONG_TIMES = 50, 10
Figures = dict[str, Any]


def main() -> int:
    options = _options()
    rows: list[Figures] = []
    with tempfile.TemporaryDirectory() as scratch:
        for messages in (options.messages // 10, options.messages):
            home = Path(scratch) / f"home-{messages}"
            written = write_home(home, messages)
            for run in ("first", "again"):
                rows.append({"messages": messages, "run": run, **_import(home, written)})
    _show(rows)
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
    return 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--messages", type=int, default=100_000, help="of the larger home")
    parser.add_argument("--json", type=Path, metavar="FILE")
    return parser.parse_args()


def _import(home: Path, written: int) -> Figures:
    """Run one import; return its speed, CPU and peak memory, and what it took."""
    places = {"HOME": str(home), "FOLDAWAY_HOME": str(home / "h"), "PYTHONPATH": str(ROOT / "src")}
    inherited = {key: value for key, value in os.environ.items() if not key.startswith("FOLDAWAY_")}
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    code = (
        "import resource, sys; from foldaway.cli import run; code = run(['import', '--json']);"
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss); sys.exit(code)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], env={**inherited, **places}, cwd=home,
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    report, peak = done.stdout.splitlines()
    taken = sum(agent["messages"] for agent in json.loads(report)["agents"])
    return {
        "mb": written / 1e6, "taken": taken, "cpu_s": cpu, "mb_per_cpu_s": written / 1e6 / cpu,
        "peak_mb": int(peak) / 1024,
    }  # fmt: skip


# --- the home -----------------------------------------------------------------------------------


def write_home(home: Path, messages: int) -> int:
    """Write sessions of both agents with so many messages in all; return their bytes."""
    chosen = random.Random(messages)
    words = ["".join(chosen.choices("abcdefghijklmnopqrstuvwxyz", k=chosen.randint(3, 9)))
             for _ in range(5_000)]  # fmt: skip
    written = number = total = 0
    while total < messages:
        length = SESSION_MESSAGES * (LONG_TIMES if number % LONG_EVERY == 7 else 1)
        length = min(length, messages - total)
        make, folder = (_claude, ".claude/projects") if number % 2 else (_codex, ".codex/sessions")
        path = home / folder / f"p{number // 40}" / f"{number:08d}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        lines = make(f"{number:08d}", length, chosen, words)
        written += path.write_bytes(b"".join(json.dumps(line).encode() + b"\n" for line in lines))
        total, number = total + length, number + 1
    return written


def _said(chosen: random.Random, words: list[str], at: int) -> str:
    """Return words: few for a question, many for the output of a tool."""
    return " ".join(chosen.choices(words, k=(15, 60, 120, 40)[at % 4]))


def _claude(own: str, length: int, chosen: random.Random, words: list[str]) -> Iterator[Any]:
    """Yield a prompt, a call, its result and an answer, again and again."""
    for at in range(length):
        said, call = _said(chosen, words, at), f"toolu_{own}_{at - at % 4}"
        text: dict[str, Any] = {"type": "text", "text": said}
        content: Any = (
            said,
            [text, {"type": "tool_use", "id": call, "name": "Bash", "input": {"command": said}}],
            [{"type": "tool_result", "tool_use_id": call, "content": said}],
            [text],
        )[at % 4]
        role = "assistant" if at % 2 else "user"
        line = {
            "type": role, "uuid": f"{own}-{at}", "parentUuid": f"{own}-{at - 1}" if at else None,
            "sessionId": own, "cwd": "/work", "version": "2.1.0", "gitBranch": "main",
            "timestamp": f"2026-01-{1 + at % 28:02d}T10:00:00.000Z",
            "message": {"role": role, "content": content},
        }  # fmt: skip
        if at % 4 == 2:
            line["toolUseResult"] = {"stdout": said, "stderr": "", "interrupted": False}
        yield line


def _codex(own: str, length: int, chosen: random.Random, words: list[str]) -> Iterator[Any]:
    """Yield the same as response items, with the events that repeat them."""
    yield {"type": "session_meta", "timestamp": "2026-01-01T10:00:00Z",
           "payload": {"id": own, "cwd": "/work", "instructions": "You help."}}  # fmt: skip
    for at in range(length):
        said, call = _said(chosen, words, at), f"call_{own}_{at - at % 4}"
        payload: dict[str, Any] = (
            {"type": "message", "role": "user", "content": [{"type": "input_text", "text": said}]},
            {"type": "function_call", "name": "shell", "call_id": call,
             "arguments": json.dumps({"command": ["bash", "-lc", said]})},
            {"type": "function_call_output", "call_id": call, "output": said},
            {"type": "message", "role": "assistant",
             "content": [{"type": "output_text", "text": said}]},
        )[at % 4]  # fmt: skip
        stamp = f"2026-01-{1 + at % 28:02d}T10:00:00.000Z"
        yield {"type": "response_item", "timestamp": stamp, "payload": payload}
        if at % 2 == 0:
            event = {"type": "agent_message", "message": said}
            yield {"type": "event_msg", "timestamp": stamp, "payload": event}


def _show(rows: list[Figures]) -> None:
    print("| messages | MB | import | taken | CPU s | MB per CPU s | peak MB |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for row in rows:
        print(
            f"| {row['messages']:,} | {row['mb']:.0f} | {row['run']} | {row['taken']:,} "
            f"| {row['cpu_s']:.1f} | {row['mb_per_cpu_s']:.1f} | {row['peak_mb']:.0f} |"
        )
    small, large = (max(row["peak_mb"] for row in rows[at : at + 2]) for at in (0, 2))
    print(f"\npeak memory of ten times as much: {large / small:.2f} times")


if __name__ == "__main__":
    raise SystemExit(main())
