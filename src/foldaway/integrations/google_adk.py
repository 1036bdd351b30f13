"""Foldaway as a plug-in of Google's Agent Development Kit.

    app = App(name="app", root_agent=agent, plugins=[FoldawayPlugin()])

The session service keeps every event; only the request to the model is smaller.
"""

# google-adk is not installed when this is checked.
# pyright: reportMissingImports=false, reportUntypedBaseClass=false
# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false
# pyright: reportUnknownParameterType=false, reportUnknownVariableType=false
# pyright: reportUnknownLambdaType=false

from __future__ import annotations

from collections.abc import Sequence
from contextvars import ContextVar
from typing import Any

from google.adk.agents.callback_context import CallbackContext
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.adk.plugins.base_plugin import BasePlugin
from google.adk.tools.base_tool import BaseTool
from google.adk.tools.tool_context import ToolContext
from google.genai import types

from foldaway.dialects import dump_bytes
from foldaway.integrations.host_sessions import (
    HOST_TOOLS,
    HostRequest,
    HostSessions,
    HostTool,
    HostTurn,
)
from foldaway.transcript import Payload

__all__ = ["FoldawayPlugin"]

_turn: ContextVar[HostTurn | None] = ContextVar("foldaway_adk_turn", default=None)
"""The request of this task: agents that run side by side have a task each."""


class FoldawayPlugin(BasePlugin):
    """Keeps what a model is sent inside its window; conversations are found by app, user and
    session id.

    `store` and `options` are those of `HostSessions`.
    """

    def __init__(self, store: Any = None, *, name: str = "foldaway", **options: Any) -> None:
        super().__init__(name)
        self._sessions = HostSessions("google-adk", store, **options)
        self._tools = [AdkRecallTool(self._sessions, one) for one in HOST_TOOLS]

    async def before_model_callback(self, *, callback_context: Any, llm_request: Any) -> None:
        """Have a request hold contents that fit, and offer recall and search."""
        self._sessions.guard(lambda: llm_request.append_tools(self._tools), None)
        own = llm_request.contents
        turn = await self._sessions.aturn(lambda: _make_request(callback_context, llm_request), own)
        _turn.set(turn)
        llm_request.contents = turn.messages

    async def after_model_callback(self, *, callback_context: Any, llm_response: Any) -> None:
        """Take what the provider counted; a piece of a stream has no figures yet."""
        usage, turn = llm_response.usage_metadata, _turn.get()
        if turn is not None and usage is not None and not llm_response.partial:
            await turn.aused(lambda: usage.model_dump(exclude_none=True))

    async def on_model_error_callback(
        self, *, callback_context: Any, llm_request: Any, error: Exception
    ) -> LlmResponse | None:
        """Return the answer to less, if a request was too long; None leaves the error as it is."""
        turn, model = _turn.get(), callback_context._invocation_context.agent.canonical_model
        while turn is not None and await turn.arecover(error):
            llm_request.contents = turn.messages
            try:
                return [one async for one in model.generate_content_async(llm_request)][-1]
            except Exception as again:  # noqa: BLE001 - the next round says if it was too long
                error = again
        return None


class AdkRecallTool(BaseTool):
    """One of `HOST_TOOLS` as a tool of an agent."""

    def __init__(self, sessions: HostSessions, tool: HostTool) -> None:
        super().__init__(name=tool.name, description=tool.description)
        self._sessions, self._parameters = sessions, tool.parameters

    def _get_declaration(self) -> types.FunctionDeclaration:
        return types.FunctionDeclaration(
            name=self.name, description=self.description, parameters_json_schema=self._parameters
        )

    async def run_async(self, *, args: dict[str, Any], tool_context: ToolContext) -> Any:
        """Return what the tool says about the conversation of its call."""
        return await self._sessions.aanswer(_keys(tool_context)[0], self.name, args)


def _keys(context: CallbackContext) -> tuple[str, str]:
    """Return the conversation of an agent, and that of the agent it works for."""
    agent, session = context._invocation_context.agent, context._invocation_context.session
    whole = f"{session.app_name}/{session.user_id}/{session.id}"
    is_root = agent.root_agent.name == agent.name
    return (whole, "") if is_root else (f"{whole}/{agent.name}", whole)


def _make_request(context: CallbackContext, request: LlmRequest) -> HostRequest:
    key, parent = _keys(context)
    config, form = request.config, ContentForm()
    tools = [one for one in config.tools or () if isinstance(one, types.Tool)]
    frame = {
        "systemInstruction": {"parts": [{"text": str(config.system_instruction or "")}]},
        "tools": [one for tool in tools for one in form.messages_of(tool)],
        "generationConfig": {"maxOutputTokens": config.max_output_tokens},
    }
    return HostRequest(
        key=key,
        parent=parent,
        dialect="gemini",
        own=request.contents,
        form=form,
        frame=frame,
        model=request.model or "",
    )


class ContentForm:
    """Contents, which are those of Gemini as objects."""

    def messages_of(self, own: Any) -> list[Payload]:
        """Return a content, or another object of theirs, in the wire format."""
        return [own.model_dump(mode="json", by_alias=True, exclude_none=True)]

    def built(self, messages: Sequence[Payload], own: Any, listed: Sequence[Any]) -> list[Any]:
        """Return messages of the wire format as contents; bytes are base64 in both."""
        return [types.Content.model_validate_json(dump_bytes(one)) for one in messages]
