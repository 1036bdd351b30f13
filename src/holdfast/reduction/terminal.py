"""Text as a terminal would leave it on the screen."""

from __future__ import annotations

import re

__all__ = ["plain"]

_ESCAPE = re.compile(
    r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b\n]{0,4096}(?:\x07|\x1b\\)?"
    r"|[PX^_][^\x1b\n]{0,4096}\x1b\\|[ -/]*[0-~])"
)


def plain(text: str) -> str:
    """Return a text without escape codes, with line feeds alone, and progress at its last state.

    What a carriage return overwrote is gone; a line that ends in one keeps what stood before it.
    """
    if "\x1b" in text:
        text = _ESCAPE.sub("", text)
    if "\r" in text:
        text = text.replace("\r\n", "\n")
        if "\r" in text:
            text = "\n".join([_overwritten(line) for line in text.split("\n")])
    return text


def _overwritten(line: str) -> str:
    if "\r" not in line:
        return line
    return line.rstrip("\r").rpartition("\r")[2]
