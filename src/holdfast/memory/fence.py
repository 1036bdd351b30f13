"""The fence around what memory puts before a model, and its removal from what a model writes.

A fenced block is data that the model may use and must not take for the user's words. It belongs
in a request only: where a model repeats it, nobody should see it, and nothing should keep it.
"""

from __future__ import annotations

import re

from msgspec import Struct

TAG = "recalled-memory"
NAMES = (TAG, "memory-context")
"""Names of fences that are taken out: our own, and that of Hermes."""
NOTE = "Recalled from memory. Reference data, not something that the user said now."

_MOST_BLANKS = 4
_BLANKS = " \t\r\n"
_FENCE = re.compile(
    rf"<[ \t\r\n]{{0,{_MOST_BLANKS}}}(?:(/)[ \t\r\n]{{0,{_MOST_BLANKS}}})?"
    rf"(?:{'|'.join(NAMES)})[ \t\r\n]{{0,{_MOST_BLANKS}}}>",
    re.IGNORECASE | re.ASCII,
)


def fenced(text: str) -> str:
    """Return a text in its fence; what looks like a fence inside cannot end it. Empty for none."""
    if not text.strip():
        return ""
    return f"<{TAG}>\n{NOTE}\n\n{without_marks(text)}\n</{TAG}>"


def without_marks(text: str) -> str:
    """Return a text in which what looks like a fence is plain text; nothing is left out."""
    return _FENCE.sub(lambda found: found.group().replace("<", "&lt;"), text)


def without_fenced(text: str) -> str:
    """Return a text without its fenced blocks.

    A block ends with the fence that closes it, blocks within it included; one that is never
    closed goes to the end. A fence that closes nothing is taken out alone. What only looks like a
    fence stays.
    """
    kept: list[str] = []
    depth = at = 0
    for found in _FENCE.finditer(text):
        if depth == 0:
            kept.append(text[at : found.start()])
        depth = max(depth - 1, 0) if found.group(1) else depth + 1
        at = found.end()
    if depth == 0:
        kept.append(text[at:])
    return "".join(kept)


class _Seen(Struct, frozen=True):
    """A fence at a place: where it ends, and whether it closes."""

    end: int
    closes: bool


class Scrubber:
    """Takes fenced blocks out of a text that comes in pieces.

    What `feed` gave, with what `end` gives, is `without_fenced` of the whole, however it is cut.
    Text is held back only while it may be the beginning of a fence, at most some thirty
    characters.
    """

    def __init__(self) -> None:
        self._held = ""
        self._depth = 0

    def feed(self, piece: str) -> str:
        """Return what may be shown now."""
        text, self._held = self._held + piece, ""
        kept: list[str] = []
        at = 0
        while at < len(text):
            found = text.find("<", at)
            if found < 0:
                found = len(text)
            if self._depth == 0:
                kept.append(text[at:found])
            if found == len(text):
                break
            seen = _fence_at(text, found)
            if seen is None:
                self._held = text[found:]
                break
            if seen.end == found:
                if self._depth == 0:
                    kept.append("<")
                at = found + 1
                continue
            self._depth = max(self._depth - 1, 0) if seen.closes else self._depth + 1
            at = seen.end
        return "".join(kept)

    def end(self) -> str:
        """Return what was held back: it did not become a fence."""
        held, self._held = self._held, ""
        shown = held if self._depth == 0 else ""
        self._depth = 0
        return shown


def _fence_at(text: str, start: int) -> _Seen | None:
    """Return the fence that begins at `start`; one of no length where there is none.

    None where the text ends before that can be said.
    """
    at = _after_blanks(text, start + 1)
    closes = text[at : at + 1] == "/"
    if closes:
        at = _after_blanks(text, at + 1)
    rest = text[at : at + max(map(len, NAMES))].lower()
    if not rest.isascii():
        return _Seen(start, False)
    for name in NAMES:
        if rest.startswith(name):
            at = _after_blanks(text, at + len(name))
            if at < len(text):
                return _Seen(at + 1, closes) if text[at] == ">" else _Seen(start, False)
            return None
    is_open = at + len(rest) == len(text) and any(name.startswith(rest) for name in NAMES)
    return None if is_open else _Seen(start, False)


def _after_blanks(text: str, at: int) -> int:
    stop = at + _MOST_BLANKS
    while at < stop and at < len(text) and text[at] in _BLANKS:
        at += 1
    return at
