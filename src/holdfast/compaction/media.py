"""Older media as placeholders; the newest that was shown stays."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from holdfast.compaction.references import reference_of
from holdfast.facts.frame import placeholder_text
from holdfast.transcript import Media, Message, Part, Text, ToolResult


def media_placeholder(media: Media, reference: str) -> Text:
    """Return the words that stand where media stood."""
    kind = f"{media.kind} {media.media_type}".strip()
    return Text(placeholder_text(f"{kind}, shown earlier", reference))


def without_older_media(messages: Sequence[Message]) -> Sequence[Message]:
    """Return the messages with placeholders for all media but those of the newest that has some.

    Also for those in tool results, which pruning leaves alone while they are recent. Messages
    without media are the same objects.
    """
    found = list(messages)
    bearing = [at for at, message in enumerate(found) if _holds_media(message.parts)]
    for at in bearing[:-1]:
        reference = reference_of(found[at])
        found[at] = found[at].with_parts(_without_media(found[at].parts, reference))
    return found


def _holds_media(parts: Sequence[Part]) -> bool:
    return any(
        isinstance(part, Media) or (isinstance(part, ToolResult) and _holds_media(part.parts))
        for part in parts
    )


def _without_media(parts: Sequence[Part], reference: str) -> tuple[Part, ...]:
    found: list[Part] = []
    for part in parts:
        if isinstance(part, Media):
            found.append(media_placeholder(part, reference))
        elif isinstance(part, ToolResult) and _holds_media(part.parts):
            inner = _without_media(part.parts, reference)
            found.append(replace(part, parts=inner, intact=False))
        else:
            found.append(part)
    return tuple(found)
