"""An agent of Google's ADK with the plug-in, or with its own compaction of events."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from functools import cached_property
from pathlib import Path
from typing import Any

sys.path[0] = str(Path(__file__).parents[1])  # a driver must not hide the framework of its name

from google.adk.agents import LlmAgent
from google.adk.agents.run_config import RunConfig, StreamingMode
from google.adk.apps.app import App
from google.adk.events.event import Event
from google.adk.models.google_llm import Gemini
from google.adk.runners import Runner
from google.adk.sessions import InMemorySessionService
from google.adk.tools.agent_tool import AgentTool
from google.genai import Client, types
from playing import Case, play, read_file


class StubGemini(Gemini):
    """The model, whose address the oldest release takes in no other way."""

    @cached_property
    def api_client(self) -> Client:
        return Client(api_key="none", http_options={"base_url": os.environ["STUB_URL"]})


def app_of(case: Case) -> App:
    os.environ["STUB_URL"] = case.url
    model = StubGemini(model=case.model)
    reader = LlmAgent(name="reader", model=model, tools=[read_file], instruction="You read.")
    agent = LlmAgent(
        name="worker", model=model, tools=[read_file, AgentTool(reader)],
        instruction="You work on a project.",
    )  # fmt: skip
    if case.strategy == "foldaway":
        from foldaway.integrations.google_adk import FoldawayPlugin

        plugin = FoldawayPlugin(case.store, context_length=case.window, on_error="raise")
        return App(name="app", root_agent=agent, plugins=[plugin])
    from google.adk.apps.app import EventsCompactionConfig

    own = EventsCompactionConfig(token_threshold=case.window * 3 // 4, event_retention_size=8)
    return App(name="app", root_agent=agent, events_compaction_config=own)


class Agent:
    """The agent; its session is kept in a file."""

    def __init__(self, case: Case) -> None:
        self.case, self.service = case, InMemorySessionService()
        self.runner = Runner(app=app_of(case), session_service=self.service)
        self.ids = {"user_id": "user", "session_id": case.thread}
        asyncio.run(self._open())

    async def _open(self) -> None:
        path = self.case.kept()
        session = await self.service.create_session(app_name="app", **self.ids)
        for one in json.loads(path.read_text()) if path.exists() else ():
            await self.service.append_event(session, Event.model_validate(one))

    async def _close(self) -> None:
        session = await self.service.get_session(app_name="app", **self.ids)
        kept = [one.model_dump(mode="json", exclude_none=True) for one in session.events]
        self.case.kept().write_text(json.dumps(kept))

    def given(self, text: str, **more: Any) -> dict[str, Any]:
        said = types.Content(role="user", parts=[types.Part(text=text)])
        return {**self.ids, "new_message": said, **more}

    def ask(self, text: str) -> str:
        events = list(self.runner.run(**self.given(text)))
        asyncio.run(self._close())
        return said_in(events[-1])

    async def aask(self, text: str) -> str:
        events = [one async for one in self.runner.run_async(**self.given(text))]
        await self._close()
        return said_in(events[-1])

    async def stream(self, text: str) -> str:
        mode = RunConfig(streaming_mode=StreamingMode.SSE)
        given = self.given(text, run_config=mode)
        events = [one async for one in self.runner.run_async(**given)]
        assert any(one.partial for one in events), "nothing was streamed"
        await self._close()
        return said_in(events[-1])


def said_in(event: Event) -> str:
    return "".join(one.text or "" for one in event.content.parts)


if __name__ == "__main__":
    play(Agent)
