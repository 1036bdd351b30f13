"""LlamaIndex's agent with Foldaway, or with its own memory."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

sys.path[0] = str(Path(__file__).parents[1])  # a driver must not hide the framework of its name

from llama_index.core.agent.workflow import AgentStream, FunctionAgent
from llama_index.core.base.llms.types import ChatMessage
from llama_index.core.memory import ChatSummaryMemoryBuffer, Memory
from playing import Case, play, read_file


def model_of(case: Case) -> Any:
    if case.wire == "messages":
        from llama_index.llms.anthropic import Anthropic

        return Anthropic(model=case.model, base_url=case.url, api_key="none", max_tokens=4_000,
                         max_retries=0)  # fmt: skip
    from llama_index.llms.openai import OpenAI

    return OpenAI(model=case.model, api_base=f"{case.url}/v1", api_key="none", max_retries=0,
                  additional_kwargs={"stream_options": {"include_usage": True}})  # fmt: skip


class Agent:
    """The agent and a memory that is handed over again."""

    def __init__(self, case: Case) -> None:
        self.case = case
        path = case.kept()
        said = json.loads(path.read_text()) if path.exists() else []
        before = [ChatMessage.model_validate(one) for one in said]
        most = 10**9 if case.strategy == "foldaway" else case.window * 3 // 4
        if case.strategy == "summary":
            self.memory: Any = ChatSummaryMemoryBuffer.from_defaults(
                before, model_of(case), token_limit=most
            )
        else:
            self.memory = Memory.from_defaults(
                session_id=case.thread, chat_history=before, token_limit=most
            )

    def agent(self, *, is_streamed: bool) -> Any:
        case = self.case
        given: Any = {
            "llm": model_of(case), "system_prompt": "You work on a project.",
            "tools": [read_file], "streaming": is_streamed,
        }  # fmt: skip
        if case.strategy != "foldaway":
            return FunctionAgent(**given)
        from foldaway.integrations.llama_index import FoldawayAgent

        options = {"context_length": case.window, "on_error": "raise"}
        return FoldawayAgent(store=case.store, options=options, **given)

    async def run(self, text: str, *, is_streamed: bool) -> str:
        agent = self.agent(is_streamed=is_streamed)
        handler = agent.run(text, memory=self.memory, max_iterations=500)
        pieces = 0
        async for one in handler.stream_events():
            pieces += isinstance(one, AgentStream)
        assert pieces > 20 or not is_streamed, "nothing was streamed"
        said = await handler
        kept = [one.model_dump(mode="json") for one in await self.memory.aget_all()]
        self.case.kept().write_text(json.dumps(kept))
        return said.response.content

    def ask(self, text: str) -> str:
        return asyncio.run(self.run(text, is_streamed=False))

    async def aask(self, text: str) -> str:
        return await self.run(text, is_streamed=False)

    async def stream(self, text: str) -> str:
        return await self.run(text, is_streamed=True)


if __name__ == "__main__":
    play(Agent)
