"""What a reduction is asked for and what it gives back."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Literal, Protocol, TypeAlias, get_args

from msgspec import Struct

__all__ = [
    "KINDS",
    "Kind",
    "Reduced",
    "Reducer",
    "ReductionDraft",
    "ReductionRequest",
    "Render",
    "TextReducer",
]

Kind: TypeAlias = Literal[
    "json", "jsonl", "log", "test", "build", "trace", "diff", "code", "search", "listing", "csv",
    "html", "prose",
]  # fmt: skip
"""What a text is. `jsonl` is a JSON value on every line."""

KINDS: tuple[Kind, ...] = get_args(Kind)


class Reduced(Struct, frozen=True, kw_only=True):
    """A text made smaller, or the text as it was where it fits."""

    text: str
    kind: Kind | None
    """How it was read; None where it was not, because it fits."""
    tokens_before: int
    tokens_after: int
    left_out: tuple[str, ...] = ()
    """What is not there any more, in words; empty where nothing is missing."""
    counts: Mapping[str, int] = {}
    """The same in numbers: units left out, by their name."""
    notes: tuple[str, ...] = ()
    """What could have gone better, such as an extra that is not installed."""
    reference: str = ""
    """By which the original comes back, as it was given."""

    @property
    def is_whole(self) -> bool:
        """Whether nothing was left out."""
        return not self.left_out


class ReductionRequest(Struct, frozen=True):
    """What a reducer is asked for."""

    room_chars: int
    """About how long the result may be: of a text that is much longer, not all is read."""
    reference: str | None = ""
    """What the result names as the place of the original, or ""; None for a part of a text, which
    does not sum up what was left out."""


class ReductionDraft(Struct, frozen=True):
    """A reduction to a number of characters, before its tokens are counted."""

    text: str
    left_out: tuple[str, ...]
    counts: Mapping[str, int]
    notes: tuple[str, ...] = ()


Render: TypeAlias = Callable[[int], ReductionDraft]
"""Gives the reduction of a text that was read once, to about so many characters."""

Reducer: TypeAlias = Callable[[str, ReductionRequest], Render | None]
"""Reads a text; None where the text is not what the reducer is for."""


class TextReducer(Protocol):
    """A reducer from elsewhere, such as a learned one, that stands in for ours.

    What it returns counts only where it is smaller than the text and within the budget.
    """

    def __call__(self, text: str, kind: Kind, budget_tokens: int) -> str:
        """Return the text in at most `budget_tokens`, or the text as it is."""
        ...
