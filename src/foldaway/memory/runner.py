"""Runs one memory provider under a deadline: a slow or failing one cannot hold up a turn."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, wait
from functools import partial
from time import monotonic
from typing import TypeVar, cast

from msgspec import Struct

from foldaway._core import log_event
from foldaway.memory.provider import MemoryProvider

T = TypeVar("T")

_MOST_QUESTIONS = 4
"""Questions that may wait for a provider: the system text, prefetch, the look ahead and a tool call
of one turn. If the provider hangs, the next one is late at once."""
METHODS = (
    "system_text",
    "prefetch",
    "sync",
    "turn_started",
    "session_ended",
    "session_switched",
    "before_compaction",
)
_CUT = "\n[… {} more characters were left out]"


class ProviderStatus(Struct, kw_only=True):
    """How one provider does: counts and kinds of errors, never content."""

    calls: int = 0
    failures: int = 0
    late: int = 0
    refused: int = 0
    """Turns that were not taken because the queue was full."""
    last_error: str = ""


class _Fallback(Struct):
    """What is said in place of an answer that is late."""

    system_text: str = ""
    recalled: Future[str] | None = None


class ProviderRunner:
    """A provider with two threads: one for what it is told, one for what it is asked."""

    def __init__(
        self, provider: MemoryProvider, *, queued: int, most_chars: int, builtin: bool
    ) -> None:
        """Take a provider; one that is not built in is never called in the thread of the turn."""
        self.provider = provider
        self.status = ProviderStatus()
        self.notices = _Worker(f"foldaway-memory-{provider.name}-told", queued)
        self._questions = _Worker(f"foldaway-memory-{provider.name}-asked", _MOST_QUESTIONS)
        self._most_chars = most_chars
        self._builtin = builtin
        self._methods: frozenset[str] = frozenset()
        self._fallback = _Fallback()

    def does(self, method: str) -> bool:
        """Return whether the provider implements a method: no thread is started for nothing.

        One that is not built in is asked once, together with its tools: not in the turn.
        """
        if self._builtin:
            return self.attempt(lambda: self.provider.does(method)) is True
        return method in self._methods

    # Questions: the turn waits for the answer

    def ask(self, call: Callable[[], T]) -> Future[T] | None:
        """Queue a question; None if too many are waiting."""
        return self._questions.submit(call)

    def answer(self, future: Future[str] | None, until: float) -> str | None:
        """Return what the provider said, cut to its limit; None if it is late or failed."""
        self.status.calls += 1
        said = self._result(future, until)
        return None if said is None else self._text(said)

    def warm(self, call: Callable[[], str]) -> None:
        """Queue a question whose answer can replace a later one that is late."""
        self._fallback.recalled = self.ask(call)

    def warmed(self) -> str:
        """Return that answer, once, if it is there."""
        future, self._fallback.recalled = self._fallback.recalled, None
        if future is None or not future.done() or future.exception() is not None:
            return ""
        return self.answer(future, 0.0) or ""

    def system_text(self, until: float) -> str:
        """Return its part of the system prompt; the previous one if it is late or fails."""
        if self.does("system_text"):
            if self._builtin:
                said = self.attempt(self.provider.system_text)
                said = None if said is None else self._text(said, whole=True)
            else:
                said = self.answer(self.ask(self.provider.system_text), until)
            if said is not None:
                self._fallback.system_text = said
        return self._fallback.system_text

    def tools(self, until: float) -> list[Mapping[str, object]]:
        """Return the tools that have a name; none if the provider is late or fails."""
        if not self._builtin:
            asked = self._call_aside(lambda: _list_implemented(self.provider.does), until)
            if asked is None:  # without an answer: what its class overwrites
                asked = _list_implemented(partial(MemoryProvider.does, self.provider))
            self._methods = asked
        said = self._call_aside(lambda: list(self.provider.tools()), until)
        return [one for one in said or () if _is_tool(one)]

    # Notices: delivered in order, in the background

    def notify(self, call: Callable[[MemoryProvider], None]) -> Future[None] | None:
        """Queue a notice; None, and counted, if the queue is full."""

        def work() -> None:
            self.status.calls += 1
            try:
                call(self.provider)
            except BaseException as error:
                self._count_failure(error)
                raise

        future = self.notices.submit(work)
        if future is None:
            self.status.refused += 1
            log_event("memory.refused", provider=self.provider.name)
        return future

    def close(self, until: float) -> int:
        """Finish the notices and close the provider; return how many notices are not delivered."""
        undone = self.notices.close(max(until - monotonic(), 0))
        if not undone:
            self._call_aside(self.provider.close, until)
        # a thread that is still at work when the interpreter ends may take the process with it
        self._questions.close(max(until - monotonic(), 0) if self._builtin else 0)
        return undone

    def end(self) -> None:
        """Take no more calls; the threads end after the ones that were taken."""
        self.notices.end()
        self._questions.end()

    def attempt(self, call: Callable[[], T]) -> T | None:
        """Return what a call gives; None, and counted, if it raises."""
        try:
            return call()
        except Exception as error:  # noqa: BLE001 a provider may raise anything
            self._count_failure(error)
            return None

    def _result(self, future: Future[T] | None, until: float) -> T | None:
        """Return what a call gave by then; None, and counted, if it is late or raised."""
        if future is None or not wait([future], max(until - monotonic(), 0)).done:
            self.status.late += 1
            log_event("memory.late", provider=self.provider.name)
            return None
        if (error := future.exception()) is not None:
            self._count_failure(error)
            return None
        return future.result()

    def _call_aside(self, call: Callable[[], T], until: float) -> T | None:
        """Return what a call gives in time, in a thread of its own unless it is built in."""
        if self._builtin:
            return self.attempt(call)
        once = _Worker(f"foldaway-memory-{self.provider.name}-once", 1)
        future = once.submit(call)
        if future is None and self._questions.has_thread:  # some Pythons start none while they end
            future = self._questions.submit(call)
        once.end()
        return self._result(future, until)

    def _text(self, said: object, *, whole: bool = False) -> str | None:
        if not isinstance(said, str):
            self._count_failure(TypeError())
            return None
        said = str.__str__(said)  # of a subclass the text alone, none of its methods
        most = self._most_chars
        if whole or len(said) <= most:
            return said
        return said[:most] + _CUT.format(f"{len(said) - most:,}")

    def _count_failure(self, error: BaseException) -> None:
        self.status.failures += 1
        self.status.last_error = type(error).__name__
        log_event("memory.failed", provider=self.provider.name, error=type(error).__name__)


class _Worker:
    """Runs calls one after another in a daemon thread, which starts with the first call.

    An executor would not do: it keeps the interpreter from ending while a provider hangs.
    """

    def __init__(self, name: str, most: int) -> None:
        self._name, self._most = name, most
        self._calls: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None
        self._closed = False
        self.waiting = 0
        """How many calls are not over."""

    @property
    def has_thread(self) -> bool:
        """Whether the thread was started."""
        return self._thread is not None

    def submit(self, work: Callable[[], T]) -> Future[T] | None:
        """Return the future of a call; None if too many are waiting, or after the end.

        None also if no thread can be started: the system has no more, or the interpreter ends.
        """
        future: Future[T] = Future()
        with self._changed:
            if self._closed or self.waiting >= self._most:
                return None
            if self._thread is None:
                thread = threading.Thread(target=self._run, name=self._name, daemon=True)
                try:
                    thread.start()
                except RuntimeError:
                    return None
                self._thread = thread
            self.waiting += 1
            self._calls.put(lambda: _settle(future, work))
        return future

    def drain(self, seconds: float) -> bool:
        """Wait until no call is waiting; return whether that happened in time."""
        with self._changed:
            return self._changed.wait_for(lambda: self.waiting == 0, seconds)

    def end(self) -> None:
        """Take no more calls; the thread ends after the ones that were taken."""
        with self._changed:
            if not self._closed:
                self._closed = True
                self._calls.put(None)

    def close(self, seconds: float) -> int:
        """Take no more calls and wait for the others; return how many are not over."""
        self.end()
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join(seconds)
        return self.waiting

    def _run(self) -> None:
        while (call := self._calls.get()) is not None:
            call()
            del call  # what it refers to is free while the thread waits
            with self._changed:
                self.waiting -= 1
                self._changed.notify_all()


def collect_tools(
    runners: Sequence[ProviderRunner], reserved: frozenset[str], until: float
) -> tuple[dict[str, tuple[ProviderRunner, Mapping[str, object]]], tuple[str, ...]]:
    """Return the tools by name, and the names that the host or another provider has."""
    found: dict[str, tuple[ProviderRunner, Mapping[str, object]]] = {}
    refused: list[str] = []
    for runner in runners:
        for schema in runner.tools(until):
            name = str(schema["name"])
            if name in reserved or name in found:
                refused.append(name)
            else:
                found[name] = (runner, schema)
    return found, tuple(refused)


def _settle(future: Future[T], work: Callable[[], T]) -> None:
    """Run a call for its future; nothing is raised here."""
    if not future.set_running_or_notify_cancel():
        return
    try:
        future.set_result(work())
    except BaseException as error:  # noqa: BLE001 a provider may raise anything at all
        future.set_exception(error)


def _list_implemented(does: Callable[[str], bool]) -> frozenset[str]:
    return frozenset(method for method in METHODS if does(method))


def _is_tool(schema: object) -> bool:
    if not isinstance(schema, Mapping):
        return False
    name = cast("Mapping[str, object]", schema).get("name")
    return isinstance(name, str) and name != ""
