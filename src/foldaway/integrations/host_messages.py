"""Messages apart from the types of a framework.

An adapter says what a message of its framework is, and makes a message of that; `MessageForm` does
the rest, in the wire formats of OpenAI's chat and Anthropic.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

from msgspec import Struct

from foldaway.dialects import dump_text, parse
from foldaway.errors import NotReadable
from foldaway.transcript import Payload

CALL_BLOCKS = frozenset({"tool_use", "function_call", "tool_call", "input_json_delta"})
"""Types of blocks by which frameworks repeat a call in the content of its answer."""


class HostCall(Struct, frozen=True):
    """A call of a tool."""

    id: str
    name: str
    arguments: Mapping[str, Any]


def answer_payload(dialect: str, content: Any, calls: Sequence[HostCall] = ()) -> Payload:
    """Return an answer of the model: a text or blocks of its provider, and calls.

    The wire format is `openai-chat`, or `anthropic` whose thinking blocks stay first.
    """
    if not calls:
        return {"role": "assistant", "content": content}
    if isinstance(content, list):
        blocks = cast("list[Any]", content)
        said: Any = [one for one in blocks if type_of(one) not in CALL_BLOCKS]
    else:
        said = content
    if dialect != "anthropic":
        made = [
            {
                "id": one.id,
                "type": "function",
                "function": {"name": one.name, "arguments": dump_text(one.arguments)},
            }
            for one in calls
        ]
        return {"role": "assistant", "content": said or None, "tool_calls": made}
    uses = [
        {"type": "tool_use", "id": one.id, "name": one.name, "input": one.arguments}
        for one in calls
    ]
    return {"role": "assistant", "content": [*blocks_of(said), *uses]}


def function_payload(name: Any, description: Any, parameters: Any) -> Payload:
    """Return a function that a model may call; `parameters` is its JSON schema."""
    return {"name": name, "description": description or "", "parameters": parameters}


def result_payload(dialect: str, call_id: str, content: Any) -> Payload:
    """Return the result of a call."""
    if dialect != "anthropic":
        return {"role": "tool", "tool_call_id": call_id, "content": content}
    block = {"type": "tool_result", "tool_use_id": call_id, "content": content}
    return {"role": "user", "content": [block]}


def calls_in(payload: Payload) -> list[HostCall]:
    """Return the calls of an answer."""
    found = [
        HostCall(one["id"], one["function"]["name"], parse(one["function"]["arguments"].encode()))
        for one in payload.get("tool_calls") or ()
    ]
    for one in payload["content"] if isinstance(payload.get("content"), list) else ():
        if type_of(one) == "tool_use":
            found.append(HostCall(one["id"], one["name"], one["input"]))
    return found


def arguments_in(given: Any) -> Mapping[str, Any]:
    """Return the arguments of a call that a framework keeps as an object or as text; a model may
    have written no object.
    """
    found: Any = given
    if isinstance(given, str):
        try:
            found = parse(given.encode() or b"{}")
        except NotReadable:
            found = None
    return cast("Mapping[str, Any]", found) if isinstance(found, Mapping) else {"text": given}


def texts_in(content: Any) -> list[str]:
    """Return the texts of a content, which is one text or blocks."""
    if isinstance(content, str):
        return [content]
    return [one["text"] for one in content or () if type_of(one) == "text"]


def blocks_of(content: Any) -> list[Any]:
    """Return a content as blocks; nothing is no block."""
    listed = cast("list[Any]", content if isinstance(content, list) else [content])
    return [{"type": "text", "text": one} if isinstance(one, str) else one for one in listed if one]


def type_of(block: Any) -> Any:
    """Return the type of a block; some frameworks have texts among them."""
    return cast("dict[str, Any]", block).get("type") if isinstance(block, dict) else "text"


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
