"""Short ids by which an original comes back."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import msgspec

from holdfast.compaction.measure import text_length
from holdfast.transcript import Message

_LENGTH = 10
"""40 bits: among 100,000 originals of one session a collision has a chance of 1 in 220."""


_SAMPLED = 256
"""A long range is told by its ends and the lengths of so many messages between them."""


def reference_of(message: Message) -> str:
    """Return the reference of one message: the same message at the same place, the same id."""
    digest = hashlib.sha256(str(message.position).encode())
    digest.update(payload_bytes(message))
    return f"hf-{digest.hexdigest()[:_LENGTH]}"


def reference_of_range(start: int, stop: int, messages: Sequence[Message]) -> str:
    """Return the reference of a folded range: its place, its ends, the lengths in between."""
    stride = max((stop - start) // _SAMPLED, 1)
    lengths = [text_length(message) for message in messages[start:stop:stride]]
    digest = hashlib.sha256(f"{start}:{stop}:{lengths}".encode())
    for message in (messages[start], messages[stop - 1]):
        digest.update(payload_bytes(message))
    return f"hf-{digest.hexdigest()[:_LENGTH]}"


def payload_bytes(message: Message) -> bytes:
    """Return the bytes that identify a message: its payload, or its parts where it has none."""
    value = message.wire if message.wire is not None else (message.role, message.parts)
    try:
        return msgspec.json.encode(value)
    except UnicodeEncodeError:
        return repr(value).encode("utf-8", "surrogatepass")
