"""A lane: calls of one provider one after another, in a thread of its own, away from the turn."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from typing import Generic, Literal, TypeAlias, TypeVar

T = TypeVar("T")
State: TypeAlias = Literal["waiting", "done", "failed"]

_END = None


class Ticket(Generic[T]):
    """A call that was taken: what became of it."""

    def __init__(self, work: Callable[[], T]) -> None:
        self._work: Callable[[], T] | None = work
        self._over = threading.Event()
        self._result: list[T] = []
        self.error: BaseException | None = None

    @property
    def state(self) -> State:
        """Where it stands; `done` means that the provider has returned, so it is durable there."""
        if not self._over.is_set():
            return "waiting"
        return "failed" if self.error is not None else "done"

    def wait(self, seconds: float | None = None) -> bool:
        """Wait until it is over; return whether it is."""
        return self._over.wait(seconds)

    def result(self) -> T:
        """Return what came of it, or raise what was raised; only after it is over."""
        if self.error is not None:
            raise self.error
        return self._result[0]

    def run(self) -> None:
        """Do it, in the lane's thread; nothing gets out of here."""
        work, self._work = self._work, None  # what it holds on to is free when it is over
        try:
            if work is not None:
                self._result.append(work())
        except BaseException as error:  # noqa: BLE001 a provider may raise anything at all
            self.error = error
        finally:
            del work
            self._over.set()


class Lane:
    """Takes calls without waiting, does them in their order. Its thread is made at the first."""

    def __init__(self, name: str, most: int) -> None:
        self._name, self._most = name, most
        self._calls: queue.SimpleQueue[Ticket[object] | None] = queue.SimpleQueue()
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None
        self._waiting = 0
        self._closed = False

    @property
    def waiting(self) -> int:
        """How many calls are not over."""
        return self._waiting

    @property
    def has_thread(self) -> bool:
        """Whether a thread was made."""
        return self._thread is not None

    def take(self, work: Callable[[], T]) -> Ticket[T] | None:
        """Return a ticket; None where too many wait already, or after the end.

        None also where no thread can be made: the system has no more, or the interpreter ends.
        """
        ticket = Ticket(work)
        with self._changed:
            if self._closed or self._waiting >= self._most:
                return None
            if self._thread is None:
                thread = threading.Thread(target=self._run, name=self._name, daemon=True)
                try:
                    thread.start()
                except RuntimeError:
                    return None
                self._thread = thread
            self._waiting += 1
            self._calls.put(ticket)  # pyright: ignore[reportArgumentType]
        return ticket

    def drain(self, seconds: float) -> bool:
        """Wait until nothing is waiting; return whether that came."""
        with self._changed:
            return self._changed.wait_for(lambda: self._waiting == 0, seconds)

    def end(self) -> None:
        """Take no more; the thread ends after what was taken."""
        with self._changed:
            if not self._closed:
                self._closed = True
                self._calls.put(_END)

    def close(self, seconds: float) -> int:
        """Take no more, and wait for what was taken; return how many calls are not over."""
        self.end()
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join(seconds)
        return self._waiting

    def _run(self) -> None:
        while (ticket := self._calls.get()) is not None:
            ticket.run()
            with self._changed:
                self._waiting -= 1
                self._changed.notify_all()
