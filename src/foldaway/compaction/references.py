"""Short ids by which an original comes back."""

from __future__ import annotations

import hashlib

import msgspec

from foldaway.transcript import Message

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
