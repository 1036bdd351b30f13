"""What a block of a conversation is worth: by its kind, its age, and a few signs (`worth.toml`)."""

from __future__ import annotations

from collections.abc import Collection
from math import exp, log1p
from typing import Literal, TypeAlias

from msgspec import Struct

from foldaway.facts.tables import read_table
from foldaway.regex import Regex

BlockKind: TypeAlias = Literal[
    "person",
    "paste",
    "instructions",
    "report",
    "host",
    "turn",
    "call",
    "prose",
    "new_text",
    "old_text",
    "output",
]


class _Signs(Struct, frozen=True):
    least: float
    first: float
    first_pieces: float
    plain: float
    recent: float
    later: float
    outdated: float
    report: float
    repeated: float


class _Sizes(Struct, frozen=True):
    output: int
    text: int
    whole_text: int
    argument_chars: int
    newest: int


class _Table(Struct, frozen=True):
    kinds: dict[BlockKind, tuple[float, float, float]]
    signs: _Signs
    sizes: _Sizes


_TABLE = read_table("worth", _Table, "foldaway.compaction")
SIGNS, SIZES = _TABLE.signs, _TABLE.sizes
_NAME = Regex(r"[\w./-]*(?:[A-Za-z][0-9_]|[a-z][A-Z]|[._/-][A-Za-z0-9]|[0-9]{3})[\w./-]*")


def worth_of(kind: BlockKind, back: int) -> float:
    """Return what a block is worth per token; `back` counts the agent's turns since."""
    base, fresh, turns = _TABLE.kinds[kind]
    return base + fresh * exp(-back / turns)


def names_in(text: str) -> set[str]:
    """Return the words of a text that look like names of things: with digits, joints or humps."""
    return {name.strip("./-") for name in _NAME.findall(text)}


class OutputSigns(Struct, frozen=True):
    """What tells one output from another: the names that count, and what became of it since."""

    recent: Collection[str]
    later: Collection[str]
    is_outdated: bool = False
    is_report: bool = False

    def worth(self, text: str, order: int, back: int) -> float:
        """Return what a piece of the output is worth, the `order`-th of it."""
        names = names_in(text)
        recent = sum(name in self.recent for name in names)
        later = sum(name in self.later for name in names)
        named = SIGNS.plain + SIGNS.recent * log1p(recent) + SIGNS.later * log1p(later)
        first = 1 + SIGNS.first * exp(-order / SIGNS.first_pieces)
        found = worth_of("output", max(back - 1, 0)) * named * first
        found *= SIGNS.outdated if self.is_outdated else 1.0
        return found * (SIGNS.report if self.is_report else 1.0)
