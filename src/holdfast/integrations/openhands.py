"""Holdfast as a condenser of the OpenHands SDK.

    agent = Agent(llm=llm, tools=[…, *HOLDFAST_TOOLS], condenser=HoldfastCondenser())

The events of the conversation stay; each request shows a `View` of them, with single results
shortened as well as a summary. So nothing is forgotten, which a `Condensation` would do.
"""

# OpenHands is not installed where this is checked.
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

from msgspec import Struct
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

from holdfast.dialects.jsontext import dump_text, parse
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

__all__ = ["HOLDFAST_TOOLS", "HoldfastCondenser"]


class HoldfastCondenser(CondenserBase):
    """Keeps what a model is sent inside its window; conversations are found by their first event.

    It is saved with its agent, so `store` is a file, a folder or the address of a server, and
    `options` are those of `HostSessions` that JSON can write. The window is the LLM's
    `max_input_tokens`, if that is set.
    """

    store: str | None = None
    options: dict[str, Any] = Field(default_factory=dict)

    def handles_condensation_requests(self) -> bool:
        """Return that a request which was too long is made smaller."""
        return True

    def condense(self, view: View, agent_llm: Any = None) -> View | Condensation:
        """Return the events to show to the model; after a request to condense, a mark that it was
        done, so that the agent goes on with the next view.
        """
        sessions = self.sessions(agent_llm)
        asked = sessions.request_of(lambda: _asked(view, agent_llm), [view.events])
        last = sessions.last_turn(asked.key)
        is_refused = last is not None and len(last.asked.own) == len(asked.own)
        if view.unhandled_condensation_request and last is not None and is_refused:
            if not last.recover(_TOO_LONG):
                raise NoCondensationAvailableException("nothing more can be folded")
            return Condensation(llm_response_id="holdfast")
        if last is not None:
            last.used(lambda: _usage(view, agent_llm))
        turn = sessions.turn(asked)
        if view.unhandled_condensation_request and turn.compact():
            return Condensation(llm_response_id="holdfast")
        shown = [event for some in turn.messages for event in some]
        return View(events=[*_system(view.events), *shown] if asked.dialect else shown)

    async def acondense(self, view: View, agent_llm: Any = None) -> View | Condensation:
        """Do what `condense` does, in a thread."""
        return await asyncio.to_thread(self.condense, view, agent_llm)

    def sessions(self, llm: Any) -> HostSessions:
        """Return the conversations in the store; copies of this condenser have the same."""
        window = getattr(llm, "max_input_tokens", None)
        options = {"context_length": window} if window else {}
        return _sessions(self.store, dump_text({**options, **self.options}))


_TOO_LONG = ValueError("input exceeds the context window")
"""What a provider said; OpenHands tells only that it said so."""


@cache
def _sessions(store: str | None, options: str) -> HostSessions:
    return HostSessions("openhands", store, **parse(options.encode()))


def _system(events: Sequence[Any]) -> list[Any]:
    """Return the event with the system prompt and the tools; agents keep it first."""
    return [one for one in events[:1] if isinstance(one, SystemPromptEvent)]


def _asked(view: View, llm: Any) -> HostRequest:
    form = EventForm("anthropic" if "claude" in llm.model else "openai-chat")
    system = _system(view.events)
    tools = [tool.to_openai_tool()["function"] for one in system for tool in one.tools]
    said = [text.text for one in system for text in one.to_llm_message().content]
    frame = {"model": llm.model.rpartition("/")[2], "tools": tools_in(form.dialect, tools),
             "max_tokens": llm.max_output_tokens, "system": "\n".join(said)}  # fmt: skip
    own = [tuple(some) for _, some in groupby(view.events[len(system) :], _answer_of)]
    key = system[0].id if system else ""
    return HostRequest(key=key, dialect=form.dialect, own=own, form=form, frame=frame)


def _answer_of(event: Any) -> str:
    """Return the answer that an event is a call of, or the event itself."""
    return event.llm_response_id if isinstance(event, ActionEvent) else event.id


def _usage(view: View, llm: Any) -> Payload | None:
    last = llm.metrics.token_usages[-1] if llm.metrics.token_usages else None
    answers = (getattr(one, "llm_response_id", None) for one in reversed(view.events))
    if last is None or last.response_id not in answers:
        return None
    cached = {"cached_tokens": last.cache_read_tokens}
    return {**last.model_dump(), "prompt_tokens_details": cached}


class EventForm(Struct, frozen=True):
    """Events of OpenHands: an item is one event, or all calls of one answer."""

    dialect: str

    def messages_of(self, own: Sequence[Any]) -> list[Payload]:
        """Return the message of an item."""
        (said,) = LLMConvertibleEvent.events_to_messages(list(own))
        content = [block for one in said.content for block in one.to_llm_dict()]
        if said.role == "tool":
            return [result_payload(self.dialect, said.tool_call_id, content)]
        if said.role != "assistant":
            return [{"role": said.role, "content": content}]
        if self.dialect == "anthropic":
            content = [*(one.model_dump() for one in said.thinking_blocks), *content]
        calls = [HostCall(one.id, one.name, arguments_in(one.arguments))
                 for one in said.tool_calls or ()]  # fmt: skip
        return [answer_payload(self.dialect, content, calls)]

    def built(self, messages: Sequence[Payload], own: Any, listed: Sequence[Any]) -> list[Any]:
        """Return messages as events; one that changed keeps its reasoning and ids."""
        made = [
            _changed(own, one)
            if own
            else Message(role=one["role"], content=_content(one["content"]))
            for one in messages
        ]
        return [(MessageEvent(source="environment", llm_message=one),) for one in made]


def _changed(own: Sequence[Any], payload: Payload) -> Message:
    (before,) = LLMConvertibleEvent.events_to_messages(list(own))
    if before.role == "tool":
        return before.model_copy(update={"content": _content(result_in(payload), before.content)})
    said = {one.id: dump_text(one.arguments) for one in calls_in(payload)}
    calls = [one.model_copy(update={"arguments": said[one.id]})
             for one in before.tool_calls or () if one.id in said]  # fmt: skip
    thinking = [one for one in before.thinking_blocks if one.model_dump() in payload["content"]]
    content = _content(payload["content"], before.content)
    changed = {"content": content, "tool_calls": calls or None, "thinking_blocks": thinking}
    return before.model_copy(update=changed)


def _content(content: Any, before: Sequence[Any] = ()) -> list[Any]:
    """Return a content as theirs; images that stayed are their own."""
    images = [one for one in before if not isinstance(one, TextContent)
              and all(block in content for block in one.to_llm_dict())]  # fmt: skip
    return [*(TextContent(text=one) for one in texts_in(content)), *images]


class FoldedObservation(Observation):
    """What a tool of ours found."""


class FoldedExecutor(ToolExecutor):
    """Answers a tool of ours."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __call__(self, action: Action, conversation: Any = None) -> FoldedObservation:
        """Return what was found in the conversation."""
        agent, events = conversation.agent, conversation.state.events
        given = action.model_dump(exclude_none=True, exclude={"kind"})
        key = next(one.id for one in events if isinstance(one, SystemPromptEvent))
        sessions = agent.condenser.sessions(agent.llm)
        return FoldedObservation.from_text(sessions.answer(key, self._name, given))


class FoldedTool(ToolDefinition):
    """A tool of ours as OpenHands makes them for a conversation."""

    made: ClassVar[dict[str, Any]]

    @classmethod
    def create(cls, conv_state: Any = None, **given: Any) -> Sequence[FoldedTool]:
        """Return the tool."""
        return [cls(**cls.made, observation_type=FoldedObservation)]


def _register(tool: HostTool) -> Tool:
    name = tool.name.title().replace("_", "")
    made = {"description": tool.description, "executor": FoldedExecutor(tool.name),
            "action_type": Action.from_mcp_schema(f"{name}Action", tool.parameters)}  # fmt: skip
    fields = {"name": tool.name, "made": made, "__module__": __name__}
    register_tool(tool.name, type(f"{name}Tool", (FoldedTool,), fields))
    return Tool(name=tool.name)


HOLDFAST_TOOLS = [_register(one) for one in HOST_TOOLS]
"""Recall and search of what was folded, for the tools of an `Agent`."""
