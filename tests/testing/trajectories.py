"""For tests of batches: finished runs, a worker that is killed by the records that say so, and one
that waits for another.
"""

from __future__ import annotations

import json
import os
import signal
import time
from pathlib import Path
from typing import Any

from hypothesis import strategies as st
from msgspec.structs import replace

from foldaway.errors import FoldawayError
from foldaway.testing.builder import Step, assistant, call, result, system, talk, user
from foldaway.trajectories.folder import FinishedShard
from foldaway.trajectories.reading import Shard
from foldaway.trajectories.shard import ShardRun, do_shard

_TOOLS = ("bash", "read_file", "search", "book_flight")
_WORDS = st.sampled_from((
    "Look at src/rows.py, please.", "Never touch setup.cfg.", "It fails with ValueError.",
    "I decided to keep port 8080.", "done", "Größe, 日本語 and \u202e signs", "What now?",
))  # fmt: skip
_PARTS = st.sampled_from(("talk", "calls", "calls", "calls", "parallel"))


@st.composite
def trajectories(draw: st.DrawFn, dialect: str, *, most: int = 10) -> list[Any]:
    """Return the turns of a run: talk, single and parallel calls, short and long results."""
    steps: list[Step] = [system(_long(draw))] if draw(st.booleans()) else []
    steps.append(user(_long(draw)))
    for number in range(draw(st.integers(1, most))):
        match draw(_PARTS):
            case "talk":
                steps += [assistant(_long(draw)), user(_long(draw))]
            case "calls":
                tool = draw(st.sampled_from(_TOOLS))
                steps += [assistant(call(tool, command=f"run {number}")), result(_long(draw))]
            case _:
                calls = [call(tool, path=f"{number}.py") for tool in _TOOLS[:2]]
                steps += [assistant(_long(draw), *calls), result(_long(draw)), result("ok")]
    steps.append(assistant(_long(draw)))
    return talk(*steps).wire(dialect)


def _long(draw: st.DrawFn) -> str:
    return "\n".join([draw(_WORDS)] * draw(st.sampled_from((1, 1, 5, 40))))


def run_record(number: int, pairs: int) -> dict[str, Any]:
    """Return a finished run in OpenAI's dialect: an ask, calls with their results, an answer."""
    turns: list[dict[str, Any]] = [{"role": "user", "content": f"Run {number}."}]
    for at in range(pairs):
        call = {"name": "bash", "arguments": json.dumps({"command": f"cat {number}/{at}.py"})}
        turns += [
            {"role": "assistant", "content": None,
             "tool_calls": [{"id": f"c{at}", "type": "function", "function": call}]},
            {"role": "tool", "tool_call_id": f"c{at}", "content": f"line {at} of {number}\n" * 20},
        ]  # fmt: skip
    return {"id": number, "messages": [*turns, {"role": "assistant", "content": "Done."}]}


def folder_files(folder: Path) -> dict[str, bytes]:
    """Return the content of all files below a folder, by path."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


MARK = b"kill the worker"
_MEETING_SECONDS = 60.0


def deadly_shard(shard: Shard, run: ShardRun) -> FinishedShard:
    """Do a shard as `do_shard` does, but die at a record with the mark that is looked at."""

    def on_record(at: int) -> None:
        run.on_record(at)
        marked = at < len(shard.records) and MARK in shard.records[at].data
        if marked and at not in run.poison:
            os.kill(os.getpid(), signal.SIGKILL)

    return do_shard(shard, replace(run, on_record=on_record))


def meeting_shard(shard: Shard, run: ShardRun) -> FinishedShard:
    """Do a shard as `do_shard` does, when another one is begun beside it; odd meets even."""
    (run.folder / f"{shard.number}.begun").touch()
    other, late = run.folder / f"{shard.number ^ 1}.begun", time.monotonic() + _MEETING_SECONDS
    while not other.exists():
        if time.monotonic() > late:
            raise FoldawayError("nobody came")
        time.sleep(0.01)
    return do_shard(shard, run)
