"""Foldaway as a middleware of LangChain's agents; deepagents takes it too.

    agent = create_agent(model, tools, middleware=[FoldawayMiddleware()])

The state of the graph keeps every message; only the request to the model is smaller.
"""

# LangChain is not installed when this is checked.
# pyright: reportMissingImports=false, reportUntypedBaseClass=false
# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false
# pyright: reportUnknownParameterType=false, reportUnknownVariableType=false
# pyright: reportUnknownLambdaType=false

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from langchain.agents.middleware import AgentMiddleware, ModelRequest
from langchain.tools import ToolRuntime
from langchain_core.messages import AIMessage, convert_to_messages
from langchain_core.messages.tool import tool_call
from langchain_core.runnables.config import ensure_config
from langchain_core.tools import StructuredTool
from langchain_core.utils.function_calling import convert_to_openai_tool

from foldaway.integrations.host_messages import HostCall, HostMessage, MessageForm
from foldaway.integrations.host_sessions import (
    HOST_TOOLS,
    HostRequest,
    HostSessions,
    HostTool,
    name_by_start,
)

__all__ = ["FoldawayMiddleware"]

_ROLES = {"ai": "assistant", "AIMessageChunk": "assistant", "system": "system", "tool": "tool"}
"""Of messages by their types; the others are the user's."""


class FoldawayMiddleware(AgentMiddleware):
    """Keeps what a model is sent inside its window; conversations are found by their thread id.

    `store` and `options` are those of `HostSessions`.
    """

    def __init__(self, store: Any = None, **options: Any) -> None:
        super().__init__()
        self._sessions = HostSessions("langchain", store, **options)
        self.tools = [self._tool(one) for one in HOST_TOOLS]

    def wrap_model_call(self, request: ModelRequest, handler: Callable[..., Any]) -> Any:
        """Have a request answered with messages that fit."""
        return self._sessions.send(*self._parts(request, handler))

    async def awrap_model_call(self, request: ModelRequest, handler: Callable[..., Any]) -> Any:
        """Do what `wrap_model_call` does, for agents that are awaited."""
        return await self._sessions.asend(*self._parts(request, handler))

    def _parts(self, request: ModelRequest, handler: Callable[..., Any]) -> Any:
        asked = self._sessions.request_of(lambda: _make_request(request), request.messages)
        return asked, lambda own: handler(_replace_messages(request, own)), _usage_of

    def _tool(self, tool: HostTool) -> StructuredTool:
        def answer(runtime: ToolRuntime = None, **arguments: Any) -> str:
            own = runtime.state["messages"] if runtime else []  # 1.0 gives none to such a tool
            return self._sessions.answer(_key(own), tool.name, arguments)

        # an agent that awaits runs it in a thread
        return StructuredTool.from_function(
            answer, None, tool.name, tool.description, args_schema=tool.parameters
        )


def _key(own: Sequence[Any]) -> str:
    thread = (ensure_config().get("configurable") or {}).get("thread_id")
    form = MessageForm("openai-chat", _read, _write)
    return str(thread or name_by_start(own, "openai-chat", form))


def _make_request(request: ModelRequest) -> HostRequest:
    params = request.model._get_ls_params()  # what every model of theirs tells its tracer
    dialect = "anthropic" if params.get("ls_provider") == "anthropic" else "openai-chat"
    listed = [
        one if isinstance(one, dict) else convert_to_openai_tool(one) for one in request.tools
    ]
    said = getattr(request, "system_message", None)
    frame = {
        "model": params.get("ls_model_name"),
        "max_tokens": params.get("ls_max_tokens"),
        "thinking": getattr(request.model, "thinking", None),
    }
    own = [*filter(None, [said]), *request.messages]
    return HostRequest(
        key=_key(request.messages),
        dialect=dialect,
        own=own,
        frame=frame,
        tools=[one.get("function", one) for one in listed],
        form=MessageForm(dialect, _read, _write),
    )


def _replace_messages(request: ModelRequest, own: list[Any]) -> ModelRequest:
    said = getattr(request, "system_message", None)
    return request.override(messages=[one for one in own if one is not said])


def _usage_of(answer: Any) -> Any:
    said = getattr(answer, "result", [answer])
    return next((one.usage_metadata for one in said if isinstance(one, AIMessage)), None)


def _read(own: Any) -> HostMessage:
    calls = [
        HostCall(one["id"] or "", one["name"], one["args"])
        for one in getattr(own, "tool_calls", ())
    ]
    called = getattr(own, "tool_call_id", "")
    return HostMessage(_ROLES.get(own.type, "user"), own.content, calls, called)


def _write(said: HostMessage, own: Any) -> Any:
    if own is None:
        return convert_to_messages([(said.role, said.content)])[0]
    changed = {"content": said.content or ""}
    if said.role == "assistant":
        changed["tool_calls"] = [
            tool_call(id=one.id, name=one.name, args=dict(one.arguments)) for one in said.calls
        ]
    return own.model_copy(update=changed)
