"""A line as a command: its name, its options and what is left."""

from __future__ import annotations

import re
from collections.abc import Iterable
from difflib import get_close_matches

from msgspec import Struct

from foldaway._core import read_table

_LINE = re.compile(r"/([A-Za-z][\w-]*)(?:@\w+)?(?:\s+(.*))?", re.DOTALL)
"""A name and the rest; chat platforms put the name of a bot behind an @."""
_PLACE = re.compile(r"m?(\d{1,9})")
_COUNT = re.compile(r"[-+−–]?[\d.,]+\w*|zero|one|two|three|four|five|six|seven|eight|nine|ten")
"""A word that means how many, however it is written."""
_FLAG = re.compile(r"(?:--|—|–)([a-z][a-z-]*)")
"""Phones write two hyphens as a dash."""


class CommandSpec(Struct, frozen=True):
    """A command as `commands.toml` has it."""

    name: str
    usage: str
    help: str
    aliases: tuple[str, ...] = ()
    """Other names of it."""
    takes: str = ""
    """What completes its argument."""
    more: str = ""
    """Examples, a line each."""

    @property
    def line(self) -> str:
        """How it is written."""
        return f"/{self.name} {self.usage}".rstrip()


SPECS = {
    spec.name: spec
    for spec in read_table("commands", dict[str, list[CommandSpec]], "foldaway.commands")[
        "commands"
    ]
}
"""All commands by their names."""
NAMES = {name: spec.name for spec in SPECS.values() for name in (spec.name, *spec.aliases)}
"""The name of a command by each of its names."""


class BadLine(Exception):
    """A line that cannot be understood; its text says what can be."""


class CommandLine(Struct, frozen=True):
    """A line that was taken apart."""

    name: str
    rest: str

    def number(self, text: str, what: str) -> int:
        """Return a whole number from 1 on."""
        if not re.fullmatch(r"[1-9]\d{0,8}", text):
            raise BadLine(f"{what} is a number from 1 on, not {text!r}; {self._usage}")
        return int(text)

    def place(self, text: str) -> int:
        """Return the position of a place such as m12."""
        if not (found := _PLACE.fullmatch(text)):
            raise BadLine(f"a place is written as m12, not {text!r}; {self._usage}")
        return int(found[1])

    def words(self) -> tuple[str, str]:
        """Return the first word and what is left."""
        first, _, left = self.rest.partition(" ")
        return first, left.strip()

    def needs(self) -> str:
        """Return what is given; raise if that is nothing."""
        if not self.rest:
            raise BadLine(f"something is missing; {self._usage}")
        return self.rest

    @property
    def _usage(self) -> str:
        return f"write {SPECS[self.name].line}"


class CompressLine(Struct, frozen=True):
    """What `/compress` was asked for."""

    focus: str = ""
    keep_last: int | None = None
    above: int | None = None
    preview: bool = False
    force: bool = False


def split_line(line: str) -> CommandLine | None:
    """Return the name and the arguments of a line, None if it is not a command."""
    found = _LINE.fullmatch(line.strip())
    if found is None:
        return None
    name = found[1].lower()
    return CommandLine(NAMES.get(name, name), (found[2] or "").strip())


def suggest_names(name: str, own: Iterable[str] = ()) -> list[str]:
    """Return the commands that a wrong name may mean."""
    known = [*NAMES, *own]
    begun = [one for one in known if one.startswith(name)]
    return begun or get_close_matches(name, known, n=3)


def unknown_command(name: str, own: Iterable[str]) -> str:
    """Return what is said of a name that is no command."""
    near = " or ".join(f"/{one}" for one in suggest_names(name, own))
    return f"no command /{name}; {f'did you mean {near}?' if near else 'write /help'}"


def compress_line(line: CommandLine) -> CompressLine:
    """Return what to fold: `here 3`, `above m40` and flags count, the rest is the focus."""
    words, flags = list[str](), set[str]()
    for word in line.rest.split():
        found = _FLAG.fullmatch(word)
        if found is None:
            words.append(word)
        elif found[1] in ("preview", "force"):
            flags.add(found[1])
        else:
            raise BadLine(f"no option {word}; write {SPECS['compress'].line}")
    keep_last = above = None
    match words:
        case ["here" | "keep", number, *rest] if not rest or _COUNT.fullmatch(number):
            keep_last, words = line.number(number, "how many exchanges to keep"), rest
        case ["here"]:
            keep_last, words = 1, []
        case ["above", place, *rest] if re.match(r"m?[-+]?\d", place):
            above, words = line.place(place), rest
        case _:
            pass
    return CompressLine(
        focus=" ".join(words),
        keep_last=keep_last,
        above=above,
        preview="preview" in flags,
        force="force" in flags,
    )
