"""What a block of a conversation is worth: by its kind, its age, and a few signs (`worth.toml`)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import exp, log1p
from typing import Literal, TypeAlias

from msgspec import Struct

from foldaway._core import read_table

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
    "failure",
]


class _Signs(Struct, frozen=True):
    least: float
    first: float
    first_pieces: float
    plain: float
    names: float
    recent: float
    used: float
    most: float
    outdated: float
    repeated: float
    topic: float
    focus: float


class _Sizes(Struct, frozen=True):
    output: int
    text: int
    whole_text: int
    newest: int


class _Table(Struct, frozen=True):
    kinds: dict[BlockKind, tuple[float, float, float]]
    signs: _Signs
    families: dict[str, float]
    sizes: _Sizes


_TABLE = read_table("worth", _Table, "foldaway.compaction")
SIGNS, SIZES = _TABLE.signs, _TABLE.sizes
FAMILY_WORTH: Mapping[str, float] = _TABLE.families
"""What the worth of all that the tools of a family gave is multiplied by, if it is another."""


def worth_of(kind: BlockKind, back: int) -> float:
    """Return what a block is worth per token; `back` counts the agent's turns since."""
    base, fresh, turns = _TABLE.kinds[kind]
    return base + fresh * exp(-back / turns)


def first_worth(order: int) -> float:
    """Return how much more the first pieces of an output are worth."""
    return 1 + SIGNS.first * exp(-order / SIGNS.first_pieces)


def named(names: Iterable[float]) -> float:
    """Return what a piece of an output is worth for its names, by what each of them is worth."""
    return SIGNS.plain + SIGNS.names * log1p(sum(names))
