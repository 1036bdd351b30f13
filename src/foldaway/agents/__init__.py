"""Other programs: their files, hooks, settings and plug-ins, and how they are started."""

from __future__ import annotations

from typing import TYPE_CHECKING

from foldaway._core import import_later

if TYPE_CHECKING:
    from foldaway.agents.mcp_server import Address, make_server, serve_http, serve_stdio


__getattr__ = import_later(__name__, {"mcp_server": "Address make_server serve_http serve_stdio"})
