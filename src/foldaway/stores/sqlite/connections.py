"""The connections of one process to one file: one that writes, and as many as read at a time."""

from __future__ import annotations

import os
import threading
import time
import weakref
from collections.abc import Callable, Generator
from contextlib import contextmanager

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
        self._changed = threading.Condition()
        self._writer: apsw.Connection | None = None
        self._idle: list[apsw.Connection] = []
        self._reading = 0
        self._forking = False

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

    @contextmanager
    def reader(self) -> Generator[apsw.Connection]:
        """Lend a connection that reads."""
        with self._changed:
            self._changed.wait_for(lambda: not self._forking)
            self._reading += 1
            connection = self._idle.pop() if self._idle else None
        try:
            if connection is None:
                connection = self._open()
            yield connection
        finally:
            with self._changed:
                self._reading -= 1
                if connection is not None and len(self._idle) < _MOST_IDLE:
                    self._idle.append(connection)
                elif connection is not None:
                    connection.close()
                self._changed.notify_all()

    def close(self) -> None:
        """Close what is not in use."""
        with self._writing, self._changed:
            self._close_idle()

    def _open(self) -> apsw.Connection:
        if self._lost:
            raise StoreUnavailable(
                self.where,
                "this process was forked while the store was in use",
                remedy="fork when no thread uses the store, or start a new process",
            )
        return self._open_one()

    def _close_idle(self) -> None:
        if self._writer is not None:
            self._writer.close()
            self._writer = None
        while self._idle:
            self._idle.pop().close()

    def before_fork(self) -> None:
        """Close everything, as soon as nothing is in use."""
        deadline = time.monotonic() + _FORK_PATIENCE_SECONDS
        is_ours = self._writing.acquire(timeout=_FORK_PATIENCE_SECONDS)
        with self._changed:
            self._forking = True
            left = max(0.0, deadline - time.monotonic())
            is_still = self._changed.wait_for(lambda: not self._reading, left)
            if is_ours and is_still:
                self._close_idle()
        self._is_ours, self._is_clean = is_ours, is_ours and is_still

    def after_fork_in_parent(self) -> None:
        """Go on as before."""
        with self._changed:
            self._forking = False
            self._changed.notify_all()
        if self._is_ours:
            self._writing.release()

    def after_fork_in_child(self) -> None:
        """Begin again, with locks of this process; keep what was in use from being closed here."""
        if not self._is_clean:
            self._lost = True
            _KEPT.append((self._writer, self._idle))
        self._begin()


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
