"""The strategies by name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from holdfast.errors import UnknownName
from holdfast.lab.ways.lines import bare_list, head_and_tail, keep_tail, one_liners, random_lines
from holdfast.lab.ways.masking import append_only, masking
from holdfast.lab.ways.ours import by_holdfast, for_provider
from holdfast.lab.ways.way import Way

OURS = "holdfast"
WITH_MODEL = "holdfast+model"
BASE = "head+tail"
"""What the others are held against, session by session."""

PLAIN: tuple[Way, ...] = (
    Way(OURS, "ours", "Holdfast without a model", by_holdfast(), shrink_for=for_provider),
    Way(BASE, "plain", "the first and the last lines, half of the budget each", head_and_tail),
    Way("keep-tail", "plain", "the last lines", keep_tail),
    Way("random-lines", "plain", "lines drawn at random, in order", random_lines),
    Way("one-liners", "plain", "the first line of each message, the newest first", one_liners),
    Way("masking-3", "plain", "all but the newest 3 tool results blanked", masking(3), False),
    Way("masking-5", "plain", "all but the newest 5 tool results blanked", masking(5), False),
    Way("masking-10", "plain", "all but the newest 10 tool results blanked", masking(10), False),
    Way("append-only", "plain", "everything, whatever it takes", append_only, False),
    Way("bare-list", "adversary", "facts alone, the most frequent first", bare_list),
)


DRIFTING = (OURS, "head+tail", "keep-tail", "random-lines")
"""Those that are held to 1, 2, 4 and 8 compactions."""


def chosen(names: Sequence[str], known: Sequence[Way]) -> Mapping[str, Way]:
    """Return the ways of these names in the order of the table; all where none is named.

    Raises `UnknownName` with the names that there are.
    """
    table = {way.name: way for way in known}
    for name in names:
        if name not in table:
            raise UnknownName("strategy", name, tuple(table))
    return {name: way for name, way in table.items() if not names or name in names}
