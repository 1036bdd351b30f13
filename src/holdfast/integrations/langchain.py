"""Holdfast as a middleware of LangChain's agents; deepagents takes it too.

    agent = create_agent(model, tools, middleware=[HoldfastMiddleware()])

The state of the graph keeps every message; only the request to the model is smaller.
"""

# LangChain is not installed where this is checked.
# pyright: reportMissingImports=false, reportUntypedBaseClass=false
# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false
# pyright: reportUnknownParameterType=false, reportUnknownVariableType=false
# pyright: reportUnknownLambdaType=false

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from langchain.agents.middleware import AgentMiddleware, ModelRequest
from langchain.tools import ToolRuntime
from langchain_core.messages import AIMessage, ToolMessage, convert_to_messages
from langchain_core.messages.tool import tool_call
from langchain_core.runnables.config import ensure_config
from langchain_core.tools import StructuredTool
from langchain_core.utils.function_calling import convert_to_openai_tool
from msgspec import Struct

from holdfast.ends.lists import given_list
from holdfast.engine.recall import tools_in
from holdfast.integrations.host_sessions import (
    HOST_TOOLS,
    HostRequest,
    HostSessions,
    HostTool,
    name_by_start,
)
from holdfast.integrations.payloads import (
    HostCall,
    answer_payload,
    calls_in,
    result_in,
    result_payload,
)
from holdfast.transcript import Payload

__all__ = ["HoldfastMiddleware"]

_ROLES = {"human": "user", "ai": "assistant", "system": "system"}


class HoldfastMiddleware(AgentMiddleware):
    """Keeps what a model is sent inside its window; conversations are found by their thread id.

    `store` and `options` are those of `HostSessions`.
    """

    def __init__(self, store: Any = None, **options: Any) -> None:
        super().__init__()
        self._sessions = HostSessions("langchain", store, **options)
        self.tools = [self._tool(one) for one in HOST_TOOLS]

    def wrap_model_call(self, request: ModelRequest, handler: Callable[[ModelRequest], Any]) -> Any:
        """Have a request answered with messages that fit."""
        return self._sessions.send(*self._parts(request, handler))

    async def awrap_model_call(
        self, request: ModelRequest, handler: Callable[[ModelRequest], Awaitable[Any]]
    ) -> Any:
        """Do what `wrap_model_call` does, for agents that are awaited."""
        return await self._sessions.asend(*self._parts(request, handler))

    def _parts(self, request: ModelRequest, handler: Callable[[ModelRequest], Any]) -> Any:
        asked = self._sessions.request_of(lambda: _asked(request), request.messages)
        return asked, lambda own: handler(_with(request, own)), _usage_of

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
    given = given_list(own, MessageForm("openai-chat"))
    return str(thread or name_by_start(given.messages, "openai-chat"))


def _asked(request: ModelRequest) -> HostRequest:
    params = request.model._get_ls_params()  # what every model of theirs tells its tracer
    form = MessageForm("anthropic" if params.get("ls_provider") == "anthropic" else "openai-chat")
    tools = [convert_to_openai_tool(one)["function"] for one in request.tools]
    said, own = getattr(request, "system_message", None), request.messages
    frame = {
        "model": params.get("ls_model_name"), "max_tokens": params.get("ls_max_tokens"),
        "tools": tools_in(form.dialect, tools), "thinking": getattr(request.model, "thinking", 0),
    }  # fmt: skip
    if said is not None and form.dialect == "anthropic":
        frame["system"] = said.content
    elif said is not None:
        own = [said, *own]
    key = _key(request.messages)
    return HostRequest(key=key, dialect=form.dialect, own=own, form=form, frame=frame)


def _with(request: ModelRequest, own: list[Any]) -> ModelRequest:
    said = getattr(request, "system_message", None)
    return request.override(messages=[one for one in own if one is not said])


def _usage_of(answer: Any) -> Any:
    said = getattr(answer, "result", [answer])
    return next((one.usage_metadata for one in said if isinstance(one, AIMessage)), None)


class MessageForm(Struct, frozen=True):
    """LangChain's messages: those of chat, or with the blocks of Anthropic's."""

    dialect: str

    def messages_of(self, own: Any) -> list[Payload]:
        """Return a message in the wire format."""
        if isinstance(own, ToolMessage):
            return [result_payload(self.dialect, own.tool_call_id, own.content)]
        if isinstance(own, AIMessage):
            calls = [HostCall(one["id"] or "", one["name"], one["args"]) for one in own.tool_calls]
            return [answer_payload(self.dialect, own.content, calls)]
        return [{"role": _ROLES.get(own.type, "user"), "content": own.content}]

    def built(self, messages: Sequence[Payload], own: Any, listed: Sequence[Any]) -> list[Any]:
        """Return messages of the wire format as LangChain's; one that changed keeps its own id."""
        if isinstance(own, ToolMessage):
            return [own.model_copy(update={"content": result_in(messages[0])})]
        if not isinstance(own, AIMessage):
            return convert_to_messages(messages)
        calls = [tool_call(id=one.id, name=one.name, args=dict(one.arguments))
                 for one in calls_in(messages[0])]  # fmt: skip
        said = {"content": messages[0]["content"] or "", "tool_calls": calls}
        return [own.model_copy(update=said)]
