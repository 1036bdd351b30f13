"""A worker's line to the process that asks the model for all of them."""

from __future__ import annotations

from concurrent.futures import Future
from itertools import count
from multiprocessing.connection import Connection
from threading import Lock
from typing import Any

from msgspec import Struct

from holdfast.errors import BatchStopped
from holdfast.trajectories.answers import Answered, Question
from holdfast.trajectories.lanes import Lanes


class Asks(Struct, frozen=True):
    """A question on its way to the desk."""

    number: int
    question: Question


class Reply(Struct, frozen=True):
    """Its answer on the way back; or why the batch stops."""

    number: int
    answered: Answered | None
    why: str = ""


class Line:
    """Sends for all threads of a worker, and brings each the answer to its question."""

    def __init__(self, pipe: Connection[Any, Any], lanes: Lanes) -> None:
        """Take the pipe, of which somebody else reads."""
        self._pipe, self._lanes = pipe, lanes
        self._numbers = count()
        self._waiting: dict[int, Future[Answered]] = {}
        self._sending = Lock()

    def send(self, value: object) -> None:
        """Send to the parent."""
        with self._sending:
            self._pipe.send(value)

    def ask(self, question: Question) -> Answered:
        """Return the answer of the desk; other records are worked on meanwhile."""
        number, coming = next(self._numbers), Future[Answered]()
        self._waiting[number] = coming
        self.send(Asks(number, question))
        with self._lanes.waiting():
            return coming.result()

    def settle(self, reply: Reply) -> None:
        """Hand a reply to whoever waits for it."""
        coming = self._waiting.pop(reply.number)
        if reply.answered is None:
            coming.set_exception(BatchStopped(reply.why))
        else:
            coming.set_result(reply.answered)
