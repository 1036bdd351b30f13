"""An agent of Microsoft's Agent Framework whose chat client has a wrapped client."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path

sys.path[0] = str(Path(__file__).parents[1])  # a driver must not hide the framework of its name

from agent_framework import Agent as FrameworkAgent
from agent_framework import AgentSession
from agent_framework.openai import OpenAIChatClient, OpenAIChatCompletionClient
from openai import AsyncOpenAI
from playing import Case, play, read_file, wrapped

KINDS = {"chat": OpenAIChatCompletionClient, "responses": OpenAIChatClient}


class Agent:
    """The agent; its session is kept in a file."""

    def __init__(self, case: Case) -> None:
        self.case = case
        openai = AsyncOpenAI(base_url=f"{case.url}/v1", api_key="none", max_retries=0)
        openai = wrapped(case, openai)
        client = KINDS[case.wire](model=case.model, async_client=openai)
        client.function_invocation_configuration["max_iterations"] = 500
        own = {} if case.wire == "chat" else {"store": False}
        reader = FrameworkAgent(client, "You read.", name="reader", tools=[read_file],
                                default_options=own)  # fmt: skip
        self.agent = FrameworkAgent(
            client, "You work on a project.", name="worker", default_options=own,
            tools=[read_file, reader.as_tool(), *openai.foldaway.functions(case.thread)],
        )  # fmt: skip

    async def aask(self, text: str) -> str:
        path, pieces = self.case.kept(), 0
        session = AgentSession(session_id=self.case.thread)
        if path.exists():
            session = AgentSession.from_dict(json.loads(path.read_text()))
        if self.case.mode == "stream":
            answer = self.agent.run(text, session=session, stream=True)
            async for _ in answer:
                pieces += 1
            assert pieces > 100, "nothing was streamed"
            said = await answer.get_final_response()
        else:
            said = await self.agent.run(text, session=session)
        path.write_text(json.dumps(session.to_dict()))
        return said.text

    def ask(self, text: str) -> str:
        return asyncio.run(self.aask(text))

    stream = aask


if __name__ == "__main__":
    play(Agent)
