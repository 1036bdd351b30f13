"""Pydantic AI's agent with the capability, or with a history processor that keeps the newest."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

sys.path[0] = str(Path(__file__).parents[1])  # a driver must not hide the framework of its name

from playing import Case, play, read_file
from pydantic_ai import Agent
from pydantic_ai.capabilities import ProcessHistory
from pydantic_ai.messages import ModelMessagesTypeAdapter
from pydantic_ai.usage import UsageLimits


def model_of(case: Case) -> tuple[Any, dict[str, Any]]:
    if case.wire == "messages":
        from anthropic import AsyncAnthropic
        from pydantic_ai.models.anthropic import AnthropicModel
        from pydantic_ai.providers.anthropic import AnthropicProvider

        client = AsyncAnthropic(base_url=case.url, api_key="none", max_retries=0)
        model = AnthropicModel(case.model, provider=AnthropicProvider(anthropic_client=client))
        return model, {"max_tokens": 4_000, "anthropic_thinking": {"type": "adaptive"}}
    from openai import AsyncOpenAI
    from pydantic_ai.models.openai import OpenAIChatModel, OpenAIResponsesModel
    from pydantic_ai.providers.openai import OpenAIProvider

    client = AsyncOpenAI(base_url=f"{case.url}/v1", api_key="none", max_retries=0)
    provider = OpenAIProvider(openai_client=client)
    if case.wire == "chat":
        return OpenAIChatModel(case.model, provider=provider), {}
    settings = {"openai_reasoning_effort": "low", "openai_store": False}
    return OpenAIResponsesModel(case.model, provider=provider), settings


def newest(messages: list[Any]) -> list[Any]:
    """Keep the first request and whole pairs from the end, as the documentation shows."""
    start = max(len(messages) - 24, 0)
    start += len(messages) > 24 and messages[start].kind == "request"
    return messages if not start else [messages[0], *messages[start:]]


class Conversation:
    """An agent whose list is handed over again."""

    def __init__(self, case: Case) -> None:
        capabilities: list[Any] = []
        if case.strategy == "foldaway":
            from foldaway.integrations.pydantic_ai import FoldawayCapability

            capabilities.append(
                FoldawayCapability(case.store, context_length=case.window, on_error="raise")
            )
        elif case.strategy == "newest":
            capabilities.append(ProcessHistory(newest))
        model, settings = model_of(case)
        self.case = case
        self.agent = Agent(
            model, system_prompt="You work on a project.", tools=[read_file],
            model_settings=settings, capabilities=capabilities,
        )  # fmt: skip
        path = case.kept()
        before = ModelMessagesTypeAdapter.validate_json(path.read_bytes()) if path.exists() else []
        self.given = {
            "message_history": before, "conversation_id": case.thread,
            "usage_limits": UsageLimits(request_limit=None),
        }  # fmt: skip

    def kept(self, result: Any) -> str:
        self.case.kept().write_bytes(result.all_messages_json())
        return result.output

    def ask(self, text: str) -> str:
        return self.kept(self.agent.run_sync(text, **self.given))

    async def aask(self, text: str) -> str:
        return self.kept(await self.agent.run(text, **self.given))

    async def stream(self, text: str) -> str:
        pieces, result = 0, None
        async with self.agent.iter(text, **self.given) as run:
            async for node in run:
                if Agent.is_model_request_node(node):
                    async with node.stream(run.ctx) as events:
                        async for _ in events:
                            pieces += 1
            result = run.result
        assert pieces > 100, "nothing was streamed"
        return self.kept(result)


if __name__ == "__main__":
    play(Conversation)
