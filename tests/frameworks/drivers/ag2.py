"""An agent of AG2 whose model sends by a wrapped HTTP client."""

from __future__ import annotations

import asyncio
import pickle
import sys
from pathlib import Path

sys.path[0] = str(Path(__file__).parents[1])  # a driver must not hide the framework of its name

from ag2 import Agent as Ag2Agent
from ag2 import MemoryStream
from ag2.config import OpenAIConfig
from openai import DefaultAsyncHttpxClient
from playing import Case, play, read_file, wrapped


class Agent:
    """The agent; the events of its stream are kept in a file."""

    def __init__(self, case: Case) -> None:
        self.case = case
        http = wrapped(case, DefaultAsyncHttpxClient())
        config = OpenAIConfig(
            case.model, base_url=f"{case.url}/v1", api_key="none", max_retries=0,
            http_client=http, streaming=case.mode == "stream",
        )  # fmt: skip
        tools = [read_file, *http.foldaway.functions(case.thread)]
        self.agent = Ag2Agent("worker", "You work on a project.", config=config, tools=tools)

    async def aask(self, text: str) -> str:
        stream, path = MemoryStream(), self.case.kept("events.pickle")
        if path.exists():
            await stream.history.replace(pickle.loads(path.read_bytes()))
        said = await self.agent.ask(text, stream=stream)
        path.write_bytes(pickle.dumps(list(await stream.history.get_events())))
        return said.body or ""

    def ask(self, text: str) -> str:
        return asyncio.run(self.aask(text))

    stream = aask


if __name__ == "__main__":
    play(Agent)
