"""Answers with calls, and results, in the wire formats that adapters translate to and from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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
