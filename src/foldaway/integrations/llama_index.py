"""Foldaway in the function-calling agent of LlamaIndex.

    agent = FoldawayAgent(llm=llm, tools=tools)
    await agent.run("…", memory=Memory.from_defaults(session_id="task-7", token_limit=10**9))

The memory keeps every message; only the request to the model is smaller.
"""

# LlamaIndex is not installed when this is checked.
# pyright: reportMissingImports=false, reportUntypedBaseClass=false
# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false
# pyright: reportUnknownParameterType=false, reportUnknownVariableType=false
# pyright: reportUnknownLambdaType=false

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from contextvars import ContextVar
from typing import Any

from llama_index.core.agent.workflow import FunctionAgent
from llama_index.core.base.llms.types import ChatMessage, TextBlock, ThinkingBlock, ToolCallBlock
from llama_index.core.tools import FunctionTool, ToolMetadata
from llama_index.core.workflow import Context
from pydantic import PrivateAttr

from foldaway.integrations.argument_models import arguments_model
from foldaway.integrations.host_messages import (
    HostMessage,
    MessageForm,
    PartTypes,
    function_payload,
)
from foldaway.integrations.host_sessions import HOST_TOOLS, HostRequest, HostSessions, HostTool

__all__ = ["FoldawayAgent"]

_KEY: ContextVar[str] = ContextVar("key", default="")


class FoldawayAgent(FunctionAgent):
    """Keeps what its model is sent inside the window; conversations are found by the `session_id`
    of their `Memory`.

    `store` and `options` are those of `HostSessions`.
    """

    _sessions: Any = PrivateAttr()

    def __init__(self, *, store: Any = None, options: Any = None, tools: Any = (), **given: Any):
        settings: dict[str, Any] = options or {}
        sessions = HostSessions("llama-index", store, **settings)
        super().__init__(
            tools=[*(tools or ()), *(_tool(sessions, one) for one in HOST_TOOLS)], **given
        )
        self._sessions = sessions

    async def take_step(self, ctx: Any, llm_input: Any, tools: Any, memory: Any) -> Any:
        """Do what the agent does, and remember whose conversation it is."""
        _KEY.set(getattr(memory, "session_id", ""))
        return await super().take_step(ctx, llm_input, tools, memory)

    async def _get_response(self, current_llm_input: list[Any], tools: Sequence[Any]) -> Any:
        ask = super()._get_response
        return await self._send(current_llm_input, tools, lambda own: ask(own, tools))

    async def _get_streaming_response(
        self, ctx: Any, current_llm_input: list[Any], tools: Sequence[Any]
    ) -> Any:
        ask = super()._get_streaming_response
        return await self._send(current_llm_input, tools, lambda own: ask(ctx, own, tools))

    async def _send(
        self, own: list[Any], tools: Sequence[Any], call: Callable[[list[Any]], Awaitable[Any]]
    ) -> Any:
        asked = self._sessions.request_of(lambda: _make_request(self.llm, own, tools), own)
        return await self._sessions.asend(asked, call, _usage_of)


def _make_request(llm: Any, own: Sequence[Any], tools: Sequence[Any]) -> HostRequest:
    dialect = "anthropic" if "anthropic" in llm.class_name().lower() else "openai-chat"
    described = [one.metadata for one in tools]
    offered = [
        function_payload(one.name, one.description, one.get_parameters_dict()) for one in described
    ]
    form, frame = MessageForm(dialect, _read, _write), {"model": llm.metadata.model_name}
    return HostRequest(
        key=_KEY.get(), dialect=dialect, own=own, form=form, frame=frame, tools=offered
    )


def _usage_of(answer: Any) -> Any:
    raw: Any = answer.raw or {}
    found: Any = raw.get("usage") if isinstance(raw, dict) else getattr(raw, "usage", None)
    return found.model_dump() if hasattr(found, "model_dump") else found


def _tool(sessions: HostSessions, tool: HostTool) -> FunctionTool:
    async def answer(ctx: Any, **arguments: Any) -> str:
        memory = await ctx.store.get("memory")
        return await sessions.aanswer(getattr(memory, "session_id", ""), tool.name, arguments)

    answer.__annotations__["ctx"] = Context
    described = ToolMetadata(tool.description, tool.name, arguments_model(tool))
    return FunctionTool(async_fn=answer, metadata=described)


_PARTS = PartTypes(
    TextBlock,
    "text",
    ToolCallBlock,
    "tool_kwargs",
    ThinkingBlock,
    lambda one: {"type": "thinking", "thinking": one.content, **one.additional_information},
    lambda one, **fields: one.model_copy(update=fields),
)


def _read(own: ChatMessage) -> HostMessage:
    called = own.additional_kwargs.get("tool_call_id", "")
    return _PARTS.read(own.role.value, own.blocks, called)


def _write(said: HostMessage, own: Any) -> ChatMessage:
    own = own or ChatMessage(role=said.role, blocks=[])
    return own.model_copy(update={"blocks": _PARTS.written(said, own.blocks)})
