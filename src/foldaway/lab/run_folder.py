"""The folder of a run that can be resumed, and the processes that work for it."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

import msgspec

from foldaway._core import write_whole
from foldaway.errors import NotWritable

Item = TypeVar("Item")
Result = TypeVar("Result")

MANIFEST = "run.json"
_LOOK_SECONDS = 1.0
"""How often it is told what running workers have done."""


def claim_folder(folder: Path, manifest: msgspec.Struct) -> None:
    """Make the folder this run's, or find that it is; raises `NotWritable` if it is another's."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / MANIFEST
    made = msgspec.json.format(msgspec.json.encode(manifest), indent=1)
    if not path.exists():
        write_whole(path, made + b"\n")
        return
    try:
        there = msgspec.json.decode(path.read_bytes(), type=type(manifest))
    except (OSError, msgspec.DecodeError):
        there = None
    if there != manifest:
        raise NotWritable(
            str(folder), "holds another run of the lab; give another folder, or delete this one"
        )


def read_progress(path: Path) -> list[bytes]:
    """Return the lines of a file to which a run adds; a torn last one is cut off."""
    if not path.exists():
        return []
    data = path.read_bytes()
    whole = data[: data.rfind(b"\n") + 1]
    if len(whole) < len(data):
        os.truncate(path, len(whole))
    return whole.splitlines()


@contextmanager
def without_interrupts() -> Generator[None]:
    """Ignore Ctrl-C, and let processes that are started now ignore it: this one ends them."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


@contextmanager
def _ended_by_signal() -> Generator[None]:
    """Have SIGTERM raise `SystemExit`, as Ctrl-C raises an error: processes are ended by it too."""

    def end(number: int, _: object) -> None:
        raise SystemExit(128 + number)

    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def run_in_processes(
    work: Callable[[Item], Result],
    items: Sequence[Item],
    jobs: int,
    begin: Callable[[], None],
    tell: Callable[[], None],
) -> Iterator[Result]:
    """Yield what `work` makes of each item, as it is done; each process begins with `begin`.

    `tell` is called at least once a second. An error, Ctrl-C or SIGTERM ends all processes at once.
    """
    others = set(multiprocessing.active_children())
    spawn = multiprocessing.get_context("spawn")
    workers = ProcessPoolExecutor(min(jobs, len(items)), spawn, begin)
    with _ended_by_signal(), workers as pool:
        try:
            with without_interrupts():
                waiting: set[Future[Result]] = {pool.submit(work, item) for item in items}
            while waiting:
                ready, waiting = wait(waiting, _LOOK_SECONDS, return_when=FIRST_COMPLETED)
                tell()
                yield from (future.result() for future in ready)
        except BaseException as error:
            pool.shutdown(wait=False, cancel_futures=True)
            for worker in set(multiprocessing.active_children()) - others:
                worker.terminate()  # at once, not after what it is at
            if not isinstance(error, BrokenProcessPool):
                raise
            raise NotWritable(
                "the lab", "a worker died (out of memory?); run again to go on, with fewer --jobs"
            ) from None
