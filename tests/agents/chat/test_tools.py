"""What a model may call: tools of real MCP servers, and commands within bounds."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from foldaway import open_memory, open_store
from foldaway.agents.chat.tools import Toolbox, read_servers, run_command
from foldaway.errors import NotReadable
from foldaway.sessions import Chat
from foldaway.transcript import ToolCall

pytestmark = pytest.mark.slow

SERVER = Path(__file__).resolve().parents[2] / "memory" / "external" / "memory_server.py"


def with_tools(scene: Callable[[Toolbox], Awaitable[Any]], **options: Any) -> Any:
    async def run() -> Any:
        with open_store(":memory:") as store, Chat(store, open_memory()) as chat:
            tools = Toolbox(chat, **options)
            try:
                return await scene(tools)
            finally:
                await tools.close()

    return asyncio.run(run())


def call(name: str, **arguments: Any) -> ToolCall:
    return ToolCall("c", name, json.dumps(arguments))


def test_tools_of_a_server_are_offered_and_answered(tmp_path: Path) -> None:
    """Under the name of their server, on both wires."""
    file = tmp_path / "servers.json"
    server = {"type": "stdio", "command": sys.executable,
              "args": [str(SERVER), str(tmp_path / "kept")]}  # fmt: skip
    file.write_text(json.dumps({"mcpServers": {"my notes": server}}))

    async def scene(tools: Toolbox) -> None:
        assert await tools.open() == []
        names = [one["function"]["name"] for one in tools.declare("openai-chat")]
        assert "my_notes__add_memory" in names
        assert [one["name"] for one in tools.declare("anthropic")] == names
        assert "shell" not in names
        added = await tools.call(call("my_notes__add_memory", text="the door is green"))
        assert added == "kept"
        found = await tools.call(call("my_notes__search_memories", query="door"))
        assert found == "the door is green"
        assert "no" in await tools.call(call("unknown"))
        assert "JSON" in await tools.call(ToolCall("c", "my_notes__add_memory", "{"))

    with_tools(scene, servers=read_servers(str(file)))


def test_a_server_that_does_not_start_is_a_sentence(tmp_path: Path) -> None:
    """The chat goes on without it."""
    file = tmp_path / "servers.json"
    file.write_text(json.dumps({"mcpServers": {"gone": {"command": str(tmp_path / "nothing")}}}))

    async def scene(tools: Toolbox) -> None:
        (trouble,) = await tools.open()
        assert "gone" in trouble

    with_tools(scene, servers=read_servers(str(file)))


@pytest.mark.parametrize("content", ["[]", "{", '{"mcpServers": {"a": {"command": 7}}}', "{}"])
def test_a_file_that_lists_no_servers_is_named(tmp_path: Path, content: str) -> None:
    """With what is wrong."""
    file = tmp_path / "servers.json"
    file.write_text(content)
    with pytest.raises(NotReadable, match=r"servers\.json"):
        read_servers(str(file))


def test_a_command_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """In its output and its time, and no key is among its variables."""
    monkeypatch.setenv("OPENAI_API_KEY", "not-a-key")
    assert asyncio.run(run_command("echo ${OPENAI_API_KEY:-none}")) == "none"
    assert asyncio.run(run_command("true")) == "[no output]"
    long = asyncio.run(run_command("yes | head -c 3000000"))
    assert long.endswith(f"[{3_000_000 - (1 << 20):,} bytes more]")
    stopped = asyncio.run(run_command("echo begun; sleep 300", 0.5))
    assert stopped == "begun\n\n[stopped after 0.5 s]"
