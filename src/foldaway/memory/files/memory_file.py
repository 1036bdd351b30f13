"""One file of entries that agents, commands and editors write at the same time."""

from __future__ import annotations

import time
from collections import Counter, deque
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from msgspec import Struct

from foldaway._core import Redact
from foldaway.dialects import clean_value
from foldaway.errors import MemoryConflict, MemoryRefused
from foldaway.memory.files.entries import (
    Block,
    MemoryEntry,
    entries_of,
    find_entries,
    lines_between,
    merge,
    name_entry,
    parse,
    quote,
    rewrite,
    strip_line_ends,
)
from foldaway.memory.files.history import StoredVersion, Version, Who, to_text
from foldaway.memory.files.shared_file import SharedFile
from foldaway.redaction import RedactionPolicy, Redactor
from foldaway.search import ScannedText, scan
from foldaway.transcript import estimate_text

_APART = 100
"""Between the positions of two entries, so that a search takes none for a neighbour."""
_CANDIDATES = 5
"""Entries that an error names."""
_MOST_VERSIONS = 200
"""Versions in which an entry is looked for that is no longer there."""
_FAR_TOO_LONG = 10
"""Times the limit: such a content is not even read."""


class Limit(Struct, frozen=True, kw_only=True):
    """How much a file may hold, in both measures."""

    chars: int
    tokens: int


class Change(Struct, frozen=True):
    """What a version did to the entries of a file."""

    version: Version
    added: tuple[str, ...]
    removed: tuple[str, ...]


class _Successor(Struct, frozen=True):
    """An entry that was there once, and what came in its place, "" for nothing."""

    text: str
    now: str


class MemoryFile:
    """Entries in a Markdown file.

    Every change is made to what the file holds at that moment, under a lock, and is on the disk
    when the call returns. Errors: `MemoryRefused` and `MemoryConflict` for what is not done,
    `NotWritable` and `NotReadable` for what the disk refuses; the file is then as it was.
    """

    def __init__(
        self,
        path: Path,
        limit: Limit,
        *,
        redact: Redact | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.name = path.name
        self.limit = limit
        self.redact = redact or Redactor(RedactionPolicy(personal=False))
        self._file = SharedFile(path, self.redact, clock)

    @property
    def path(self) -> Path:
        """Where it is; it need not be there."""
        return self._file.path

    def text(self) -> str:
        """Return all of it, as it is now."""
        return to_text(self._file.read().data)

    def entries(self) -> tuple[MemoryEntry, ...]:
        """Return the entries, the oldest first."""
        return entries_of(self.text())

    def add(self, content: str, who: Who) -> MemoryEntry:
        """Put an entry at the end; one that is there already is left where it is."""
        wanted = self._content(content)

        def edit(text: str) -> str:
            if any(entry.text == wanted for entry in entries_of(text)):
                return text
            return self._check_size(text, rewrite(text, {}, [wanted]), wanted)

        return _entry(self._file.change(who, "add", edit), wanted)

    def replace(self, which: str, content: str, who: Who) -> MemoryEntry:
        """Change the entry that has an id, or that alone holds a piece of text."""
        wanted = self._content(content)

        def edit(text: str) -> str:
            number = self._find(text, which, wanted)
            return self._check_size(text, rewrite(text, {number: wanted}), wanted)

        return _entry(self._file.change(who, "replace", edit), wanted)

    def remove(self, which: str, who: Who) -> MemoryEntry:
        """Take out the entry that has an id, or that alone holds a piece of text."""
        gone: list[MemoryEntry] = []

        def edit(text: str) -> str:
            number = self._find(text, which, "")
            block = parse(text)[number]
            gone[:] = [block.entry] if block.entry else []
            return rewrite(text, {number: None})

        self._file.change(who, "remove", edit)
        return gone[0]

    def forget(self, holds: Callable[[str], bool], *, dry_run: bool = False) -> int:
        """Remove what `holds` says yes to, from every version and from what the last change
        replaced too; return how many entries, and lines between them, there are or were.
        """
        gone: set[str] = set()

        def without(text: str) -> str:
            blocks = parse(text)
            going = {
                number: one
                for number, one in enumerate(blocks)
                if holds(one.entry.text if one.entry else one.raw)
            }
            gone.update(one.raw.strip() for one in going.values())
            if not going:
                return text
            left = rewrite(text, {number: None for number, one in going.items() if one.entry})
            between = {one.raw for one in going.values() if not one.entry}
            return "".join(one.raw for one in parse(left) if one.entry or one.raw not in between)

        self._file.purge(without, dry_run=dry_run)
        return len(gone)

    def search(self, query: str, most: int = 10) -> list[MemoryEntry]:
        """Return the entries that fit a query, the best first; any text is one."""
        entries = self.entries()
        held = [
            ScannedText(number * _APART, "", entry.text) for number, entry in enumerate(entries)
        ]
        return [entries[match.position // _APART] for match in scan(held, query, most)]

    def take_edit(self, base: str, edited: str, who: Who) -> str:
        """Put in what an editor made of `base`, with what others changed meanwhile; return it.

        Raises `MemoryConflict` if both changed the same entry, or both what stands between.
        """
        edited = self.redact(edited)

        def edit(text: str) -> str:
            lines = lines_between(base), lines_between(text), lines_between(edited)
            if lines[0] == lines[1]:
                merged = merge(base, text, edited)
                clash = merged.clash and (merged.clash.theirs, merged.clash.ours)
            elif lines[2] in lines[:2]:
                merged = merge(base, edited, text)
                clash = merged.clash and (merged.clash.ours, merged.clash.theirs)
            else:
                raise MemoryConflict(
                    self.name, "a heading", "\n".join(lines[2]), "\n".join(lines[1])
                )
            if merged.clash and clash:
                raise MemoryConflict(
                    self.name, "\n".join(merged.clash.base), *map("\n".join, clash)
                )
            return merged.text

        return self._file.change(who, "edit", edit)

    def notice(self, who: Who) -> None:
        """Take in what editors did since the last change, so that the history has it."""
        if self._file.exists():
            self._file.change(who, "", lambda text: text)

    def history(self) -> list[Change]:
        """Return what every version did, the oldest first."""
        changes: list[Change] = []
        before: Counter[str] = Counter()
        for kept in self._file.history.versions():
            now = Counter(entry.text for entry in entries_of(kept.text or ""))
            added, removed = now - before, before - now
            changes.append(Change(kept.version, tuple(added.elements()), tuple(removed.elements())))
            before = now
        return changes

    def version(self, number: int) -> str:
        """Return the text of a version."""
        found: StoredVersion | None = None
        first = last = 0
        for kept in self._file.history.versions():
            first, last = first or kept.version.number, kept.version.number
            if last == number:
                found = kept
        if found is None:
            known = f"there are {first} to {last}" if last else "there is none yet"
            raise MemoryRefused(self.name, f"no version {number}", remedy=known)
        if found.text is None:
            raise MemoryRefused(
                self.name, f"version {number} is damaged on the disk", remedy="take another"
            )
        return found.text

    def restore(self, number: int, who: Who) -> None:
        """Put a version back; it becomes the newest, and what was there stays in the history."""
        text = self.version(number)
        self._file.change(who, f"restore {number}", lambda _: text)

    def _content(self, content: str) -> str:
        if len(content) > _FAR_TOO_LONG * self.limit.chars:
            raise MemoryRefused(
                self.name, f"an entry of {len(content):,} characters", remedy="make it shorter"
            )
        wanted = strip_line_ends(self.redact(str(clean_value(content))))
        if not wanted:
            raise MemoryRefused(self.name, "there is nothing in this entry", remedy="say what")
        return wanted

    def _find(self, text: str, which: str, wanted: str) -> int:
        """Return the number of the block that is meant, or raise."""
        blocks = parse(text)
        found = find_entries(blocks, which)
        if len(found) == 1:
            return found[0]
        if len(found) > 1:
            entries = [blocks[number].entry for number in found[:_CANDIDATES]]
            raise MemoryRefused(
                self.name,
                f"{quote(which)} fits {len(found)} entries",
                remedy="name one by its id",
                candidates=[name_entry(entry) for entry in entries if entry],
            )
        successor = _find_successor(self._file.history.versions(), which)
        if successor is not None:
            raise MemoryConflict(self.name, successor.text, wanted, successor.now)
        raise MemoryRefused(
            self.name, f"no entry has the id or the text {quote(which)}", remedy="list them first"
        )

    def _check_size(self, old: str, new: str, wanted: str) -> str:
        """Return the new text, or raise if it is larger than allowed and than before."""
        tokens = estimate_text(new)
        over = max(len(new) - self.limit.chars, 0)
        over_tokens = max(tokens - self.limit.tokens, 0)
        if not (over or over_tokens) or len(new) <= len(old):
            return new
        alone = len(wanted) > self.limit.chars or estimate_text(wanted) > self.limit.tokens
        going = () if alone else _choose_oldest(entries_of(old), over, over_tokens)
        raise MemoryRefused(
            self.name,
            f"it holds {len(old):,} of {self.limit.chars:,} characters ({estimate_text(old):,} of "
            f"{self.limit.tokens:,} tokens), too many for another {len(wanted):,}",
            remedy="remove or shorten entries first, for instance the oldest"
            if going
            else "make it shorter",
            candidates=[name_entry(entry) for entry in going],
        )


def _entry(text: str, wanted: str) -> MemoryEntry:
    return next(entry for entry in entries_of(text) if entry.text == wanted)


def _choose_oldest(entries: Sequence[MemoryEntry], chars: int, tokens: int) -> list[MemoryEntry]:
    """Return as many of the oldest as make that much room, at most a few."""
    going: list[MemoryEntry] = []
    for entry in entries[:_CANDIDATES]:
        if chars <= 0 and tokens <= 0:
            break
        going.append(entry)
        chars -= len(entry.text)
        tokens -= estimate_text(entry.text)
    return going


def _find_successor(versions: Iterable[StoredVersion], which: str) -> _Successor | None:
    """Return what replaced an entry that is gone; None if it was never there."""
    successor: _Successor | None = None
    before: list[MemoryEntry] = []
    for stored in deque(versions, maxlen=_MOST_VERSIONS):
        if stored.text is None:
            continue
        blocks = parse(stored.text)
        now = [block.entry for block in blocks if block.entry is not None]
        if not find_entries(blocks, which):
            known = {entry.text for entry in before}
            new = [entry.text for entry in now if entry.text not in known]
            gone = [
                before[number] for number in find_entries([Block("", e) for e in before], which)
            ]
            if len(gone) == 1:
                successor = _Successor(gone[0].text, "\n".join(new))
        before = now
    return successor
