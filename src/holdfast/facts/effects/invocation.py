"""What a handler is given: one program with its arguments, wrappers taken off."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable
from typing import TypeAlias

from msgspec import Struct

from holdfast.facts.effects.effect import Effect
from holdfast.facts.effects.options import Args


class Invocation(Struct, frozen=True, gc=False):
    """A program and what it is given; paths are still as written."""

    name: str
    args: Args
    body: str = ""
    """The text of its heredoc or here-string."""
    source: str = ""
    """The file that `<` feeds it."""
    made: Container[str] = ()
    """Directories that the same command has made, as written."""


Handler: TypeAlias = Callable[[Invocation], Iterable[Effect]]
"""From an invocation to its effects, paths as written; the caller places them."""
