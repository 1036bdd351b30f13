"""Foldaway as a session of the OpenAI Agents SDK.

    session = FoldawaySession("task-7")
    agent = Agent(name="…", tools=[*tools, *session.tools])
    await Runner.run(
        agent, "…", session=session, run_config=session.run_config(), hooks=session.hooks
    )

The session keeps every item; only the request to the model is smaller.
"""

# The SDK is not installed when this is checked.
# pyright: reportMissingImports=false, reportUntypedBaseClass=false
# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false
# pyright: reportUnknownParameterType=false, reportUnknownVariableType=false

from __future__ import annotations

import asyncio
from contextvars import ContextVar
from dataclasses import replace
from inspect import isawaitable
from typing import Any

from agents.lifecycle import RunHooks
from agents.memory.session import SessionABC
from agents.model_settings import ModelSettings
from agents.retry import ModelRetrySettings, RetryDecision
from agents.run import CallModelData, ModelInputData, RunConfig
from agents.tool import FunctionTool

from foldaway.dialects import parse
from foldaway.integrations.host_items import HostItems
from foldaway.integrations.host_messages import function_payload
from foldaway.integrations.host_sessions import (
    HOST_TOOLS,
    HostRequest,
    HostSessions,
    HostTool,
    HostTurn,
)
from foldaway.stores import NewSession

__all__ = ["FoldawaySession"]

_DIALECT = "openai-responses"
_ITEMS = "openai-agents-items"
"""The source of the sessions that hold items as the SDK gave them; what the model was sent has
another one."""
_RETRIES = 8
"""How often a request may be made smaller. Each try must come out smaller, so it ends earlier;
chosen."""
_NOTHING = (HostTurn(HostSessions("")), None)
_SENT: ContextVar[tuple[HostTurn, Any]] = ContextVar("foldaway_sent", default=_NOTHING)
"""The request that this task sent last."""


class FoldawaySession(SessionABC):
    """A conversation of the SDK in a store of Foldaway, whose requests stay inside the window.

    `store` and `options` are those of `HostSessions`. Give `tools` to the agent, `run_config()`
    and `hooks` to the run. Another session of the SDK may keep the items instead.
    """

    def __init__(self, session_id: str, store: Any = None, **options: Any) -> None:
        self.session_id = session_id
        self._sessions = sessions = HostSessions("openai-agents", store, **options)
        new = NewSession(dialect=_DIALECT, source=_ITEMS, source_id=session_id, kind="tool")
        self._items = HostItems(lambda: sessions.store, new)
        self.tools = [self._tool(one) for one in HOST_TOOLS]
        self.hooks = UsageHooks()

    def run_config(self, **settings: Any) -> RunConfig:
        """Return what a run needs; `settings` are those of `RunConfig`, whose own retries stay."""
        given = settings.pop("model_settings", None) or ModelSettings()
        own = given.retry or ModelRetrySettings(max_retries=_RETRIES)

        async def policy(failed: Any) -> Any:
            turn, sent = _SENT.get()
            if await turn.arecover(failed.error):
                sent.input = turn.messages
                return RetryDecision(retry=True, delay=0)
            decision = own.policy(failed) if own.policy else False
            return await decision if isawaitable(decision) else decision

        retry = ModelRetrySettings(own.max_retries, own.backoff, policy)
        settings["model_settings"] = replace(given, retry=retry)
        return RunConfig(**settings, call_model_input_filter=self._filter_input)

    async def _filter_input(self, data: CallModelData[Any]) -> ModelInputData:
        given = data.model_data
        turn = await self._sessions.aturn(lambda: self._to_request(data.agent, given), given.input)
        sent = ModelInputData(input=turn.messages, instructions=given.instructions)
        _SENT.set((turn, sent))
        return sent

    def _to_request(self, agent: Any, given: ModelInputData) -> HostRequest:
        tools = [
            function_payload(one.name, one.description, one.params_json_schema)
            for one in agent.tools
            if isinstance(one, FunctionTool)
        ]
        model = str(getattr(agent.model, "model", agent.model) or "")
        frame = {
            "model": model,
            "instructions": given.instructions,
            "max_output_tokens": agent.model_settings.max_tokens,
        }
        return HostRequest(
            key=self.session_id, dialect=_DIALECT, own=given.input, frame=frame, tools=tools
        )

    def _tool(self, tool: HostTool) -> FunctionTool:
        async def answer(_: Any, arguments: str) -> str:
            given = parse(arguments.encode() or b"{}")
            return await self._sessions.aanswer(self.session_id, tool.name, given)

        return FunctionTool(tool.name, tool.description, dict(tool.parameters), answer, False)

    # The items, as the SDK gave them

    async def get_items(self, limit: int | None = None) -> list[Any]:
        """Return the newest `limit` items, all without a limit."""
        items = await asyncio.to_thread(self._items.read)
        return items if limit is None else items[max(len(items) - limit, 0) :]

    async def add_items(self, items: list[Any]) -> None:
        """Append items."""
        await asyncio.to_thread(self._items.append, items)

    async def pop_item(self) -> Any:
        """Remove the newest item and return it, None if there is none."""
        return next(iter(await asyncio.to_thread(self._items.keep, -1)), None)

    async def clear_session(self) -> None:
        """Remove all items; what the model was sent can still be recalled."""
        await asyncio.to_thread(self._items.keep, 0)


class UsageHooks(RunHooks):
    """Take what each answer used."""

    async def on_llm_end(self, context: Any, agent: Any, response: Any) -> None:
        """Take the usage of an answer."""
        await _SENT.get()[0].aused(lambda: response.usage)
