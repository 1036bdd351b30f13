"""What happens in a gateway, told to anyone who listens: server-sent events from one process."""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import AsyncGenerator, Callable
from typing import Any, Final

from msgspec import Struct

from foldaway.dialects import dump_bytes

MOST_WAITING: Final = 256
"""Events that wait for one reader; a reader that is slower loses the oldest and is told so."""
MOST_READERS: Final = 64
"""Readers at once; an inspector has one for each window that is open."""
PING_SECONDS: Final = 15.0
"""Of silence before a comment is sent: browsers and proxies give up after 30 to 60."""


class SessionChanged(Struct, frozen=True, kw_only=True, tag="changed", tag_field="kind"):
    """A request to the API changed a session."""

    what: str
    """The name of the operation: `compactSession`, `undoCompaction`, …"""
    session: str
    """The session as the request named it; "" if it named none."""


class Lost(Struct, frozen=True, tag="lost", tag_field="kind"):
    """A reader was too slow: so many events were left out here."""

    events: int


class TooManyReaders(Exception):
    """Nobody else can listen now."""


class _Reader:
    """The events that wait for one reader, in its event loop."""

    def __init__(self, most: int) -> None:
        self.waiting: deque[bytes] = deque()
        self.lost = 0
        self._most, self._lock = most, threading.Lock()
        self._loop, self._woken = asyncio.get_running_loop(), asyncio.Event()

    def put(self, frame: bytes) -> None:
        """Let an event wait; the oldest goes if there are too many."""
        with self._lock:
            if len(self.waiting) == self._most:
                self.waiting.popleft()
                self.lost += 1
            self.waiting.append(frame)
        self.wake()

    def wake(self) -> None:
        """Let the reader look, from any thread."""
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._woken.set)

    def take(self) -> list[bytes]:
        """Return what waits, after how much of it was lost."""
        with self._lock:
            taken = [_frame(Lost(self.lost))] if self.lost else []
            taken += self.waiting
            self.waiting.clear()
            self.lost = 0
            self._woken.clear()
        return taken

    async def wait(self, seconds: float) -> None:
        """Wait for something to take; raises `TimeoutError`."""
        await asyncio.wait_for(self._woken.wait(), seconds)


class Events:
    """Tells every reader what is published; nothing is kept for those who come later.

    `publish` may be called from any thread and never waits.
    """

    def __init__(
        self,
        *,
        most_waiting: int = MOST_WAITING,
        most_readers: int = MOST_READERS,
        ping_seconds: float = PING_SECONDS,
    ) -> None:
        self._most_waiting, self._most_readers = most_waiting, most_readers
        self._ping_seconds = ping_seconds
        self._readers: set[_Reader] = set()
        self._hearers: list[Callable[[Any], None]] = []
        self._is_closed = False

    def publish(self, value: Any) -> None:
        """Tell all readers a value: a struct with a tag, or a mapping with a `kind`.

        It holds no content of a conversation.
        """
        for hear in self._hearers:
            hear(value)
        readers = tuple(self._readers)
        if not readers:
            return
        frame = _frame(value)
        for reader in readers:
            reader.put(frame)

    def hear(self, hear: Callable[[Any], None]) -> None:
        """Have a function of this process called with every value; it must not wait or raise."""
        self._hearers.append(hear)

    def listen(self) -> AsyncGenerator[bytes]:
        """Return the frames of a `text/event-stream` from now on; raises `TooManyReaders`.

        Called in the event loop. Silence is broken by comments.
        """
        if self._is_closed or len(self._readers) >= self._most_readers:
            raise TooManyReaders
        return self._stream(_Reader(self._most_waiting))

    def close(self) -> None:
        """End all streams: a server that stops does not wait for its readers."""
        self._is_closed = True
        for reader in tuple(self._readers):
            reader.wake()

    async def _stream(self, reader: _Reader) -> AsyncGenerator[bytes]:
        self._readers.add(reader)
        try:
            yield b": foldaway\n\n"  # so that a client knows at once that it is connected
            while not self._is_closed:
                try:
                    await reader.wait(self._ping_seconds)
                except TimeoutError:
                    yield b": ping\n\n"
                    continue
                for frame in reader.take():
                    yield frame
            for frame in reader.take():  # what came while the last ones were being written
                yield frame
        finally:
            self._readers.discard(reader)


def _frame(value: Any) -> bytes:
    """Return a value as an event; JSON has no line breaks of its own."""
    return b"data: " + dump_bytes(value) + b"\n\n"
