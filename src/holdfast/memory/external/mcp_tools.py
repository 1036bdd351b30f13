"""Which tools of a memory server search and add, and where they take a text."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypeAlias, cast

from msgspec import Struct

from holdfast.errors import InvalidSetting

Purpose: TypeAlias = Literal["search", "add"]

VERBS: Mapping[Purpose, tuple[str, ...]] = {
    "search": ("search", "find", "retrieve", "recall", "query", "lookup"),
    "add": ("add", "store", "save", "remember", "retain", "write", "create", "insert"),
}
"""Words in the names of tools, the usual ones first."""
OTHER_VERBS = frozenset({
    "clear", "delete", "edit", "erase", "forget", "list", "move", "open", "read", "remove", "reset",
    "status", "tag", "update",
})  # fmt: skip
"""Words of tools that do something else, whatever else their name says."""
ARGUMENTS: Mapping[Purpose, tuple[str, ...]] = {
    "search": ("query", "q", "search_query", "question", "text", "prompt", "content"),
    "add": ("text", "content", "memory", "information", "fact", "data", "note", "message", "body"),
}
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")


class ServerTool(Struct, frozen=True):
    """A tool as a server lists it."""

    name: str
    schema: Mapping[str, Any]


class Way(Struct, frozen=True, kw_only=True):
    """How one thing is done: a tool, the argument that takes the text, and what goes with it."""

    tool: str
    argument: str
    constant: Mapping[str, Any] = {}

    def arguments(self, text: str) -> dict[str, Any]:
        """Return the arguments of a call."""
        return {**self.constant, self.argument: text}


class Wanted(Struct, frozen=True, kw_only=True):
    """What the settings say of one purpose; "" where it is to be found out."""

    tool: str = ""
    argument: str = ""
    constant: Mapping[str, Any] = {}


def way_to(purpose: Purpose, wanted: Wanted, tools: Sequence[ServerTool]) -> Way | None:
    """Return how to search or add at a server with these tools; None where none fits.

    A tool fits where its name has a verb of the purpose and none of another one, and where
    nothing but the text and the constants must be given. A tool or an argument that the settings
    name is taken at its word; raises `InvalidSetting` where the server has no such tool, or where
    its argument cannot be told.
    """
    if wanted.tool:
        return _named(purpose, wanted, tools)
    found = [
        (rank, at, tool, argument)
        for at, tool in enumerate(tools)
        if (rank := _rank(purpose, tool.name)) is not None
        and (argument := wanted.argument or _argument(purpose, tool, wanted.constant))
        and argument in _properties(tool)
        and _required(tool) <= {argument, *wanted.constant}
    ]
    if not found:
        return None
    _, _, tool, argument = min(found, key=lambda one: one[:2])
    return Way(tool=tool.name, argument=argument, constant=wanted.constant)


def _named(purpose: Purpose, wanted: Wanted, tools: Sequence[ServerTool]) -> Way:
    tool = next((one for one in tools if one.name == wanted.tool), None)
    if tool is None:
        known = ", ".join(one.name for one in tools) or "none"
        raise InvalidSetting(
            f"memory.mcp.{purpose}_tool", wanted.tool, f"a tool of the server: {known}"
        )
    argument = wanted.argument or _argument(purpose, tool, wanted.constant)
    if not argument:
        known = ", ".join(_properties(tool)) or "none"
        raise InvalidSetting(
            f"memory.mcp.{purpose}_argument", "", f"an argument of {tool.name}: {known}"
        )
    return Way(tool=tool.name, argument=argument, constant=wanted.constant)


def _rank(purpose: Purpose, name: str) -> tuple[int, bool] | None:
    """Return how well a name fits, less is better; None where it does not."""
    words = [word.lower() for word in _WORD.findall(name)]
    if not OTHER_VERBS.isdisjoint(words):
        return None
    verbs = [at for at, verb in enumerate(VERBS[purpose]) if verb in words]
    if not verbs:
        return None
    return (verbs[0], not any("memor" in word for word in words))


def _argument(purpose: Purpose, tool: ServerTool, constant: Mapping[str, Any]) -> str:
    """Return the argument that takes the text: a usual name, or the only text there is."""
    texts = [
        name
        for name, schema in _properties(tool).items()
        if name not in constant and _takes_text(schema)
    ]
    for name in ARGUMENTS[purpose]:
        if name in texts:
            return name
    must = [name for name in texts if name in _required(tool)]
    for names in (must, texts):
        if len(names) == 1:
            return names[0]
    return ""


def _takes_text(schema: object) -> bool:
    if not isinstance(schema, Mapping):
        return False
    given = cast("Mapping[str, Any]", schema)
    kinds: Any = given.get("type")
    if kinds is None:
        either: Any = given.get("anyOf") or given.get("oneOf")
        return isinstance(either, list) and any(_takes_text(one) for one in cast("Any", either))
    if "enum" in given:
        return False
    return kinds == "string" or (isinstance(kinds, list) and "string" in kinds)


def _properties(tool: ServerTool) -> Mapping[str, Any]:
    found: Any = tool.schema.get("properties")
    return cast("Mapping[str, Any]", found) if isinstance(found, Mapping) else {}


def _required(tool: ServerTool) -> frozenset[str]:
    found: Any = tool.schema.get("required")
    return frozenset(map(str, cast("list[Any]", found))) if isinstance(found, list) else frozenset()
