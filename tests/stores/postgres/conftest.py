"""A way to the server that a test may cut, and messages."""

from __future__ import annotations

import socket
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Literal

import pytest
from tests.testing.postgres_server import PostgresServer

from foldaway.stores.values import NewMessage

Cut = Literal["", "before", "after", "silent"]


@pytest.fixture
def said() -> Callable[[str], NewMessage]:
    """Makes a message of a text."""

    def make(text: str) -> NewMessage:
        return NewMessage(body=text.encode(errors="surrogatepass"), role="user", text=text)

    return make


class Line:
    """A way to a server that breaks once, where a commit is on its way.

    `before`: the server never sees the commit. `after`: it commits, but nobody hears of it.
    `silent`: it never sees the commit, nor that its client is gone.
    """

    def __init__(self, server: PostgresServer) -> None:
        self.cut: Cut = ""
        self.cuts = 0
        self._target = f"{server.folder}/.s.PGSQL.5432"
        self._folder = tempfile.TemporaryDirectory(prefix="fa-")
        self.url = f"postgresql://postgres@/postgres?host={self._folder.name}"
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(str(Path(self._folder.name) / ".s.PGSQL.5432"))
        self._listener.listen()
        self._open: list[socket.socket] = []
        self._threads = [threading.Thread(target=self._accept)]
        self._threads[0].start()

    def close(self) -> None:
        """End all that goes over it."""
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for end in self._open:
            _end(end)
        for thread in self._threads:
            thread.join()
        for end in self._open:
            end.close()
        self._folder.cleanup()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client = self._listener.accept()[0]
                target = socket.socket(socket.AF_UNIX)
                target.connect(self._target)
                self._open += (client, target)
                for work in (self._up, self._down):
                    thread = threading.Thread(target=work, args=(client, target))
                    self._threads.append(thread)
                    thread.start()

    def _up(self, client: socket.socket, target: socket.socket) -> None:
        with suppress(OSError):
            while data := client.recv(65_536):
                if self.cut and b"COMMIT\0" in data:
                    cut, self.cut = self.cut, ""
                    self.cuts += 1
                    if cut == "after":
                        self._muted = client
                        target.sendall(data)
                        return
                    if cut == "before":
                        _end(target)
                    _end(client)
                    return
                target.sendall(data)
        _end(target)

    _muted: socket.socket | None = None

    def _down(self, client: socket.socket, target: socket.socket) -> None:
        with suppress(OSError):
            while data := target.recv(65_536):
                if self._muted is client:
                    break
                client.sendall(data)
        _end(client)


def _end(end: socket.socket) -> None:
    with suppress(OSError):
        end.shutdown(socket.SHUT_RDWR)


@pytest.fixture
def line(server: PostgresServer) -> Iterator[Line]:
    """A way to the server that can be cut."""
    made = Line(server)
    yield made
    made.close()
