"""Foldaway as the conversation manager of a Strands agent.

    agent = Agent(model, tools=tools, conversation_manager=FoldawayConversationManager())

The agent keeps every message; only the request to the model is smaller.
"""

# strands-agents is not installed when this is checked.
# pyright: reportMissingImports=false, reportUntypedBaseClass=false
# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false
# pyright: reportUnknownParameterType=false, reportUnknownVariableType=false
# pyright: reportUnknownLambdaType=false

from __future__ import annotations

from typing import Any

from strands.agent.conversation_manager import ConversationManager
from strands.hooks import AfterModelCallEvent, AgentInitializedEvent, BeforeModelCallEvent
from strands.tools.tools import PythonAgentTool

from foldaway.integrations.converse import ConverseForm
from foldaway.integrations.host_messages import function_payload
from foldaway.integrations.host_sessions import (
    HOST_TOOLS,
    HostRequest,
    HostSessions,
    HostTool,
    HostTurn,
    name_by_start,
)

__all__ = ["FoldawayConversationManager"]


class FoldawayConversationManager(ConversationManager):
    """Keeps what a model is sent inside its window, also within a run; conversations are found by
    the ids of the session manager and the agent.

    `store` and `options` are those of `HostSessions`. An agent has a manager of its own.
    """

    def __init__(self, store: Any = None, **options: Any) -> None:
        super().__init__()
        self._sessions = HostSessions("strands", store, **options)
        self._turn = HostTurn(self._sessions)
        self._whole, self._shown = list[Any](), list[Any]()

    def register_hooks(self, registry: Any, **kwargs: Any) -> None:
        """Act before and after each request, and offer recall and search."""
        registry.add_callback(AgentInitializedEvent, self._begin)
        registry.add_callback(BeforeModelCallEvent, self._before_call)
        registry.add_callback(AfterModelCallEvent, self._after_call)

    def apply_management(self, agent: Any, **kwargs: Any) -> None:
        """Do nothing after a run: each request was looked after."""

    def reduce_context(self, agent: Any, e: Exception | None = None, **kwargs: Any) -> None:
        """Have the next request smaller; raises `e` if nothing more can be folded."""
        if e is not None and not self._turn.recover(e):
            raise e

    def _begin(self, event: AgentInitializedEvent) -> None:
        for one in HOST_TOOLS:
            event.agent.tool_registry.register_tool(self._tool(event.agent, one))

    async def _before_call(self, event: BeforeModelCallEvent) -> None:
        agent = event.agent
        self._restore_messages(agent)
        self._turn = await self._sessions.aturn(lambda: _make_request(agent), agent.messages)
        self._whole, self._shown = list(agent.messages), self._turn.messages
        agent.messages[:] = self._shown

    async def _after_call(self, event: AfterModelCallEvent) -> None:
        self._restore_messages(event.agent)
        if event.stop_response is not None:
            await self._turn.aused(lambda: _usage(event.stop_response.message))

    def _restore_messages(self, agent: Any) -> None:
        """Give the agent its whole list; also if a request was cancelled and nothing said so."""
        count = len(self._shown)
        if count and agent.messages[:count] == self._shown:
            agent.messages[:count] = self._whole
        self._shown, self._whole = [], []

    def _tool(self, agent: Any, tool: HostTool) -> PythonAgentTool:
        async def answer(call: Any, **state: Any) -> Any:
            key = self._sessions.guard(lambda: _key(agent), "")
            called, given = call["toolUseId"], call["input"]
            said = await self._sessions.aanswer(key, tool.name, given)
            return {"toolUseId": called, "status": "success", "content": [{"text": said}]}

        spec = {
            "name": tool.name,
            "description": tool.description,
            "inputSchema": {"json": tool.parameters},
        }
        return PythonAgentTool(tool.name, spec, answer)


def _key(agent: Any) -> str:
    if known := getattr(agent._session_manager, "session_id", ""):
        return f"{known}/{agent.agent_id}"
    return name_by_start(agent.messages, "anthropic", ConverseForm())


def _make_request(agent: Any) -> HostRequest:
    config = agent.model.get_config()
    tools = [
        function_payload(one["name"], one["description"], one["inputSchema"]["json"])
        for one in agent.tool_registry.get_all_tool_specs()
    ]
    frame = {
        "model": config.get("model_id"),
        "max_tokens": config.get("max_tokens"),
        "system": agent.system_prompt,
        "thinking": (config.get("params") or {}).get("thinking"),
    }
    alternates = type(agent.model).__name__ in ("AnthropicModel", "BedrockModel")
    return HostRequest(
        key=_key(agent),
        dialect="anthropic",
        own=agent.messages,
        frame=frame,
        form=ConverseForm(is_split=not alternates),
        tools=tools,
    )


def _usage(message: Any) -> Any:
    """Return what a provider counted; some of them count the cache apart, the total has it."""
    used = (message.get("metadata") or {}).get("usage")
    return used and {
        "input_tokens": used["totalTokens"] - used["outputTokens"],
        "output_tokens": used["outputTokens"],
    }
