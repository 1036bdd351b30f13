"""Bare messages regrouped before a dialect arranges them: whole assistant turns, real ids."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from msgspec.structs import replace

from holdfast.dialects.fresh import FreshIds
from holdfast.dialects.loss import Losses
from holdfast.transcript import (
    CallKind,
    Media,
    Message,
    Part,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    survey,
)


def with_real_ids(messages: Sequence[Message]) -> list[Message]:
    """Return the messages with an id on the wire for every positional one.

    A call and its result get the same; no two calls do; ids that are real stay.
    """
    index = survey(messages)
    if not any(call.id.startswith("~") for _, call in index.calls) and not any(
        result.call_id.startswith("~") for _, result in index.results
    ):
        return list(messages)
    fresh = FreshIds(
        [call.id for _, call in index.calls] + [result.call_id for _, result in index.results]
    )
    call_ids = [_real(call.id, fresh) for _, call in index.calls]
    result_ids = [
        _real(result.call_id, fresh) if ordinal < 0 else call_ids[ordinal]
        for (_, result), ordinal in zip(index.results, index.call_of, strict=True)
    ]
    calls, results = iter(call_ids), iter(result_ids)
    return [
        replace(message, parts=tuple([_renamed(part, calls, results) for part in message.parts]))
        for message in messages
    ]


def _real(given: str, fresh: FreshIds) -> str:
    if not given.startswith("~"):
        return given
    stem = "".join(char if char.isalnum() and char.isascii() else "_" for char in given[1:])
    return fresh.make(f"call_{stem}")


def _renamed(part: Part, calls: Iterator[str], results: Iterator[str]) -> Part:
    if isinstance(part, ToolCall):
        return replace(part, id=next(calls))
    if isinstance(part, ToolResult):
        return replace(part, call_id=next(results))
    return part


def with_kinds_of_calls(messages: Sequence[Message]) -> list[Message]:
    """Return the messages with every result of the kind of the call that it answers."""
    index = survey(messages)
    if all(call.kind == "function" for _, call in index.calls):
        return list(messages)
    kinds: dict[int, CallKind] = {
        id(result): index.calls[ordinal][1].kind
        for (_, result), ordinal in zip(index.results, index.call_of, strict=True)
        if ordinal >= 0
    }
    return [
        replace(message, parts=tuple([_of_kind(part, kinds) for part in message.parts]))
        for message in messages
    ]


def _of_kind(part: Part, kinds: Mapping[int, CallKind]) -> Part:
    if not isinstance(part, ToolResult):
        return part
    return replace(part, kind=kinds.get(id(part), part.kind))


def chat_turns(messages: Sequence[Message], to: str, losses: Losses) -> list[Message]:
    """Return the messages with the calls of one turn in one message, behind its words.

    Reasoning goes with what it led to, and a call with the words or calls just before it. Where
    that changes the order of parts, it is noted.
    """
    found: list[Message] = []
    for message in messages:
        if found and _belongs(found[-1], message):
            found[-1] = replace(found[-1], parts=(*found[-1].parts, *message.parts))
        else:
            found.append(message)
    if to != "openai-chat":
        return found
    return [_in_chat_order(message, losses) for message in found]


def _belongs(before: Message, message: Message) -> bool:
    if before.role != "assistant" or message.role != "assistant" or before.origin != message.origin:
        return False
    if isinstance(before.parts[-1], ToolCall | Thinking):
        return True
    return isinstance(message.parts[0], ToolCall)


def _in_chat_order(message: Message, losses: Losses) -> Message:
    """Return the parts in the order of a chat message: reasoning, words, calls."""
    if message.role != "assistant":
        return message
    thoughts = [part for part in message.parts if isinstance(part, Thinking)]
    ordered: list[Part] = [
        *thoughts,
        *(part for part in message.parts if isinstance(part, Text | Media | ToolResult)),
        *(part for part in message.parts if isinstance(part, ToolCall)),
    ]
    if any(mine is not theirs for mine, theirs in zip(ordered, message.parts, strict=False)):
        what = "reasoning, words and calls are put into the order of a chat message"
        losses.add(message.position, "", what)
    if len(thoughts) > 1:
        losses.add(message.position, "", "several pieces of reasoning become one")
        joined = Thinking("\n\n".join(thought.text for thought in thoughts))
        ordered[: len(thoughts)] = [joined]
    return replace(message, parts=tuple(ordered))
