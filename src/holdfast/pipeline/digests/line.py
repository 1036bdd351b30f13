"""Pieces of a digest line."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

_EXITED = re.compile(r"xit(?:ed)?(?: with)?(?: code)?\W{0,4}?(-?\d{1,5})")
_RETURNED = re.compile(r"eturn ?code\W{0,4}?(-?\d{1,5})")
_SIGNS = ("rror", "ERROR", "Exception", "Traceback", "FAILED", "atal", "panicked",
          "command not found")  # fmt: skip
"""How a line that tells of a failure looks; found by plain search, which is much faster than a
pattern of alternatives."""
_TRIES = 4
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
        for word, pattern in (("xit", _EXITED), ("eturn", _RETURNED)):
            at = piece.find(word)
            for _ in range(_TRIES):
                if at < 0:
                    break
                found = pattern.match(piece, at)
                if found:
                    return int(found.group(1))
                at = piece.find(word, at + 1)
    return None


def error_line(output: str) -> str:
    """Return the first line that looks like an error, cut; "" where there is none.

    Only the start and the end of a long output are looked at.
    """
    for piece in _ends(output):
        places = [at for sign in _SIGNS if (at := _sign_at(piece, sign)) >= 0]
        if places:
            return clip(_line_around(piece, min(places)), 160)
    return ""


def _sign_at(text: str, sign: str) -> int:
    """Return where a sign stands as the end of a word, -1 where it does not."""
    at = text.find(sign)
    for _ in range(_TRIES):
        if at < 0:
            return -1
        after = text[at + len(sign) : at + len(sign) + 1]
        if not (after.isalnum() or after == "_"):
            return at
        at = text.find(sign, at + 1)
    return -1


def _ends(output: str) -> tuple[str, ...]:
    if len(output) <= 2 * _SCANNED_CHARS:
        return (output,)
    return output[:_SCANNED_CHARS], output[-_SCANNED_CHARS:]


def _line_around(text: str, at: int) -> str:
    first = text.rfind("\n", 0, at) + 1
    last = text.find("\n", at)
    line = text[max(first, at - 200) : last if last >= 0 else None]
    return line[:400].strip()
