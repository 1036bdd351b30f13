"""Holdfast as a capability of Pydantic AI's agents.

    agent = Agent(model, capabilities=[HoldfastCapability()])

The history of the run keeps every message; only the request to the model is smaller.
"""

# Pydantic AI is not installed where this is checked.
# pyright: reportMissingImports=false, reportUntypedBaseClass=false
# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false
# pyright: reportUnknownParameterType=false, reportUnknownVariableType=false
# pyright: reportUnknownLambdaType=false

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from copy import copy
from dataclasses import replace
from typing import Any

from msgspec import Struct
from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.exceptions import RetryModelRequest
from pydantic_ai.messages import (
    ModelRequest,
    ModelResponse,
    SystemPromptPart,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models import ModelRequestContext
from pydantic_ai.tools import RunContext, Tool
from pydantic_ai.toolsets import FunctionToolset

from holdfast.engine.recall import tools_in
from holdfast.integrations.host_sessions import (
    HOST_TOOLS,
    HostRequest,
    HostSessions,
    HostTool,
    HostTurn,
)
from holdfast.integrations.payloads import (
    HostCall,
    answer_payload,
    calls_in,
    result_id,
    result_in,
    result_payload,
    text_in,
)
from holdfast.transcript import Payload

__all__ = ["HoldfastCapability"]


class HoldfastCapability(AbstractCapability[Any]):
    """Keeps what a model is sent inside its window; conversations are found by their
    `conversation_id`.

    `store` and `options` are those of `HostSessions`.
    """

    def __init__(self, store: Any = None, **options: Any) -> None:
        self._sessions = HostSessions("pydantic-ai", store, **options)
        self._turn: HostTurn | None = None

    async def for_run(self, ctx: RunContext[Any]) -> HoldfastCapability:
        """Return one for a run: its requests come one after the other."""
        return copy(self)

    async def prepare_model_request(
        self, ctx: RunContext[Any], request_context: ModelRequestContext
    ) -> ModelRequestContext:
        """Have messages sent that fit."""
        said, own = _split(request_context.messages)
        key, sessions = str(ctx.conversation_id or ""), self._sessions
        asked = sessions.request_of(lambda: _asked(key, request_context, said, own), own)
        self._turn = await asyncio.to_thread(sessions.turn, asked)
        head = [ModelRequest(said)] if said else []
        return replace(request_context, messages=[*head, *self._turn.messages])

    async def on_model_request_error(
        self, ctx: RunContext[Any], *, request_context: ModelRequestContext, error: Exception
    ) -> ModelResponse:
        """Have a request that was too long made again, with less in it."""
        if self._turn and await asyncio.to_thread(self._turn.recover, error):
            raise RetryModelRequest
        raise error

    async def after_model_request(
        self, ctx: RunContext[Any], *, request_context: ModelRequestContext, response: ModelResponse
    ) -> ModelResponse:
        """Take what an answer used."""
        if self._turn:
            used = response.usage
            await asyncio.to_thread(self._turn.used, lambda: used if used.input_tokens else None)
        return response

    def get_toolset(self) -> FunctionToolset[Any]:
        """Return recall and search."""
        return FunctionToolset([self._tool(one) for one in HOST_TOOLS])

    def _tool(self, tool: HostTool) -> Tool[Any]:
        async def answer(ctx: RunContext[Any], **arguments: Any) -> str:
            return await self._sessions.aanswer(str(ctx.conversation_id), tool.name, arguments)

        schema = dict(tool.parameters)
        return Tool.from_schema(answer, tool.name, tool.description, schema, takes_ctx=True)


def _split(messages: Sequence[Any]) -> tuple[list[Any], list[Any]]:
    """Return the system prompts of the first request, which are always sent, and the rest."""
    own = list(messages)
    said = [one for one in own[0].parts if isinstance(one, SystemPromptPart)] if own else []
    if said:
        rest = [one for one in own[0].parts if not isinstance(one, SystemPromptPart)]
        own[:1] = [replace(own[0], parts=rest)] if rest else []
    return said, own


def _asked(
    key: str, given: ModelRequestContext, said: Sequence[Any], own: Sequence[Any]
) -> HostRequest:
    model, settings = given.model, given.model_settings or {}
    form = PartsForm("anthropic" if model.system == "anthropic" else "openai-chat")
    tools = [
        {"name": one.name, "description": one.description, "parameters": one.parameters_json_schema}
        for one in given.model_request_parameters.function_tools
    ]
    frame = {
        "model": model.model_name, "max_tokens": settings.get("max_tokens"),
        "tools": tools_in(form.dialect, tools), "thinking": settings.get("anthropic_thinking"),
    }  # fmt: skip
    if form.dialect == "anthropic":
        frame["system"] = "\n\n".join(one.content for one in said)
    return HostRequest(key=key, dialect=form.dialect, own=own, form=form, frame=frame)


class PartsForm(Struct, frozen=True):
    """Pydantic AI's messages: those of chat, or with the blocks of Anthropic's."""

    dialect: str

    def messages_of(self, own: Any) -> list[Payload]:
        """Return a message in the wire format; each part of a request is one of its own."""
        if not isinstance(own, ModelResponse):
            return [self._message(one) for one in own.parts]
        calls = [HostCall(one.tool_call_id, one.tool_name, one.args_as_dict())
                 for one in own.parts if isinstance(one, ToolCallPart)]  # fmt: skip
        texts = [one.content for one in own.parts if isinstance(one, TextPart)]
        if self.dialect != "anthropic":
            return [answer_payload(self.dialect, "\n\n".join(texts), calls)]
        thoughts = [
            {"type": "thinking", "thinking": one.content, "signature": one.signature}
            for one in own.parts if isinstance(one, ThinkingPart) and one.signature
        ]  # fmt: skip
        said = [{"type": "text", "text": one} for one in texts if one]
        return [answer_payload(self.dialect, [*thoughts, *said], calls)]

    def _message(self, part: Any) -> Payload:
        if isinstance(part, ToolReturnPart):
            return result_payload(self.dialect, part.tool_call_id, part.model_response_str())
        if getattr(part, "tool_name", None):
            return result_payload(self.dialect, part.tool_call_id, part.model_response())
        content = part.content if hasattr(part, "content") else ""
        texts = [content] if isinstance(content, str) else content
        said = "\n\n".join(one if isinstance(one, str) else "[file]" for one in texts)
        return {"role": "user", "content": said}

    def built(self, messages: Sequence[Payload], own: Any, listed: Sequence[Any]) -> list[Any]:
        """Return messages of the wire format as Pydantic AI's; parts that stayed are its own."""
        if isinstance(own, ModelResponse):
            return [replace(own, parts=self._answer(messages[0], own.parts))]
        if own is not None:
            return [replace(own, parts=[self._part(one, own.parts) for one in messages])]
        return [
            ModelResponse(self._answer(one, [TextPart("")])) if one["role"] == "assistant"
            else ModelRequest([self._part(one, ())]) for one in messages
        ]  # fmt: skip

    def _answer(self, message: Payload, own: Sequence[Any]) -> list[Any]:
        calls = {one.id: one for one in calls_in(message)}
        content = message["content"] if isinstance(message["content"], list) else ()
        signed = {one.get("signature") for one in content}
        text, parts = text_in(message), list[Any]()
        for one in own:
            if isinstance(one, ToolCallPart):
                parts.append(replace(one, args=dict(calls[one.tool_call_id].arguments)))
            elif isinstance(one, TextPart):
                parts += [replace(one, content=text)] if text else []
                text = ""
            elif self.dialect != "anthropic" or getattr(one, "signature", None) in signed:
                parts.append(one)
        return parts

    def _part(self, message: Payload, own: Sequence[Any]) -> Any:
        for one in own:
            if self._message(one) == message:
                return one
            if getattr(one, "tool_call_id", "") == result_id(message):
                return replace(one, content=result_in(message))
        users = [one.content for one in own if isinstance(one, UserPromptPart)]
        files = [one for given in users if not isinstance(given, str)
                 for one in given if not isinstance(one, str)]  # fmt: skip
        return UserPromptPart([text_in(message), *files] if files else text_in(message))
