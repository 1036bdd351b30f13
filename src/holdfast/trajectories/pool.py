"""Processes that do shards; one that dies costs the record that killed it, and nothing else."""

from __future__ import annotations

import contextlib
import ctypes
import multiprocessing
import signal
from collections import Counter
from collections.abc import Callable, Generator, Iterable
from functools import cache
from multiprocessing import connection
from multiprocessing.connection import Connection
from multiprocessing.context import ForkServerContext, SpawnContext
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any, TypeAlias, cast

from holdfast.errors import HoldfastError, NotWritable
from holdfast.trajectories.files import GO_ON
from holdfast.trajectories.job import Job
from holdfast.trajectories.serving import Failed, Task, Work, serve
from holdfast.trajectories.shards import Shard
from holdfast.trajectories.work import Done, do_shard

DEATHS = 3
"""So many fresh processes must die on a record before it is given up: somebody may have killed
one or two of them, or the machine was short of memory."""
_LOOK_SECONDS = 0.5
_NOT_BEGUN = -1

Pipe: TypeAlias = "Connection[Task | None, Done | Failed]"
Tell: TypeAlias = Callable[[int], None]
"""Told how many records of shards under way are begun."""


def do_shards(
    shards: Iterable[Shard], job: Job, folder: Path, *, workers: int,
    tell: Tell = lambda _: None, work: Work = do_shard,
) -> Generator[Done]:  # fmt: skip
    """Yield the shards as they are done, in any order; one ahead of each worker is read.

    Raises what stopped a worker, and `NotWritable` where workers die before they begin.
    """
    waiting = iter(shards)
    busy: dict[Pipe, _Worker] = {}
    idle: list[_Worker] = []
    ahead = next(waiting, None)
    try:
        while busy or ahead is not None:
            while ahead is not None and (idle or len(busy) < workers):
                worker = idle.pop() if idle else _Worker(job, folder, work)
                worker.begin(ahead)
                busy[worker.pipe] = worker
                ahead = next(waiting, None)
            for pipe in connection.wait(list(busy), _LOOK_SECONDS):
                worker = busy[cast("Pipe", pipe)]
                answer = worker.answer()
                del busy[cast("Pipe", pipe)]
                if answer is None:
                    busy[worker.pipe] = worker
                else:
                    idle.append(worker)
                    yield answer
            tell(sum(worker.begun for worker in busy.values()))
    finally:
        for worker in (*busy.values(), *idle):
            worker.end()


class _Worker:
    """A process, the shard that it does, and how often processes died on the records of it."""

    def __init__(self, job: Job, folder: Path, work: Work) -> None:
        self._job, self._folder, self._work = job, folder, work
        self._shard: Shard | None = None
        self._deaths: Counter[int] = Counter()
        self._poison: dict[int, str] = {}
        self._start()

    def _start(self) -> None:
        context = _context()
        self._at: Any = context.RawValue(ctypes.c_longlong, _NOT_BEGUN)
        ours, theirs = context.Pipe()
        self.pipe = cast("Pipe", ours)
        self._process: BaseProcess = context.Process(
            target=serve, daemon=True,
            args=(theirs, self._job, str(self._folder), self._at, self._work),
        )  # fmt: skip
        self._process.start()
        theirs.close()

    @property
    def begun(self) -> int:
        """How many records of the shard are begun."""
        return self._at.value + 1

    def begin(self, shard: Shard) -> None:
        """Do a shard."""
        self._shard = shard
        self._deaths.clear()
        self._poison.clear()
        self._send()

    def _send(self) -> None:
        assert self._shard is not None
        self._at.value = _NOT_BEGUN
        # a process that died is noticed where its answer is looked for
        with contextlib.suppress(OSError):
            self.pipe.send(Task(self._shard, self._poison))

    def answer(self) -> Done | None:
        """Return the shard that is done; None where the process died and another one tries."""
        try:
            found = self.pipe.recv()
        except (EOFError, OSError):
            self._died()
            return None
        if isinstance(found, Failed):
            raise HoldfastError(found.sentence)
        self._at.value = _NOT_BEGUN
        return found

    def _died(self) -> None:
        at = self._at.value
        self.end()
        how = _how(self._process.exitcode)
        self._deaths[at] += 1
        if self._deaths[at] >= DEATHS:
            if at == _NOT_BEGUN:
                raise NotWritable(
                    str(self._folder), f"processes die before they begin ({how})", remedy=GO_ON
                )
            self._poison[at] = f"{DEATHS} processes died on it ({how})"
        self._start()
        self._send()

    def end(self) -> None:
        """End the process, and wait until it is gone."""
        self.pipe.close()
        self._process.kill()
        self._process.join()


def _how(code: int | None) -> str:
    if code is not None and code < 0:
        with contextlib.suppress(ValueError):
            return signal.Signals(-code).name
    return f"exit code {code}"


@cache
def _context() -> ForkServerContext | SpawnContext:
    """Return how processes are started: as copies of one that has read the code, where possible.

    Never as copies of this one: it may have threads, and holds the input.
    """
    if "forkserver" not in multiprocessing.get_all_start_methods():
        return multiprocessing.get_context("spawn")
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["holdfast.trajectories.serving"])
    return context
