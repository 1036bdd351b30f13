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
from langchain_core.runnables.config import ensure_config
from langchain_core.tools import StructuredTool
from langchain_core.utils.function_calling import convert_to_openai_tool

from holdfast.dialects.jsontext import dump_text
from holdfast.ends.lists import given_list
from holdfast.engine.recall import tools_in
from holdfast.integrations.host_sessions import (
    HOST_TOOLS,
    HostRequest,
    HostSessions,
    HostTool,
    name_by_start,
)
from holdfast.transcript import Payload

__all__ = ["HoldfastMiddleware"]

_ROLES = {"human": "user", "ai": "assistant", "system": "system"}
_CALLS = ("tool_use", "function_call", "tool_call", "input_json_delta")
"""Blocks of an answer that repeat its `tool_calls`."""


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
        return self._sessions.send(
            _asked(request), lambda own: handler(_with(request, own)), _usage_of
        )

    async def awrap_model_call(
        self, request: ModelRequest, handler: Callable[[ModelRequest], Awaitable[Any]]
    ) -> Any:
        """Do what `wrap_model_call` does, for agents that are awaited."""
        return await self._sessions.asend(
            _asked(request), lambda own: handler(_with(request, own)), _usage_of
        )

    def _tool(self, tool: HostTool) -> StructuredTool:
        def answer(runtime: ToolRuntime, **arguments: Any) -> str:
            return self._sessions.answer(_key(runtime.state["messages"]), tool.name, arguments)

        async def aanswer(runtime: ToolRuntime, **arguments: Any) -> str:
            key = _key(runtime.state["messages"])
            return await self._sessions.aanswer(key, tool.name, arguments)

        return StructuredTool.from_function(
            answer, aanswer, tool.name, tool.description, args_schema=tool.parameters
        )


def _key(own: Sequence[Any], form: MessageForm | None = None) -> str:
    thread = (ensure_config().get("configurable") or {}).get("thread_id")
    form = form or MessageForm("openai-chat")
    return str(thread or name_by_start(given_list(own, form).messages, form.dialect))


def _asked(request: ModelRequest) -> HostRequest:
    params = request.model._get_ls_params()  # what every model of theirs tells its tracer
    form = MessageForm("anthropic" if params.get("ls_provider") == "anthropic" else "openai-chat")
    tools = [convert_to_openai_tool(one)["function"] for one in request.tools]
    system = [] if request.system_message is None else [request.system_message]
    frame = {
        "model": params.get("ls_model_name"), "max_tokens": params.get("ls_max_tokens"),
        "tools": tools_in(form.dialect, tools),
        "thinking": getattr(request.model, "thinking", None),
    }  # fmt: skip
    if form.dialect == "anthropic" and system:
        frame, system = {**frame, "system": system[0].content}, []
    own = [*system, *request.messages]
    frame = {name: value for name, value in frame.items() if value}
    key = _key(request.messages)
    return HostRequest(key=key, dialect=form.dialect, own=own, form=form, frame=frame)


def _with(request: ModelRequest, own: list[Any]) -> ModelRequest:
    return request.override(messages=[one for one in own if one is not request.system_message])


def _usage_of(answer: Any) -> Any:
    said = getattr(answer, "result", [answer])
    return next((one.usage_metadata for one in said if isinstance(one, AIMessage)), None)


class MessageForm:
    """LangChain's messages: those of chat, or with the blocks of Anthropic's."""

    def __init__(self, dialect: str) -> None:
        self.dialect = dialect

    def messages_of(self, own: Any) -> list[Payload]:
        """Return a message in the wire format."""
        if isinstance(own, ToolMessage) and self.dialect == "anthropic":
            block = {"type": "tool_result", "tool_use_id": own.tool_call_id, "content": own.content}
            return [{"role": "user", "content": [block]}]
        if isinstance(own, ToolMessage):
            return [{"role": "tool", "tool_call_id": own.tool_call_id, "content": own.content}]
        made: Payload = {"role": _ROLES.get(own.type, "user"), "content": own.content}
        calls = own.tool_calls if isinstance(own, AIMessage) else []
        said = [one for one in own.content if isinstance(one, str) or one["type"] not in _CALLS]
        if calls and self.dialect == "anthropic":
            said = said if isinstance(own.content, list) else [own.content] * bool(own.content)
            said = [{"type": "text", "text": one} if isinstance(one, str) else one for one in said]
            uses = [{"type": "tool_use", "id": one["id"], "name": one["name"], "input": one["args"]}
                    for one in calls]  # fmt: skip
            made["content"] = [*said, *uses]
        elif calls:
            made["content"] = (said if isinstance(own.content, list) else own.content) or None
            made["tool_calls"] = [
                {"id": one["id"], "type": "function",
                 "function": {"name": one["name"], "arguments": dump_text(one["args"])}}
                for one in calls
            ]  # fmt: skip
        return [made]

    def built(self, messages: Sequence[Payload], own: Any, listed: Sequence[Any]) -> list[Any]:
        """Return messages of the wire format as LangChain's; one that changed keeps its own id."""
        return [self._built(one, own) for one in messages]

    def _built(self, message: Payload, own: Any) -> Any:
        made = convert_to_messages([message])[0]
        content: Any = made.content
        if isinstance(own, ToolMessage):
            if self.dialect == "anthropic":
                content = content[0]["content"]
            return own.model_copy(update={"content": content})
        if not isinstance(own, AIMessage):
            return made
        calls = made.tool_calls
        if self.dialect == "anthropic":
            calls = [
                {"type": "tool_call", "id": one["id"], "name": one["name"], "args": one["input"]}
                for one in content if isinstance(one, dict) and one["type"] == "tool_use"
            ]  # fmt: skip
        return own.model_copy(update={"content": content, "tool_calls": calls})
