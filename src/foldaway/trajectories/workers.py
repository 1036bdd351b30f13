"""Processes that do shards; one that dies costs the record that killed it, and nothing else.

Not `concurrent.futures.ProcessPoolExecutor`: if one of its processes dies, it ends all of them and
does not say how that one died; and it cannot end a process that is at work, as Ctrl-C has to.
"""

from __future__ import annotations

import contextlib
import gc
import multiprocessing
import os
import signal
import threading
import traceback
from collections.abc import Callable, Generator, Iterable
from concurrent.futures import Future
from functools import cache
from itertools import count
from multiprocessing import connection
from multiprocessing.connection import Connection
from multiprocessing.context import ForkServerContext, SpawnContext
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any, Generic, TypeAlias, TypeVar, cast

from msgspec import Struct
from msgspec.structs import replace

from foldaway.errors import BatchStopped, FoldawayError
from foldaway.trajectories.folder import AttemptNote, plain_errors
from foldaway.trajectories.model_client import ModelClient
from foldaway.trajectories.policy import BatchSettings
from foldaway.trajectories.reading import Shard
from foldaway.trajectories.shard import RecordThreads, ShardRun, ShardWork, tools_for
from foldaway.trajectories.summaries import ModelAnswer, ModelQuestion

ORPHANED, CRASHED = 1, 70
"""Exit codes of a worker whose parent is gone, and of one that met what no record may raise."""
_LOOK_SECONDS = 0.5
"""How often progress is told while no shard is finished."""

R = TypeVar("R")
Pipe: TypeAlias = "Connection[Any, Any]"


class WorkerSetup(Struct, Generic[R], frozen=True, kw_only=True):
    """What every worker is started with."""

    settings: BatchSettings
    folder: Path
    work: ShardWork[R]
    at_once: int = 1
    """Records of a worker that wait for a model side by side."""
    notes: Path | None = None
    """Where attempts are noted, instead of the state folder."""


class WorkerTask(Struct, frozen=True):
    """A shard to be done, and its records that are not to be looked at again."""

    shard: Shard
    poison: dict[int, str]


class WorkerFailed(Struct, frozen=True):
    """What stopped a shard, as people read it: a disk that is full, a package that is missing."""

    sentence: str


class PipedQuestion(Struct, frozen=True):
    """A question on its way to the process that asks the model for all workers."""

    number: int
    question: ModelQuestion


class PipedAnswer(Struct, frozen=True):
    """Its answer on the way back; or why the batch stops."""

    number: int
    answer: ModelAnswer | None
    why: str = ""


def do_shards(
    shards: Iterable[Shard],
    setup: WorkerSetup[R],
    *,
    workers: int,
    client: ModelClient | None = None,
    on_begun: Callable[[int], None] = lambda _: None,
) -> Generator[R]:
    """Yield the results of the shards in any order; one shard ahead of the workers is read.

    What the workers ask a model goes to `client`. `on_begun` is called with the number of records
    that are begun in shards under way. Raises what stopped a worker, and `NotWritable` if workers
    die before they begin.
    """
    waiting = iter(shards)
    busy: dict[Pipe, _Worker[R]] = {}
    idle: list[_Worker[R]] = []
    ahead = next(waiting, None)
    try:
        while busy or ahead is not None:
            while ahead is not None and (idle or len(busy) < workers):
                worker = idle.pop() if idle else _Worker(setup, client)
                busy[worker.pipe] = worker
                worker.begin(ahead)
                ahead = next(waiting, None)
            for pipe in connection.wait(list(busy), _LOOK_SECONDS):
                worker = busy[cast("Pipe", pipe)]
                result = worker.receive()
                del busy[cast("Pipe", pipe)]
                if result is None:
                    busy[worker.pipe] = worker
                else:
                    idle.append(worker)
                    yield result
            on_begun(sum(worker.count_begun() for worker in busy.values()))
    finally:
        for worker in (*busy.values(), *idle):
            worker.end()


class _Worker(Generic[R]):
    """A process and the shard that it does; it is replaced if it dies."""

    def __init__(self, setup: WorkerSetup[R], client: ModelClient | None) -> None:
        self._setup, self._client = setup, client
        self._task: WorkerTask | None = None
        self._start()

    def _start(self) -> None:
        context = _context()
        ours, theirs = context.Pipe()
        self.pipe = cast("Pipe", ours)
        self._closing = threading.Lock()
        self._process: BaseProcess = context.Process(
            target=run_worker, daemon=True, args=(theirs, self._setup, _umask())
        )
        self._process.start()
        theirs.close()

    def begin(self, shard: Shard) -> None:
        """Do a shard."""
        self._note = AttemptNote(self._setup.folder, shard.name, self._setup.notes)
        self._try(WorkerTask(shard, {}))

    def _try(self, task: WorkerTask, how: str = "") -> None:
        self._task = replace(task, poison={**self._note.begin(how), **task.poison})
        # a process that died is noticed when its result is received
        with contextlib.suppress(OSError):
            self.pipe.send(self._task)

    def count_begun(self) -> int:
        """Return how many records of the shard are begun."""
        return self._note.count_begun()

    def receive(self) -> R | None:
        """Return the result of the shard; None if it is not done: the process asks something, or
        it died and another one tries.
        """
        try:
            found = self.pipe.recv()
        except (EOFError, OSError):
            self._replace()
            return None
        if isinstance(found, WorkerFailed):
            raise FoldawayError(found.sentence)
        if isinstance(found, PipedQuestion):
            self._ask(found)
            return None
        self._note.remove()
        return found

    def _ask(self, piped: PipedQuestion) -> None:
        assert self._client is not None
        pipe, closing = self.pipe, self._closing

        def reply(coming: Future[ModelAnswer]) -> None:
            if coming.cancelled():
                return
            # the process that asked may be gone: anyone who does its shard again finds the answer
            with closing, contextlib.suppress(OSError):
                pipe.send(_read_piped_answer(piped.number, coming))

        self._client.ask(piped.question).add_done_callback(reply)

    def _replace(self) -> None:
        assert self._task is not None
        self.end()
        how = _describe_exit(self._process.exitcode)
        self._start()
        self._try(self._task, how)

    def end(self) -> None:
        """End the process, and wait until it is gone."""
        self._process.kill()  # first: nothing waits any more to be read by it
        with self._closing:
            self.pipe.close()
        self._process.join()


def _read_piped_answer(number: int, coming: Future[ModelAnswer]) -> PipedAnswer:
    error = coming.exception()
    if error is None:
        return PipedAnswer(number, coming.result())
    known = isinstance(error, BatchStopped)
    return PipedAnswer(number, None, error.why if known else f"unexpected {type(error).__name__}")


def _describe_exit(code: int | None) -> str:
    if code is not None and code < 0:
        with contextlib.suppress(ValueError):
            return signal.Signals(-code).name
    return f"exit code {code}"


@cache
def _context() -> ForkServerContext | SpawnContext:
    """Return how processes are started: as copies of one that has read the code, if possible.

    Never as copies of this one: it may have threads, and the input in its memory.
    """
    if "forkserver" not in multiprocessing.get_all_start_methods():
        return multiprocessing.get_context("spawn")
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([__name__])
    return context


class WorkerPipe:
    """The worker's end: sends for all threads, and brings each the answer to its question."""

    def __init__(self, pipe: Pipe, threads: RecordThreads) -> None:
        """Take the pipe; `receive` is called by one thread alone."""
        self._pipe, self._threads = pipe, threads
        self._numbers = count()
        self._waiting: dict[int, Future[ModelAnswer]] = {}
        self._sending = threading.Lock()

    def send(self, value: object) -> None:
        """Send to the parent."""
        with self._sending:
            self._pipe.send(value)

    def ask(self, question: ModelQuestion) -> ModelAnswer:
        """Return the answer of the parent's client; other records are worked on meanwhile."""
        number, coming = next(self._numbers), Future[ModelAnswer]()
        self._waiting[number] = coming
        self.send(PipedQuestion(number, question))
        with self._threads.wait():
            return coming.result()

    def receive(self) -> WorkerTask | None:
        """Return the next task, None at the end; answers go to anyone who waits for them."""
        try:
            while isinstance(found := self._pipe.recv(), PipedAnswer):
                coming = self._waiting.pop(found.number)
                if found.answer is None:
                    coming.set_exception(BatchStopped(found.why))
                else:
                    coming.set_result(found.answer)
            return found
        except (EOFError, ConnectionResetError):
            return None


def _umask() -> int:
    """Return the umask of this process: the server that forks workers has the one of its start."""
    found = os.umask(0o077)
    os.umask(found)
    return found


def run_worker(pipe: Pipe, setup: WorkerSetup[Any], umask: int) -> None:
    """Do the shards that come through the pipe until it ends, in a process of its own."""
    os.umask(umask)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    threads = RecordThreads(setup.at_once)
    worker = WorkerPipe(pipe, threads)
    try:
        tools = tools_for(setup.settings, worker.ask)
    except FoldawayError as error:
        worker.send(WorkerFailed(str(error)))
        return
    gc.freeze()  # what is there for good is not looked through again: a tenth of the time
    run = ShardRun(
        settings=setup.settings,
        tools=tools,
        folder=setup.folder,
        threads=threads if setup.settings.summaries == "model" else None,
    )
    while (task := worker.receive()) is not None:
        threading.Thread(target=_do_task, args=(task, setup, run, worker), daemon=True).start()


def _do_task(task: WorkerTask, setup: WorkerSetup[Any], run: ShardRun, worker: WorkerPipe) -> None:
    note = AttemptNote(setup.folder, task.shard.name, setup.notes)
    try:
        with plain_errors(setup.folder), note.open_records() as on_record:
            run = replace(run, poison=task.poison, on_record=on_record)
            found = setup.work(task.shard, run)
    except FoldawayError as error:
        found = WorkerFailed(str(error))
    # a thread that ends unheard would leave the parent waiting
    except BaseException:  # noqa: BLE001
        traceback.print_exc()
        os._exit(CRASHED)
    worker.send(found)


def _end_with_parent() -> None:
    """End this process when the one that started it is gone, killed or not."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(ORPHANED)
