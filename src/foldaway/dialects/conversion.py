"""From one dialect to another, with the list of what could not come along."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from foldaway.dialects.dialect import Dialect, FreshIds
from foldaway.dialects.jsontext import depth_error
from foldaway.dialects.loading import dialect_named, dump, load
from foldaway.dialects.loss import Loss, Losses, first_difference
from foldaway.dialects.portable import carry
from foldaway.dialects.request import is_request, record_fields, request_fields
from foldaway.transcript import (
    CallKind,
    Frame,
    Media,
    Message,
    Part,
    Payload,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    Transcript,
    survey,
)

__all__ = ["Converted", "Loss", "convert", "convert_transcript"]

_SYSTEM_OUTSIDE = frozenset({"anthropic", "gemini"})
"""Dialects that want the leading system messages in a field of the request."""
_WITHOUT_IDS = frozenset({"gemini", "sharegpt"})
_CALLS_IN_ONE = frozenset({"openai-chat", "sharegpt"})


class Converted(Struct, frozen=True):
    """A transcript in another dialect.

    `messages` is the wire value: a list where a list was given (a body where its system prompt has
    no place in the list), a body where a body was. Where `lossless`, converting it back gives the
    same conversation: this was tried, not hoped.
    """

    messages: Any
    losses: tuple[Loss, ...]
    transcript: Transcript

    @property
    def lossless(self) -> bool:
        """Whether nothing is missing."""
        return not self.losses


def convert(messages: Any, to: str, *, dialect: str | None = None) -> Converted:
    """Return `messages` in the dialect `to`, and everything that it could not hold.

    `messages` is a message list or a body that holds one; its dialect is found from the data
    unless named. Nothing is mutated. Raises `UnknownName` for a dialect that does not exist and
    `NotReadable` if there are no messages.
    """
    target = dialect_named(to).name
    transcript = load(messages, dialect=dialect)
    if transcript.dialect == target:
        return Converted(messages, (), transcript)
    return convert_transcript(transcript, target)


def convert_transcript(transcript: Transcript, to: str) -> Converted:
    """Return the transcript in the dialect `to`; in its own dialect it comes back as it is."""
    try:
        return _convert_once(transcript, to)
    except RecursionError:
        raise depth_error() from None


def _convert_once(transcript: Transcript, to: str) -> Converted:
    source, target = dialect_named(transcript.dialect), dialect_named(to)
    if source is target:
        return Converted(dump(transcript), (), transcript)
    frame = transcript.frame
    losses = Losses(frame.path, f"$.{source.system_key}" if source.system_key else "$")
    carried = carry(_with_system(transcript), source.name, to, losses)
    written = _write(carried, target, losses, body=frame.body is not None)
    _try_back(written, source, target, losses)
    if not written.items:
        losses.add(-1, "", f"no message is left for the list of {to}")
    fields: Payload = {}
    if frame.body is not None:
        fields = _fields(transcript, target, losses)
    return _write_frame(written, fields, target, frame, losses)


def _with_system(transcript: Transcript) -> Sequence[Message]:
    if transcript.system is None:
        return transcript.messages
    return (transcript.system, *transcript.messages)


class _Written(Struct, frozen=True):
    """A conversation in a dialect: what it should say, and its wire form."""

    meant: list[Message]
    arranged: list[Message]
    items: list[Any]
    system: Any = None


def _write(messages: list[Message], target: Dialect, losses: Losses, *, body: bool) -> _Written:
    """Return carried messages in the form of `target`."""
    leading, rest = _split_system(messages, target, body=body)
    if target.name == "gemini":
        rest = [_as_user(message, losses) for message in rest]
    rest = with_kinds_of_calls(rest)
    if target.name in _CALLS_IN_ONE:
        rest = chat_turns(rest, target.name, losses)
    meant = [*leading, *rest]
    if target.name not in _WITHOUT_IDS:
        rest = with_real_ids(rest)
    arranged = target.arrange(rest)
    items = [target.encode(message) for message in arranged]
    system = None
    if leading and target.encode_system is not None:
        parts = tuple(part for message in leading for part in message.parts)
        system = target.encode_system(Message("system", parts))
    return _Written(meant, arranged, items, system)


def _split_system(
    messages: list[Message], target: Dialect, *, body: bool
) -> tuple[list[Message], list[Message]]:
    """Return the messages that go into the request's system field, and the others."""
    count = 0
    if target.name in _SYSTEM_OUTSIDE:
        while count < len(messages) and messages[count].role == "system":
            count += 1
    elif target.system_key and body and messages and messages[0].position < 0:
        first = messages[0]
        count = int(len(first.parts) == 1 and isinstance(first.parts[0], Text))
    return messages[:count], messages[count:]


def _as_user(message: Message, losses: Losses) -> Message:
    if message.role != "system":
        return message
    losses.add(message.position, "", "gemini has no system messages in its list: made a user's")
    return replace(message, role="user")


def _try_back(written: _Written, source: Dialect, target: Dialect, losses: Losses) -> None:
    """Read what was written, write it in the source dialect, read that; note what differs."""
    there = _read(written, target)
    gone = first_difference(written.meant, there)
    if gone is not None:
        losses.add(gone.position, "", f"read back from {target.name}, {gone.what}")
        return
    unheard = Losses("$")
    carried = carry(there, target.name, source.name, unheard)
    back = _read(_write(carried, source, unheard, body=True), source)
    gone = first_difference(written.meant, back)
    if gone is not None:
        losses.add(gone.position, "", f"converted back from {target.name}, {gone.what}")


def _read(written: _Written, dialect: Dialect) -> list[Message]:
    messages = list(dialect.decode(written.items))
    if written.system is not None and dialect.decode_system is not None:
        system = dialect.decode_system({dialect.system_key: written.system})
        if system is not None:
            messages.insert(0, system)
    return messages


def _fields(transcript: Transcript, target: Dialect, losses: Losses) -> Payload:
    source, body = dialect_named(transcript.dialect), transcript.frame.body or {}
    skip = {transcript.frame.key}
    if source.system_key and transcript.system is not None:
        skip.add(source.system_key)
    carry_fields = request_fields if is_request(body, source.name) else record_fields
    fields = carry_fields(body, source.name, target.name, skip=frozenset(skip), losses=losses)
    for key in (target.list_key, target.system_key):
        if fields.pop(key, None) is not None:
            losses.add_setting(key, f"the field {key!r} gives way to that of {target.name}")
    return fields


def _write_frame(
    written: _Written, fields: Payload, target: Dialect, frame: Frame, losses: Losses
) -> Converted:
    messages = _origins_kept(target.decode(written.items), written.arranged)
    if frame.body is None and written.system is None:
        transcript = Transcript(target.name, messages)
        return Converted(written.items, tuple(losses.found), transcript)
    body = dict(fields)
    if written.system is not None:
        body[target.system_key] = written.system
    body[target.list_key] = written.items
    system = target.decode_system(body) if target.decode_system is not None else None
    transcript = Transcript(target.name, messages, Frame(target.list_key, body), system)
    return Converted(body, tuple(losses.found), transcript)


def _origins_kept(messages: Sequence[Message], arranged: Sequence[Message]) -> tuple[Message, ...]:
    return tuple(
        message if was.origin == "real" else replace(message, origin=was.origin)
        for message, was in zip(messages, arranged, strict=True)
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
    call_ids = [_choose_id(call.id, fresh) for _, call in index.calls]
    result_ids = [
        _choose_id(result.call_id, fresh) if ordinal < 0 else call_ids[ordinal]
        for (_, result), ordinal in zip(index.results, index.call_of, strict=True)
    ]
    calls, results = iter(call_ids), iter(result_ids)
    return [
        replace(message, parts=tuple([_rename_ids(part, calls, results) for part in message.parts]))
        for message in messages
    ]


def _choose_id(given: str, fresh: FreshIds) -> str:
    if not given.startswith("~"):
        return given
    stem = "".join(char if char.isalnum() and char.isascii() else "_" for char in given[1:])
    return fresh.make(f"call_{stem}")


def _rename_ids(part: Part, calls: Iterator[str], results: Iterator[str]) -> Part:
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
        replace(message, parts=tuple([_set_kind(part, kinds) for part in message.parts]))
        for message in messages
    ]


def _set_kind(part: Part, kinds: Mapping[int, CallKind]) -> Part:
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
        if found and _is_same_turn(found[-1], message):
            found[-1] = replace(found[-1], parts=(*found[-1].parts, *message.parts))
        else:
            found.append(message)
    if to != "openai-chat":
        return found
    return [_sort_for_chat(message, losses) for message in found]


def _is_same_turn(before: Message, message: Message) -> bool:
    if before.role != "assistant" or message.role != "assistant" or before.origin != message.origin:
        return False
    if isinstance(before.parts[-1], ToolCall | Thinking):
        return True
    return isinstance(message.parts[0], ToolCall)


def _sort_for_chat(message: Message, losses: Losses) -> Message:
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
