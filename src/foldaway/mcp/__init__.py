"""Past sessions served to agents, through the official SDK of the Model Context Protocol."""

from __future__ import annotations

from typing import TYPE_CHECKING

from foldaway.exports import import_later

if TYPE_CHECKING:
    from foldaway.mcp.server import Address, make_server, serve_http, serve_stdio

__getattr__ = import_later(
    __name__,
    {
        "server": "Address make_server serve_http serve_stdio",
    },
)
