"""A way to make a history small, as a value."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal, TypeAlias

from msgspec import Struct

from holdfast.lab.scoring.render import render_all, spoken
from holdfast.lab.scoring.session import Message
from holdfast.lab.scoring.shown import Shown
from holdfast.tokens.estimate import estimate_text

Shrink: TypeAlias = Callable[[Sequence[Message], int], Shown]
"""Takes the messages before the cut and a number of tokens; gives what the model would see."""

Kind: TypeAlias = Literal["ours", "plain", "adversary", "peer", "own"]
"""`plain` keeps usable text; an `adversary` is there to show that a score can be gamed; `own` is
what the agent of the session wrote itself."""


class Way(Struct, frozen=True):
    """A strategy of the lab; `keeps_budget` is no where it takes what it takes."""

    name: str
    kind: Kind
    what: str
    shrink: Shrink
    keeps_budget: bool = True
    shrink_for: Callable[[Any, int, str], Any] | None = None
    """Makes the view for one provider, from messages in its dialect; None: it knows no providers.
    """


def shown_text(text: str) -> Shown:
    """Return a view that is one text."""
    return Shown(text=text, tokens=estimate_text(text))


def shown_messages(messages: Sequence[Message]) -> Shown:
    """Return a view that is a message list; its system prompt stands outside the budget."""
    text = render_all(spoken(messages))
    return Shown(text=text, tokens=estimate_text(text), messages=tuple(messages))
