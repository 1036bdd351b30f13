"""The Claude Agent SDK with its program, whose sessions are only in our store."""

from __future__ import annotations

import asyncio
import sys
import tempfile
import uuid
from pathlib import Path
from typing import Any

sys.path[0] = str(Path(__file__).parents[1])  # a driver must not hide the framework of its name

from claude_agent_sdk import (
    ClaudeAgentOptions,
    ResultMessage,
    StreamEvent,
    create_sdk_mcp_server,
    query,
    tool,
)
from playing import Case, play, read_file

from foldaway.stores.open import open_store
from foldaway.stores.values import SessionFilter


@tool("read_file", "Read a file of the project.", {"path": str})
async def reads(given: dict[str, Any]) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": read_file(given["path"])}]}


class Agent:
    """Each phase has a new home, so nothing is resumed from Claude Code's own files."""

    def __init__(self, case: Case) -> None:
        self.case = case

    def options(self, *, is_streamed: bool) -> ClaudeAgentOptions:
        from foldaway.integrations.claude_agent import FoldawaySessionStore

        case, sessions = self.case, FoldawaySessionStore(self.case.store)
        name = str(uuid.uuid5(uuid.NAMESPACE_URL, case.thread))
        begun = case.kept("begun")
        given: Any = {"resume": name} if begun.exists() else {"session_id": name}
        begun.touch()
        home = tempfile.mkdtemp(dir=case.folder)
        env = {
            "ANTHROPIC_BASE_URL": case.url, "ANTHROPIC_API_KEY": "sk-ant-dummy", "HOME": home,
            "CLAUDE_CONFIG_DIR": home, "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "DISABLE_AUTOUPDATER": "1", "ENABLE_TOOL_SEARCH": "0",
        }  # fmt: skip
        return ClaudeAgentOptions(
            model=case.model, cwd=case.folder, env=env, session_store=sessions,
            session_store_flush="eager", include_partial_messages=is_streamed, tools=[],
            mcp_servers={"host": create_sdk_mcp_server("host", tools=[reads])},
            allowed_tools=["mcp__host__*"], setting_sources=[], hooks=sessions.hooks(), **given,
        )  # fmt: skip

    async def run(self, text: str, *, is_streamed: bool = False) -> str:
        pieces, said = 0, ""
        async for one in query(prompt=text, options=self.options(is_streamed=is_streamed)):
            pieces += isinstance(one, StreamEvent)
            said = one.result or "" if isinstance(one, ResultMessage) else said
        assert pieces > 20 or not is_streamed, "nothing was streamed"
        return said

    def ask(self, text: str) -> str:
        return asyncio.run(self.run(text))

    async def aask(self, text: str) -> str:
        return await self.run(text)

    async def stream(self, text: str) -> str:
        said = await self.run(text, is_streamed=True)
        await self.run("/compact")  # last: the program then sends thinking that providers refuse
        with open_store(self.case.store) as store:
            kept = store.sessions(SessionFilter(kind="any")).sessions
            lines = [one.body for info in kept for one in store.read(info.id)]
        assert any(b"before it was compacted" in one for one in lines), "no facts were told"
        return said


if __name__ == "__main__":
    play(Agent)
