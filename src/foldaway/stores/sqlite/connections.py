"""The connections of one process to one file: one that writes, and as many as read at a time."""

from __future__ import annotations

import os
import threading
import time
import weakref
from collections.abc import Callable, Generator
from contextlib import AbstractContextManager, contextmanager
from typing import NamedTuple

import apsw

from foldaway.errors import StoreUnavailable

_MOST_IDLE = 8
_FORK_PATIENCE_SECONDS = 5.0
_ALL: weakref.WeakSet[SqliteConnections] = weakref.WeakSet()
_KEPT: list[tuple[apsw.Connection | None, list[apsw.Connection]]] = []


def file_at(where: str) -> tuple[int, int] | None:
    """Return what tells a file from every other one, None if there is none."""
    try:
        found = os.stat(where)
    except OSError:
        return None
    return found.st_dev, found.st_ino


class SqliteConnections:
    """Lends connections; each is used by one thread at a time.

    Before a fork all are closed and afterwards opened again on both sides: SQLite keeps what this
    process has locked in memory, and a child that inherits it would believe that it holds locks.
    """

    def __init__(self, where: str, open_one: Callable[[], apsw.Connection]) -> None:
        self.where = where
        self._open_one = open_one
        self._file = file_at(where)
        self._begin()
        self._lost = False
        _ALL.add(self)

    def _begin(self) -> None:
        self._writing = threading.RLock()
        self._writer: apsw.Connection | None = None
        self._readers = _Readers(self._open)

    @contextmanager
    def writer(self, patience_seconds: float) -> Generator[apsw.Connection]:
        """Lend the connection that writes; raise `apsw.BusyError` if it stays in use."""
        connection = self.take(patience_seconds)
        try:
            yield connection
        finally:
            self.give_back()

    def take(self, patience_seconds: float) -> apsw.Connection:
        """Return the connection that writes, for this thread alone until `give_back`.

        A thread that was interrupted just when it had the lock, or just before it gave it back,
        has it still: so it gets it again, and gives all of it back.
        """
        if not self._writing.acquire(timeout=patience_seconds):
            raise apsw.BusyError("another thread is writing")
        if self._writer is None:
            try:
                self._writer = self._open()
            except BaseException:
                self.give_back()
                raise
        if self._file is not None and file_at(self.where) != self._file:
            self.give_back()
            raise StoreUnavailable(
                self.where,
                "it was removed or replaced while it was open",
                remedy="put it back, or open it again",
            )
        return self._writer

    def give_back(self) -> None:
        """Let another thread write."""
        try:
            while True:
                self._writing.release()
        except RuntimeError:
            pass  # what says that nothing of it is left

    def reader(self) -> AbstractContextManager[apsw.Connection]:
        """Lend a connection that reads."""
        return self._readers.lend()

    def close(self) -> None:
        """Close what is not in use."""
        with self._writing:
            self._close_writer()
            self._readers.close_idle()

    def _open(self) -> apsw.Connection:
        if self._lost:
            raise StoreUnavailable(
                self.where,
                "this process was forked while the store was in use",
                remedy="fork when no thread uses the store, or start a new process",
            )
        return self._open_one()

    def _close_writer(self) -> None:
        if self._writer is not None:
            self._writer.close()
            self._writer = None

    def before_fork(self) -> None:
        """Close everything, as soon as nothing is in use."""
        deadline = time.monotonic() + _FORK_PATIENCE_SECONDS
        is_ours = self._writing.acquire(timeout=_FORK_PATIENCE_SECONDS)
        is_still = self._readers.stop(max(0.0, deadline - time.monotonic()), close=is_ours)
        if is_ours and is_still:
            self._close_writer()
        self._before_fork = _BeforeFork(is_ours=is_ours, is_clean=is_ours and is_still)

    def after_fork_in_parent(self) -> None:
        """Go on as before."""
        self._readers.resume()
        if self._before_fork.is_ours:
            self._writing.release()

    def after_fork_in_child(self) -> None:
        """Begin again, with locks of this process; keep what was in use from being closed here."""
        if not self._before_fork.is_clean:
            self._lost = True
            _KEPT.append((self._writer, self._readers.idle))
        self._begin()


class _BeforeFork(NamedTuple):
    """What a process had when it forked."""

    is_ours: bool
    """Whether it had the right to write."""
    is_clean: bool
    """Whether nothing was in use, so that all was closed."""


class _Readers:
    """Connections that read: as many as are in use at a time, and some that wait."""

    def __init__(self, open_one: Callable[[], apsw.Connection]) -> None:
        self._open = open_one
        self._changed = threading.Condition()
        self._lent = 0
        self._is_stopped = False
        self.idle: list[apsw.Connection] = []

    @contextmanager
    def lend(self) -> Generator[apsw.Connection]:
        with self._changed:
            self._changed.wait_for(lambda: not self._is_stopped)
            self._lent += 1
            connection = self.idle.pop() if self.idle else None
        try:
            if connection is None:
                connection = self._open()
            yield connection
        finally:
            with self._changed:
                self._lent -= 1
                if connection is not None and len(self.idle) < _MOST_IDLE:
                    self.idle.append(connection)
                elif connection is not None:
                    connection.close()
                self._changed.notify_all()

    def close_idle(self) -> None:
        with self._changed:
            while self.idle:
                self.idle.pop().close()

    def stop(self, seconds: float, *, close: bool) -> bool:
        """Lend no more, and wait for those that are lent; return whether all came back in time.

        If so, and if it is asked for, they are closed.
        """
        with self._changed:
            self._is_stopped = True
            is_still = self._changed.wait_for(lambda: not self._lent, seconds)
            if close and is_still:
                self.close_idle()
        return is_still

    def resume(self) -> None:
        with self._changed:
            self._is_stopped = False
            self._changed.notify_all()


def _each(step: Callable[[SqliteConnections], None]) -> Callable[[], None]:
    def run() -> None:
        for connections in list(_ALL):
            step(connections)

    return run


if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_each(SqliteConnections.before_fork),
        after_in_parent=_each(SqliteConnections.after_fork_in_parent),
        after_in_child=_each(SqliteConnections.after_fork_in_child),
    )
