"""Messages apart from the types of a framework.

An adapter says what a message of its framework is, and makes a message of that; `MessageForm` does
the rest.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast

from msgspec import Struct

from foldaway.integrations.payloads import (
    HostCall,
    answer_payload,
    arguments_in,
    blocks_of,
    calls_in,
    result_payload,
    texts_in,
    type_of,
)
from foldaway.transcript import Payload


class HostMessage(Struct, frozen=True):
    """A message, whatever types its framework has."""

    role: str
    """`user`, `system`, `assistant` or `tool`."""
    content: Any
    """A text, or blocks of the provider."""
    calls: Sequence[HostCall] = ()
    call_id: str = ""
    """The call that it is the result of."""
    thoughts: Sequence[Payload] | None = ()
    """Its thinking as Anthropic's blocks; None in a wire format that has none."""

    @property
    def text(self) -> str:
        """What it says in words."""
        return "\n\n".join(texts_in(self.content))

    def keeps(self, thought: Payload) -> bool:
        """Return whether thinking of the message that it replaces is still sent."""
        return self.thoughts is None or thought in self.thoughts


class MessageForm(Struct, frozen=True):
    """How a framework writes messages, each of which is one in the wire format, too."""

    dialect: str
    """`openai-chat` or `anthropic`."""
    read: Callable[[Any], HostMessage]
    """Returns what a message of the framework says."""
    write: Callable[[HostMessage, Any], Any]
    """Returns a message as the framework has it; the second argument is the one that it replaces,
    None if it is new."""

    def messages_of(self, own: Any) -> list[Payload]:
        """Return a message in the wire format."""
        return [_payload(self.dialect, self.read(own))]

    def built(self, messages: Sequence[Payload], own: Any, listed: Sequence[Any]) -> list[Any]:
        """Return messages of the wire format as the framework's; a text that was added to a result
        is a message of its own.
        """
        role = "" if own is None else self.read(own).role
        said = [one for payload in messages for one in _messages(self.dialect, payload)]
        return [self.write(one, own if one.role == role else None) for one in said]


def _payload(dialect: str, said: HostMessage) -> Payload:
    if said.role == "tool":
        return result_payload(dialect, said.call_id, said.content)
    if said.role != "assistant":
        return {"role": said.role, "content": said.content}
    is_thinking = said.thoughts and dialect == "anthropic"
    content = [*(said.thoughts or ()), *blocks_of(said.content)] if is_thinking else said.content
    return answer_payload(dialect, content, said.calls)


def _messages(dialect: str, payload: Payload) -> list[HostMessage]:
    """Return what a message of the wire format says: one, or results and what was added to them."""
    role, content = payload["role"], payload.get("content")
    if role == "tool":
        return [HostMessage(role, content, call_id=payload["tool_call_id"])]
    blocks = cast("list[Any]", content) if isinstance(content, list) else []
    found = [
        HostMessage("tool", one["content"], call_id=one["tool_use_id"])
        for one in blocks
        if type_of(one) == "tool_result"
    ]
    rest = [one for one in blocks if type_of(one) not in ("tool_result", "tool_use")]
    if rest or not found:
        said = rest if isinstance(content, list) else content or ""
        thoughts = rest if dialect == "anthropic" else None
        found.append(HostMessage(role, said, calls_in(payload), thoughts=thoughts))
    return found


class PartTypes(Struct, frozen=True):
    """The types of parts, for frameworks whose messages are lists of typed parts."""

    text: type[Any]
    text_field: str
    call: type[Any]
    """Has `tool_call_id` and `tool_name`."""
    arguments_field: str
    thinking: type[Any]
    thought: Callable[[Any], Payload]
    """Returns thinking as a block of Anthropic's."""
    changed: Callable[..., Any]
    """Returns a part with other fields."""

    def read(self, role: str, parts: Sequence[Any], call_id: str = "") -> HostMessage:
        """Return the message that parts make up."""
        texts = [getattr(one, self.text_field) for one in parts if isinstance(one, self.text)]
        calls = [
            HostCall(
                one.tool_call_id, one.tool_name, arguments_in(getattr(one, self.arguments_field))
            )
            for one in parts
            if isinstance(one, self.call)
        ]
        thoughts = [self.thought(one) for one in parts if isinstance(one, self.thinking)]
        signed = [one for one in thoughts if one.get("signature")]
        return HostMessage(role, "\n\n".join(filter(None, texts)), calls, call_id, signed)

    def written(self, said: HostMessage, own: Sequence[Any] = ()) -> list[Any]:
        """Return the parts of a message, each in its place; the first text is the whole of it."""
        text, calls, parts = said.text, {one.id: one.arguments for one in said.calls}, list[Any]()
        for one in own:
            if isinstance(one, self.text):
                parts += [self.changed(one, **{self.text_field: text})] if text else []
                text = ""
            elif isinstance(one, self.call):
                arguments = dict(calls[one.tool_call_id])
                parts.append(self.changed(one, **{self.arguments_field: arguments}))
            elif not isinstance(one, self.thinking) or said.keeps(self.thought(one)):
                parts.append(one)
        return [*parts, self.text(**{self.text_field: text})] if text else parts
