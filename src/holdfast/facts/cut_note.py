"""What stands at the end of an argument that was cut, and the words before it."""

from __future__ import annotations

import re

LONGEST = 60
"""Of a note, in characters: what is over its limit by less is not cut, so that a text that is cut
never gets longer, and is not cut again."""
_NOTE = re.compile(r"\S*… \[[\d,]{1,20} more characters(?:: [\w-]{1,20})?\]\Z")
_LOOKED_AT = 200


def cut_with_note(text: str, most: int, where: str) -> str:
    """Return the first characters, how many more there were, and where they are."""
    return f"{text[:most]}… [{len(text) - most:,} more characters{where}]"


def before_note(text: str) -> str:
    """Return the whole words before the note of an earlier cut; the text where there is none.

    The note is not what anybody said, and the word before it may be half a word.
    """
    found = _NOTE.search(text, max(len(text) - _LOOKED_AT, 0)) if text.endswith("]") else None
    return text[: found.start()].rstrip() if found else text
