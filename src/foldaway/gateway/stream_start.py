"""The first events of a stream, by which its provider may still refuse the request."""

from __future__ import annotations

import asyncio

import aiohttp

from foldaway.sessions import Refusal, find_telling, refusal_in, refusal_of

_SECONDS = 2.0
"""How long an event is waited for after which nothing can be refused. Providers check the length
before they begin to work, so a refusal follows at once."""
_MOST_BYTES = 1 << 18


async def read_opening(up: aiohttp.ClientResponse) -> tuple[bytes, Refusal | None]:
    """Return what was read of a stream up to its first telling event, and what that says of the
    length of the request.
    """
    read = b""
    try:
        async with asyncio.timeout(_SECONDS):
            while len(read) < _MOST_BYTES and (data := await up.content.readany()):
                read += data
                if (event := find_telling(read)) is not None:
                    refused = refusal_in(event)
                    return read, None if refused is None else refusal_of(refused)
    except TimeoutError:
        pass
    return read, None
