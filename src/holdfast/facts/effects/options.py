"""Arguments of a command told apart: options, their values, operands."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from msgspec import Struct

Args: TypeAlias = Sequence[str | None]
"""The words behind a command's name; None for one whose value is not known."""


class Options(Struct, frozen=True):
    """`given` maps `-x` and `--long` to their values, an empty one where they take none."""

    given: dict[str, list[str | None]]
    operands: list[str | None]

    def has(self, *names: str) -> bool:
        """Whether any of these options is given."""
        return any(name in self.given for name in names)

    def value(self, *names: str) -> str | None:
        """Return the last known value among these options."""
        for name in names:
            if name in self.given:
                return self.given[name][-1]
        return None

    @property
    def known(self) -> list[str]:
        """The operands whose value is known."""
        return [operand for operand in self.operands if operand is not None]


def split_options(args: Args, valued: str = "", long: Sequence[str] = ()) -> Options:
    """Return options and operands in the manner of getopt.

    `valued` holds the letters that take a value, `long` the long names that take one as the
    next word. Behind `--` everything is an operand.
    """
    given: dict[str, list[str | None]] = {}
    operands: list[str | None] = []
    at, count = 0, len(args)
    while at < count:
        arg = args[at]
        at += 1
        if arg is None or arg[:1] != "-" or arg == "-":
            operands.append(arg)
        elif arg == "--":
            operands += args[at:]
            break
        elif arg[1] == "-":
            name, equals, value = arg.partition("=")
            if not equals and name in long:
                given.setdefault(name, []).append(args[at] if at < count else None)
                at += 1
            else:
                given.setdefault(name, []).append(value)
        else:
            for place, letter in enumerate(arg[1:], 2):
                if letter not in valued:
                    given.setdefault("-" + letter, []).append("")
                    continue
                if place < len(arg):
                    given.setdefault("-" + letter, []).append(arg[place:])
                else:
                    given.setdefault("-" + letter, []).append(args[at] if at < count else None)
                    at += 1
                break
    return Options(given, operands)
