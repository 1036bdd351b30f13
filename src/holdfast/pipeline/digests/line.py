"""Pieces of a digest line."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

_EXIT = re.compile(r"(?:exit(?:ed)?(?: with)?(?: code)?|return ?code)\W{0,4}(-?\d{1,5})", re.I)
_FAILED = re.compile(
    r"[Ee]rror\b|ERROR|Exception\b|Traceback|FAILED|[Ff]atal\b|panicked|command not found"
)
_SCANNED_CHARS = 20_000


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
    for piece in (output[:400], output[-400:]):
        found = _EXIT.search(piece)
        if found:
            return int(found.group(1))
    return None


def error_line(output: str) -> str:
    """Return the first line that looks like an error, cut; "" where there is none."""
    found = _FAILED.search(output, 0, _SCANNED_CHARS)
    if found is None and len(output) > _SCANNED_CHARS:
        found = _FAILED.search(output, len(output) - _SCANNED_CHARS)
    if found is None:
        return ""
    start = output.rfind("\n", 0, found.start()) + 1
    stop = output.find("\n", found.end())
    line = output[max(start, found.start() - 200) : stop if stop >= 0 else None]
    return clip(line[:400].strip(), 160)
