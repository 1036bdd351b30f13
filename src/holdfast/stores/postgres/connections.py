"""The connections of one process to one server."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager

import psycopg
from psycopg.pq import TransactionStatus

from holdfast.stores.postgres.opening import Connection

MOST = 8
"""At a time and process. What waits for the server's disk at the same time is synced together."""


class PostgresConnections:
    """Lends connections; each is used by one thread at a time and kept for the next.

    None is made before it is needed, and what goes wrong then is raised to who needed it. After a
    fork the child begins with none: those of the parent are left alone.
    """

    def __init__(self, open_one: Callable[[], Connection]) -> None:
        self._tx_one = open_one
        self._kept: list[list[Connection]] = []
        self._begin()

    def _begin(self) -> None:
        self._process = os.getpid()
        self._free = threading.BoundedSemaphore(MOST)
        self._idle: list[Connection] = []
        self._kept.append(self._idle)  # closing an inherited one would end it for the parent too

    @contextmanager
    def one(self, seconds: float) -> Generator[Connection]:
        """Lend a connection; raise `TimeoutError` where none becomes free in time."""
        if self._process != os.getpid():
            self._begin()
        free = self._free
        if not free.acquire(timeout=max(0.0, seconds)):
            raise TimeoutError
        try:
            connection = self._take()
            try:
                yield connection
            finally:
                self._give_back(connection)
        finally:
            free.release()

    def close(self) -> None:
        """Close what is not in use."""
        while self._idle:
            self._idle.pop().close()

    def _take(self) -> Connection:
        try:
            return self._idle.pop()
        except IndexError:
            return self._tx_one()

    def _give_back(self, connection: Connection) -> None:
        if connection.closed:
            return
        if connection.info.transaction_status == TransactionStatus.IDLE:
            self._idle.append(connection)
        else:  # an interrupt came between statements: the server undoes what was open
            connection.close()


def connect(url: str, extra: dict[str, str]) -> Connection:
    """Return a connection whose transactions we begin and end ourselves."""
    return psycopg.connect(url, autocommit=True, **extra)  # pyright: ignore[reportArgumentType]
