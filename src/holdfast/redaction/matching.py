"""The two engines behind the rules, with their types: re2 and a keyword automaton.

Both work on bytes, one byte a character, so that no text is invalid and every offset is final.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeAlias, cast

import ahocorasick_rs
import re2 as untyped_re2  # pyright: ignore[reportMissingTypeStubs]

re2 = cast("Any", untyped_re2)

MEMORY_BYTES = 64 << 20
"""For the states of one compiled pattern; the default of 8 MB makes large alternations slow."""

Spans: TypeAlias = "list[tuple[int, int]]"
"""Where a match and its groups stand; (-1, -1) for a group that took no part."""
_NOWHERE = (-1, -1)


class Pattern:
    """A compiled re2 pattern over bytes; every call is linear in what it reads.

    It calls the engine below the package's own `Match` objects, which cost several times as much
    as a short match itself.
    """

    def __init__(self, pattern: str) -> None:
        options = re2.Options()
        options.encoding = re2.Options.Encoding.LATIN1
        options.max_mem = MEMORY_BYTES
        options.log_errors = False
        made = re2.compile(pattern.encode("ascii"), options)
        self.groups = cast("dict[bytes, int]", made.groupindex)
        """Numbers of the named groups."""
        anchor = re2._Anchor
        self._here = anchor.ANCHOR_START
        self._anywhere = anchor.UNANCHORED
        self._match = cast("Callable[[object, bytes, int, int], Spans]", made._regexp.Match)

    def at(self, data: bytes, pos: int, end: int | None = None) -> Spans | None:
        """Match at `pos`, reading no further than `end`."""
        size = len(data)
        end = size if end is None or end > size else end
        found = self._match(self._here, data, pos, end)
        return None if found[0] == _NOWHERE else found

    def after(self, data: bytes, pos: int = 0, end: int | None = None) -> Spans | None:
        """Find the first match from `pos` on, reading no further than `end`."""
        size = len(data)
        end = size if end is None or end > size else end
        found = self._match(self._anywhere, data, pos, end)
        return None if found[0] == _NOWHERE else found

    def all(self, data: bytes, pos: int = 0) -> Iterator[Spans]:
        """Find all matches that do not overlap; none may be empty."""
        match, anywhere, size = self._match, self._anywhere, len(data)
        while True:
            found = match(anywhere, data, pos, size)
            if found[0] == _NOWHERE:
                return
            yield found
            pos = found[0][1]


def compiled(pattern: str) -> Pattern:
    """Return `pattern` compiled; one that RE2 does not know raises its error."""
    return Pattern(pattern)


class Automaton:
    """Finds all of many literals in one pass, in any case, also where they overlap."""

    def __init__(self, literals: Sequence[bytes]) -> None:
        self._automaton = ahocorasick_rs.BytesAhoCorasick(
            literals, implementation=ahocorasick_rs.Implementation.DFA
        )

    def hits(self, data: bytes) -> list[tuple[int, int, int]]:
        """Return (number of the literal, start, end) for each, ordered by end."""
        return self._automaton.find_matches_as_indexes(data.lower(), overlapping=True)
