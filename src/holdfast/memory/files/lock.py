"""One writer at a time, over all processes and threads of a machine."""

from __future__ import annotations

import os
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from holdfast.errors import MemoryRefused

try:
    import fcntl
except ImportError:  # Windows: one writer at a time is then the user's affair
    fcntl = None

WAIT_SECONDS = 10.0
_LOOK_SECONDS = 0.004


@contextmanager
def locked(lock: Path, name: str, wait_seconds: float = WAIT_SECONDS) -> Generator[None]:
    """Hold the lock; the system lets go of it when the process ends, however it ends.

    Raises `MemoryRefused` where another holder keeps it longer than `wait_seconds`.
    """
    handle = os.open(lock, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        until = time.monotonic() + wait_seconds
        while not _taken(handle):
            if time.monotonic() > until:
                raise MemoryRefused(
                    name,
                    f"another process has held its lock for {wait_seconds:g} seconds",
                    remedy="try again",
                )
            time.sleep(_LOOK_SECONDS)
        yield
    finally:
        os.close(handle)


def _taken(handle: int) -> bool:
    if fcntl is None:
        return True
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
