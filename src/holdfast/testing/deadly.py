"""Fakes for batches of trajectories: a worker that is killed by the records that say so, and one
that waits for another.
"""

from __future__ import annotations

import os
import signal
import time

from msgspec.structs import replace

from holdfast.errors import HoldfastError
from holdfast.trajectories.folder import FinishedShard
from holdfast.trajectories.reading import Shard
from holdfast.trajectories.shard import ShardRun, do_shard

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
            raise HoldfastError("nobody came")
        time.sleep(0.01)
    return do_shard(shard, run)
