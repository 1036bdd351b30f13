"""Holdfast in the function-calling agent of LlamaIndex.

    agent = HoldfastAgent(llm=llm, tools=tools)
    await agent.run("…", memory=Memory.from_defaults(session_id="task-7", token_limit=10**9))

The memory keeps every message; only the request to the model is smaller.
"""

# LlamaIndex is not installed where this is checked.
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
from msgspec import Struct
from pydantic import PrivateAttr, create_model

from holdfast.engine.recall import tools_in
from holdfast.integrations.host_sessions import HOST_TOOLS, HostRequest, HostSessions, HostTool
from holdfast.integrations.payloads import (
    HostCall,
    answer_payload,
    arguments_in,
    calls_in,
    result_in,
    result_payload,
    texts_in,
)
from holdfast.transcript import Payload

__all__ = ["HoldfastAgent"]

_KEY: ContextVar[str] = ContextVar("key", default="")
_TYPES = {"string": (str, ...), "integer": (int | None, None)}


class HoldfastAgent(FunctionAgent):
    """Keeps what its model is sent inside the window; conversations are found by the `session_id`
    of their `Memory`.

    `store` and `options` are those of `HostSessions`.
    """

    _sessions: Any = PrivateAttr()

    def __init__(self, *, store: Any = None, options: Any = None, tools: Any = (), **given: Any):
        sessions = HostSessions("llama-index", store, **(options or {}))
        super().__init__(tools=[*(tools or ()), *(_tool(sessions, one) for one in HOST_TOOLS)],
                         **given)  # fmt: skip
        self._sessions = sessions

    async def take_step(self, ctx: Any, llm_input: Any, tools: Any, memory: Any) -> Any:
        """Do what the agent does, and remember whose conversation it is."""
        _KEY.set(getattr(memory, "session_id", ""))
        return await super().take_step(ctx, llm_input, tools, memory)

    async def _get_response(self, current_llm_input: list[Any], tools: Sequence[Any]) -> Any:
        ask = super()._get_response
        return await self._sent(current_llm_input, tools, lambda own: ask(own, tools))

    async def _get_streaming_response(
        self, ctx: Any, current_llm_input: list[Any], tools: Sequence[Any]
    ) -> Any:
        ask = super()._get_streaming_response
        return await self._sent(current_llm_input, tools, lambda own: ask(ctx, own, tools))

    async def _sent(
        self, own: list[Any], tools: Sequence[Any], call: Callable[[list[Any]], Awaitable[Any]]
    ) -> Any:
        asked = self._sessions.request_of(lambda: _asked(self.llm, own, tools), own)
        return await self._sessions.asend(asked, call, _usage_of)


def _asked(llm: Any, own: Sequence[Any], tools: Sequence[Any]) -> HostRequest:
    form = ChatForm("anthropic" if "anthropic" in llm.class_name().lower() else "openai-chat")
    offered = [{"name": one.metadata.name, "description": one.metadata.description,
                "parameters": one.metadata.get_parameters_dict()} for one in tools]  # fmt: skip
    frame = {"model": llm.metadata.model_name, "tools": tools_in(form.dialect, offered)}
    return HostRequest(key=_KEY.get(), dialect=form.dialect, own=own, form=form, frame=frame)


def _usage_of(answer: Any) -> Any:
    raw: Any = answer.raw or {}
    found: Any = raw.get("usage") if isinstance(raw, dict) else getattr(raw, "usage", None)
    return found.model_dump() if hasattr(found, "model_dump") else found


def _tool(sessions: HostSessions, tool: HostTool) -> FunctionTool:
    async def answer(ctx: Any, **arguments: Any) -> str:
        given = {name: value for name, value in arguments.items() if value is not None}
        memory = await ctx.store.get("memory")
        return await sessions.aanswer(getattr(memory, "session_id", ""), tool.name, given)

    answer.__annotations__["ctx"] = Context
    fields: Any = {name: _TYPES[one["type"]] for name, one in tool.parameters["properties"].items()}
    schema = create_model(tool.name, **fields)
    return FunctionTool(async_fn=answer, metadata=ToolMetadata(tool.description, tool.name, schema))


class ChatForm(Struct, frozen=True):
    """LlamaIndex's messages: those of chat, or with the blocks of Anthropic's."""

    dialect: str

    def messages_of(self, own: Any) -> list[Payload]:
        """Return a message in the wire format."""
        said = [payload for one in own.blocks for payload in self._blocks(one)]
        if own.role == "tool":
            return [result_payload(self.dialect, own.additional_kwargs["tool_call_id"], said)]
        calls = [HostCall(one.tool_call_id, one.tool_name, arguments_in(one.tool_kwargs))
                 for one in own.blocks if isinstance(one, ToolCallBlock)]  # fmt: skip
        if own.role == "assistant":
            return [answer_payload(self.dialect, said, calls)]
        return [{"role": own.role.value, "content": said}]

    def built(self, messages: Sequence[Payload], own: Any, listed: Sequence[Any]) -> list[Any]:
        """Return messages of the wire format as LlamaIndex's; what is no text stays."""
        return [self._built(one, own) for one in messages]

    def _built(self, payload: Payload, own: Any) -> ChatMessage:
        said: Any = payload["content"] or []
        if own is None:
            return ChatMessage(role=payload["role"], blocks=_texts(said))
        if own.role == "tool":
            return own.model_copy(update={"blocks": _texts(result_in(payload))})
        kept = [one for one in own.blocks if not isinstance(one, (TextBlock, ToolCallBlock))
                and all(block in said for block in self._blocks(one))]  # fmt: skip
        calls = [ToolCallBlock(tool_call_id=one.id, tool_name=one.name, tool_kwargs=one.arguments)
                 for one in calls_in(payload)]  # fmt: skip
        return own.model_copy(update={"blocks": [*kept, *_texts(said), *calls]})

    def _blocks(self, block: Any) -> list[Payload]:
        if isinstance(block, TextBlock):
            return [{"type": "text", "text": block.text}] if block.text else []
        if isinstance(block, ThinkingBlock) and self.dialect == "anthropic":
            return [{"type": "thinking", "thinking": block.content, **block.additional_information}]
        return []


def _texts(content: Any) -> list[TextBlock]:
    return [TextBlock(text=one) for one in texts_in(content)]
