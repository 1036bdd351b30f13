"""Foldaway as a capability of Pydantic AI's agents.

    agent = Agent(model, capabilities=[FoldawayCapability()])

The history of the run keeps every message; only the request to the model is smaller.
"""

# Pydantic AI is not installed when this is checked.
# pyright: reportMissingImports=false, reportUntypedBaseClass=false
# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false
# pyright: reportUnknownParameterType=false, reportUnknownVariableType=false
# pyright: reportUnknownLambdaType=false

from __future__ import annotations

from copy import copy
from dataclasses import replace
from functools import partial
from typing import Any

from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.exceptions import RetryModelRequest
from pydantic_ai.messages import (
    ModelRequest,
    ModelResponse,
    SystemPromptPart,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    UserPromptPart,
)
from pydantic_ai.tools import RunContext, Tool
from pydantic_ai.toolsets import FunctionToolset

from foldaway.integrations.host_messages import (
    HostMessage,
    MessageForm,
    PartTypes,
    function_payload,
)
from foldaway.integrations.host_sessions import (
    HOST_TOOLS,
    HostRequest,
    HostSessions,
    HostTool,
    HostTurn,
)

__all__ = ["FoldawayCapability"]


class FoldawayCapability(AbstractCapability[Any]):
    """Keeps what a model is sent inside its window; conversations are found by their
    `conversation_id`.

    `store` and `options` are those of `HostSessions`.
    """

    def __init__(self, store: Any = None, **options: Any) -> None:
        self._sessions = HostSessions("pydantic-ai", store, **options)
        self._turn = HostTurn(self._sessions)

    async def for_run(self, ctx: Any) -> FoldawayCapability:
        """Return one for a run: its requests come one after the other."""
        return copy(self)

    async def prepare_model_request(self, ctx: Any, request_context: Any) -> Any:
        """Have messages sent that fit."""
        own = [one for message in request_context.messages for one in _single(message)]
        read = partial(_make_request, str(ctx.conversation_id or ""), request_context, own)
        self._turn = await self._sessions.aturn(read, own)
        return replace(request_context, messages=self._turn.messages)

    async def on_model_request_error(self, ctx: Any, *, error: Exception, **given: Any) -> Any:
        """Have a request that was too long made again, with less in it."""
        raise RetryModelRequest if await self._turn.arecover(error) else error

    async def after_model_request(self, ctx: Any, *, response: Any, **given: Any) -> Any:
        """Take what an answer used."""
        await self._turn.aused(lambda: response.usage if response.usage.input_tokens else None)
        return response

    def get_toolset(self) -> FunctionToolset[Any]:
        """Return recall and search."""
        return FunctionToolset([self._tool(one) for one in HOST_TOOLS])

    def _tool(self, tool: HostTool) -> Tool[Any]:
        async def answer(ctx: RunContext[Any], **arguments: Any) -> str:
            return await self._sessions.aanswer(str(ctx.conversation_id), tool.name, arguments)

        schema = dict(tool.parameters)
        return Tool.from_schema(answer, tool.name, tool.description, schema, takes_ctx=True)


def _single(message: Any) -> list[Any]:
    """Return a request as requests of one part each; Pydantic AI joins them again."""
    if isinstance(message, ModelResponse):
        return [message]
    return [replace(message, parts=[one]) for one in message.parts] or [message]


def _make_request(key: str, given: Any, own: list[Any]) -> HostRequest:
    model, settings = given.model, given.model_settings or {}
    dialect = "anthropic" if model.system == "anthropic" else "openai-chat"
    frame = {
        "model": model.model_name,
        "max_tokens": settings.get("max_tokens"),
        "thinking": settings.get("anthropic_thinking"),
    }
    tools = [
        function_payload(one.name, one.description, one.parameters_json_schema)
        for one in given.model_request_parameters.function_tools
    ]
    form = MessageForm(dialect, _read, _write)
    return HostRequest(key=key, dialect=dialect, own=own, form=form, frame=frame, tools=tools)


_PARTS = PartTypes(
    TextPart,
    "content",
    ToolCallPart,
    "args",
    ThinkingPart,
    lambda one: {"type": "thinking", "thinking": one.content, "signature": one.signature},
    replace,
)


def _read(own: Any) -> HostMessage:
    if isinstance(own, ModelResponse):
        return _PARTS.read("assistant", own.parts)
    part: Any = own.parts[0] if own.parts else None
    if getattr(part, "tool_name", None):
        said = getattr(part, "model_response_str", None) or part.model_response
        return HostMessage("tool", said(), call_id=part.tool_call_id)
    content = getattr(part, "content", "")
    texts = [content] if isinstance(content, str) else content
    said = "\n\n".join(one if isinstance(one, str) else "[file]" for one in texts)
    return HostMessage("system" if isinstance(part, SystemPromptPart) else "user", said)


def _write(said: HostMessage, own: Any) -> Any:
    own = own or (ModelResponse if said.role == "assistant" else ModelRequest)([])
    if said.role == "assistant":
        return replace(own, parts=_PARTS.written(said, own.parts))
    part = own.parts[0] if own.parts else UserPromptPart("")
    given = part.content if isinstance(part, UserPromptPart) else ""
    files = [one for one in given if not isinstance(one, str)]
    return replace(own, parts=[replace(part, content=[said.text, *files] if files else said.text)])
