"""Names, paths and numbers: what in a text somebody may come back to."""

from __future__ import annotations

import re
from collections.abc import Callable

_SIGNS = frozenset("_$.@/~+:#-")
_TELLING = re.compile(r"[/_\d]|[a-z][A-Z]|\w\.\w|\w-\w+-\w|\A--\w").search
_CAPITALS = re.compile(r"[A-Z]{3,}\Z").match
_LONGEST_CHARS = 120
_EDGES = ".:-/#@$+~"
_FIRST_EDGES = frozenset("-.:#@+")
_LAST_EDGES = frozenset(_EDGES)


class _Runs(dict[int, int]):
    """For `str.translate`: what stands between two runs becomes a space; lines stay lines."""

    def __missing__(self, code: int) -> int:
        sign = chr(code)
        is_part = sign in _SIGNS or sign == "\n" or sign.isalnum()
        found = self[code] = code if is_part else 32
        return found


class _Terms(dict[str, str]):
    """The term in a run, "" where it is a word of a language; runs come again and again."""

    _MOST = 1 << 16

    def __missing__(self, run: str) -> str:
        found = _term_in(run)
        if len(self) >= self._MOST:
            self.clear()
        if len(run) <= _LONGEST_CHARS:
            self[run] = found
        return found


_RUNS = _Runs()
_term_of: Callable[[str], str] = _Terms().__getitem__


def runs_of(text: str) -> str:
    """Return the text with a space for whatever stands between runs; as long, line by line."""
    return text.translate(_RUNS)


def terms_in(runs: str, most: int) -> tuple[str, ...]:
    """Return the different terms of a text that `runs_of` gave, in order, at most `most`."""
    found: tuple[str, ...] = tuple(filter(None, map(_term_of, runs.split())))
    count = len(found)
    if count > 1 and len(set(found)) < count:
        found = tuple(dict.fromkeys(found))
    return found if count <= most else found[:most]


def terms_of(text: str, most: int = 64) -> tuple[str, ...]:
    """Return the different terms of a text, in order, at most `most`; linear in the text."""
    return terms_in(text.translate(_RUNS), most)


def _term_in(run: str) -> str:
    """Return a run without the signs at its ends where it is a path, a name in code, a number."""
    if not 2 < len(run) <= _LONGEST_CHARS:
        return ""
    if "_" not in run and "/" not in run and not (_TELLING(run) or _CAPITALS(run)):
        return ""
    bare = run.strip(_EDGES) if run[-1] in _LAST_EDGES or run[0] in _FIRST_EDGES else run
    return bare if len(bare) > 2 else ""
