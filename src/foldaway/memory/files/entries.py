"""Entries of a Markdown file, and the file again, byte for byte.

An entry is a list item or a paragraph: a run of lines without a blank one. A bullet begins an
entry; lines that are indented, also after blank ones, belong to the item before. Fenced code keeps
its blank lines. Headings, rules, comments of one line and blank lines stand between entries.
"""

from __future__ import annotations

import hashlib
import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from msgspec import Struct

SEPARATOR = "<!-- -->"
"""A line that keeps two entries apart that would run together without it."""

_ID_CHARS = 8
"""Of the hash of an entry: 32 bits, enough for the hundreds of entries that fit in a file."""
_SHOWN_CHARS = 60
"""Of an entry in an error message: it stays on one line."""
_BOM = "\ufeff"
_BULLET = re.compile(r" ?[-*+](?:[ \t]+|$)")
_NUMBERED = re.compile(r" ?\d{1,9}[.)][ \t]")
_BETWEEN = re.compile(r" ?(?:#{1,6}(?:[ \t].*)?|-{3,}|\*{3,}|_{3,}|[-*+]|<!--.*-->)[ \t]*$")
_UNDERLINE = re.compile(r" ?(?:={2,}|-{2,})[ \t]*$")
_FENCE = re.compile(r" ?(`{3,}(?=[^`]*$)|~{3,})")
_CLOSES = re.compile(r" ?(`{3,}|~{3,})[ \t]*$")


class MemoryEntry(Struct, frozen=True, gc=False):
    """One thing that is remembered, as it is read; `id` is made from its text."""

    id: str
    text: str


class Block(Struct, frozen=True, gc=False):
    """A stretch of a file: an entry, or what stands between entries."""

    raw: str
    entry: MemoryEntry | None = None


class Clash(Struct, frozen=True):
    """Entries that both sides changed, and what each made of them."""

    base: tuple[str, ...]
    ours: tuple[str, ...]
    theirs: tuple[str, ...]


class Merged(Struct, frozen=True):
    """One text; if both sides changed the same entry it holds what both made of it."""

    text: str
    clash: Clash | None = None


def parse(text: str) -> tuple[Block, ...]:
    """Return the blocks of a text; joined, what they hold is the text, whatever it is.

    Where an id comes a second time, a number is put after it.
    """
    begin = len(_BOM) if text.startswith(_BOM) else 0
    lines = [f"{line}\n" for line in text[begin:].split("\n")]
    lines[-1] = lines[-1][:-1]
    bare = [line.rstrip("\r\n") for line in lines]
    ends = _closing_lines(bare)
    blocks: list[Block] = []
    seen: Counter[str] = Counter()
    gap = [text[:begin]]
    at = 0
    while at < len(lines):
        stop = _end_of_entry(bare, at, ends)
        if stop > at:
            blocks += _make_gap(gap)
            blocks.append(_block("".join(lines[at:stop]), bare[at:stop], seen))
            gap = []
        else:
            stop = at + (2 if _is_title(bare, at) else 1)
            gap += lines[at:stop]
        at = stop
    return (*blocks, *_make_gap(gap))


def render(blocks: Iterable[Block]) -> str:
    """Return the text of blocks."""
    return "".join(block.raw for block in blocks)


def entries_of(text: str) -> tuple[MemoryEntry, ...]:
    """Return the entries of a text, in its order."""
    return tuple(block.entry for block in parse(text) if block.entry is not None)


def strip_line_ends(content: str) -> str:
    """Return the text of an entry as it will be read again: no blanks at the ends of lines."""
    content = content.replace("\r\n", "\n").replace("\r", "\n")
    return "\n".join(line.rstrip() for line in content.split("\n")).strip()


def rewrite(text: str, changed: Mapping[int, str | None], added: Sequence[str] = ()) -> str:
    """Return a text with entries changed or, if that is None, taken out, and others at its end.

    `changed` goes by the number of the block. All contents are tidy and not empty. Every other
    entry is the same afterwards, and in the same order.
    """
    blocks = parse(text)
    newline = "\r\n" if "\r\n" in text else "\n"
    expected = [
        changed.get(number, block.entry.text)
        for number, block in enumerate(blocks)
        if block.entry is not None
    ]
    wanted = [one for one in (*expected, *added) if one is not None]
    new = _with_added(_with_changed(blocks, changed, newline, ""), added, newline)
    if [entry.text for entry in entries_of(new)] == wanted:
        return new
    apart = f"{SEPARATOR}{newline}"
    return _with_added(_with_changed(blocks, changed, newline, apart), added, newline)


def item(content: str, newline: str, bullet: str = "- ") -> str:
    """Return a tidy content as a list item."""
    lines = content.split("\n")
    rest = [f"  {line}" if line else "" for line in lines[1:]]
    return newline.join([bullet + lines[0], *rest, ""])


def find_entries(blocks: Sequence[Block], which: str) -> list[int]:
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


def name_entry(entry: MemoryEntry) -> str:
    """Return an entry as errors name it: its id and how it begins."""
    return f"{entry.id} {quote(entry.text)}"


def quote(text: str) -> str:
    """Return the beginning of a text, in quotes and on one line."""
    line = " ".join(text[: 2 * _SHOWN_CHARS].split())
    return repr(line if len(text) <= _SHOWN_CHARS else f"{line[:_SHOWN_CHARS]}…")


def merge(base: str, ours: str, theirs: str, passed: Collection[str] = ()) -> Merged:
    """Return `theirs` with the entries that `ours` added and took away since `base`.

    `passed` are entries that ours had meanwhile, and has no longer if it took them away again.
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
    text = rewrite(theirs, changed, list(missed.elements())) if changed or missed else theirs
    twice = gone & (before - other)
    theirs_alone = (other - before) - new
    if twice and missed and theirs_alone:
        return Merged(text, Clash(tuple(twice), tuple(missed), tuple(theirs_alone)))
    return Merged(text)


def lines_between(text: str) -> list[str]:
    """Return the lines between entries that say something: headings, rules, comments."""
    gaps = (block.raw.split("\n") for block in parse(text) if block.entry is None)
    lines = (line.strip() for gap in gaps for line in gap)
    return [line for line in lines if line not in ("", SEPARATOR)]


def _texts(text: str) -> Counter[str]:
    return Counter(entry.text for entry in entries_of(text))


def _with_changed(
    blocks: Sequence[Block], changed: Mapping[int, str | None], newline: str, apart: str
) -> str:
    pieces: list[str] = []
    for number, block in enumerate(blocks):
        if number not in changed:
            raw = block.raw
            if number and changed.get(number - 1, "") is None and not apart:
                raw = _without_double_blank(raw, blocks[number - 2].raw if number > 1 else "\n")
            pieces.append(raw)
            continue
        content = changed[number]
        if content is None:
            pieces.append(apart)
            continue
        found = _BULLET.match(block.raw)
        mark = found[0].strip() if found else "-"
        pieces += (item(content, newline, f"{mark} "), apart)
    new = "".join(pieces)
    ends_open = not blocks[-1].raw.endswith("\n") if blocks else False
    return new.removesuffix(newline) if ends_open and len(blocks) - 1 in changed else new


def _without_double_blank(raw: str, above: str) -> str:
    """Return what follows an entry that went, without the blank line that would be there twice."""
    blank = re.match(r"\r?\n", raw)
    return raw[blank.end() :] if blank and re.search(r"(?:^|\n)\r?\n$", above) else raw


def _with_added(text: str, added: Sequence[str], newline: str) -> str:
    if not added:
        return text
    if text and not text.endswith("\n"):
        text += newline
    items = "".join(item(content, newline) for content in added)
    last = parse(text)[-1].raw if text.strip() else ""
    # a list begins after a blank line, unless it goes on or stands under its heading
    joins = not last or _BULLET.match(last) or last.endswith("\n\n") or last.startswith(("#", "\n"))
    return f"{text}{items}" if joins or not last.strip() else f"{text}{newline}{items}"


def _make_gap(gap: Sequence[str]) -> Iterator[Block]:
    raw = "".join(gap)
    if raw:
        yield Block(raw)


def _block(raw: str, bare: Sequence[str], seen: Counter[str]) -> Block:
    text = _text(bare)
    name = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:_ID_CHARS]
    seen[name] += 1
    return Block(raw, MemoryEntry(name if seen[name] == 1 else f"{name}-{seen[name]}", text))


def _text(bare: Sequence[str]) -> str:
    """Return the lines of an entry without bullet and indentation."""
    found = _BULLET.match(bare[0])
    width = found.end() if found else 2
    first = bare[0][found.end() :] if found else bare[0]
    rest = [_outdent(line, width) for line in bare[1:]]
    return strip_line_ends("\n".join([first, *rest]))


def _outdent(line: str, width: int) -> str:
    if line.startswith("\t"):
        return line[1:]
    return line[min(width, len(line) - len(line.lstrip(" "))) :]


def _end_of_entry(bare: Sequence[str], at: int, ends: Mapping[str, list[int]]) -> int:
    """Return the line after the entry that begins at a line; the line itself if none does."""
    if _is_between(bare, at):
        return at
    is_item = bool(_BULLET.match(bare[at]) or _NUMBERED.match(bare[at]))
    here = at + 1 if is_item else _skip_block(bare, at, ends)
    while here < len(bare):
        line = bare[here]
        if not line.strip():
            there = here
            while there < len(bare) and not bare[there].strip():
                there += 1
            if not is_item or there == len(bare) or not _is_indented(bare[there]):
                break
            here = there
        elif _is_indented(line):
            here += 1
        elif _BETWEEN.match(line) or _BULLET.match(line) or _NUMBERED.match(line):
            break
        else:
            here = _skip_block(bare, here, ends)
    return here


def _skip_block(bare: Sequence[str], at: int, ends: Mapping[str, list[int]]) -> int:
    """Return the line after this one, or after the fenced code that begins here.

    A fence that is never closed is a line like any other.
    """
    opens = _FENCE.match(bare[at])
    if opens is None or _is_indented(bare[at]):
        return at + 1
    closing = ends.get(opens[1], [])
    place = bisect_right(closing, at)
    return closing[place] + 1 if place < len(closing) else at + 1


def _closing_lines(bare: Sequence[str]) -> dict[str, list[int]]:
    found: dict[str, list[int]] = {}
    for number, line in enumerate(bare):
        if closes := _CLOSES.match(line):
            found.setdefault(closes[1], []).append(number)
    return found


def _is_between(bare: Sequence[str], at: int) -> bool:
    line = bare[at]
    return not line.strip() or bool(_BETWEEN.match(line)) or _is_title(bare, at)


def _is_title(bare: Sequence[str], at: int) -> bool:
    """Whether a line is a heading by the line under it."""
    line = bare[at]
    return (
        at + 1 < len(bare)
        and bool(_UNDERLINE.match(bare[at + 1]))
        and bool(line.strip())
        and not (_BETWEEN.match(line) or _BULLET.match(line) or _is_indented(line))
        and not _FENCE.match(line)
    )


def _is_indented(line: str) -> bool:
    return line.startswith(("  ", "\t", " \t"))
