"""LangChain's agent with the middleware, or with its own summarization."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

sys.path[0] = str(Path(__file__).parents[1])  # a driver must not hide the framework of its name

from langchain.agents import create_agent
from langchain_core.messages import messages_from_dict, messages_to_dict
from playing import Case, play, read_file


def model_of(case: Case) -> Any:
    if case.wire == "messages":
        from langchain_anthropic import ChatAnthropic

        return ChatAnthropic(
            model=case.model, base_url=case.url, api_key="none", max_tokens=4_000,
            thinking={"type": "adaptive"}, max_retries=0,
        )  # fmt: skip
    from langchain_openai import ChatOpenAI

    return ChatOpenAI(
        model=case.model, base_url=f"{case.url}/v1", api_key="none", max_retries=0,
        use_responses_api=case.wire == "responses", stream_usage=True,
        **({"reasoning": {"effort": "low"}, "include": ["reasoning.encrypted_content"],
            "store": False} if case.wire == "responses" else {}),
    )  # fmt: skip


def middleware_of(case: Case, model: Any) -> list[Any]:
    if case.strategy == "foldaway":
        from foldaway.integrations.langchain import FoldawayMiddleware

        return [FoldawayMiddleware(case.store, context_length=case.window, on_error="raise")]
    most = case.window * 3 // 4
    if case.strategy == "summarization":
        from langchain.agents.middleware import SummarizationMiddleware

        return [SummarizationMiddleware(model, trigger=("tokens", most), keep=("messages", 8))]
    if case.strategy == "context-editing":
        from langchain.agents.middleware import ClearToolUsesEdit, ContextEditingMiddleware

        return [ContextEditingMiddleware(edits=[ClearToolUsesEdit(trigger=most, keep=3)])]
    return []


class Agent:
    """The agent without a checkpointer: the list of before is handed over again."""

    def __init__(self, case: Case) -> None:
        model = model_of(case)
        self.case = case
        self.graph = self.graph_of(case, model)
        self.config = {"configurable": {"thread_id": case.thread}, "recursion_limit": 500}
        path = case.kept()
        self.before = messages_from_dict(json.loads(path.read_text())) if path.exists() else []

    def graph_of(self, case: Case, model: Any) -> Any:
        return create_agent(
            model, [read_file], system_prompt="You work on a project.",
            middleware=middleware_of(case, model),
        )  # fmt: skip

    def given(self, text: str) -> Any:
        return {"messages": [*self.before, {"role": "user", "content": text}]}

    def kept(self, state: Any) -> str:
        self.case.kept().write_text(json.dumps(messages_to_dict(state["messages"])))
        return state["messages"][-1].text

    def ask(self, text: str) -> str:
        return self.kept(self.graph.invoke(self.given(text), self.config))

    async def aask(self, text: str) -> str:
        return self.kept(await self.graph.ainvoke(self.given(text), self.config))

    def stream(self, text: str) -> str:
        state, pieces = None, 0
        for mode, one in self.graph.stream(
            self.given(text), self.config, stream_mode=["messages", "values"]
        ):
            pieces += mode == "messages"
            state = one if mode == "values" else state
        assert pieces > 100, "nothing was streamed"
        return self.kept(state)


if __name__ == "__main__":
    play(Agent)
