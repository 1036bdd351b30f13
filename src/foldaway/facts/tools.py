"""Which kind of tool a name means, whatever agent or server spells it how, and what that kind does.

The tables are in `tools.toml`, one row a family.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any, Literal, TypeAlias, cast

import msgspec
from msgspec import Struct

from foldaway._core import Regex, read_table

Family: TypeAlias = Literal[
    "shell",
    "read",
    "write",
    "edit",
    "search",
    "glob",
    "list",
    "web_search",
    "fetch",
    "browser",
    "subagent",
    "todo",
    "plan",
    "memory",
    "process",
    "notebook",
    "question",
    "other",
]


class Traits(Struct, frozen=True):
    """What the rest of Foldaway knows of a family; `tools.toml` says what the values mean."""

    does: Literal["run", "act", "look", "talk"]
    effects: Literal["command", "code", "read", "write", "edit", "none", "by name"]
    tasks: bool = False
    names: str = ""

    @property
    def runs(self) -> bool:
        """Whether it runs something whose output tells line by line how it went."""
        return self.does == "run"

    @property
    def looks(self) -> bool:
        """Whether it only looks at something."""
        return self.does == "look"


class _Tables(Struct, frozen=True):
    families: dict[Family, Traits]
    actions: dict[str, str]
    arguments: dict[str, str]


_TABLES = read_table("tools", _Tables, "foldaway.facts")
FAMILIES: Mapping[Family, Traits] = _TABLES.families
ACTIONS: Mapping[str, tuple[str, ...]] = {
    action: tuple(names.split()) for action, names in _TABLES.actions.items()
}
"""Names of tools that do something else to files than most of their family."""
ARGUMENTS: Mapping[str, tuple[str, ...]] = {
    meaning: tuple(names.split()) for meaning, names in _TABLES.arguments.items()
}
"""Names of arguments by what they mean; the first that is given counts."""

_WORDS = Regex(r"[A-Z]?[a-z0-9]+|[A-Z]+(?![a-z])")
_FAMILY_OF: dict[str, Family] = {
    name.replace("_", ""): family
    for family, traits in FAMILIES.items()
    for name in traits.names.split()
}
_WORD_CHARS = 10_000
"""Of one word of a command given as a list; chosen, it bounds the time."""
_BROWSERS = ("browser", "playwright", "puppeteer")
_ENDINGS = ("tool", "function")
_LONGEST_NAME = 200
"""Of a longer name only the end is read."""
_LEAST_ENDING_WORDS = 2
"""So many words at the end of a name are enough to know it by, whatever prefix is before them."""


@lru_cache(2048)
def family_of(name: str) -> Family:
    """Return the family of a tool by its name in any spelling.

    Case, separators, a server's or a framework's prefix (`mcp__files__read_file`,
    `functions.shell`, `files_read_file`) and a trailing "tool" make no difference. A name that
    nobody knows is "other".
    """
    for key in _keys(name[-_LONGEST_NAME:]):
        found = _FAMILY_OF.get(key)
        if found is not None:
            return found
    bare = own_name(name).lower()
    return "browser" if bare.startswith(_BROWSERS) else "other"


@lru_cache(2048)
def own_name(name: str) -> str:
    """Return the name of a tool without the server or namespace before it."""
    return re.split(r"__|[.:/]", name)[-1] or name


def _keys(name: str) -> Iterator[str]:
    """Yield what a name may be listed under, the most exact first."""
    pieces = [piece for piece in re.split(r"__|[.:/]", name) if piece]
    if len(pieces) > 1:
        yield ".".join("".join(_WORDS.findall(piece)).lower() for piece in pieces[-2:])
    words = _WORDS.findall(pieces[-1]) if pieces else []
    lowered = [word.lower() for word in words]
    yield "".join(lowered)
    if lowered and lowered[-1] in _ENDINGS:
        lowered = lowered[:-1]
        yield "".join(lowered)
    for start in range(1, len(lowered) - _LEAST_ENDING_WORDS + 1):
        yield "".join(lowered[start:])
    if lowered[:1] == ["mcp"]:
        yield lowered[-1]


def read_arguments(value: Any) -> Mapping[str, Any]:
    """Return arguments as an object, also from JSON text; empty if they are none."""
    if isinstance(value, str):
        try:
            value = msgspec.json.decode(value)
        except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
            return {}
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def scalar_words(value: Any, most: int = 80) -> str:
    """Return a scalar as one would write it, cut; "" for anything that has parts."""
    if isinstance(value, str):
        return value if len(value) <= most else f"{value[: most - 1]}…"
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)[:most] if isinstance(value, (int, float)) else ""


def first_of(arguments: Mapping[str, Any], *names: str) -> str:
    """Return the first argument among `names` that is a non-empty string or a whole number,
    otherwise "". A list of words counts as the line that they make.
    """
    for name in names:
        found = arguments.get(name)
        if isinstance(found, str) and found:
            return found
        if isinstance(found, int) and not isinstance(found, bool):
            return str(found)
        if isinstance(found, list) and found:
            return " ".join(scalar_words(word, _WORD_CHARS) for word in cast("list[Any]", found))
    return ""


_COMMANDS = ARGUMENTS["commands"]
_RUNS_A_LINE = Regex(r"-\w{0,4}c\Z|/c\Z", re.I)
_WRAPPED = 3
"""Words of `bash -c LINE`."""


def command_of(arguments: Mapping[str, Any]) -> str:
    """Return the command line of a call; of `bash -lc LINE` as a list, the line."""
    for key in _COMMANDS:
        found = arguments.get(key)
        if isinstance(found, str) and found:
            return found
        if isinstance(found, list) and found:
            words = [
                word if isinstance(word, str) else scalar_words(word)
                for word in cast("list[Any]", found)
            ]
            if len(words) == _WRAPPED and _RUNS_A_LINE.match(words[1]):
                return words[2]
            return " ".join(words)
    return ""
