"""The engines behind the rules, with their types: re2 and a keyword automaton.

All work on bytes, one byte a character, so that no text is invalid and every offset is final.
A pattern is compiled when it is first used: most texts need few of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property, partial
from typing import Any, TypeAlias, cast

import ahocorasick_rs
import re2 as untyped_re2  # pyright: ignore[reportMissingTypeStubs]

re2 = cast("Any", untyped_re2)

MEMORY_BYTES = 64 << 20
"""For the states of one compiled pattern; the default of 8 MB makes large alternations slow."""

SMALL_BYTES = 4 << 20
"""How much text is searched before the quicker automaton is built. For the built-in rules that
takes 46 ms and saves 5 ms per megabyte (measured, best of 5), so it pays off after 9 MB; a process
that has read half of that probably reads more."""

Range: TypeAlias = "tuple[int, int]"
"""Where something starts and ends."""
Spans: TypeAlias = "list[Range]"
"""The ranges of a match and its groups; (-1, -1) for a group that took no part."""
_NOWHERE = (-1, -1)
Hit: TypeAlias = "tuple[int, int, int]"
"""The number of a literal, its start and its end."""
_Call: TypeAlias = "Callable[[bytes, int, int], Spans]"


class Pattern:
    """An re2 pattern over bytes; every call is linear in what it reads.

    It calls the engine below the package's own `Match` objects, if it can: these cost several
    times as much as a short match itself.
    """

    def __init__(self, source: str) -> None:
        self.source = source
        self._at, self._after = self._first_at, self._first_after

    @cached_property
    def groups(self) -> dict[bytes, int]:
        """Numbers of the named groups. The pattern is compiled for them, if it was not before."""
        made = re2.compile(self.source.encode("ascii"), _options())
        self._at, self._after = inner_calls(made) or public_calls(made)
        return made.groupindex

    def _first_at(self, data: bytes, pos: int, end: int) -> Spans:
        _ = self.groups
        return self._at(data, pos, end)

    def _first_after(self, data: bytes, pos: int, end: int) -> Spans:
        _ = self.groups
        return self._after(data, pos, end)

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


def inner_calls(made: Any) -> tuple[_Call, _Call] | None:
    """Return the calls that the package keeps to itself, if this release has them as expected."""
    try:
        anchor, match = re2._Anchor, made._regexp.Match
        here, anywhere = partial(match, anchor.ANCHOR_START), partial(match, anchor.UNANCHORED)
        fits = [call(b"", 0, 0) for call in (here, anywhere)]
    except (AttributeError, TypeError):
        return None
    size = made.groups + 1
    return (here, anywhere) if all(type(f) is list and len(f) == size for f in fits) else None


def public_calls(made: Any) -> tuple[_Call, _Call]:
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


class Automaton:
    """Finds all of many literals in one pass, in any case, also if they overlap.

    It starts with a form that is quick to build, and changes to one that is quick to search with
    after `SMALL_BYTES`.
    """

    def __init__(self, literals: Sequence[bytes]) -> None:
        self._literals = literals
        self._automaton = ahocorasick_rs.BytesAhoCorasick(
            literals, implementation=ahocorasick_rs.Implementation.ContiguousNFA
        )
        self._left = SMALL_BYTES

    def hits(self, data: bytes) -> list[Hit]:
        """Return all hits, ordered by their ends."""
        if self._left > 0:
            self._left -= len(data)
            if self._left <= 0:
                self._automaton = ahocorasick_rs.BytesAhoCorasick(
                    self._literals, implementation=ahocorasick_rs.Implementation.DFA
                )
        return self._automaton.find_matches_as_indexes(data.lower(), overlapping=True)
