"""The process that works on shards; it lives as long as the one that started it."""

from __future__ import annotations

import gc
import multiprocessing
import os
import signal
import threading
import traceback
from collections.abc import Mapping
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, Protocol, TypeVar

from msgspec import Struct

from holdfast.errors import HoldfastError
from holdfast.trajectories.compress import Means
from holdfast.trajectories.job import Job, means_for
from holdfast.trajectories.lanes import Lanes
from holdfast.trajectories.line import Line, Reply
from holdfast.trajectories.shards import Shard
from holdfast.trajectories.work import Tell

ORPHANED, CRASHED = 1, 70

R = TypeVar("R", covariant=True)


class Task(Struct, frozen=True):
    """A shard to be done, and its records that are not to be looked at again."""

    shard: Shard
    poison: dict[int, str]


class Failed(Struct, frozen=True):
    """What stopped a shard, as people read it: a disk that is full, a package that is missing."""

    sentence: str


class Work(Protocol[R]):
    """Does one shard: `do_shard`, or what counts or a test puts in its place."""

    def __call__(
        self, shard: Shard, job: Job, means: Means, folder: Path, poison: Mapping[int, str],
        tell: Tell, lanes: Lanes | None,
    ) -> R:  # fmt: skip
        """Write its files, or whatever else there is to do."""
        ...


def serve(
    pipe: Connection[Any, Task | Reply | None], job: Job, folder: str, at: Any, work: Work[Any],
    at_once: int,
) -> None:  # fmt: skip
    """Do the shards that come through the pipe until it ends; `at` shows which record is begun.

    Where a model writes, so many records at once wait for its answers, which come through the
    pipe too.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    lanes = Lanes(at_once)
    line = Line(pipe, lanes)
    try:
        means = means_for(job, line.ask)
    except HoldfastError as error:
        pipe.send(Failed(str(error)))
        return
    gc.freeze()  # what is there for good is not looked through again: a tenth of the time

    def tell(number: int) -> None:
        at.value = number

    def do(task: Task) -> None:
        side_by_side = lanes if job.summaries == "model" else None
        try:
            found = work(task.shard, job, means, Path(folder), task.poison, tell, side_by_side)
        except HoldfastError as error:
            found = Failed(str(error))
        # a thread that ends unheard would leave the parent waiting
        except BaseException:  # noqa: BLE001
            traceback.print_exc()
            os._exit(CRASHED)
        line.send(found)

    while (got := _next(pipe)) is not None:
        if isinstance(got, Reply):
            line.settle(got)
        else:
            threading.Thread(target=do, args=(got,), daemon=True).start()


def _next(pipe: Connection[Any, Task | Reply | None]) -> Task | Reply | None:
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
