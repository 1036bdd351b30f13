"""The tools of `holdfast.sessions.tools` as an MCP server; what leaves it is redacted."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec import Struct

from holdfast.errors import MissingExtra
from holdfast.sessions.finding import Show
from holdfast.sessions.tools import MARK, TOOLS, Library, Tool, answer
from holdfast.stores.store import Store

if TYPE_CHECKING:
    from mcp.server import Server

INSTRUCTIONS = f"""\
The user's past sessions with agents, kept by Holdfast. Search first, then read around what was \
found; recall gives the originals behind a reference such as hf-0123456789. {MARK}"""


class Offer(Struct, frozen=True):
    """What a server offers: a store, and what every text becomes before it leaves."""

    store: Store
    show: Show

    @property
    def tools(self) -> tuple[Tool, ...]:
        """The tools; those that change something only where the store may be changed."""
        return tuple(tool for tool in TOOLS if tool.reads or not self.store.read_only)


def make_server(offer: Offer, version: str) -> Server[Any]:
    """Return a server of the SDK; raise `MissingExtra` where that is not installed."""
    try:
        import anyio
        import mcp_types as types
        from mcp.server import Server
    except ImportError:
        raise MissingExtra("mcp", "holdfast mcp") from None
    library = Library(offer.store, show=offer.show)
    names = {tool.name for tool in offer.tools}

    async def list_tools(context: Any, params: Any) -> types.ListToolsResult:
        return types.ListToolsResult(tools=[
            types.Tool(
                name=tool.name, description=tool.description, input_schema=tool.parameters,
                annotations=types.ToolAnnotations(
                    read_only_hint=tool.reads, destructive_hint=False, open_world_hint=False
                ),
            )
            for tool in offer.tools
        ])  # fmt: skip

    async def call_tool(context: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
        if params.name not in names:
            text, failed = f"no tool {params.name!r}; there are {', '.join(sorted(names))}", True
        else:
            given = params.arguments or {}
            # a search may take a while: other requests are answered meanwhile
            done = await anyio.to_thread.run_sync(answer, library, params.name, given)
            text, failed = offer.show(done.text), done.failed
        return types.CallToolResult(
            content=[types.TextContent(type="text", text=text)], is_error=failed
        )

    return Server(
        "holdfast", version=version, instructions=INSTRUCTIONS,
        on_list_tools=list_tools, on_call_tool=call_tool,
    )  # fmt: skip
