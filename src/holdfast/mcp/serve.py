"""A server over standard input and output, or over HTTP on this machine."""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from msgspec import Struct

if TYPE_CHECKING:
    from mcp.server import Server

PATH = "/mcp"


class Address(Struct, frozen=True):
    """Where a server listens; port 0 is any that is free."""

    host: str
    port: int

    @property
    def is_loopback(self) -> bool:
        """Whether only this machine can reach it."""
        if self.host == "localhost":
            return True
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return False

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
    server: Server[Any], at: Address, names: Sequence[str], ready: Callable[[Address], None]
) -> None:
    """Answer over streamable HTTP until interrupted; `ready` is told the address.

    A request is refused unless its Host, and its Origin where it has one, is this machine or one
    of `names`: a page in a browser cannot reach the server. Raises `OSError` where the address
    cannot be had.
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
    settings = uvicorn.Config(app, log_level="error", access_log=False, lifespan="on")
    uvicorn.Server(settings).run(sockets=[listening])
