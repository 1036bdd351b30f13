"""Answers of providers, event by event: what of them the client sees, and which calls are ours.

A reader takes one message of the model, which may come in rounds: if the model called only our
tool, its next answer goes on with the same message. As long as no call of ours comes, every event
goes on as the bytes that came.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, cast

from msgspec import Struct

from foldaway.dialects.jsontext import dump, parse
from foldaway.errors import NotReadable

_END_OF_EVENT = re.compile(rb"\r?\n\r?\n")


class OwnCall(Struct, frozen=True):
    """A call of our tool."""

    id: str
    name: str
    arguments: Mapping[str, Any] | str
    at: int
    """How many of the client's blocks, calls or items of the same round come before it."""
    payload: Any
    """The call as the provider gave it."""


class Reader(ABC):
    """What the readers of all wires share. `read` takes an event, `turn` is what a round adds to
    the list, `shown` what the client saw of the message.
    """

    goes_on_after: ClassVar[tuple[str, ...]] = ()
    """Reasons to stop after which the model waits for results."""

    def __init__(self, own_names: frozenset[str]) -> None:
        """Begin with nothing."""
        self.own_names = own_names
        self.rounds = 0
        """Rounds before this one."""
        self.calls: list[OwnCall] = []
        self.usage: dict[str, Any] = {}
        """What the provider reported for this round."""
        self.spent: dict[str, Any] = {}
        """The sum of the rounds before."""
        self.stop = ""
        """Why the model stopped, "" before it did."""
        self.held: list[Any] = []
        """Events of the end that wait for what comes of our calls."""
        self._buffer = b""

    @property
    def is_rewritten(self) -> bool:
        """Whether the client gets other events than those that came."""
        return bool(self.calls) or self.rounds > 0

    @property
    def waits(self) -> bool:
        """Whether the model waits for results of our tool alone."""
        return bool(self.calls) and self.stop in self.goes_on_after and not self.client_calls

    # By each wire

    @property
    @abstractmethod
    def client_calls(self) -> bool:
        """Whether the model called a tool of the client in this round."""

    @property
    @abstractmethod
    def seen_units(self) -> int:
        """How much the client saw of this round, in the units of `HiddenCalls.skip`."""

    @abstractmethod
    def read(self, raw: bytes, value: dict[str, Any]) -> bytes:
        """Return what the client gets for an event."""

    @abstractmethod
    def turn(self) -> list[Any]:
        """Return the elements that this round adds to the list, as the provider gave them."""

    @abstractmethod
    def results(self, texts: Sequence[str]) -> list[Any]:
        """Return results of the calls of this round."""

    @abstractmethod
    def closing(self, results: Sequence[Any]) -> list[Any]:
        """Return the elements that hold results of a round of our calls alone."""

    @abstractmethod
    def shown(self) -> list[Any]:
        """Return the elements that the client will have in its list for this message."""

    @abstractmethod
    def ending(self, value: Any, gives_up: bool) -> Any:
        """Return a held event as the client gets it."""

    def next_round(self) -> None:
        """Take what comes now as the answer to results of ours."""
        self.rounds += 1
        self.spent = total(self.spent, self.usage)
        self.calls, self.usage, self.stop, self.held, self._buffer = [], {}, "", [], b""

    @abstractmethod
    def opened(self, whole: dict[str, Any]) -> list[dict[str, Any]]:
        """Return the events that say what an answer says that came as a whole."""

    @abstractmethod
    def closed(self, whole: dict[str, Any], gives_up: bool) -> dict[str, Any]:
        """Return the last answer that came as a whole as the client gets it."""

    # Streams

    def feed(self, data: bytes) -> bytes:
        """Return what the client gets for bytes of a stream; the rest of an event waits."""
        self._buffer += data
        out, start = list[bytes](), 0
        for found in _END_OF_EVENT.finditer(self._buffer):
            out.append(self._event(self._buffer[start : found.end()]))
            start = found.end()
        self._buffer = self._buffer[start:]
        return b"".join(out)

    def rest(self) -> bytes:
        """Return what is left of a stream that ended within an event."""
        left, self._buffer = self._buffer, b""
        return left

    def _event(self, raw: bytes) -> bytes:
        data = b"\n".join(line[5:].strip() for line in raw.splitlines() if line[:5] == b"data:")
        if data == b"[DONE]" and self.held:
            self.held.append(raw)
            return b""
        try:
            value = parse(data) if data[:1] == b"{" else None
        except NotReadable:
            value = None
        return raw if value is None else self.read(raw, value)

    def end(self, *, gives_up: bool) -> bytes:
        """Return the events that end the message."""
        held = [one if isinstance(one, bytes) else event(self.ending(one, gives_up))
                for one in self.held]  # fmt: skip
        self.held = []
        return b"".join(held)

    def bill(self) -> dict[str, Any]:
        """Return the usage of all rounds."""
        return total(self.spent, self.usage)


def event(value: Mapping[str, Any]) -> bytes:
    """Return an event of a stream; those that have a type are named by it."""
    kind = value.get("type")
    name = f"event: {kind}\n".encode() if isinstance(kind, str) else b""
    return name + b"data: " + dump(value) + b"\n\n"


def total(one: Mapping[str, Any], other: Mapping[str, Any]) -> dict[str, Any]:
    """Return the sum of two reports of usage; what is no number is that of the other."""
    made = dict(one)
    for name, value in other.items():
        known: Any = made.get(name)
        if isinstance(value, dict) and isinstance(known, dict):
            made[name] = total(cast("dict[str, Any]", known), cast("dict[str, Any]", value))
        elif _is_number(value) and _is_number(known):
            made[name] = known + value
        elif value is not None or known is None:
            made[name] = value
    return made


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def present(values: Any) -> dict[str, Any]:
    """Return the fields that have a value."""
    held = cast("dict[str, Any]", values or {})
    return {name: value for name, value in held.items() if value is not None}
