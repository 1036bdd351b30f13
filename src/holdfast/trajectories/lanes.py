"""Records side by side: one is worked on, the others wait for answers."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from threading import Lock
from typing import TypeVar

T = TypeVar("T")


class Lanes:
    """So many threads of which one at a time works.

    Python would not let two work at once anyway; so it is known which one was at work when the
    process dies.
    """

    def __init__(self, number: int) -> None:
        """Take the number of lanes."""
        self.number = number
        self._work = Lock()

    def in_order(self, do: Callable[[int], T], count: int) -> Iterator[T]:
        """Yield `do(0)`, `do(1)` …, each made in a lane; the first error ends all."""

        def at_work(at: int) -> T:
            with self._work:
                return do(at)

        pool = ThreadPoolExecutor(min(self.number, max(count, 1)), "holdfast-lane")
        try:
            yield from pool.map(at_work, range(count))
        finally:
            pool.shutdown(wait=False, cancel_futures=True)

    @contextmanager
    def waiting(self) -> Generator[None]:
        """Let others work while this lane waits."""
        self._work.release()
        try:
            yield
        finally:
            self._work.acquire()
