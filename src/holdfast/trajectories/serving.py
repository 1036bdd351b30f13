"""The process that works on shards; it lives as long as the one that started it."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Mapping
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, Protocol

from msgspec import Struct

from holdfast.errors import HoldfastError
from holdfast.trajectories.compress import Means
from holdfast.trajectories.job import Job, means_for
from holdfast.trajectories.shards import Shard
from holdfast.trajectories.work import ANSWERS, STATE, Done, Tell

ORPHANED = 1


class Task(Struct, frozen=True):
    """A shard to be done, and its records that are not to be looked at again."""

    shard: Shard
    poison: dict[int, str]


class Failed(Struct, frozen=True):
    """What stopped a shard, as people read it: a disk that is full, a package that is missing."""

    sentence: str


class Work(Protocol):
    """Does one shard: `do_shard`, or what a test puts in its place."""

    def __call__(
        self, shard: Shard, job: Job, means: Means, folder: Path, poison: Mapping[int, str],
        tell: Tell,
    ) -> Done:  # fmt: skip
        """Write its files."""
        ...


def serve(
    pipe: Connection[Done | Failed, Task | None], job: Job, folder: str, at: Any, work: Work
) -> None:
    """Do the shards that come through the pipe until it ends; `at` shows which record is begun."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    try:
        means = means_for(job, Path(folder) / STATE / ANSWERS)
    except HoldfastError as error:
        pipe.send(Failed(str(error)))
        return

    def tell(number: int) -> None:
        at.value = number

    while (task := _next(pipe)) is not None:
        try:
            answer: Done | Failed = work(task.shard, job, means, Path(folder), task.poison, tell)
        except HoldfastError as error:
            answer = Failed(str(error))
        pipe.send(answer)


def _next(pipe: Connection[Done | Failed, Task | None]) -> Task | None:
    try:
        return pipe.recv()
    except (EOFError, ConnectionResetError):
        return None


def _end_with_parent() -> None:
    """End this process when the one that started it is gone, killed or not."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(ORPHANED)
