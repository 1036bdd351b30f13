"""Patterns of Python's `re` that are compiled when they are first used.

Compiling the three hundred patterns of a compaction takes longer than importing its modules, and
most sessions need only some of them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, AnyStr, Generic, Protocol

_METHODS = ("findall", "finditer", "fullmatch", "match", "search", "split", "sub")


class Regex(Generic[AnyStr]):
    """A pattern with the methods of `re.Pattern`; after the first call they are that pattern's own.

    Do not keep a method of it at module level: that would always be the one that compiles.
    """

    __slots__ = (*_METHODS, "flags", "pattern")
    match: Callable[..., re.Match[AnyStr] | None]
    search: Callable[..., re.Match[AnyStr] | None]
    fullmatch: Callable[..., re.Match[AnyStr] | None]
    findall: Callable[..., list[Any]]
    finditer: Callable[..., Iterator[re.Match[AnyStr]]]
    split: Callable[..., list[Any]]
    sub: _Sub[AnyStr]

    def __init__(self, pattern: AnyStr, flags: int = 0) -> None:
        self.pattern = pattern
        self.flags = flags
        for method in _METHODS:
            setattr(self, method, partial(self._compile, method))

    def _compile(self, called: str, *args: Any, **options: Any) -> Any:
        """Replace the methods by those of the compiled pattern, and call one of them."""
        if isinstance(getattr(self, called), partial):
            made = re.compile(self.pattern, self.flags)
            for method in _METHODS:
                setattr(self, method, getattr(made, method))
        return getattr(self, called)(*args, **options)


class _Sub(Protocol[AnyStr]):
    def __call__(
        self, repl: AnyStr | Callable[[re.Match[AnyStr]], AnyStr], string: AnyStr, count: int = 0
    ) -> AnyStr: ...
