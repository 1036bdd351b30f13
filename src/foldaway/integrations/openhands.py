"""Foldaway as a condenser of the OpenHands SDK.

    agent = Agent(llm=llm, tools=[…, *FoldawayCondenser.tools], condenser=FoldawayCondenser())

The events of the conversation stay; each request shows a `View` of them, with single results
shortened as well as a summary. So nothing is forgotten, which a `Condensation` would do.
"""

# OpenHands is not installed when this is checked.
# pyright: reportMissingImports=false, reportUntypedBaseClass=false
# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false
# pyright: reportUnknownParameterType=false, reportUnknownVariableType=false
# pyright: reportUnknownLambdaType=false

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from functools import cache
from itertools import groupby
from typing import Any, ClassVar

from openhands.sdk.context.condenser import CondenserBase
from openhands.sdk.context.condenser.base import NoCondensationAvailableException
from openhands.sdk.context.view import View
from openhands.sdk.event import (
    ActionEvent,
    Condensation,
    LLMConvertibleEvent,
    MessageEvent,
    SystemPromptEvent,
)
from openhands.sdk.llm import Message, TextContent
from openhands.sdk.tool import (
    Action,
    Observation,
    Tool,
    ToolDefinition,
    ToolExecutor,
    register_tool,
)
from pydantic import Field

from foldaway.dialects import dump_text, parse
from foldaway.integrations.host_messages import HostCall, HostMessage, MessageForm, arguments_in
from foldaway.integrations.host_sessions import HOST_TOOLS, HostRequest, HostSessions, HostTool
from foldaway.transcript import Payload

__all__ = ["FoldawayCondenser"]

_TOO_LONG = ValueError("input exceeds the context window")
"""What a provider said; OpenHands tells only that it said so."""


class FoldawayCondenser(CondenserBase):
    """Keeps what a model is sent inside its window; conversations are found by their first event.

    It is saved with its agent, so `store` is a file, a folder or the address of a server, and
    `options` are those of `HostSessions` that JSON can write. The window is the LLM's
    `max_input_tokens`, if that is set.
    """

    store: str | None = None
    options: dict[str, Any] = Field(default_factory=dict)
    tools: ClassVar[Sequence[Tool]] = ()
    """Recall and search, for the agent."""

    def handles_condensation_requests(self) -> bool:
        """Return that a request which was too long is made smaller."""
        return True

    def condense(self, view: View, agent_llm: Any = None) -> View | Condensation:
        """Return the events to show to the model; after a request to condense, a mark that it was
        done, so that the agent goes on with the next view.
        """
        sessions = self.sessions(agent_llm)
        asked = sessions.request_of(lambda: _make_request(view, agent_llm), [view.events])
        last, is_wanted = sessions.last_turn(asked.key), view.unhandled_condensation_request
        if is_wanted and len(last.asked.own) == len(asked.own):  # what was sent last was refused
            if not last.recover(_TOO_LONG):
                raise NoCondensationAvailableException("nothing more can be folded")
            return Condensation(llm_response_id="foldaway")
        last.used(lambda: _usage(view, agent_llm))
        turn = sessions.turn(asked)
        if is_wanted and turn.compact():
            return Condensation(llm_response_id="foldaway")
        return View(events=[event for some in turn.messages for event in some])

    async def acondense(self, view: View, agent_llm: Any = None) -> View | Condensation:
        """Do what `condense` does, in a thread."""
        return await asyncio.to_thread(self.condense, view, agent_llm)

    def sessions(self, llm: Any) -> HostSessions:
        """Return the conversations in the store; copies of this condenser have the same."""
        window = getattr(llm, "max_input_tokens", None)
        options = {"context_length": window} if window else {}
        return _sessions(self.store, dump_text({**options, **self.options}))


@cache
def _sessions(store: str | None, options: str) -> HostSessions:
    return HostSessions("openhands", store, **parse(options.encode()))


def _make_request(view: View, llm: Any) -> HostRequest:
    dialect = "anthropic" if "claude" in llm.model else "openai-chat"
    first = view.events[0]
    frame = {"model": llm.model.rpartition("/")[2], "max_tokens": llm.max_output_tokens}
    tools = [one.to_openai_tool()["function"] for one in getattr(first, "tools", ())]
    own = [tuple(some) for _, some in groupby(view.events, _answer_of)]
    return HostRequest(
        key=first.id,
        dialect=dialect,
        own=own,
        frame=frame,
        tools=tools,
        form=MessageForm(dialect, _read, _write),
    )


def _answer_of(event: Any) -> str:
    """Return the answer that an event is a call of, or the event itself."""
    return event.llm_response_id if isinstance(event, ActionEvent) else event.id


def _usage(view: View, llm: Any) -> Payload | None:
    answers = {getattr(one, "llm_response_id", None) for one in view.events}
    for last in llm.metrics.token_usages[-1:]:
        if last.response_id in answers:
            cached = {"cached_tokens": last.cache_read_tokens}
            return {**last.model_dump(), "prompt_tokens_details": cached}
    return None


def _read(own: Sequence[Any]) -> HostMessage:
    """Return what an item says: one event, or all calls of one answer."""
    (said,) = LLMConvertibleEvent.events_to_messages(list(own))
    content = [block for one in said.content for block in one.to_llm_dict()]
    calls = [
        HostCall(one.id, one.name, arguments_in(one.arguments)) for one in said.tool_calls or ()
    ]
    thoughts = [one.model_dump() for one in said.thinking_blocks]
    return HostMessage(said.role, content, calls, said.tool_call_id or "", thoughts)


def _write(said: HostMessage, own: Sequence[Any] | None) -> tuple[MessageEvent]:
    """Return an item; one that changed keeps its reasoning, its ids, and images that stayed."""
    new = [Message(role=said.role, content=[])]
    (before,) = LLMConvertibleEvent.events_to_messages(list(own)) if own else new
    images = [
        one
        for one in before.content
        if not isinstance(one, TextContent)
        and all(block in said.content for block in one.to_llm_dict())
    ]
    arguments = {one.id: dump_text(one.arguments) for one in said.calls}
    calls = [
        one.model_copy(update={"arguments": arguments[one.id]}) for one in before.tool_calls or ()
    ]
    thoughts = [one for one in before.thinking_blocks if said.keeps(one.model_dump())]
    content = [*([TextContent(text=said.text)] if said.text else []), *images]
    changed = {"content": content, "tool_calls": calls or None, "thinking_blocks": thoughts}
    return (MessageEvent(source="environment", llm_message=before.model_copy(update=changed)),)


class FoldedObservation(Observation):
    """What a tool of ours found."""


class FoldedExecutor(ToolExecutor):
    """Answers a tool of ours."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __call__(self, action: Action, conversation: Any = None) -> FoldedObservation:
        """Return what was found in the conversation."""
        agent, events = conversation.agent, conversation.state.events
        given = action.model_dump(exclude={"kind"})
        key = next(one.id for one in events if isinstance(one, SystemPromptEvent))
        sessions = agent.condenser.sessions(agent.llm)
        return FoldedObservation.from_text(sessions.answer(key, self._name, given))


class FoldedTool(ToolDefinition):
    """A tool of ours."""

    @classmethod
    def create(cls, *given: Any, **named: Any) -> Sequence[FoldedTool]:
        """Return nothing: what is registered is a tool that was made."""
        return []


def _register(tool: HostTool) -> Tool:
    name = tool.name.title().replace("_", "")
    made = type(f"{name}Tool", (FoldedTool,), {"name": tool.name, "__module__": __name__})
    action = Action.from_mcp_schema(f"{name}Action", tool.parameters)
    register_tool(
        tool.name,
        made(
            description=tool.description,
            action_type=action,
            observation_type=FoldedObservation,
            executor=FoldedExecutor(tool.name),
        ),
    )
    return Tool(name=tool.name)


FoldawayCondenser.tools = tuple(_register(one) for one in HOST_TOOLS)
