"""Parsed values to transcripts and back, in the frame that they came in."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from msgspec.structs import replace

from holdfast.dialects.dialect import Dialect
from holdfast.dialects.jsontext import too_deep
from holdfast.dialects.plain import plain
from holdfast.dialects.registry import LIST_KEYS, detect, dialect_named
from holdfast.dialects.shape import kind_of
from holdfast.errors import NotReadable
from holdfast.transcript import Frame, Message, Payload, Transcript


def load(value: Any, *, dialect: str | None = None) -> Transcript:
    """Return the transcript in a value from Python: a message list, or an object that holds one.

    Any mapping is an object and any sequence but text a list; elements that are plain dicts are
    the payloads of their messages. The dialect is found from the data where none is named. Raises
    `NotReadable` where there are no messages, or something that JSON cannot say.
    """
    try:
        return load_parsed(plain(value), dialect=dialect)
    except RecursionError:
        raise too_deep() from None


def load_parsed(value: Any, *, dialect: str | None = None) -> Transcript:
    """Return the transcript in a value that a JSON parser gave."""
    items: Sequence[Any]
    if isinstance(value, list):
        items = cast("Sequence[Any]", value)
        frame = Frame()
    elif isinstance(value, dict):
        body = cast("Payload", value)
        key = list_key(body, dialect)
        held: Any = body[key]
        text = [{"role": "user", "content": held}]
        items = cast("Sequence[Any]", held) if isinstance(held, list) else text
        frame = Frame(key, body)
    else:
        raise NotReadable(
            f"is {kind_of(value)}, not a message list", where="$",
            remedy="give a list of messages, or an object that holds one under 'messages'",
        )  # fmt: skip
    if not items:
        raise NotReadable("holds no messages", where=frame.path, remedy="give at least one message")
    spoken = dialect_named(dialect) if dialect else detect(items, frame.body)
    return Transcript(spoken.name, spoken.decode(items), frame, _system(spoken, frame))


def dump(transcript: Transcript) -> Any:
    """Return the wire value of a transcript, in its frame.

    Messages that nobody changed are their own payload objects; where nothing changed at all,
    `dump(load(x))` holds the very elements of `x`.
    """
    encode = dialect_named(transcript.dialect).encode
    body = transcript.frame.body
    items = [
        message.wire if _is_as_given(message) else encode(message)
        for message in transcript.messages
    ]
    if body is None:
        return items
    was = body[transcript.frame.key]
    if isinstance(was, str) and len(items) == 1 and transcript.messages[0].intact:
        return body
    return {**body, transcript.frame.key: items}


def _is_as_given(message: Message) -> bool:
    return message.intact and (message.wire is not None or message.role == "unknown")


def with_messages(transcript: Transcript, messages: Sequence[Message]) -> Transcript:
    """Return the transcript with other messages in the same frame."""
    return replace(transcript, messages=tuple(messages))


def list_key(body: Payload, dialect: str | None = None) -> str:
    """Return the field of `body` that holds the message list, or raise `NotReadable`."""
    wanted = dialect_named(dialect).list_key if dialect else ""
    for key in dict.fromkeys((wanted, *LIST_KEYS)):
        if isinstance(body.get(key), list) or (key == "input" and _is_text_input(body)):
            return key
    known = ", ".join(repr(key) for key in LIST_KEYS)
    raise NotReadable(
        "holds no message list", where="$", remedy=f"expected a list under one of {known}"
    )


def _is_text_input(body: Payload) -> bool:
    """Return whether this is a Responses request whose whole input is one text."""
    return isinstance(body.get("input"), str) and isinstance(body.get("model"), str)


def _system(dialect: Dialect, frame: Frame) -> Message | None:
    if frame.body is None or dialect.decode_system is None:
        return None
    return dialect.decode_system(frame.body)
