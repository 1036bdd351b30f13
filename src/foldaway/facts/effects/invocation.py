"""One program with its arguments: its options, and the wrappers (`sudo`, `env`) taken off."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from typing import TypeAlias, TypeVar

from msgspec import Struct

from foldaway.facts.effects.effect import Effect
from foldaway.facts.tables import read_table

Args: TypeAlias = Sequence[str | None]
"""The words behind a command's name; None for one whose value is not known."""


class CommandOptions(Struct, frozen=True):
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


def split_options(args: Args, valued: str = "", long: Sequence[str] = ()) -> CommandOptions:
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
    return CommandOptions(given, operands)


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


SHELLS = frozenset(("bash", "sh", "zsh", "dash", "ksh", "ash", "eval"))
_MAXWRAPPERS = 12
"""Programs such as `sudo`, `env` and `timeout` before the real one; chosen, it bounds a loop."""


class Formatter(Struct, frozen=True):
    """A program of [formatters] in `programs.toml`, where the fields are explained."""

    any_of: str = ""
    none_of: str = "--check --diff --check-only --dry-run --version"
    words: str = ""
    valued: str = ""


class Wrapper(Struct, frozen=True):
    """A program of [wrappers]."""

    valued: str = ""
    long: str = ""
    operands: int = 0
    words: str = ""


class _Programs(Struct, frozen=True):
    formatters: dict[str, Formatter]
    wrappers: dict[str, Wrapper]
    long: dict[str, str]


_PROGRAMS = read_table("programs", _Programs)
Row = TypeVar("Row")


def _each(table: Mapping[str, Row]) -> dict[str, Row]:
    """Return a table with a row for each of the names that a row is for."""
    return {name: row for names, row in table.items() for name in names.split()}


FORMATTERS = _each(_PROGRAMS.formatters)
WRAPPERS = _each(_PROGRAMS.wrappers)
LONG = {name: options.split() for name, options in _PROGRAMS.long.items()}
"""The long options of a program that take the next word."""
_XARGS = ("--replace", "--max-args", "--max-procs", "--delimiter", "--arg-file")


def unwrap(args: Args) -> list[list[str | None]]:
    """Return the commands that these words run in the end; mostly one, the words themselves."""
    name = args[0]
    if name is None:
        return []
    if name not in WRAPPERS and "/" not in name:
        return [list(args)]
    for _ in range(_MAXWRAPPERS):
        name = (args[0] or "").rpartition("/")[2]
        if name == "find":
            return _find_commands(args)
        if name == "xargs":
            args = _xargs_command(args)
        elif (wrapper := WRAPPERS.get(name)) and (inner := _wrapped(args, wrapper)):
            args = inner
        else:
            return [list(args)]
        if not args or args[0] is None:
            return []
    return []


def inner_script(name: str, args: Args, body: str) -> str:
    """Return the text that a shell is told to run: `-c "…"`, or its standard input."""
    if name == "eval":
        return " ".join(arg for arg in args if arg is not None) if None not in args else ""
    for at, arg in enumerate(args):
        if arg is None or not arg.startswith(("-", "+")):
            return ""  # a script file; what it does is not in the command
        if arg[1:2] != "-" and "c" in arg[1:]:
            return args[at + 1] or "" if at + 1 < len(args) else ""
        if arg == "-s":
            break
    return body


def _wrapped(args: Args, wrapper: Wrapper) -> Sequence[str | None]:
    """Return the command behind a wrapper's own words; empty where it runs none."""
    rest = args[1:]
    if words := wrapper.words.split():
        if not rest or rest[0] not in words:
            return ()
        rest = rest[1:]
    at = _behind_options(rest, wrapper.valued, wrapper.long.split())
    at += wrapper.operands
    while at < len(rest) and "=" in (rest[at] or "") and (args[0] or "").endswith(("env", "sudo")):
        at += 1
    return rest[at:]


def _behind_options(args: Args, valued: str, long: Sequence[str]) -> int:
    at = 0
    while at < len(args) and (arg := args[at]) and arg[0] == "-" and arg != "-":
        at += 1
        if arg == "--":
            break
        if arg in long or (arg[1] != "-" and arg[-1] in valued and len(arg) == 2):
            at += 1
    return at


def _xargs_command(args: Args) -> Sequence[str | None]:
    """Return the command of xargs; words that hold its placeholder are not known."""
    rest = args[1:]
    at = _behind_options(rest, "IiLnPsdaE", _XARGS)
    options = split_options(rest[:at], "IJLnPsdaE", _XARGS)
    holder = options.value("-I", "-J", "--replace")
    if options.has("--replace", "-i") and not holder:
        holder = "{}"
    return [None if holder and word and holder in word else word for word in rest[at:]]


def _find_commands(args: Args) -> list[list[str | None]]:
    commands: list[list[str | None]] = []
    at = 1
    while at < len(args):
        if args[at] in ("-exec", "-execdir", "-ok"):
            end = at + 1
            while end < len(args) and args[end] not in (";", "+"):
                end += 1
            words = [None if word and "{}" in word else word for word in args[at + 1 : end]]
            if words and words[0] and len(commands) < _MAXWRAPPERS:
                commands += unwrap(words) if words[0] != "find" else []
            at = end
        at += 1
    return commands
