"""What a conversion could not carry over."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from msgspec import Struct

from foldaway.transcript import (
    Media,
    Message,
    Opaque,
    Part,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    survey,
)


class Loss(Struct, frozen=True, gc=False):
    """One thing that the other dialect does not hold.

    `index` is the place in the list that was given, -1 for the request around it; `path` is the
    JSON path from the root of what was given; `what` is one plain sentence.
    """

    index: int
    path: str
    what: str


class Losses:
    """Collects losses; paths begin at the list under `root`."""

    __slots__ = ("_root", "_system", "found")

    def __init__(self, root: str, system_path: str = "$") -> None:
        """Start with none."""
        self._root = root
        self._system = system_path
        self.found: list[Loss] = []

    def add(self, index: int, at: str, what: str) -> None:
        """Note a loss at a place inside message `index`; -1 is the system prompt."""
        inner = f".{at}" if at and not at.startswith("[") else at
        path = f"{self._root}[{index}]{inner}" if index >= 0 else self._system
        self.found.append(Loss(index, path, what))

    def add_setting(self, path: str, what: str) -> None:
        """Note a loss in the request around the messages."""
        self.found.append(Loss(-1, f"$.{path}", what))


class Difference(Struct, frozen=True):
    """The first place where they part: the message's position in the first, and what is there."""

    position: int
    what: str


def first_difference(expected: Sequence[Message], found: Sequence[Message]) -> Difference | None:
    """Return where `found` stops to be the conversation that `expected` is; None if it is.

    Compared, in order: who says which words, media, reasoning, calls with id, name and the value
    of their arguments, results with content and failure and which call they answer. Not compared:
    how these are grouped into messages, empty texts, what a result has from its call (its name and
    kind), and ids that are only positional in `expected`.
    """
    mine, theirs = _atoms(expected), _atoms(found)
    for place, atom in enumerate(mine):
        if place >= len(theirs):
            return Difference(atom.position, f"the {atom.kind} is missing")
        if not _is_same(atom, theirs[place]):
            return Difference(atom.position, _describe(atom, theirs[place]))
    if len(theirs) > len(mine):
        last = mine[-1].position if mine else -1
        return Difference(last, f"a {theirs[len(mine)].kind} appears that was not there")
    return None


class _Atom(Struct, frozen=True):
    position: int
    kind: str
    said: tuple[Any, ...]
    """What must be equal as it is."""
    id: str = ""
    arguments: str = ""


def _atoms(messages: Sequence[Message]) -> list[_Atom]:
    index = survey(messages)
    names = [call.name for _, call in index.calls]
    calls = results = 0
    atoms: list[_Atom] = []
    for message in messages:
        for part in message.parts:
            at = message.position
            match part:
                case ToolCall():
                    said = (calls, part.name, part.kind)
                    atoms.append(_Atom(at, "call", said, part.id, part.arguments))
                    calls += 1
                case ToolResult():
                    answers = index.call_of[results]
                    results += 1
                    given = answers >= 0 and part.name in ("", names[answers])
                    name = "" if given else part.name
                    kind = "" if answers >= 0 else part.kind
                    said = (answers, name, kind, part.is_error, _flatten(part.parts))
                    atoms.append(_Atom(at, "result", said, part.call_id))
                case _:
                    said = _read_texts(part)
                    if said is not None:
                        role = "user" if message.role == "tool" else message.role
                        atoms.append(_Atom(at, said[0], (role, *said)))
    return atoms


def _flatten(parts: Sequence[Part]) -> tuple[Any, ...]:
    return tuple(said for part in parts if (said := _read_texts(part)) is not None)


def _read_texts(part: Part) -> tuple[str, ...] | None:
    match part:
        case Text(text=text):
            return ("text", text) if text else None
        case Media():
            return ("medium", part.kind, part.media_type, part.data, part.url)
        case Thinking(text=text):
            return ("thought", text, part.signature) if text or part.signature else None
        case Opaque(kind=kind):
            return ("part", kind)
        case _:
            return ("part", type(part).__name__)


def _is_same(mine: _Atom, theirs: _Atom) -> bool:
    return (
        mine.kind == theirs.kind
        and mine.said == theirs.said
        and (mine.id == theirs.id or mine.id.startswith("~"))
        and _has_same_arguments(mine.arguments, theirs.arguments)
    )


def _has_same_arguments(mine: str, theirs: str) -> bool:
    if mine == theirs:
        return True
    try:
        return json.loads(mine) == json.loads(theirs)
    except (ValueError, RecursionError):
        return False


def _describe(mine: _Atom, theirs: _Atom) -> str:
    if mine.kind != theirs.kind:
        return f"a {theirs.kind} stands where the {mine.kind} was"
    if mine.said != theirs.said:
        return f"the {mine.kind} comes back changed"
    if mine.id != theirs.id and not mine.id.startswith("~"):
        return f"the id {mine.id!r} of the {mine.kind} does not come back"
    return "the arguments of the call come back changed"
