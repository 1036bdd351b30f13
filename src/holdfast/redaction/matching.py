"""The two engines behind the rules, with their types: re2 and a keyword automaton.

Both work on bytes, one byte a character, so that no text is invalid and every offset is final.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, TypeAlias, cast

import ahocorasick_rs
import re2 as untyped_re2  # pyright: ignore[reportMissingTypeStubs]

re2 = cast("Any", untyped_re2)

MEMORY_BYTES = 64 << 20
"""For the states of one compiled pattern; the default of 8 MB makes large alternations slow."""

Spans: TypeAlias = "list[tuple[int, int]]"
"""Where a match and its groups stand; (-1, -1) for a group that took no part."""
_NOWHERE = (-1, -1)
Hit: TypeAlias = "tuple[int, int, int]"
"""The number of a literal, and where it stands."""


class Pattern:
    """A compiled re2 pattern over bytes; every call is linear in what it reads.

    Where it can, it calls the engine below the package's own `Match` objects, which cost several
    times as much as a short match itself.
    """

    def __init__(self, pattern: str) -> None:
        made = re2.compile(pattern.encode("ascii"), _options())
        self.groups = cast("dict[bytes, int]", made.groupindex)
        """Numbers of the named groups."""
        self._at, self._after = inner_calls(made) or public_calls(made)

    def at(self, data: bytes, pos: int, end: int | None = None) -> Spans | None:
        """Match at `pos`, reading no further than `end`."""
        size = len(data)
        found = self._at(data, pos, size if end is None or end > size else end)
        return None if found[0] == _NOWHERE else found

    def after(self, data: bytes, pos: int = 0, end: int | None = None) -> Spans | None:
        """Find the first match from `pos` on, reading no further than `end`."""
        size = len(data)
        found = self._after(data, pos, size if end is None or end > size else end)
        return None if found[0] == _NOWHERE else found

    def all(self, data: bytes, pos: int = 0) -> Iterator[Spans]:
        """Find all matches that do not overlap; none may be empty."""
        while (found := self.after(data, pos)) is not None:
            yield found
            pos = found[0][1]


_Calls: TypeAlias = "tuple[Callable[[bytes, int, int], Spans], Callable[[bytes, int, int], Spans]]"


def inner_calls(made: Any) -> _Calls | None:
    """Return the calls that the package keeps to itself, if this release has them as expected."""
    try:
        anchor, match = re2._Anchor, made._regexp.Match
        here, anywhere = partial(match, anchor.ANCHOR_START), partial(match, anchor.UNANCHORED)
        fits = [call(b"", 0, 0) for call in (here, anywhere)]
    except (AttributeError, TypeError):
        return None
    size = made.groups + 1
    return (here, anywhere) if all(type(f) is list and len(f) == size for f in fits) else None


def public_calls(made: Any) -> _Calls:
    """Return the same out of what the package promises."""

    def spans(found: Any) -> Spans:
        return [found.span(n) for n in range(made.groups + 1)] if found else [_NOWHERE]

    return (
        lambda data, pos, end: spans(made.match(data, pos, end)),
        lambda data, pos, end: spans(made.search(data, pos, end)),
    )


def _options() -> Any:
    options = re2.Options()
    options.encoding = re2.Options.Encoding.LATIN1
    options.max_mem = MEMORY_BYTES
    options.log_errors = False
    return options


class PatternSet:
    """Says which of many patterns a whole text is, much quicker than groups would."""

    def __init__(self, patterns: Sequence[str]) -> None:
        self._set = re2.Set.FullMatchSet(_options())
        for pattern in patterns:
            self._set.Add(pattern.encode("ascii"))
        self._set.Compile()
        # as below the package's `Match` objects, its own call is the quicker one
        self._match = getattr(getattr(self._set, "_set", None), "Match", self._set.Match)

    def first(self, text: bytes) -> int | None:
        """Return the number of the first pattern that matches all of `text`."""
        found = cast("list[int] | None", self._match(text))
        return min(found) if found else None


def compiled(pattern: str) -> Pattern:
    """Return `pattern` compiled; one that RE2 does not know raises its error."""
    return Pattern(pattern)


class Automaton:
    """Finds all of many literals in one pass, in any case, also where they overlap."""

    def __init__(self, literals: Sequence[bytes]) -> None:
        self._automaton = ahocorasick_rs.BytesAhoCorasick(
            literals, implementation=ahocorasick_rs.Implementation.DFA
        )

    def hits(self, data: bytes) -> list[Hit]:
        """Return all hits, ordered by their ends."""
        return self._automaton.find_matches_as_indexes(data.lower(), overlapping=True)
