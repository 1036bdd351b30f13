"""Names, paths and numbers: what in a text somebody may come back to."""

from __future__ import annotations

import re

_SIGNS = r"\w$.@/~+:#-"
_TERM = re.compile(
    rf"(?<![{_SIGNS}])(?=[{_SIGNS}]*?(?:[/_\d]|[a-z][A-Z]|\w\.\w|\w-\w+-\w)|--\w|[A-Z]{{3,}}(?![{_SIGNS}]))"
    rf"[{_SIGNS}]{{3,}}"
)
"""A run of signs that is no word of a language: a path, a name in code, a number."""
_LONGEST_CHARS = 120
_EDGES = ".:-/#@$+~"


def terms_of(text: str, most: int = 64) -> tuple[str, ...]:
    """Return the different terms of a text, in order, at most `most`; linear in the text."""
    found: dict[str, None] = {}
    for word in _TERM.findall(text):
        if len(word) > _LONGEST_CHARS:
            continue
        bare = word.strip(_EDGES) if word[-1] in _EDGES or word[0] in "-.:#@+" else word
        if len(bare) > 2:
            found[bare] = None
            if len(found) >= most:
                break
    return tuple(found)
