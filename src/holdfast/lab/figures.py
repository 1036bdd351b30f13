"""The figures of the lab: their names, and what each says, with an example."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

RATES = ("recall", "far", "bound", "copy4", "files P", "files R", "errors", "commands",
         "constraints", "reach", "stale")  # fmt: skip
"""Scores from 0 to 1, averaged over sessions; `reach` is kept or found again by a search."""
COUNTS = ("invented", "bad refs", "leaked")
"""Things that must not be, summed."""
USED, OVER, COST, SPEED = "used", "over", "cost", "ms per 100K"
FIGURES = (*RATES, USED, OVER, COST, SPEED)
LESS_IS_BETTER = frozenset({"stale", OVER, COST, SPEED})


class GlossaryEntry(Struct, frozen=True):
    """What a figure is called on the page, what it says, and one case of it."""

    title: str
    says: str
    example: str
    is_share: bool = True
    """From 0 to 1."""


ENTRIES: Mapping[str, GlossaryEntry] = {
    "recall": GlossaryEntry(
        "recall",
        "Of the facts that stood before the cut and that the agent used after it, the share that "
        "still stands in what the strategy kept.",
        "Early on a tool printed “listening on 8143”; after the cut the agent writes “curl "
        "localhost:8143”. 8143 must still be there.",
    ),
    "far": GlossaryEntry(
        "far recall",
        "Recall of the facts that stand neither in the first message nor in the last tenth before "
        "the cut: those that a plain cut loses.",
        "The 8143 was printed in the middle of the session, and nobody named it since.",
    ),
    "bound": GlossaryEntry(
        "bound recall",
        "Of the facts that stood before the cut and that the agent used after it, the share that "
        "still stands beside words that stood beside it: a bare list of strings scores nothing.",
        "The agent needs port 8143: “listening on 8143” counts, 8143 in a heap of numbers does "
        "not.",
    ),
    "copy4": GlossaryEntry(
        "copy4",
        "Of the runs of four words that stood before the cut and that the agent wrote again after "
        "it, the share that is still there word for word.",
        "The agent writes “retry the failed upload” again; these four words must stand in a row.",
    ),
    "files P": GlossaryEntry(
        "files, precision",
        "Of the files that a summary says were changed, the share that really was.",
        "It lists five files, and calls of tools changed four of them: 0.8.",
    ),
    "files R": GlossaryEntry(
        "files, recall",
        "Of the files that were changed before the cut, the share that is shown.",
        "Ten files were edited, nine of them are named: 0.9.",
    ),
    "errors": GlossaryEntry(
        "error lines",
        "Of the error lines that no later success settled, the share that is still shown.",
        "“TypeError: load() takes 1 argument”, and the test has not passed since.",
    ),
    "commands": GlossaryEntry(
        "commands",
        "Of the commands that the agent runs again after the cut, the share that is still shown.",
        "“pytest tests/api -x” was run before, and is run again.",
    ),
    "constraints": GlossaryEntry(
        "constraints",
        "Of the user's demands and prohibitions, the share that still stands.",
        "“Never touch the migrations.”",
    ),
    "reach": GlossaryEntry(
        "reach",
        "Kept, or found again: the share of needed facts that are in view, or in one of the first "
        "five hits when the words beside their later use are searched for. Only Holdfast keeps "
        "originals to search in; for the others it is recall.",
        "The 8143 is gone, but a search for “curl localhost” brings the message that holds it.",
    ),
    "stale": GlossaryEntry(
        "stale values",
        "Of the values that changed, the share of which only an old one is shown. Less is better.",
        "The version was 1.2 and is 1.3; the view says only 1.2.",
    ),
    USED: GlossaryEntry(
        "tokens used",
        "Tokens taken, over the budget that was asked for.",
        "2.0: twice the budget.",
        False,
    ),
    OVER: GlossaryEntry(
        "over budget",
        "The share of cuts at which more was taken than allowed, by more than a twentieth. Where "
        "Holdfast cannot go as low, it counts as over, and all others may take as much as it took.",
        "0.5: at every second cut.",
    ),
    COST: GlossaryEntry(
        "cost",
        "The price of the rest of the session from this view on, over the price of going on with "
        "everything; what the provider's cache saves is counted. Less is better.",
        "0.8: a fifth cheaper; 1.1: it cost more than it saved.",
        False,
    ),
    SPEED: GlossaryEntry(
        "CPU",
        "Milliseconds of processor time for 100,000 tokens of history. A time: it differs from "
        "run to run and from machine to machine. Less is better.",
        "250: a quarter of a second.",
        False,
    ),
}
FAULTS: Mapping[str, str] = {
    "invented": "facts of a summary that the session does not hold",
    "bad refs": "references in a view that lead to nothing",
    "leaked": "names that were first said after the cut, where a view holds more than two of them: "
    "the strategy saw the future",
}


def title_of(figure: str) -> str:
    """Return what a figure is called."""
    return ENTRIES[figure].title if figure in ENTRIES else figure
