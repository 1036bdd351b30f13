"""What a reduction is asked for, what it gives back, and its words for what it leaves out."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final, Literal, Protocol, TypeAlias, get_args

from msgspec import Struct

Kind: TypeAlias = Literal[
    "json",
    "jsonl",
    "log",
    "test",
    "build",
    "trace",
    "diff",
    "code",
    "search",
    "listing",
    "csv",
    "html",
    "prose",
]
"""What a text is. `jsonl` is a JSON value on every line."""

KINDS: tuple[Kind, ...] = get_args(Kind)


class Reduced(Struct, frozen=True, kw_only=True):
    """A text made smaller, or the text as it was if it fits."""

    text: str
    kind: Kind | None
    """How it was read; None if it was not, because it fits."""
    tokens_before: int
    tokens_after: int
    left_out: tuple[str, ...] = ()
    """What is not there any more, in words; empty if nothing is missing."""
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
    """A reducer from elsewhere, such as a learned one, that replaces ours.

    What it returns counts only if it is smaller than the text and within the budget.
    """

    def __call__(self, text: str, kind: Kind, budget_tokens: int) -> str:
        """Return the text in at most `budget_tokens`, or the text as it is."""
        ...


LEAST_CUT_CHARS: Final = 40
"""Less than this is not worth cutting out of a line: the mark is nearly as long."""


def plural(number: int, noun: str) -> str:
    """Return e.g. "1 line", "1,204 lines", "3 matches", "2 entries"."""
    if number == 1:
        return f"1 {noun}"
    if noun.endswith(("s", "x", "ch", "sh")):
        return f"{number:,} {noun}es"
    if noun.endswith("y") and noun[-2:-1] not in "aeiou":
        return f"{number:,} {noun[:-1]}ies"
    return f"{number:,} {noun}s"


def gap(number: int, noun: str = "line") -> str:
    """Return the mark that stands in a text for `number` units left out there."""
    return f"[… {plural(number, noun)}]"


def closing(left_out: Sequence[str], reference: str | None) -> str:
    """Return the last line of a reduction: what is not in it, and where it is."""
    where = f"; original: {reference}" if reference else ""
    return f"[left out: {', '.join(left_out)}{where}]"


def is_only_marks(text: str) -> bool:
    """Return whether nothing is left of a text but our own words."""
    lines = text.splitlines()
    return all(line.startswith(("[… ", "[left out: ")) or not line.strip() for line in lines)


def clip_line(line: str, most: int) -> str:
    """Return a line in `most` characters: start, how much is missing, end. Short ones stay."""
    size = len(line)
    if size <= most or size <= LEAST_CUT_CHARS:
        return line
    mark = f"[… {size - most + 20:,} characters …]"
    room = max(most - len(mark), 0)
    head = room * 2 // 3
    missing = size - room
    mark = f"[… {missing:,} characters …]"
    return f"{line[:head]}{mark}{line[size - (room - head) :]}" if room else mark[:most]


def fair_cap(wants: Sequence[int], room: int) -> int:
    """Return the largest cap at which all wants, each cut to it, still fit into `room`."""
    left = room
    ordered = sorted(wants)
    for place, want in enumerate(ordered):
        others = len(ordered) - place
        if want * others > left:
            return max(left // others, 0)
        left -= want
    return max(ordered[-1] if ordered else 0, room)
