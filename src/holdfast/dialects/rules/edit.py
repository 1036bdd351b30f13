"""Edits that mends share. Messages that are not touched come back as the same objects."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

from holdfast.transcript import Message, Part


def drop_parts(
    messages: Sequence[Message], at: Collection[int], unwanted: Callable[[Part], bool]
) -> tuple[Message, ...]:
    """Return the messages without the unwanted parts of those at `at`.

    A message of which nothing is left is dropped.
    """
    kept: list[Message] = []
    for index, message in enumerate(messages):
        if index not in at:
            kept.append(message)
            continue
        parts = tuple(part for part in message.parts if not unwanted(part))
        if parts:
            kept.append(message.with_parts(parts))
    return tuple(kept)
