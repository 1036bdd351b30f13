"""Foldaway in the LLM of a CrewAI agent.

    held = FoldawayLLM(LLM("gpt-5"), "task-7")
    agent = Agent(role, goal, backstory, llm=held.llm, tools=[*tools, *held.tools])

The agent keeps every message; only the request to the model is smaller. CrewAI has a hook before a
call, but its own summarizer acts after that hook, and no hook sees a request that was refused.
"""

# crewai is not installed when this is checked.
# pyright: reportMissingImports=false, reportUntypedBaseClass=false
# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false
# pyright: reportUnknownParameterType=false, reportUnknownVariableType=false
# pyright: reportUnknownLambdaType=false

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from crewai.tools import BaseTool

from foldaway.integrations.argument_models import arguments_model
from foldaway.integrations.host_sessions import HOST_TOOLS, HostRequest, HostSessions, HostTool

__all__ = ["FoldawayLLM"]


class FoldawayLLM:
    """Keeps what an LLM is sent inside its window: `llm` is the same one, from now on. `key` names
    the conversation, which CrewAI itself has no name for. Each agent has its own.

    `store` and `options` are those of `HostSessions`.
    """

    def __init__(self, llm: Any, key: str, store: Any = None, **options: Any) -> None:
        self._key, self.llm = key, llm
        self._sessions = HostSessions("crewai", store, **options)
        self.tools = [self._tool(one) for one in HOST_TOOLS]
        """Recall and search, for the agent."""
        self._hold(llm)

    def _hold(self, llm: Any) -> None:
        call, acall = llm.call, llm.acall

        def held(messages: Any, *args: Any, **more: Any) -> Any:
            if isinstance(messages, str):
                return call(messages, *args, **more)
            asked, usage = self._make_request(llm, messages, args, more), _usage_from(llm)
            return self._sessions.send(asked, lambda own: call(own, *args, **more), usage)

        async def aheld(messages: Any, *args: Any, **more: Any) -> Any:
            if isinstance(messages, str):
                return await acall(messages, *args, **more)
            asked, usage = self._make_request(llm, messages, args, more), _usage_from(llm)
            return await self._sessions.asend(asked, lambda own: acall(own, *args, **more), usage)

        # its fields are checked, its methods are not; its own summarizer must not act first
        llm.__dict__.update(
            call=held,
            acall=aheld,
            is_context_window_overflowing_threshold=lambda *args, **more: False,
        )

    def _make_request(self, llm: Any, messages: list[Any], args: Any, more: Any) -> HostRequest:
        def read() -> HostRequest:
            tools = more.get("tools") or (args[0] if args else None)
            model = llm.model.rpartition("/")[2]
            frame = {"model": model, "max_tokens": llm.max_tokens, "tools": tools}
            return HostRequest(key=self._key, dialect="openai-chat", own=messages, frame=frame)

        return self._sessions.request_of(read, messages)

    def _tool(self, tool: HostTool) -> BaseTool:
        sessions, key = self._sessions, self._key

        class HeldTool(BaseTool):
            def _run(self, **given: Any) -> str:
                return sessions.answer(key, tool.name, given)

        schema = arguments_model(tool)
        return HeldTool(name=tool.name, description=tool.description, args_schema=schema)


def _usage_from(llm: Any) -> Callable[[Any], Any]:
    """Return what finds out what a request used: an LLM sums up all of its own."""
    before = llm.get_token_usage_summary().model_dump()

    def usage_of(answer: Any) -> Any:
        after = llm.get_token_usage_summary().model_dump()
        used = {name: after[name] - before[name] for name in ("prompt_tokens", "completion_tokens")}
        is_alone = after["successful_requests"] == before["successful_requests"] + 1
        return used if is_alone else None

    return usage_of
