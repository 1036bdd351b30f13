"""A task whose end code can check, the world in which it is played, and who plays it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from msgspec import Struct


class Tool(Struct, frozen=True):
    """A tool of a world; `parameters` is a JSON schema."""

    name: str
    description: str
    parameters: Mapping[str, Any]


class Call(Struct, frozen=True):
    """A call of a tool."""

    name: str
    arguments: Mapping[str, Any]


class Turn(Struct, frozen=True):
    """What a player does next: calls of tools, or words to the person, who then speaks."""

    text: str = ""
    calls: tuple[Call, ...] = ()


class Goal(Struct, frozen=True):
    """One thing that must be true at the end, and whether it is."""

    name: str
    is_met: bool


class World(Protocol):
    """A task while it is played: what the calls changed, and what the person still wants."""

    wrong: int
    """Actions so far that the task forbids, or that were done with a wrong value."""

    def call(self, call: Call) -> str:
        """Do what a call says; return its result. An unknown tool is a result too."""
        ...

    def hear(self, text: str) -> str | None:
        """Return what the person says to the end of a turn; None: there is nothing more."""
        ...

    def goals(self) -> Sequence[Goal]:
        """Return what has to be true at the end, and whether it is now."""
        ...


class Task(Struct, frozen=True):
    """A task from a seed: the same seed and number give the same task, byte for byte."""

    family: str
    name: str
    system: str
    tools: tuple[Tool, ...]
    opening: str
    """What the person says first."""
    start: Callable[[], World]
    """Makes a new world; what happened in one is unknown in another."""
    steps: int
    """How many requests it takes with everything in view."""


class Request(Struct, frozen=True):
    """What a player is sent, in the form of Chat Completions."""

    messages: Sequence[Mapping[str, Any]]
    tools: Sequence[Mapping[str, Any]]


class Player(Protocol):
    """Whoever decides the next turn, by the request alone."""

    def act(self, request: Request) -> Turn:
        """Return what to do next."""
        ...
