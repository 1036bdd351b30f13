"""The dialects by name; parsed values to transcripts and back, in the frame that they came in."""

# Wire values are `Any`, and so is whatever is taken out of one.
# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, cast

from foldaway.dialects import anthropic, gemini, openai_chat, openai_responses, sharegpt
from foldaway.dialects.dialect import Dialect
from foldaway.dialects.jsontext import depth_error, no_number
from foldaway.dialects.shape import kind_of
from foldaway.errors import NotReadable, UnknownName
from foldaway.transcript import Frame, Message, Payload, Transcript

DIALECTS: Mapping[str, Dialect] = {
    dialect.name: dialect
    for dialect in (
        openai_chat.DIALECT,
        openai_responses.DIALECT,
        anthropic.DIALECT,
        gemini.DIALECT,
        sharegpt.DIALECT,
    )
}

LIST_KEYS = tuple(dict.fromkeys(dialect.list_key for dialect in DIALECTS.values()))
"""The fields under which a message list may stand, in the order in which they are looked for."""


def dialect_named(name: str) -> Dialect:
    """Return a dialect by its name, or raise `UnknownName`."""
    found = DIALECTS.get(name) if isinstance(cast("object", name), str) else None
    if found is None:
        raise UnknownName("dialect", name, tuple(DIALECTS))
    return found


def detect(items: Sequence[Any], body: Payload | None = None) -> Dialect:
    """Return the dialect that the data looks most like; plain role-and-content lists are chat."""
    return max(DIALECTS.values(), key=lambda dialect: dialect.likeness(items, body or {}))


_SHOWN_CHARS = 60
"""Of a value that is refused, in the sentence that says so; chosen."""


def load(value: Any, *, dialect: str | None = None) -> Transcript:
    """Return the transcript in a value from Python: a message list, or an object that holds one.

    Any mapping is an object and any sequence but text a list; elements that are plain dicts are
    the payloads of their messages. The dialect is found from the data if none is named. Raises
    `NotReadable` if there are no messages, or something that JSON cannot say.
    """
    if dialect is not None:
        dialect_named(dialect)
    if isinstance(value, (str, bytes, bytearray, memoryview)):
        raise NotReadable(
            f"is of type {type(value).__name__}, not a message list",
            where="$",
            remedy="parse the JSON first",
        )
    if isinstance(value, (Message, Transcript)):
        raise NotReadable(
            f"is a {type(value).__name__.lower()} that was loaded already",
            where="$",
            remedy="dump() it first",
        )
    try:
        return load_parsed(plain(value), dialect=dialect)
    except RecursionError:
        raise depth_error() from None


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
            f"is {kind_of(value)}, not a message list",
            where="$",
            remedy="give a list of messages, or an object that holds one under 'messages'",
        )
    if not items:
        raise NotReadable("holds no messages", where=frame.path, remedy="give at least one message")
    spoken = dialect_named(dialect) if dialect else detect(items, frame.body)
    return Transcript(spoken.name, spoken.decode(items), frame, _system(spoken, frame))


def dump(transcript: Transcript) -> Any:
    """Return the wire value of a transcript, in its frame.

    Messages that nobody changed are their own payload objects; if nothing changed at all,
    `dump(load(x))` holds the very elements of `x`. Raises `NotReadable` for anything but a
    transcript.
    """
    if type(transcript) is not Transcript:
        raise NotReadable(
            f"is of type {type(transcript).__name__}, not a transcript",
            where="$",
            remedy="give what load() returned",
        )
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


def sole_list_key(body: Mapping[str, Any], dialect: str) -> str:
    """Return the field that holds the message list; raise `NotReadable` if there is none, or two.

    If there are two, the dialect says which; it is "" if that is not known.
    """
    if isinstance(body.get("input"), str):
        return "input"
    fields = {**body}
    key = list_key(fields, dialect or None)
    lists = [name for name in LIST_KEYS if isinstance(fields.get(name), list)]
    if len(lists) > 1 and (not dialect or dialect_named(dialect).list_key not in lists):
        raise NotReadable(
            f"holds {len(lists)} lists, {' and '.join(map(repr, lists))}",
            where="$",
            remedy="send one of them, or name the provider",
        )
    return key


def has_list(value: Any) -> bool:
    """Return whether a value is an object that holds a message list."""
    return isinstance(value, dict) and any(isinstance(value.get(key), list) for key in LIST_KEYS)


def _is_text_input(body: Payload) -> bool:
    """Return whether this is a Responses request whose whole input is one text."""
    return isinstance(body.get("input"), str) and isinstance(body.get("model"), str)


def _system(dialect: Dialect, frame: Frame) -> Message | None:
    if frame.body is None or dialect.decode_system is None:
        return None
    return dialect.decode_system(frame.body)


DEEPEST = 800
"""Levels that are taken; the parser of JSON stops where Python's own limit (1,000) is near."""

_PLAIN = frozenset({str, int, bool, type(None)})


def plain(value: Any) -> Any:
    """Return `value` in plain dicts and lists; whatever is plain already is the same object.

    Mappings and sequences of other types are taken for what they are, and so are the objects of
    clients (`model_dump`). Raises `NotReadable` for what JSON does not have (other objects, keys
    that are not text, NaN) and for a value that is nested deeper than `DEEPEST` or contains itself.
    Nothing is mutated.
    """
    return value if _is_plain(value) else _rebuild(value, 0)


def _is_plain(value: Any, depth: int = 0) -> bool:
    """Return whether all is plain; false also where something is wrong with it."""
    kind = type(value)
    nodes: Any = value
    if kind is dict:
        for key in value:
            if type(key) is not str:
                return False
        nodes = value.values()
    elif kind is not list:
        return kind in _PLAIN or (kind is float and math.isfinite(value))
    if depth > DEEPEST:
        raise depth_error()
    for node in nodes:  # noqa: SIM110 a generator costs more
        if type(node) not in _PLAIN and not _is_plain(node, depth + 1):
            return False
    return True


def _rebuild(value: Any, depth: int) -> Any:
    if type(value) in _PLAIN:
        return value
    if depth > DEEPEST:
        raise depth_error()
    match value:
        case str():
            return str.__getitem__(value, slice(None))
        case float() if not math.isfinite(value):
            raise no_number({math.inf: "Infinity", -math.inf: "-Infinity"}.get(value, "NaN"), "$")
        case int() | float():
            return value
        case Mapping():
            made = {
                (name := _key(key)): _rebuild_at(f".{name}", inner, depth + 1)
                for key, inner in value.items()
            }
            same = type(value) is dict and all(made[key] is value.get(key, made) for key in made)
            return value if same else made
        case Sequence() if not isinstance(value, (bytes, bytearray, memoryview)):
            items = [_rebuild_at(at, inner, depth + 1) for at, inner in enumerate(value)]
            same = type(value) is list and all(map(_is, items, value))
            return value if same else items
        case _:
            dump = None if isinstance(value, type) else getattr(value, "model_dump", None)
            if callable(dump):
                return _rebuild(dump(mode="json", exclude_unset=True), depth + 1)
            raise NotReadable(
                f"is of type {type(value).__name__}, which JSON does not have",
                where="$",
                remedy="give dicts, lists, texts and numbers",
            )


def _rebuild_at(step: str | int, value: Any, depth: int) -> Any:
    """Return a value inside another one in plain dicts and lists; an error names the place."""
    if type(value) in _PLAIN:
        return value
    try:
        return _rebuild(value, depth)
    except NotReadable as error:
        if not error.where:  # nested too deeply: the place is everywhere
            raise
        raise error.inside(step if isinstance(step, str) else f"[{step}]") from None


def _is(one: Any, other: Any) -> bool:
    return one is other


def _key(key: Any) -> str:
    if not isinstance(key, str):
        raise NotReadable(
            f"has a key of type {type(key).__name__}",
            where="$",
            remedy="the keys of an object are texts",
        )
    return key if type(key) is str else str.__getitem__(key, slice(None))


_MARKS = frozenset(("role", "type", "from", "parts", "content"))
"""One of these is a key of any message of any wire format."""


def refuse_strangers(values: Iterable[Any]) -> None:
    """Raise `NotReadable` for a value that is not a message of any wire format."""
    for value in values:
        if not isinstance(value, Mapping) or _MARKS.isdisjoint(cast("Mapping[Any, Any]", value)):
            raise not_a_message(value)


def not_a_message(value: Any, where: str = "") -> NotReadable:
    """Return the error that says what was given instead of a message."""
    shown = repr(value)
    if len(shown) > _SHOWN_CHARS:
        shown = f"{shown[:_SHOWN_CHARS]}…"
    return NotReadable(
        f"expected a message (a mapping with a role), got {kind_of(value)}: {shown}",
        where=where,
        remedy="JSON and what your client returns are taken, too",
    )
