"""Any memory server that speaks MCP, as a provider: its search and its add tool."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from holdfast.dialects.jsontext import dump_text
from holdfast.errors import InvalidSetting, MemoryUnavailable, MissingExtra
from holdfast.memory.external.mcp_link import Link, Target
from holdfast.memory.external.mcp_tools import Purpose, Wanted, Way, way_to
from holdfast.memory.external.options import read_options
from holdfast.memory.external.outgoing import (
    ANSWER_CHARS,
    QUERY_CHARS,
    TEXT_CHARS,
    hush,
    sendable,
)
from holdfast.memory.provider import MemoryProvider, Turn

if TYPE_CHECKING:
    from mcp_types import CallToolResult

SEARCH, ADD = "mcp_memory_search", "mcp_memory_add"
TOOLS: tuple[Mapping[str, Any], ...] = (
    {
        "name": SEARCH,
        "description": "Search the long-term memory server for what was kept in earlier sessions.",
        "parameters": {
            "type": "object",
            "properties": {"query": {"type": "string", "description": "What to look for."}},
            "required": ["query"],
        },
    },
    {
        "name": ADD,
        "description": "Keep one fact in the long-term memory server, for later sessions.",
        "parameters": {
            "type": "object",
            "properties": {"text": {"type": "string", "description": "The fact, by itself."}},
            "required": ["text"],
        },
    },
)
"""Constant, whatever the server offers: prompts stay cached, and nobody waits for a connection."""


class McpOptions(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The table `[memory.mcp]`: a `command` or a `url`, and what cannot be found out."""

    command: str = ""
    """The program that is the server, over standard input and output."""
    args: tuple[str, ...] = ()
    env: dict[str, str] = {}
    """Variables for the program; it inherits only PATH, HOME and the like."""
    url: str = ""
    """The address of a server over streamable HTTP."""
    headers: dict[str, str] = {}
    search_tool: str = ""
    search_argument: str = ""
    search_constant: dict[str, Any] = {}
    """Arguments that go with every search."""
    add_tool: str = ""
    add_argument: str = ""
    add_constant: dict[str, Any] = {}
    sync: bool = True
    """Whether every turn is added; otherwise only what the model adds by the tool."""
    timeout: float = 30.0
    """Seconds for one call; the turn waits no longer than the limits of the manager."""
    connect_timeout: float = 30.0


def make(options: Mapping[str, Any], folder: Path) -> McpMemory:
    """Return the provider; raise `InvalidSetting`, and `MissingExtra` without the SDK."""
    del folder
    read = read_options("mcp", options, McpOptions)
    if bool(read.command) == bool(read.url):
        raise InvalidSetting("memory.mcp", "without a server", "given `command` or `url`, not both")
    if read.url and not read.url.startswith(("http://", "https://")):
        raise InvalidSetting("memory.mcp.url", "given", "an address with http:// or https://")
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
        hush("mcp")
        self._options = options
        self._link = Link(
            Target(
                command=options.command, args=options.args, env=options.env, url=options.url,
                headers=options.headers,
            ),
            call_seconds=options.timeout, connect_seconds=options.connect_timeout,
        )  # fmt: skip
        self._finding = threading.Lock()
        self._ways: dict[Purpose, Way | None] | None = None

    def tools(self) -> Sequence[Mapping[str, Any]]:
        """Return the two tools for the model."""
        return TOOLS

    def call(self, name: str, arguments: Mapping[str, Any]) -> str:
        """Search or add for the model; what the server says to it is the answer."""
        if name == SEARCH:
            return self._say("search", sendable(str(arguments.get("query", "")), QUERY_CHARS))
        if name == ADD:
            return self._say("add", sendable(str(arguments.get("text", "")), TEXT_CHARS))
        raise LookupError(name)

    def prefetch(self, query: str, session_id: str) -> str:
        """Return what the server finds; nothing where it cannot be searched."""
        del session_id
        asked = sendable(query, QUERY_CHARS)
        way = self._way("search") if asked else None
        if way is None:
            return ""
        return _text(_succeeded(self._link.call(way.tool, way.arguments(asked)), way.tool))

    def sync(self, turn: Turn) -> None:
        """Add what was said; the server has taken it when this returns."""
        if not self._options.sync:
            return
        said = (("User", turn.user), ("Assistant", turn.agent))
        parts = [f"{who}: {sent}" for who, text in said if (sent := sendable(text, TEXT_CHARS))]
        way = self._way("add") if parts else None
        if way is not None:
            _succeeded(self._link.call(way.tool, way.arguments("\n".join(parts))), way.tool)

    def close(self) -> None:
        """End the session, and the server where it was started here."""
        self._link.close()

    def _say(self, purpose: Purpose, text: str) -> str:
        if not text:
            return f"nothing to {purpose}: the text is empty"
        try:
            way = self._way(purpose)
        except InvalidSetting as error:  # here somebody reads the sentence
            return str(error)
        if way is None:
            return f"this memory server has no tool to {purpose} with"
        result = self._link.call(way.tool, way.arguments(text))
        return _text(result) or ("nothing was found" if purpose == "search" else "kept")

    def _way(self, purpose: Purpose) -> Way | None:
        """Return how something is done at this server, which is found out once."""
        with self._finding:
            if self._ways is None:
                tools, options = self._link.tools(), self._options
                searching = Wanted(
                    tool=options.search_tool, argument=options.search_argument,
                    constant=options.search_constant,
                )  # fmt: skip
                adding = Wanted(
                    tool=options.add_tool, argument=options.add_argument,
                    constant=options.add_constant,
                )  # fmt: skip
                self._ways = {
                    "search": way_to("search", searching, tools),
                    "add": way_to("add", adding, tools),
                }
            return self._ways[purpose]


def _succeeded(result: CallToolResult, tool: str) -> CallToolResult:
    if result.is_error:
        raise MemoryUnavailable(tool, "the server says that it failed")
    return result


def _text(result: CallToolResult) -> str:
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
