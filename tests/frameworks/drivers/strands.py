"""A Strands agent with the conversation manager, or with its own."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

sys.path[0] = str(Path(__file__).parents[1])  # a driver must not hide the framework of its name

from playing import Case, play, read_file
from strands import Agent as StrandsAgent
from strands import tool
from strands.session.file_session_manager import FileSessionManager


def model_of(case: Case) -> Any:
    if case.wire == "messages":
        from strands.models.anthropic import AnthropicModel

        return AnthropicModel(
            client_args={"api_key": "none", "base_url": case.url, "max_retries": 0},
            model_id=case.model, max_tokens=4_000, params={"thinking": {"type": "adaptive"}},
        )  # fmt: skip
    from strands.models.openai import OpenAIModel

    return OpenAIModel(
        client_args={"api_key": "none", "base_url": f"{case.url}/v1", "max_retries": 0},
        model_id=case.model,
    )


def manager_of(case: Case) -> Any:
    if case.strategy == "foldaway":
        from foldaway.integrations.strands import FoldawayConversationManager

        return FoldawayConversationManager(case.store, context_length=case.window, on_error="raise")
    from strands.agent.conversation_manager import (
        SlidingWindowConversationManager,
        SummarizingConversationManager,
    )

    if case.strategy == "sliding-window":
        return SlidingWindowConversationManager()
    return SummarizingConversationManager()


class Agent:
    """The agent; its messages are kept by Strands."""

    def __init__(self, case: Case) -> None:
        self.agent = StrandsAgent(
            model_of(case), tools=[tool(read_file)], system_prompt="You work on a project.",
            conversation_manager=manager_of(case), callback_handler=None,
            session_manager=FileSessionManager(case.thread, storage_dir=str(case.kept("strands"))),
        )  # fmt: skip

    def ask(self, text: str) -> str:
        return str(self.agent(text))

    async def aask(self, text: str) -> str:
        return str(await self.agent.invoke_async(text))

    async def stream(self, text: str) -> str:
        said, pieces = None, 0
        async for event in self.agent.stream_async(text):
            pieces += "data" in event
            said = event.get("result", said)
        assert pieces, "nothing was streamed"
        return str(said)


if __name__ == "__main__":
    play(Agent)
