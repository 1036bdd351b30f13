"""The figures of the lab: their names, and what each says, with an example (`figures.toml`)."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path

import msgspec
from msgspec import Struct

RATES = (
    "recall",
    "far",
    "bound",
    "copy4",
    "answers",
    "files P",
    "files R",
    "errors",
    "commands",
    "constraints",
    "reach",
    "stale",
)
"""Scores from 0 to 1, averaged over sessions; `reach` is kept or found again by a search."""
USED, OVER, COST, SPEED = "used", "over", "cost", "ms per 100K"
FIGURES = (*RATES, USED, OVER, COST, SPEED)
LESS_IS_BETTER = frozenset({"stale", OVER, COST, SPEED})
FAULTS: Mapping[str, str] = {
    "invented": "facts of a summary that the session does not hold",
    "bad refs": "references in a view that lead to nothing",
    "leaked": "names that were first said after the cut, where a view holds more than two of them: "
    "the strategy saw the future",
}
"""Things that must not be; their counts are summed over sessions."""


class GlossaryEntry(Struct, frozen=True):
    """What a figure is called on the page, what it says, and one case of it."""

    title: str
    says: str
    example: str


@lru_cache(maxsize=1)
def glossary() -> Mapping[str, GlossaryEntry]:
    """Return the figures by name, in the order of the page."""
    text = Path(__file__).with_suffix(".toml").read_text(encoding="utf-8")
    return msgspec.convert(tomllib.loads(text), dict[str, GlossaryEntry])


def title_of(figure: str) -> str:
    """Return what a figure is called."""
    entry = glossary().get(figure)
    return figure if entry is None else entry.title
