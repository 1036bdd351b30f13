"""Which entry is meant, and what became of one that is no longer there."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence

from msgspec import Struct

from holdfast.memory.files.entries import Block, Entry, parse
from holdfast.memory.files.history import Kept

LOOKED_BACK = 200
"""Versions in which an entry is looked for that is no longer there."""
_SHOWN_CHARS = 60


class Became(Struct, frozen=True):
    """An entry that was there once, and what came in its place, "" for nothing."""

    text: str
    now: str


def found_in(blocks: Sequence[Block], which: str) -> list[int]:
    """Return the numbers of the blocks that have an id, else of those that hold a piece of text.

    Letter case counts only where the piece fits several without it.
    """
    entries = [(number, block.entry) for number, block in enumerate(blocks) if block.entry]
    which = which.strip()
    if not which:
        return []
    by_id = [number for number, entry in entries if entry.id == which]
    if by_id:
        return by_id
    folded = which.casefold()
    loose = [number for number, entry in entries if folded in entry.text.casefold()]
    exact = [number for number, entry in entries if which in entry.text]
    whole = [number for number, entry in entries if which == entry.text]
    return next((one for one in (loose, exact, whole) if len(one) == 1), loose)


def what_became_of(versions: Iterable[Kept], which: str) -> Became | None:
    """Return what the newest versions say of an entry that is gone; None where it never was."""
    became: Became | None = None
    before: list[Entry] = []
    for kept in deque(versions, maxlen=LOOKED_BACK):
        if kept.text is None:
            continue
        blocks = parse(kept.text)
        now = [block.entry for block in blocks if block.entry is not None]
        if not found_in(blocks, which):
            known = {entry.text for entry in before}
            new = [entry.text for entry in now if entry.text not in known]
            gone = [before[number] for number in found_in([Block("", e) for e in before], which)]
            if len(gone) == 1:
                became = Became(gone[0].text, "\n".join(new))
        before = now
    return became


def candidate(entry: Entry) -> str:
    """Return an entry as errors name it: its id and how it begins."""
    return f"{entry.id} {quoted(entry.text)}"


def quoted(text: str) -> str:
    """Return the beginning of a text, in quotes and on one line."""
    line = " ".join(text[: 2 * _SHOWN_CHARS].split())
    return repr(line if len(text) <= _SHOWN_CHARS else f"{line[:_SHOWN_CHARS]}…")
