"""The agent of the OpenHands SDK with the condenser, or with its own."""

from __future__ import annotations

import asyncio
import os
import sys
import uuid
from pathlib import Path
from typing import Any

sys.path[0] = str(Path(__file__).parents[1])  # a driver must not hide the framework of its name
os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"  # nothing is fetched
os.environ["OPENHANDS_SUPPRESS_BANNER"] = "1"

from openhands.sdk import LLM, Action, Agent, Conversation, Observation, Tool, ToolDefinition
from openhands.sdk.conversation.response_utils import get_agent_final_response
from openhands.sdk.tool import ToolExecutor, register_tool
from playing import Case, play, read_file


class ReadAction(Action):
    path: str


class ReadObservation(Observation):
    pass


class ReadExecutor(ToolExecutor):
    def __call__(self, action: ReadAction, conversation: Any = None) -> ReadObservation:
        return ReadObservation.from_text(read_file(action.path))


class ReadFileTool(ToolDefinition[ReadAction, ReadObservation]):
    @classmethod
    def create(cls, conv_state: Any = None, **given: Any) -> list[ReadFileTool]:
        return [cls(description="Read a file of the project.", action_type=ReadAction,
                    observation_type=ReadObservation, executor=ReadExecutor())]  # fmt: skip


register_tool("read_file", ReadFileTool)


def model_of(case: Case, *, is_streamed: bool = False) -> LLM:
    names = {"messages": f"anthropic/{case.model}", "responses": f"openai/{case.model}"}
    return LLM(
        model=names.get(case.wire, "openai/gpt-4o"), api_key="none", num_retries=0,
        base_url=case.url if case.wire == "messages" else f"{case.url}/v1", usage_id="agent",
        stream=is_streamed,
    )  # fmt: skip


def condenser_of(case: Case, model: LLM) -> Any:
    if case.strategy == "foldaway":
        from foldaway.integrations.openhands import FoldawayCondenser

        options = {"context_length": case.window, "on_error": "raise"}
        return FoldawayCondenser(store=case.store, options=options)
    if case.strategy == "summarizing":
        from openhands.sdk.context.condenser import LLMSummarizingCondenser

        most = case.window * 3 // 4
        own = model.model_copy(update={"usage_id": "condenser"})
        return LLMSummarizingCondenser(llm=own, max_tokens=most, keep_first=2)
    return None


class Host:
    """A conversation that OpenHands keeps in its own files."""

    def __init__(self, case: Case) -> None:
        self.case, self.pieces = case, 0

    def conversation(self, *, is_streamed: bool = False) -> Any:
        from foldaway.integrations.openhands import FoldawayCondenser

        case = self.case
        model = model_of(case, is_streamed=is_streamed)
        agent = Agent(
            llm=model, tools=[Tool(name="read_file"), *FoldawayCondenser.tools],
            condenser=condenser_of(case, model), include_default_tools=[],
            system_prompt="You work on a project.",
        )  # fmt: skip
        return Conversation(
            agent, workspace=case.folder, persistence_dir=str(case.kept("events")),
            conversation_id=uuid.uuid5(uuid.NAMESPACE_URL, case.thread), visualizer=None,
            stuck_detection=False, delete_on_close=False,
            token_callbacks=[self.piece] if is_streamed else None,
        )  # fmt: skip

    def piece(self, chunk: Any) -> None:
        self.pieces += 1

    def ask(self, text: str) -> str:
        made = self.conversation()
        made.send_message(text)
        made.run()
        return get_agent_final_response(made.state.events)

    async def aask(self, text: str) -> str:
        made = self.conversation()
        await asyncio.to_thread(made.send_message, text)
        await made.arun()
        return get_agent_final_response(made.state.events)

    def stream(self, text: str) -> str:
        made = self.conversation(is_streamed=True)
        made.send_message(text)
        made.run()
        assert self.pieces > 20, "nothing was streamed"
        return get_agent_final_response(made.state.events)


if __name__ == "__main__":
    play(Host)
