"""Work on many items in several processes."""

from __future__ import annotations

import multiprocessing
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

T = TypeVar("T")
R = TypeVar("R")

_work: Callable[[Any], Any] | None = None


def _call(item: Any) -> Any:
    assert _work is not None
    return _work(item)


def in_parallel(work: Callable[[T], R], items: Sequence[T], jobs: int, what: str) -> list[R]:
    """Return the work done on each item, in order; progress goes to standard error.

    Workers are forked after `work` is known, so that large values in it are not sent to them.
    """
    global _work
    _work = work
    begun, found = time.perf_counter(), list[R]()
    if jobs > 1 and len(items) > 1:
        with multiprocessing.get_context("fork").Pool(jobs) as pool:
            results: Iterable[R] = pool.imap(_call, items, chunksize=1)
            for result in results:
                found.append(result)
                _progress(what, len(found), len(items), begun)
    else:
        for item in items:
            found.append(work(item))
            _progress(what, len(found), len(items), begun)
    return found


def _progress(what: str, done: int, total: int, begun: float) -> None:
    """Tell how far it is: on a terminal all the time, elsewhere a few times."""
    line = f"{what}: {done}/{total}, {time.perf_counter() - begun:.0f} s"
    if sys.stderr.isatty():
        print(f"\r{line} ", end="\n" if done == total else "", file=sys.stderr, flush=True)
    elif done * 4 // total > (done - 1) * 4 // total:
        print(line, file=sys.stderr, flush=True)
