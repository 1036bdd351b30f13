"""The first events of a stream, by which its provider may still refuse the request."""

from __future__ import annotations

import asyncio
from typing import Any, cast

import aiohttp

from foldaway.dialects.jsontext import parse
from foldaway.errors import NotReadable
from foldaway.sessions.too_long import Refusal, refusal_of

_SECONDS = 2.0
"""How long an event is waited for after which nothing can be refused. Providers check the length
before they begin to work, so a refusal follows at once."""
_BEFORE = frozenset({"response.created", "response.queued", "response.in_progress"})
"""Events of OpenAI's Responses that come before the request was looked at."""
_MOST_BYTES = 1 << 18


class StreamRefusal(Exception):
    """An error of a provider, in the form that `refusal_of` reads."""

    def __init__(self, status: int, body: Any, text: str) -> None:
        super().__init__(text)
        self.status_code, self.body = status, body


async def read_opening(up: aiohttp.ClientResponse) -> tuple[bytes, Refusal | None]:
    """Return what was read of a stream up to its first telling event, and what that says of the
    length of the request.
    """
    read = b""
    try:
        async with asyncio.timeout(_SECONDS):
            while len(read) < _MOST_BYTES and (data := await up.content.readany()):
                read += data
                if (event := _telling(read)) is not None:
                    return read, _refusal_in(event)
    except TimeoutError:
        pass
    return read, None


def _telling(read: bytes) -> dict[str, Any] | None:
    """Return the first event that says whether the request was taken, None as long as none does."""
    complete, _, _ = read.replace(b"\r\n", b"\n").rpartition(b"\n\n")
    for line in complete.split(b"\n"):
        if line[:5] == b"data:":
            try:
                value: Any = parse(line[5:].strip())
            except NotReadable:
                return {}
            event = cast("dict[str, Any]", value) if isinstance(value, dict) else {}
            if event.get("type") not in _BEFORE:
                return event
    return None


def _refusal_in(event: dict[str, Any]) -> Refusal | None:
    held: Any = event.get("response") if event.get("type") == "response.failed" else event
    error: Any = cast("dict[str, Any]", held).get("error") if isinstance(held, dict) else None
    if not isinstance(error, dict):
        if event.get("type") != "error":
            return None
        error = event  # an error of Responses has its fields in the event
    said = cast("dict[str, Any]", error)
    return refusal_of(StreamRefusal(400, {"error": said}, str(said.get("message", ""))))
