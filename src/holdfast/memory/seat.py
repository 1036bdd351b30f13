"""A provider in its place: whatever it does, the turn waits no longer than it allows."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from time import monotonic
from typing import Any, TypeVar, cast

from msgspec import Struct

from holdfast.memory.lane import Lane, Ticket
from holdfast.memory.provider import MemoryProvider

T = TypeVar("T")

_ASKED = 4
"""Questions that may wait for a provider; where it hangs, the next one is late at once."""
METHODS = (
    "system_text", "prefetch", "sync", "turn_started", "session_ended", "session_switched",
    "before_compaction",
)  # fmt: skip
_CUT = "\n[… {} more characters were left out]"


class Standing(Struct, kw_only=True):
    """How one provider does; figures and kinds of errors, never content."""

    calls: int = 0
    failures: int = 0
    late: int = 0
    refused: int = 0
    """Turns that were not taken because too many waited."""
    last_error: str = ""


class Seat:
    """A provider with its two lanes: one for what it is told, one for what it is asked."""

    def __init__(
        self, provider: MemoryProvider, *, queued: int, most_chars: int, builtin: bool
    ) -> None:
        """Take a provider; what one that is not built in does is never done in the turn."""
        self.provider = provider
        self.standing = Standing()
        self.told = Lane(f"holdfast-memory-{provider.name}-told", queued)
        self._asked = Lane(f"holdfast-memory-{provider.name}-asked", _ASKED)
        self._most_chars = most_chars
        self._builtin = builtin
        self._system_text = ""
        self._done: frozenset[str] = frozenset()
        self._warm: Ticket[Any] | None = None

    def does(self, method: str) -> bool:
        """Return whether the provider does anything there: no thread is made for nothing.

        One that is not built in is asked once, when it says its tools: not in the turn.
        """
        if self._builtin:
            return self.attempt(lambda: self.provider.does(method)) is True
        return method in self._done

    # Asked, and waited for

    def ask(self, call: Callable[[], T]) -> Ticket[T] | None:
        """Put a question; None where too many wait."""
        return self._asked.take(call)

    def answer(self, ticket: Ticket[Any] | None, until: float) -> str | None:
        """Return what the provider said, cut to its limit; None where it is late or failed."""
        self.standing.calls += 1
        if ticket is None or not ticket.wait(max(until - monotonic(), 0)):
            self.standing.late += 1
            return None
        said = self._result(ticket)
        return None if said is None else self._text(said)

    def warm(self, call: Callable[[], str]) -> None:
        """Put a question whose answer may stand in for a later one that comes too late."""
        self._warm = self.ask(call)

    def warmed(self) -> str:
        """Return that answer, once, where it is there."""
        ticket, self._warm = self._warm, None
        if ticket is None or ticket.state != "done":
            return ""
        return self.answer(ticket, 0.0) or ""

    def system_text(self, until: float) -> str:
        """Return its part of the system prompt; the one before where it is late or fails."""
        if self.does("system_text"):
            if self._builtin:
                said = self.attempt(self.provider.system_text)
                said = None if said is None else self._text(said, whole=True)
            else:
                said = self.answer(self.ask(self.provider.system_text), until)
            self._system_text = self._system_text if said is None else said
        return self._system_text

    def tools(self, until: float) -> list[Mapping[str, Any]]:
        """Return the tools that have a name; none where it is late or fails."""
        if not self._builtin:
            done = self._aside(self._methods, until)
            self._done = _methods_of(self.provider) if done is None else done
        said = self._aside(lambda: list(self.provider.tools()), until)
        return [one for one in said or () if _is_tool(one)]

    def _methods(self) -> frozenset[str]:
        return frozenset(method for method in METHODS if self.provider.does(method))

    # Told, in the background

    def tell(self, call: Callable[[MemoryProvider], None]) -> Ticket[None] | None:
        """Hand something over; None, and counted, where too many wait."""
        ticket = self.told.take(lambda: self._telling(call))
        if ticket is None:
            self.standing.refused += 1
        return ticket

    def close(self, until: float) -> int:
        """Finish what was handed over, and the provider; return how many calls are not over."""
        undone = self.told.close(max(until - monotonic(), 0))
        if not undone:
            self._aside(self.provider.close, until)
        # a thread that is still at work when the interpreter ends may take the process with it
        self._asked.close(max(until - monotonic(), 0) if self._builtin else 0)
        return undone

    def end(self) -> None:
        """Take no more; the threads end after what was taken."""
        self.told.end()
        self._asked.end()

    def attempt(self, call: Callable[[], T]) -> T | None:
        """Return what a call gives; None, and counted, where it raises."""
        try:
            return call()
        except Exception as error:  # noqa: BLE001 a provider may raise anything
            self._failed(error)
            return None

    def _result(self, ticket: Ticket[T]) -> T | None:
        """Return what came of a call that is over, whatever was raised there."""
        if ticket.error is None:
            return ticket.result()
        self._failed(ticket.error)
        return None

    def _telling(self, call: Callable[[MemoryProvider], None]) -> None:
        self.standing.calls += 1
        try:
            call(self.provider)
        except BaseException as error:
            self._failed(error)
            raise

    def _aside(self, call: Callable[[], T], until: float) -> T | None:
        """Return what a call gives in time, in a thread of its own unless it is built in."""
        if self._builtin:
            return self.attempt(call)
        once = Lane(f"holdfast-memory-{self.provider.name}-once", 1)
        ticket = once.take(call)
        if ticket is None and self._asked.has_thread:  # some Pythons make none while they end
            ticket = self._asked.take(call)
        once.end()
        if ticket is None or not ticket.wait(max(until - monotonic(), 0)):
            self.standing.late += 1
            return None
        return self._result(ticket)

    def _text(self, said: object, *, whole: bool = False) -> str | None:
        if not isinstance(said, str):
            self._failed(TypeError())
            return None
        said = str.__str__(said)  # of a subclass the text alone, none of its methods
        most = self._most_chars
        if whole or len(said) <= most:
            return said
        return said[:most] + _CUT.format(f"{len(said) - most:,}")

    def _failed(self, error: BaseException) -> None:
        self.standing.failures += 1
        self.standing.last_error = type(error).__name__


def is_late(ticket: Ticket[Any] | None) -> bool:
    """Return whether a question has no answer yet."""
    return ticket is None or ticket.state == "waiting"


def offered(
    seats: Sequence[Seat], reserved: frozenset[str], until: float
) -> tuple[dict[str, tuple[Seat, Mapping[str, Any]]], tuple[str, ...]]:
    """Return the tools by name, and the names that the host or another provider has."""
    found: dict[str, tuple[Seat, Mapping[str, Any]]] = {}
    refused: list[str] = []
    for seat in seats:
        for schema in seat.tools(until):
            name = str(schema["name"])
            if name in reserved or name in found:
                refused.append(name)
            else:
                found[name] = (seat, schema)
    return found, tuple(refused)


def _methods_of(provider: MemoryProvider) -> frozenset[str]:
    """Return what a provider overwrites, without asking it."""
    return frozenset(method for method in METHODS if MemoryProvider.does(provider, method))


def _is_tool(schema: object) -> bool:
    if not isinstance(schema, Mapping):
        return False
    name = cast("Mapping[str, Any]", schema).get("name")
    return isinstance(name, str) and name != ""
