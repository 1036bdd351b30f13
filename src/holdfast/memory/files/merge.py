"""Three versions of a file become one, entry by entry."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection

from msgspec import Struct

from holdfast.memory.files.entries import SEPARATOR, entries_of, parse, rewritten


class Clash(Struct, frozen=True):
    """Entries that both sides changed, and what each made of them."""

    base: tuple[str, ...]
    ours: tuple[str, ...]
    theirs: tuple[str, ...]


class Merged(Struct, frozen=True):
    """One text; where both sides changed the same entry it holds what both made of it."""

    text: str
    clash: Clash | None = None


def merge(base: str, ours: str, theirs: str, passed: Collection[str] = ()) -> Merged:
    """Return `theirs` with the entries that `ours` added and took away since `base`.

    `passed` are entries that ours had meanwhile, and has no longer where it took them away again.
    What stands between entries is theirs. An entry that one side changed and the other took away
    is kept as changed. The work is linear.
    """
    before, mine, other = _texts(base), _texts(ours), _texts(theirs)
    gone, new = before - mine, mine - before
    missed = new - (other - before)
    away = (gone | (Counter(set(passed)) - before - mine)) & other
    changed: dict[int, str | None] = {}
    for number, block in enumerate(parse(theirs)):
        if block.entry is not None and away[block.entry.text] > 0:
            away[block.entry.text] -= 1
            changed[number] = None
    text = rewritten(theirs, changed, list(missed.elements())) if changed or missed else theirs
    twice = gone & (before - other)
    theirs_alone = (other - before) - new
    if twice and missed and theirs_alone:
        return Merged(text, Clash(tuple(twice), tuple(missed), tuple(theirs_alone)))
    return Merged(text)


def between(text: str) -> list[str]:
    """Return the lines between entries that say something: headings, rules, comments."""
    gaps = (block.raw.split("\n") for block in parse(text) if block.entry is None)
    lines = (line.strip() for gap in gaps for line in gap)
    return [line for line in lines if line not in ("", SEPARATOR)]


def _texts(text: str) -> Counter[str]:
    return Counter(entry.text for entry in entries_of(text))
