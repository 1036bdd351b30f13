"""The tools of `foldaway.sessions.tools` as an MCP server; what leaves it is redacted.

It answers on standard input and output, or over HTTP on this machine.
"""

from __future__ import annotations

import hmac
import socket
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from foldaway.agents.known import known_agents
from foldaway.errors import MissingExtra
from foldaway.sessions import MARK, Library, answer, past_tools

if TYPE_CHECKING:
    from mcp.server import Server

INSTRUCTIONS = f"""\
The user's past sessions with agents, kept by Foldaway. Use them when the user refers to earlier \
work. To take over a session, ask for its brief; after a compaction, for what it dropped. To find \
something, search first, then read around what was found; recall gives the originals behind a \
reference such as fa-0123456789. {MARK}"""


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
        raise MissingExtra("mcp", "foldaway mcp") from None
    agents = [one.name for one in known_agents().values() if one.leaves_sessions]
    can_change = not library.store.read_only
    offered = [tool for tool in past_tools(agents) if tool.reads or can_change]
    names = {tool.name for tool in offered}

    async def list_tools(context: Any, params: Any) -> types.ListToolsResult:
        return types.ListToolsResult(
            tools=[
                types.Tool(
                    name=tool.name,
                    description=tool.description,
                    input_schema=tool.parameters,
                    annotations=types.ToolAnnotations(
                        read_only_hint=tool.reads, destructive_hint=False, open_world_hint=False
                    ),
                )
                for tool in offered
            ]
        )

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
        "foldaway",
        version=version,
        instructions=INSTRUCTIONS,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
    )


PATH = "/mcp"


class Address(Struct, frozen=True):
    """Where a server listens; port 0 is any that is free."""

    host: str
    port: int

    @property
    def url(self) -> str:
        """The address that clients are given."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"http://{host}:{self.port}{PATH}"


def serve_stdio(server: Server[Any]) -> None:
    """Answer on standard input and output until the input ends."""
    import anyio
    from mcp.server.stdio import stdio_server

    async def run() -> None:
        async with stdio_server() as (reading, writing):
            await server.run(reading, writing, server.create_initialization_options())

    anyio.run(run)


def serve_http(
    server: Server[Any],
    at: Address,
    names: Sequence[str],
    token: str,
    ready: Callable[[Address], None],
) -> None:
    """Answer over streamable HTTP until interrupted; `ready` is told the address.

    A request is refused unless it has the token, and its Host, and its Origin if it has one, is
    this machine or one of `names`: another user of the machine or a page in a browser cannot reach
    the server. Raises `OSError` if the address is taken.
    """
    import uvicorn
    from mcp.server.transport_security import TransportSecuritySettings

    hosts = ["127.0.0.1", "localhost", "[::1]", *names]
    app = server.streamable_http_app(
        streamable_http_path=PATH,
        transport_security=TransportSecuritySettings(
            allowed_hosts=[form for host in hosts for form in (host, f"{host}:*")],
            allowed_origins=[
                form
                for host in hosts
                for scheme in ("http", "https")
                for form in (f"{scheme}://{host}", f"{scheme}://{host}:*")
            ],
        ),
    )
    listening = socket.create_server(
        (at.host, at.port), family=socket.AF_INET6 if ":" in at.host else socket.AF_INET
    )
    ready(Address(at.host, listening.getsockname()[1]))
    # no access log: addresses and paths are nobody's business, and content is never logged
    locked = _lock(app, token)
    settings = uvicorn.Config(locked, log_level="error", access_log=False, lifespan="on")
    uvicorn.Server(settings).run(sockets=[listening])


def _lock(app: Any, token: str) -> Any:
    """Return an application that answers only requests with the token of the owner."""

    async def answer(scope: Any, receive: Any, send: Any) -> None:
        given = [value for name, value in scope.get("headers", ()) if name == b"authorization"]
        if scope["type"] == "lifespan" or any(
            hmac.compare_digest(one, f"Bearer {token}".encode()) for one in given
        ):
            await app(scope, receive, send)
            return
        headers = [(b"content-type", b"text/plain"), (b"www-authenticate", b"Bearer")]
        await send({"type": "http.response.start", "status": 401, "headers": headers})
        await send({"type": "http.response.body", "body": b"the token of the owner is missing"})

    return answer
