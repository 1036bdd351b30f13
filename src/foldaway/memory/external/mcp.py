"""Any memory server that speaks MCP, as a provider: its search and its add tool."""

from __future__ import annotations

import re
import threading
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, cast

from msgspec import Struct

from foldaway.dialects import dump_text
from foldaway.errors import InvalidSetting, MemoryUnavailable, MissingExtra
from foldaway.memory.external.mcp_session import McpOptions, McpSession, ServerTool
from foldaway.memory.external.options import (
    ANSWER_CHARS,
    QUERY_CHARS,
    TEXT_CHARS,
    check_url,
    clean_text,
    read_options,
    silence_logger,
)
from foldaway.memory.provider import MemoryProvider, MemoryTurn, provider_tools

if TYPE_CHECKING:
    from mcp_types import CallToolResult

Purpose: TypeAlias = Literal["search", "add"]

VERBS: Mapping[Purpose, tuple[str, ...]] = {
    "search": ("search", "find", "retrieve", "recall", "query", "lookup"),
    "add": ("add", "store", "save", "remember", "retain", "write", "create", "insert"),
}
"""Words in the names of tools, the usual ones first."""
OTHER_VERBS = frozenset(
    {
        "clear",
        "delete",
        "edit",
        "erase",
        "forget",
        "list",
        "move",
        "open",
        "read",
        "remove",
        "reset",
        "status",
        "tag",
        "update",
    }
)
"""Words of tools that do something else, whatever else their name says."""
ARGUMENTS: Mapping[Purpose, tuple[str, ...]] = {
    "search": ("query", "q", "search_query", "question", "text", "prompt", "content"),
    "add": ("text", "content", "memory", "information", "fact", "data", "note", "message", "body"),
}
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")

SEARCH, ADD = "mcp_memory_search", "mcp_memory_add"
TOOLS = provider_tools("mcp")


class TextTool(Struct, frozen=True, kw_only=True):
    """A tool, the argument that takes the text, and the arguments that never change.

    As a wish of the settings, "" is what has to be found out.
    """

    name: str = ""
    argument: str = ""
    constant: Mapping[str, object] = {}

    def arguments(self, text: str) -> dict[str, object]:
        """Return the arguments of a call."""
        return {**self.constant, self.argument: text}


def make(options: Mapping[str, object], folder: Path) -> McpMemory:
    """Return the provider; raise `InvalidSetting`, and `MissingExtra` without the SDK."""
    del folder
    read = read_options("mcp", options, McpOptions)
    if bool(read.command) == bool(read.url):
        said = "memory.mcp needs a server: give `command` or `url`, not both"
        raise InvalidSetting("memory.mcp", None, "given one of the two", message=said)
    check_url("memory.mcp.url", read.url)
    for name in ("timeout", "connect_timeout"):
        if not 0 < getattr(read, name) < 3600:
            raise InvalidSetting(
                f"memory.mcp.{name}", getattr(read, name), "above 0 and below 3600 s"
            )
    if find_spec("mcp") is None:
        raise MissingExtra("mcp", "the memory mcp")
    return McpMemory(read)


class McpMemory(MemoryProvider):
    """Searches before a turn and adds it afterwards, through the tools of a server."""

    name = "mcp"

    def __init__(self, options: McpOptions) -> None:
        """Take the settings; the server is started or asked at the first call."""
        silence_logger("mcp")
        self._options = options
        self._session = McpSession(options)
        self._finding = threading.Lock()
        self._tools: dict[Purpose, TextTool | None] | None = None

    def tools(self) -> Sequence[Mapping[str, object]]:
        """Return the two tools for the model."""
        return TOOLS

    def call(self, name: str, arguments: Mapping[str, object]) -> str:
        """Search or add for the model; what the server says to it is the answer."""
        if name == SEARCH:
            return self._say("search", clean_text(str(arguments.get("query", "")), QUERY_CHARS))
        if name == ADD:
            return self._say("add", clean_text(str(arguments.get("text", "")), TEXT_CHARS))
        raise LookupError(name)

    def prefetch(self, query: str, session_id: str) -> str:
        """Return what the server finds; nothing if it cannot be searched."""
        del session_id
        asked = clean_text(query, QUERY_CHARS)
        tool = self._tool("search") if asked else None
        if tool is None:
            return ""
        return result_text(self._call(tool, asked))

    def sync(self, turn: MemoryTurn) -> None:
        """Add what was said; the server has taken it when this returns."""
        if not self._options.sync:
            return
        said = (("User", turn.user), ("Assistant", turn.agent))
        parts = [f"{who}: {sent}" for who, text in said if (sent := clean_text(text, TEXT_CHARS))]
        tool = self._tool("add") if parts else None
        if tool is not None:
            self._call(tool, "\n".join(parts))

    def close(self) -> None:
        """End the session, and the server if it was started here."""
        self._session.close()

    def _say(self, purpose: Purpose, text: str) -> str:
        if not text:
            return f"nothing to {purpose}: the text is empty"
        try:
            tool = self._tool(purpose)
        except InvalidSetting as error:  # here somebody reads the sentence
            return str(error)
        if tool is None:
            return f"this memory server has no tool to {purpose} with"
        result = self._session.call(tool.name, tool.arguments(text))
        return result_text(result) or ("nothing was found" if purpose == "search" else "kept")

    def _call(self, tool: TextTool, text: str) -> CallToolResult:
        result = self._session.call(tool.name, tool.arguments(text))
        if result.is_error:
            raise MemoryUnavailable(tool.name, "the server says that it failed")
        return result

    def _tool(self, purpose: Purpose) -> TextTool | None:
        """Return how something is done at this server, which is found out once."""
        with self._finding:
            if self._tools is None:
                options, offered = self._options, self._session.tools()
                wanted: dict[Purpose, TextTool] = {
                    "search": TextTool(
                        name=options.search_tool,
                        argument=options.search_argument,
                        constant=options.search_constant,
                    ),
                    "add": TextTool(
                        name=options.add_tool,
                        argument=options.add_argument,
                        constant=options.add_constant,
                    ),
                }
                self._tools = {
                    purpose: choose_tool(purpose, tool, offered) for purpose, tool in wanted.items()
                }
            return self._tools[purpose]


def result_text(result: CallToolResult) -> str:
    """Return the texts of a result, else its data as JSON; bounded."""
    texts: list[str] = []
    left = ANSWER_CHARS
    for block in result.content:
        text = getattr(block, "text", None) or getattr(getattr(block, "resource", None), "text", "")
        if text and left > 0:
            texts.append(text[:left])
            left -= len(text)
    if not texts and result.structured_content:
        texts.append(dump_text(result.structured_content)[:ANSWER_CHARS])
    return "\n".join(texts)


def choose_tool(purpose: Purpose, wanted: TextTool, tools: Sequence[ServerTool]) -> TextTool | None:
    """Return how to search or add at a server with these tools; None if none fits.

    A tool fits if its name has a verb of the purpose and none of another one, and if
    nothing but the text and the constants must be given. A tool or an argument that the settings
    name is taken at its word; raises `InvalidSetting` if the server has no such tool, or if
    its argument cannot be found out.
    """
    if wanted.name:
        return _find_tool(purpose, wanted, tools)
    found = [
        (rank, at, tool, argument)
        for at, tool in enumerate(tools)
        if (rank := _rank(purpose, tool.name)) is not None
        and (argument := wanted.argument or _argument(purpose, tool, wanted.constant))
        and argument in _properties(tool)
        and _required_arguments(tool) <= {argument, *wanted.constant}
    ]
    if not found:
        return None
    _, _, tool, argument = min(found, key=lambda one: one[:2])
    return TextTool(name=tool.name, argument=argument, constant=wanted.constant)


def _find_tool(purpose: Purpose, wanted: TextTool, tools: Sequence[ServerTool]) -> TextTool:
    tool = next((one for one in tools if one.name == wanted.name), None)
    if tool is None:
        known = ", ".join(one.name for one in tools) or "none"
        raise InvalidSetting(
            f"memory.mcp.{purpose}_tool", wanted.name, f"a tool of the server: {known}"
        )
    argument = wanted.argument or _argument(purpose, tool, wanted.constant)
    if not argument:
        known = ", ".join(_properties(tool)) or "none"
        raise InvalidSetting(
            f"memory.mcp.{purpose}_argument", "", f"an argument of {tool.name}: {known}"
        )
    return TextTool(name=tool.name, argument=argument, constant=wanted.constant)


def _rank(purpose: Purpose, name: str) -> tuple[int, bool] | None:
    """Return how well a name fits, less is better; None if it does not."""
    words = [word.lower() for word in _WORD.findall(name)]
    if not OTHER_VERBS.isdisjoint(words):
        return None
    verbs = [at for at, verb in enumerate(VERBS[purpose]) if verb in words]
    if not verbs:
        return None
    return (verbs[0], not any("memor" in word for word in words))


def _argument(purpose: Purpose, tool: ServerTool, constant: Mapping[str, object]) -> str:
    """Return the argument that takes the text: a usual name, or the only text there is."""
    texts = [
        name
        for name, schema in _properties(tool).items()
        if name not in constant and _has_text_argument(schema)
    ]
    for name in ARGUMENTS[purpose]:
        if name in texts:
            return name
    must = [name for name in texts if name in _required_arguments(tool)]
    for names in (must, texts):
        if len(names) == 1:
            return names[0]
    return ""


def _has_text_argument(schema: object) -> bool:
    if not isinstance(schema, Mapping):
        return False
    given = cast("Mapping[str, object]", schema)
    kinds: Any = given.get("type")
    if kinds is None:
        either: Any = given.get("anyOf") or given.get("oneOf")
        return isinstance(either, list) and any(
            _has_text_argument(one) for one in cast("Any", either)
        )
    if "enum" in given:
        return False
    return kinds == "string" or (isinstance(kinds, list) and "string" in kinds)


def _properties(tool: ServerTool) -> Mapping[str, object]:
    found: Any = tool.schema.get("properties")
    return cast("Mapping[str, object]", found) if isinstance(found, Mapping) else {}


def _required_arguments(tool: ServerTool) -> frozenset[str]:
    found: Any = tool.schema.get("required")
    return (
        frozenset(map(str, cast("list[object]", found))) if isinstance(found, list) else frozenset()
    )
