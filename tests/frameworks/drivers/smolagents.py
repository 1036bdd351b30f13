"""An agent of smolagents whose model has a wrapped client."""

from __future__ import annotations

import asyncio
import pickle
import sys
from pathlib import Path
from typing import Any

sys.path[0] = str(Path(__file__).parents[1])  # a driver must not hide the framework of its name

import playing
from openai import OpenAI
from playing import Case, play, wrapped
from smolagents import OpenAIModel, ToolCallingAgent, tool


def read_file(path: str) -> str:
    """Read a file of the project.

    Args:
        path: Which one.
    """
    return playing.read_file(path)


class Agent:
    """The agent; the steps of its memory are kept in a file."""

    def __init__(self, case: Case) -> None:
        self.case = case
        client = OpenAI(base_url=f"{case.url}/v1", api_key="none", max_retries=0)
        client = wrapped(case, client)
        self.agent = ToolCallingAgent(
            [tool(one) for one in (read_file, *client.foldaway.functions(case.thread))],
            OpenAIModel(case.model, client=client), max_steps=500, verbosity_level=-1,
            stream_outputs=case.mode == "stream",
        )  # fmt: skip
        path = case.kept("steps.pickle")
        self.agent.memory.steps = pickle.loads(path.read_bytes()) if path.exists() else []

    def kept(self, said: Any) -> str:
        steps = pickle.dumps(self.agent.memory.steps)
        self.case.kept("steps.pickle").write_bytes(steps)
        return str(said)

    def ask(self, text: str) -> str:
        return self.kept(self.agent.run(text, reset=False))

    async def aask(self, text: str) -> str:
        return await asyncio.to_thread(self.ask, text)

    def stream(self, text: str) -> str:
        events = list(self.agent.run(text, stream=True, reset=False))
        assert len(events) > 100, "nothing was streamed"
        return self.kept(events[-1].output)


if __name__ == "__main__":
    play(Agent)
