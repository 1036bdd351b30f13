"""The strategies of a play by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TypeAlias

from msgspec import Struct

from foldaway.errors import UnknownName
from foldaway.lab.play.contexts import (
    CLEARING_KEEPS,
    CLEARS_FROM,
    MASKING_BATCH,
    MASKING_KEEPS,
    TAIL_FROM,
    TAIL_SHARE,
    ClearingContext,
    LiveContext,
    MaskingContext,
    TailContext,
)
from foldaway.lab.play.like_hermes import LikeHermesContext
from foldaway.lab.play.own_context import OwnContext, OwnContextWithoutRecall
from foldaway.lab.play.task import TaskTool
from foldaway.lab.replay import ReplayTerms

OWN = "normal"
"""The strategy with which the others are compared."""

StartContext: TypeAlias = Callable[[Sequence[TaskTool], ReplayTerms], LiveContext]


class PlayStrategy(Struct, frozen=True):
    """A strategy by name; `start` makes the context of one play."""

    name: str
    what: str
    start: StartContext
    is_ours: bool = False


STRATEGIES: tuple[PlayStrategy, ...] = (
    PlayStrategy("full", "everything, as long as it fits", LiveContext),
    PlayStrategy(
        "off", "ours, by the threshold of 50 % alone", partial(OwnContext, save="off"), True
    ),
    PlayStrategy(
        "little", "ours, from 90,000 tokens on if it pays", partial(OwnContext, save="little"), True
    ),
    PlayStrategy(OWN, "ours, from 40,000 tokens on if it pays", OwnContext, True),
    PlayStrategy(
        "most", "ours, from 20,000 tokens on if it pays", partial(OwnContext, save="most"), True
    ),
    PlayStrategy(
        "no recall",
        "as normal, without tools that bring anything back",
        OwnContextWithoutRecall,
        True,
    ),
    PlayStrategy(
        "masking",
        f"all but the newest {MASKING_KEEPS} results masked, {MASKING_BATCH} at once",
        MaskingContext,
    ),
    PlayStrategy(
        "clearing",
        f"the provider clears all but {CLEARING_KEEPS} results from {CLEARS_FROM:,} tokens on",
        ClearingContext,
    ),
    PlayStrategy(
        "keep tail",
        f"from {TAIL_FROM:.0%} of the window on the oldest goes, down to {TAIL_SHARE:.0%}",
        TailContext,
    ),
    PlayStrategy(
        "like hermes",
        "head, tail and a record without a model, as Hermes 0.19 does; not its code",
        LikeHermesContext,
    ),
)


def choose_play_strategies(
    names: Sequence[str], known: Sequence[PlayStrategy] = STRATEGIES
) -> Mapping[str, PlayStrategy]:
    """Return the strategies of these names in the order of the table, and always `normal`, with
    which they are compared; all if none is named. Raises `UnknownName`.
    """
    table = {strategy.name: strategy for strategy in known}
    for name in names:
        if name not in table:
            raise UnknownName("strategy", name, tuple(table))
    return {
        name: strategy
        for name, strategy in table.items()
        if not names or name == OWN or name in names
    }
