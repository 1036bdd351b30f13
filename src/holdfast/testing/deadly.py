"""Fakes for batches of trajectories: a worker that is killed by the records that say so, and one
that waits for another.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Mapping
from pathlib import Path

from holdfast.errors import HoldfastError
from holdfast.trajectories.compress import Means
from holdfast.trajectories.job import Job
from holdfast.trajectories.lanes import Lanes
from holdfast.trajectories.shards import Shard
from holdfast.trajectories.work import Done, Tell, do_shard

MARK = b"kill the worker"
_MEETING_SECONDS = 60.0


def deadly_shard(
    shard: Shard, job: Job, means: Means, folder: Path, poison: Mapping[int, str], tell: Tell,
    lanes: Lanes | None = None,
) -> Done:  # fmt: skip
    """Do a shard as `do_shard` does, but die at a record with the mark that is looked at."""

    def told(at: int) -> None:
        tell(at)
        if MARK in shard.entries[at].data and at not in poison:
            os.kill(os.getpid(), signal.SIGKILL)

    return do_shard(shard, job, means, folder, poison, told, lanes)


def meeting_shard(
    shard: Shard, job: Job, means: Means, folder: Path, poison: Mapping[int, str], tell: Tell,
    lanes: Lanes | None = None,
) -> Done:  # fmt: skip
    """Do a shard as `do_shard` does, when another one is begun beside it; odd meets even."""
    (folder / f"{shard.number}.begun").touch()
    other, late = folder / f"{shard.number ^ 1}.begun", time.monotonic() + _MEETING_SECONDS
    while not other.exists():
        if time.monotonic() > late:
            raise HoldfastError("nobody came")
        time.sleep(0.01)
    return do_shard(shard, job, means, folder, poison, tell, lanes)
