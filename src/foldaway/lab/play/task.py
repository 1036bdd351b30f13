"""A task whose end code can check, the world in which it is played, and who plays it."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, Protocol

from msgspec import Struct


class TaskTool(Struct, frozen=True):
    """A tool of a world; `parameters` is a JSON schema."""

    name: str
    description: str
    parameters: Mapping[str, Any]


class TaskCall(Struct, frozen=True):
    """A call of a tool."""

    name: str
    arguments: Mapping[str, Any]


class PlayerTurn(Struct, frozen=True):
    """What a player does next: calls of tools, or words to the person, who then speaks."""

    text: str = ""
    calls: tuple[TaskCall, ...] = ()


NeedKind = Literal["near", "rule", "id", "reversed", "changed"]
"""How far a value was said before it is needed: just now, or long ago as a rule, as an id in a long
output, in a decision that replaced an earlier one, or as something that was changed then."""


class Need(Struct, frozen=True):
    """A value that a move takes from what the player is shown, and from nowhere else."""

    name: str
    shape: str
    """A regular expression; its first group that matched is the value."""
    near: tuple[str, ...]
    """Words that stand around it, `|` between other words for the same; with holes."""
    guess: str
    """What is taken if it is nowhere."""
    kind: NeedKind = "near"
    again: TaskCall | None = None
    """What shows it once more, with holes."""


class Move(Struct, frozen=True):
    """One step of a procedure: a call or words, with a hole such as `{order}` for each need."""

    call: TaskCall | None = None
    text: str = ""
    needs: tuple[Need, ...] = ()
    """In order: the words of one may have holes that those before it fill."""
    above: tuple[str, str] | None = None
    """Two needs; `otherwise` is called unless the number of the first is above the second's."""
    otherwise: TaskCall | None = None


class Goal(Struct, frozen=True):
    """One thing that must be true at the end, and whether it is."""

    name: str
    is_met: bool


class World(Protocol):
    """A task while it is played: what the calls changed, and what the person still wants."""

    wrong: int
    """Actions so far that the task forbids, or that were done with a wrong value."""

    def call(self, call: TaskCall) -> str:
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
    tools: tuple[TaskTool, ...]
    opening: str
    """What the person says first."""
    start: Callable[[], World]
    """Makes a new world; what happened in one is unknown in another."""
    steps: int
    """How many requests it takes with everything in view."""
    script: tuple[Move, ...] = ()
    """The procedure, without a fact, for a player without a model."""


class Request(Struct, frozen=True):
    """What a player is sent, in the form of Chat Completions."""

    messages: Sequence[Mapping[str, Any]]
    tools: Sequence[Mapping[str, Any]]


class Player(Protocol):
    """Who decides the next turn, by the request alone."""

    def act(self, request: Request) -> PlayerTurn:
        """Return what to do next."""
        ...


def fill(text: str, values: Mapping[str, str]) -> str:
    """Return a text with its holes filled; a hole without a value stays."""
    return _HOLE.sub(lambda hole: values.get(hole[1], hole[0]), text)


def fill_call(call: TaskCall, values: Mapping[str, str]) -> TaskCall:
    """Return a call with its holes filled."""
    return TaskCall(
        call.name,
        {
            name: fill(value, values) if isinstance(value, str) else value
            for name, value in call.arguments.items()
        },
    )


_HOLE = re.compile(r"\{([a-z_]+)\}")


def holes_of(text: str) -> list[str]:
    """Return the names of the holes of a text."""
    return _HOLE.findall(text)
