"""Short ids by which an original comes back; media and results that are shown by theirs."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Sequence

import msgspec
from msgspec.structs import replace

from foldaway._core import MediaReducer
from foldaway.facts import mark_text, part_text
from foldaway.transcript import Media, Message, Part, Text, ToolResult

_LENGTH = 10
"""40 bits: among 100,000 originals of one session a collision has a chance of 1 in 220."""


def reference_of(message: Message) -> str:
    """Return the reference of one message: the same message at the same place, the same id."""
    return reference_to(str(message.position), message)


def reference_to(place: str, *messages: Message) -> str:
    """Return the reference of something by its place and by messages of it."""
    digest = hashlib.sha256(place.encode())
    for message in messages:
        digest.update(payload_bytes(message))
    return f"fa-{digest.hexdigest()[:_LENGTH]}"


def payload_bytes(message: Message) -> bytes:
    """Return the bytes that identify a message: its payload, or its parts if it has none."""
    value = message.wire if message.wire is not None else (message.role, message.parts)
    try:
        return msgspec.json.encode(value)
    except UnicodeEncodeError:
        return repr(value).encode("utf-8", "surrogatepass")


def media_placeholder(media: Media, reference: str) -> Text:
    """Return the words that stand where media stood."""
    kind = f"{media.kind} {media.media_type}".strip()
    return Text(mark_text("placeholder", f"{kind}, shown earlier", reference))


def without_older_media(messages: Sequence[Message]) -> Sequence[Message]:
    """Return the messages with placeholders for all media but those of the newest that has some.

    Also for those in tool results. Messages without media are the same objects.
    """
    found = list(messages)
    bearing = [at for at, message in enumerate(found) if holds_media(message.parts)]
    for at in bearing[:-1]:
        reference = reference_of(found[at])
        found[at] = found[at].with_parts(without_media(found[at].parts, reference))
    return found


def without_results(positions: Collection[int]) -> MediaReducer:
    """Return what leaves out the results of tools in the messages at these positions: a note with
    the reference of the whole is in their place.
    """

    def reduce(messages: Sequence[Message]) -> Sequence[Message]:
        return [_left_out(one) if one.position in positions else one for one in messages]

    return reduce


def _left_out(message: Message) -> Message:
    note = (Text(part_text("", reference_of(message))),)
    parts = [
        replace(part, parts=note, intact=False) if isinstance(part, ToolResult) else part
        for part in message.parts
    ]
    has_results = any(new is not old for new, old in zip(parts, message.parts, strict=True))
    return message.with_parts(tuple(parts)) if has_results else message


def holds_media(parts: Sequence[Part]) -> bool:
    """Return whether parts, or results among them, bear media."""
    return any(
        isinstance(part, Media) or (isinstance(part, ToolResult) and holds_media(part.parts))
        for part in parts
    )


def without_media(parts: Sequence[Part], reference: str) -> tuple[Part, ...]:
    """Return the parts of a message with placeholders for media, also for those in results."""
    found: list[Part] = []
    for part in parts:
        if isinstance(part, Media):
            found.append(media_placeholder(part, reference))
        elif isinstance(part, ToolResult) and holds_media(part.parts):
            inner = without_media(part.parts, reference)
            found.append(replace(part, parts=inner, intact=False))
        else:
            found.append(part)
    return tuple(found)
