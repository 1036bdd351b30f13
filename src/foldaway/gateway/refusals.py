"""What the beginning of an answer says about the size of its request."""

from __future__ import annotations

import asyncio

import aiohttp

from foldaway.dialects import parse
from foldaway.errors import NotReadable
from foldaway.gateway.requests import unpack_body
from foldaway.sessions import Refusal, RefusedRequest

_TOO_BIG = frozenset({400, 413, 422, 429, 500})
"""Statuses of errors that are read: one of them may say that the request was too big."""
_MOST_ERROR = 1 << 16
"""Bytes of an error that are read; what providers say is shorter."""
_SECONDS = 2.0
"""How long an event is waited for after which nothing can be refused. Providers check the length
before they begin to work, so a refusal follows at once."""
_MOST_OPENING = 1 << 18


async def read_refusal(
    up: aiohttp.ClientResponse, *, is_accepted: bool
) -> tuple[bytes, Refusal | None]:
    """Return what was read of an answer to learn whether its request was too big, and its refusal.

    Nothing is read if the answer cannot be one: for a stream, if requests of this size are known to
    be accepted.
    """
    if up.status in _TOO_BIG:
        return await _read_error(up)
    kind = up.headers.get("content-type", "")
    is_stream = kind.startswith("text/event-stream") and not up.headers.get("content-encoding")
    if up.status == 200 and is_stream and not is_accepted:
        return await _read_opening(up)
    return b"", None


async def _read_error(up: aiohttp.ClientResponse) -> tuple[bytes, Refusal | None]:
    """Return the beginning of an error, all of it if it is as short as errors are."""
    read = b""
    while len(read) < _MOST_ERROR and (piece := await up.content.read(_MOST_ERROR - len(read))):
        read += piece
    plain = unpack_body(read, up.headers.get("content-encoding", ""), _MOST_ERROR) or b""
    try:
        body = parse(plain)
    except NotReadable:
        body = None
    return read, RefusedRequest(up.status, body, plain.decode("utf-8", "replace")).refusal


async def _read_opening(up: aiohttp.ClientResponse) -> tuple[bytes, Refusal | None]:
    """Return a stream up to its first telling event."""
    read = b""
    try:
        async with asyncio.timeout(_SECONDS):
            while len(read) < _MOST_OPENING and (data := await up.content.readany()):
                read += data
                is_told, refused = RefusedRequest.find_in(read)
                if is_told:
                    return read, None if refused is None else refused.refusal
    except TimeoutError:
        pass
    return read, None
