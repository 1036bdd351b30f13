"""An agent of AutoGen whose model client sends by a wrapped HTTP client."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path

sys.path[0] = str(Path(__file__).parents[1])  # a driver must not hide the framework of its name

from autogen_agentchat.agents import AssistantAgent
from autogen_agentchat.messages import ModelClientStreamingChunkEvent
from autogen_agentchat.tools import AgentTool
from autogen_core.models import ModelInfo
from autogen_ext.models.openai import OpenAIChatCompletionClient
from openai import DefaultAsyncHttpxClient
from playing import Case, play, read_file, wrapped

INFO = ModelInfo(vision=False, function_calling=True, json_output=True, family="unknown",
                 structured_output=True)  # fmt: skip


class Agent:
    """The agent; its state is kept in a file."""

    def __init__(self, case: Case) -> None:
        self.case = case
        http = wrapped(case, DefaultAsyncHttpxClient())
        model = OpenAIChatCompletionClient(
            model=case.model, base_url=f"{case.url}/v1", api_key="none", max_retries=0,
            model_info=INFO, http_client=http, parallel_tool_calls=False,
        )  # fmt: skip
        tools = [read_file, *http.foldaway.functions(case.thread)]
        given = {"model_client": model, "max_tool_iterations": 500}
        reader = AssistantAgent("reader", tools=[read_file], **given)
        self.agent = AssistantAgent(
            "worker", tools=[*tools, AgentTool(reader)], **given,
            model_client_stream=case.mode == "stream",
        )  # fmt: skip

    async def aask(self, text: str) -> str:
        path, pieces, last = self.case.kept(), 0, None
        if path.exists():
            await self.agent.load_state(json.loads(path.read_text()))
        async for one in self.agent.run_stream(task=text):
            pieces += isinstance(one, ModelClientStreamingChunkEvent)
            last = one
        assert pieces > 20 or self.case.mode != "stream", "nothing was streamed"
        path.write_text(json.dumps(await self.agent.save_state()))
        return last.messages[-1].to_text()

    def ask(self, text: str) -> str:
        return asyncio.run(self.aask(text))

    stream = aask


if __name__ == "__main__":
    play(Agent)
