"""Processes that do shards; one that dies costs the record that killed it, and nothing else."""

from __future__ import annotations

import contextlib
import ctypes
import multiprocessing
import signal
from collections import Counter
from collections.abc import Callable, Generator, Iterable
from concurrent.futures import Future
from functools import cache
from multiprocessing import connection
from multiprocessing.connection import Connection
from multiprocessing.context import ForkServerContext, SpawnContext
from multiprocessing.process import BaseProcess
from pathlib import Path
from threading import Lock
from typing import Any, Generic, TypeAlias, TypeVar, cast

from holdfast.errors import BatchStopped, HoldfastError, NotWritable
from holdfast.trajectories.answers import Answered
from holdfast.trajectories.desk import Desk
from holdfast.trajectories.files import GO_ON
from holdfast.trajectories.job import Job
from holdfast.trajectories.line import Asks, Reply
from holdfast.trajectories.serving import Failed, Task, Work, serve
from holdfast.trajectories.shards import Shard

DEATHS = 3
"""So many fresh processes must die on a record before it is given up: somebody may have killed
one or two of them, or the machine was short of memory."""
_LOOK_SECONDS = 0.5
_NOT_BEGUN = -1

R = TypeVar("R")
Pipe: TypeAlias = "Connection[Any, Any]"
Tell: TypeAlias = Callable[[int], None]
"""Told how many records of shards under way are begun."""


def do_shards(
    shards: Iterable[Shard], job: Job, folder: Path, *, workers: int, work: Work[R],
    tell: Tell = lambda _: None, desk: Desk | None = None, at_once: int = 1,
) -> Generator[R]:  # fmt: skip
    """Yield the shards as they are done, in any order; one ahead of each worker is read.

    What the workers ask a model goes to the desk, at most `at_once` questions of each. Raises what
    stopped a worker, and `NotWritable` where workers die before they begin.
    """
    waiting = iter(shards)
    busy: dict[Pipe, _Worker[R]] = {}
    idle: list[_Worker[R]] = []
    ahead = next(waiting, None)
    try:
        while busy or ahead is not None:
            while ahead is not None and (idle or len(busy) < workers):
                worker = idle.pop() if idle else _Worker(job, folder, work, desk, at_once)
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


class _Worker(Generic[R]):
    """A process, the shard that it does, and how often processes died on the records of it."""

    def __init__(
        self, job: Job, folder: Path, work: Work[R], desk: Desk | None, at_once: int
    ) -> None:
        self._served = (job, str(folder))
        self._doing = (work, at_once)
        self._desk = desk
        self._shard: Shard | None = None
        self._deaths: Counter[int] = Counter()
        self._poison: dict[int, str] = {}
        self._start()

    def _start(self) -> None:
        context = _context()
        self._at: Any = context.RawValue(ctypes.c_longlong, _NOT_BEGUN)
        ours, theirs = context.Pipe()
        self.pipe = cast("Pipe", ours)
        self._closing = Lock()
        self._process: BaseProcess = context.Process(
            target=serve, daemon=True,
            args=(theirs, *self._served, self._at, *self._doing),
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

    def answer(self) -> R | None:
        """Return the shard that is done; None where it is not: the process asks something, or it
        died and another one tries.
        """
        try:
            found = self.pipe.recv()
        except (EOFError, OSError):
            self._died()
            return None
        if isinstance(found, Failed):
            raise HoldfastError(found.sentence)
        if isinstance(found, Asks):
            self._ask(found)
            return None
        self._at.value = _NOT_BEGUN
        return found

    def _ask(self, asks: Asks) -> None:
        assert self._desk is not None
        pipe, closing = self.pipe, self._closing

        def reply(coming: Future[Answered]) -> None:
            if coming.cancelled():
                return
            answer = _reply(asks.number, coming)
            # the process that asked may be gone: whoever does its shard again finds the answer
            with closing, contextlib.suppress(OSError):
                pipe.send(answer)

        self._desk.ask(asks.question).add_done_callback(reply)

    def _died(self) -> None:
        at = self._at.value
        self.end()
        how = _how(self._process.exitcode)
        self._deaths[at] += 1
        if self._deaths[at] >= DEATHS:
            if at == _NOT_BEGUN:
                raise NotWritable(
                    self._served[1], f"processes die before they begin ({how})", remedy=GO_ON
                )
            self._poison[at] = f"{DEATHS} processes died on it ({how})"
        self._start()
        self._send()

    def end(self) -> None:
        """End the process, and wait until it is gone."""
        self._process.kill()  # first: nothing waits any more to be read by it
        with self._closing:
            self.pipe.close()
        self._process.join()


def _reply(number: int, coming: Future[Answered]) -> Reply:
    error = coming.exception()
    if error is None:
        return Reply(number, coming.result())
    known = isinstance(error, BatchStopped)
    return Reply(number, None, error.why if known else f"unexpected {type(error).__name__}")


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
