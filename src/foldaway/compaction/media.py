"""Media that newer ones have made old: words in their place."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from foldaway.compaction.references import reference_of
from foldaway.facts import mark_text
from foldaway.transcript import Media, Message, Part, Text, ToolResult


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
