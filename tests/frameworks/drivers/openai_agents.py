"""An agent of the OpenAI Agents SDK with our session, or with the SDK's own trimmer."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

sys.path[0] = str(Path(__file__).parents[1])

from openai import AsyncOpenAI
from openai.types.shared import Reasoning
from playing import Case, play, read_file

from agents import (
    Agent,
    ModelSettings,
    OpenAIChatCompletionsModel,
    OpenAIResponsesModel,
    RunConfig,
    Runner,
    SessionSettings,
    SQLiteSession,
    function_tool,
    set_tracing_disabled,
)

set_tracing_disabled(True)


def model_of(case: Case) -> tuple[Any, ModelSettings]:
    client = AsyncOpenAI(base_url=f"{case.url}/v1", api_key="none", max_retries=0)
    if case.wire == "chat":
        return OpenAIChatCompletionsModel(case.model, client), ModelSettings(include_usage=True)
    settings = ModelSettings(
        store=False, reasoning=Reasoning(effort="low"),
        response_include=["reasoning.encrypted_content"],
    )  # fmt: skip
    return OpenAIResponsesModel(case.model, client), settings


class Conversation:
    """One agent; its session keeps the items."""

    def __init__(self, case: Case) -> None:
        tools, self.run = [function_tool(read_file)], {"max_turns": 500}
        if case.strategy == "foldaway":
            from foldaway.integrations.openai_agents import FoldawaySession

            session = FoldawaySession(
                case.thread, case.store, context_length=case.window, on_error="raise"
            )
            tools += session.tools
            self.run |= {
                "session": session, "run_config": session.run_config(), "hooks": session.hooks,
            }  # fmt: skip
        else:
            self.run |= {"session": SQLiteSession(case.thread, case.kept("items.db"))}
        if case.strategy == "trimmer":
            from agents.extensions import ToolOutputTrimmer

            trimmer = ToolOutputTrimmer(recent_turns=1, max_output_chars=500, preview_chars=200)
            self.run |= {"run_config": RunConfig(call_model_input_filter=trimmer)}
        elif case.strategy == "limit":
            self.run |= {"run_config": RunConfig(session_settings=SessionSettings(limit=16))}
        model, settings = model_of(case)
        made: Any = {"model": model, "model_settings": settings}
        shared = {name: one for name, one in self.run.items() if name != "session"}
        reader = Agent(name="reader", instructions="You read.", tools=tools, **made)
        tools = [*tools, reader.as_tool("reader", "Reads many files.", **shared)]
        self.agent = Agent(
            name="worker", instructions="You work on a project.", tools=tools, **made
        )

    def ask(self, text: str) -> str:
        return Runner.run_sync(self.agent, text, **self.run).final_output

    async def aask(self, text: str) -> str:
        return (await Runner.run(self.agent, text, **self.run)).final_output

    async def stream(self, text: str) -> str:
        result, pieces = Runner.run_streamed(self.agent, text, **self.run), 0
        async for _ in result.stream_events():
            pieces += 1
        assert pieces > 100, "nothing was streamed"
        return result.final_output


if __name__ == "__main__":
    play(Conversation)
