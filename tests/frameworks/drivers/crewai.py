"""An agent of CrewAI with Foldaway in its LLM, or with its own summarizer."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

sys.path[0] = str(Path(__file__).parents[1])  # a driver must not hide the framework of its name
os.environ.update(CREWAI_DISABLE_TELEMETRY="true", CREWAI_DISABLE_VERSION_CHECK="true",
                  CREWAI_TRACING_ENABLED="false", OTEL_SDK_DISABLED="true")  # fmt: skip
sys.stdout = sys.stderr  # CrewAI prints what it does

from crewai import LLM
from crewai import Agent as CrewAgent
from crewai.events import LLMStreamChunkEvent, crewai_event_bus
from crewai.tools import tool
from playing import Case, play, read_file


def agent_of(case: Case) -> CrewAgent:
    llm = LLM(
        model=f"openai/{case.model}", base_url=f"{case.url}/v1", api_key="none", max_retries=0,
        stream=case.mode == "stream",
    )  # fmt: skip
    tools: list[Any] = [tool("read_file")(read_file)]
    if case.strategy == "foldaway":
        from foldaway.integrations.crewai import FoldawayLLM

        held = FoldawayLLM(
            llm, case.thread, case.store, context_length=case.window, on_error="raise"
        )
        tools += held.tools
    else:
        llm.__dict__["get_context_window_size"] = lambda: case.window * 85 // 100
    return CrewAgent(
        role="developer", goal="Find what is wrong.", backstory="You work on a project.", llm=llm,
        tools=tools, max_iter=200, cache=False, verbose=False,
    )  # fmt: skip


class Agent:
    """The agent; what it was sent and said is handed over again."""

    def __init__(self, case: Case) -> None:
        self.case, self.agent = case, agent_of(case)
        path = case.kept()
        self.before = json.loads(path.read_text()) if path.exists() else []

    def given(self, text: str) -> list[Any]:
        return [*self.before, {"role": "user", "content": text}]

    def kept(self, output: Any) -> str:
        said = [one for one in output.messages if one["role"] != "system"]
        self.case.kept().write_text(json.dumps(said, default=str))
        crewai_event_bus.flush()
        sys.stdout = sys.__stdout__
        return output.raw

    def ask(self, text: str) -> str:
        return self.kept(self.agent.kickoff(self.given(text)))

    async def aask(self, text: str) -> str:
        return self.kept(await self.agent.kickoff_async(self.given(text)))

    def stream(self, text: str) -> str:
        pieces = []
        crewai_event_bus.on(LLMStreamChunkEvent)(lambda source, event: pieces.append(event))
        said = self.ask(text)
        assert pieces, "nothing was streamed"
        return said


if __name__ == "__main__":
    play(Agent)
