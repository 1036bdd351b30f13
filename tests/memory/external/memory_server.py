"""A memory server for tests, as a process: `memory_server.py FILE [PORT]`.

It keeps texts in FILE, a line each, and notes every start. What it is asked may be an order:
`!die`, `!hang`, `!garbage`, `!big`, `!flood`, `!fail`. An added text with `!die` is kept, and is
the end of the process where it comes for the first time.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import anyio
import mcp_types as types
from mcp.server import Server

KEPT, PORT = Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 0
WIRE = os.dup(1)
"""What the client reads; the SDK keeps standard output for itself."""
TOOLS = {"delete_memories": "query", "search_memories": "query", "add_memory": "text"}


def texts() -> list[str]:
    return [json.loads(line) for line in KEPT.read_text().splitlines()] if KEPT.exists() else []


async def obey(context: Any, order: str) -> str:
    match order:
        case "!die":
            os._exit(3)
        case "!hang":
            await anyio.sleep(300)
        case "!garbage":
            os.write(WIRE, b'\xff\xfe{"jsonrpc": 7}\n[1, 2\n' + b"{" * 2000 + b"\nplain words\n")
            await anyio.sleep(300)
        case "!big":
            return "x" * 10_000_000
        case "!flood":
            params = {"level": "info", "data": "x"}
            told = {"jsonrpc": "2.0", "method": "notifications/message", "params": params}
            line = json.dumps(told).encode() + b"\n"
            for _ in range(200):
                os.write(WIRE, line * 100)
                await anyio.sleep(0)
        case "!fail":
            raise ValueError("secret words of a server")
        case _:
            pass
    return ""


async def list_tools(context: Any, params: Any) -> types.ListToolsResult:
    return types.ListToolsResult(tools=[
        types.Tool(name=name, description=name, input_schema={
            "type": "object", "properties": {argument: {"type": "string"}}, "required": [argument],
        })
        for name, argument in TOOLS.items()
    ])  # fmt: skip


async def call_tool(context: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
    said = str((params.arguments or {})[TOOLS[params.name]])
    if params.name == "add_memory":
        with KEPT.open("a") as file:
            file.write(json.dumps(said) + "\n")
        if "!die" in said and texts().count(said) < 2:
            os._exit(4)
        answer = "kept"
    else:
        words = set(said.split())
        answer = await obey(context, said) or "\n".join(
            text for text in texts() if words & set(text.split())
        )
    return types.CallToolResult(content=[types.TextContent(type="text", text=answer)])


async def over_pipes(server: Server[Any]) -> None:
    from mcp.server.stdio import stdio_server

    async with stdio_server() as (reading, writing):
        await server.run(reading, writing, server.create_initialization_options())


if __name__ == "__main__":
    with KEPT.with_suffix(".starts").open("a") as starts:
        starts.write(f"{os.getpid()}\n")
    made = Server("memory", on_list_tools=list_tools, on_call_tool=call_tool)
    if PORT:
        import uvicorn

        uvicorn.run(made.streamable_http_app(), host="127.0.0.1", port=PORT, log_level="critical")
    else:
        anyio.run(over_pipes, made)
