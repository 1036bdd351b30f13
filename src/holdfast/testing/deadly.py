"""A fake for batches of trajectories: a worker that is killed by the records that say so."""

from __future__ import annotations

import os
import signal
from collections.abc import Mapping
from pathlib import Path

from holdfast.trajectories.compress import Means
from holdfast.trajectories.job import Job
from holdfast.trajectories.lanes import Lanes
from holdfast.trajectories.shards import Shard
from holdfast.trajectories.work import Done, Tell, do_shard

MARK = b"kill the worker"


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
