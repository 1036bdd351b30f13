"""What in a tool result must not get lost: errors, failing tests, counts, exit status, files.

All functions are pure and quick: literals are found by plain search and only the lines around
them are looked at, so that a text without such lines costs little more than reading it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from holdfast.reduction.lines import line_at, matches, places
from holdfast.reduction.shapes import (
    CODE_LINE,
    DETAIL,
    DETAIL_SIGN,
    DIAGNOSTIC,
    DIAGNOSTIC_PLACE,
    END_SHAPES,
    GLYPH,
    GLYPHS,
    SHAPES,
)
from holdfast.reduction.signs import Signs
from holdfast.reduction.terminal import plain
from holdfast.reduction.testreport import TestCounts, failing_tests, test_counts
from holdfast.regex import Regex

__all__ = [
    "TestCounts",
    "changed_files",
    "error_lines",
    "error_spans",
    "exit_status",
    "failing_tests",
    "has_diagnostics",
    "status_spans",
    "test_counts",
    "unfolded",
]

SHOWN_CHARS: Final = 400
"""The most of a line that is given back."""


def error_lines(text: str, most: int = 20) -> tuple[str, ...]:
    """Return the first `most` different lines that tell of a failure, in order.

    Without escape codes and outer blanks, each at most `SHOWN_CHARS` long; in JSON on one line,
    the piece around the failure. Source code that only mentions errors is mostly not taken.
    """
    text = unfolded(text)
    lines: dict[str, None] = {}
    for start, end in error_spans(text, 2 * most):
        line = plain(text[start:end]).strip()[:SHOWN_CHARS]
        if line:
            lines[line] = None
    return tuple(lines)[:most]


def error_spans(text: str, most: int) -> list[tuple[int, int]]:
    """Return where the first `most` lines that tell of a failure stand, in order.

    A span is a line as `lines.line_at` gives it.
    """
    found: dict[int, int] = {}
    held = _SIGNS.held(text)
    for number, shape in enumerate(SHAPES):
        if number in held:
            lines = places(text, shape.sign, follow=shape.follow)
            _collect(found, text, lines, shape.pattern, most)
    _collect(found, text, _diagnostics(text), DIAGNOSTIC, most)
    if DETAIL_SIGN in text:
        _collect(found, text, _details(text), DETAIL, most)
    if not text.isascii():
        for glyph in GLYPHS:
            _collect(found, text, places(text, glyph), GLYPH, most)
    for start, end in _ends(text):
        for number, shape in enumerate(END_SHAPES, len(SHAPES)):
            if number in held:
                _collect(found, text, places(text, shape.sign, start, end), shape.pattern, most)
    return sorted(found.items())[:most]


def has_diagnostics(text: str) -> bool:
    """Return whether a line begins like those of a compiler, `path.go:12:5: message`."""
    found: dict[int, int] = {}
    _collect(found, text, _diagnostics(text), DIAGNOSTIC, 1)
    return bool(found)


def exit_status(text: str) -> int | None:
    """Return the exit status that a result reports at its head or tail, None where it does not."""
    ends = (text[:_STATUS_CHARS], text[-_STATUS_CHARS:]) if len(text) > _STATUS_CHARS else (text,)
    for piece in ends:
        found = _EXIT.search(piece) if "xit" in piece else None
        returned = _RETURN.search(piece) if "eturn" in piece else None
        if returned and (found is None or returned.start() < found.start()):
            found = returned
        if found:
            return int(found[1])
    return None


def status_spans(text: str) -> list[tuple[int, int]]:
    """Return the lines at the head or tail that report an exit status."""
    size = len(text)
    ends = (
        ((0, _STATUS_CHARS), (size - _STATUS_CHARS, size)) if size > _STATUS_CHARS else ((0, size),)
    )
    found: list[int] = []
    for start, stop in ends:
        both = [shape.finditer(text, max(start, 0), stop) for shape in (_EXIT, _RETURN)]
        found.extend(sorted(match.start() for shape in both for match in shape))
    return [line_at(text, start) for start in found]


def changed_files(text: str, most: int = 200) -> tuple[str, ...]:
    """Return the files that a diff or patch changes, each once, in order."""
    names: dict[str, int] = {}
    for sign, pattern in _CHANGES:
        for at, found in matches(text, sign, pattern, most):
            names.setdefault(found[1], at)
    names.pop("/dev/null", None)
    return tuple(sorted(names, key=names.__getitem__)[:most])


def unfolded(text: str) -> str:
    """Return JSON of few lines with the escaped line breaks in its strings as real ones."""
    head = text[:64].lstrip()[:1]
    if head in _JSON_HEADS and "\\n" in text and text.count("\n") * 500 < len(text):
        return text.replace("\\n", "\n")
    return text


_SIGNS = Signs([shape.sign for shape in (*SHAPES, *END_SHAPES)])
_JSON_HEADS = frozenset('{["')
_STATUS_CHARS = 400
_HEAD_CHARS = 1_024
_TRIES = 20_000
_END_CHARS = 2_048
_NUMBER = r"\\?[\"']?\W{0,3}?(-?\d{1,10})\b"
_EXIT = Regex(rf"xit(?:(?:ed)?(?: with)?[ _-]?(?:code|status)|ed with|Code){_NUMBER}")
_RETURN = Regex(rf"eturn[ _]?code{_NUMBER}")
"""Two, because a pattern that begins with a literal is found ten times as fast."""
_CHANGES: tuple[tuple[str, Regex[str]], ...] = (
    ("diff --git ", Regex(r"diff --git \S+ (?:b/)?(\S.*)$")),
    ("+++ ", Regex(r"\+\+\+ (?:b/)?([^\t]+)")),
    ("--- a/", Regex(r"--- a/([^\t]+)")),
    (" File: ", Regex(r"\*\*\* (?:Add|Update|Delete) File: (.+)$")),
    ("*** Move to: ", Regex(r"\*\*\* Move to: (.+)$")),
    ("rename to ", Regex(r"rename to (.+)$")),
    ("rename from ", Regex(r"rename from (.+)$")),
)


def _collect(
    found: dict[int, int],
    text: str,
    spans: Iterator[tuple[int, int]],
    pattern: Regex[str],
    most: int,
) -> None:
    """Add those lines that look like `pattern`, at most `most`."""
    added = 0
    for start, end in spans:
        if start in found:
            continue
        window = text[start:end]
        if "\x1b" in window:
            window = plain(window)
        if start > 0 and text[start - 1] not in "\r\n":
            window = f"…{window}"
        if not CODE_LINE.match(window) and pattern.search(window):
            found[start] = end
            added += 1
            if added >= most:
                return


def _diagnostics(text: str) -> Iterator[tuple[int, int]]:
    found = DIAGNOSTIC_PLACE.search(text)
    while found:
        first, last = line_at(text, found.start())
        yield first, last
        found = DIAGNOSTIC_PLACE.search(text, max(last, found.end()))


def _details(text: str) -> Iterator[tuple[int, int]]:
    """Yield the lines that begin as those of pytest do; the sign holds the line break before."""
    at = text.find(DETAIL_SIGN)
    for _ in range(_TRIES):
        if at < 0:
            return
        first, last = line_at(text, at + 1)
        yield first, last
        at = text.find(DETAIL_SIGN, max(last, at + 1))


def _ends(text: str) -> tuple[tuple[int, int], ...]:
    size = len(text)
    if size <= _HEAD_CHARS + _END_CHARS:
        return ((0, size),)
    return (0, _HEAD_CHARS), (size - _END_CHARS, size)
