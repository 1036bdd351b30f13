"""Pieces of a digest line."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

_EXIT = re.compile(
    r"[Ee]xit(?:ed)?(?: with)?(?: code)?\W{0,4}?(-?\d{1,5})|[Rr]eturn ?code\W{0,4}?(-?\d{1,5})"
)
_SIGNS = ("rror", "ERROR", "Exception", "Traceback", "FAILED", "atal", "panicked",
          "command not found")  # fmt: skip
_FAILED = re.compile(
    r"[Ee]rror\b|ERROR|Exception\b|Traceback|FAILED|[Ff]atal\b|panicked|command not found"
)
_SCANNED_CHARS = 10_000


def clip(text: str, most: int = 120) -> str:
    """Return `text` on one line, cut to `most` characters."""
    flat = " ".join(text.split()) if "\n" in text or "  " in text else text
    return flat if len(flat) <= most else f"{flat[: most - 1]}…"


def first_of(arguments: Mapping[str, Any], *names: str) -> str:
    """Return the first argument among `names` that is a non-empty string, otherwise ""."""
    for name in names:
        found = arguments.get(name)
        if isinstance(found, str) and found:
            return found
        if isinstance(found, list) and found:
            return " ".join(str(word) for word in found)  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
    return ""


def size_of(output: str) -> str:
    """Return how much there was."""
    lines = output.count("\n") + 1
    return f"{len(output):,} characters" if lines == 1 else f"{lines:,} lines"


def exit_code(output: str) -> int | None:
    """Return the exit code that an output reports at its head or tail."""
    ends = (output[:400], output[-400:]) if len(output) > 400 else (output,)
    for piece in ends:
        if "xit" in piece or "eturn" in piece:
            found = _EXIT.search(piece)
            if found:
                return int(found.group(1) or found.group(2))
    return None


def error_line(output: str) -> str:
    """Return the first line that looks like an error, cut; "" where there is none.

    Only the start and the end of a long output are looked at.
    """
    for piece in _ends(output):
        if any(sign in piece for sign in _SIGNS):
            found = _FAILED.search(piece)
            if found is not None:
                return clip(_line_around(piece, found.start(), found.end()), 160)
    return ""


def _ends(output: str) -> tuple[str, ...]:
    if len(output) <= 2 * _SCANNED_CHARS:
        return (output,)
    return output[:_SCANNED_CHARS], output[-_SCANNED_CHARS:]


def _line_around(text: str, start: int, stop: int) -> str:
    first = text.rfind("\n", 0, start) + 1
    last = text.find("\n", stop)
    line = text[max(first, start - 200) : last if last >= 0 else None]
    return line[:400].strip()
