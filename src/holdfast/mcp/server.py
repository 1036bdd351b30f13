"""The tools of `holdfast.sessions.tools` as an MCP server; what leaves it is redacted."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from holdfast.errors import MissingExtra
from holdfast.sessions.library import Library
from holdfast.sessions.tools import MARK, TOOLS, answer

if TYPE_CHECKING:
    from mcp.server import Server

INSTRUCTIONS = f"""\
The user's past sessions with agents, kept by Holdfast. Use them when the user refers to earlier \
work. Search first, then read around what was found; recall gives the originals behind a reference \
such as hf-0123456789. {MARK}"""


def make_server(library: Library, version: str) -> Server[Any]:
    """Return a server of the SDK that offers a library; every answer passes its `show` as a whole.

    Tools that change something are offered only if the store may be changed. Raises `MissingExtra`
    if the SDK is not installed.
    """
    try:
        import anyio
        import mcp_types as types
        from mcp.server import Server
    except ImportError:
        raise MissingExtra("mcp", "holdfast mcp") from None
    offered = [tool for tool in TOOLS if tool.reads or not library.store.read_only]
    names = {tool.name for tool in offered}

    async def list_tools(context: Any, params: Any) -> types.ListToolsResult:
        return types.ListToolsResult(tools=[
            types.Tool(
                name=tool.name, description=tool.description, input_schema=tool.parameters,
                annotations=types.ToolAnnotations(
                    read_only_hint=tool.reads, destructive_hint=False, open_world_hint=False
                ),
            )
            for tool in offered
        ])  # fmt: skip

    async def call_tool(context: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
        if params.name not in names:
            text, failed = f"no tool {params.name!r}; there are {', '.join(sorted(names))}", True
        else:
            given = params.arguments or {}
            # a search may take a while: other requests are answered meanwhile
            done = await anyio.to_thread.run_sync(answer, library, params.name, given)
            text, failed = library.show(done.text), done.failed
        return types.CallToolResult(
            content=[types.TextContent(type="text", text=text)], is_error=failed
        )

    return Server(
        "holdfast", version=version, instructions=INSTRUCTIONS,
        on_list_tools=list_tools, on_call_tool=call_tool,
    )  # fmt: skip
