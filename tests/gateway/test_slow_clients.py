"""Clients that take too long to ask: their connections do not stay."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Any

from aiohttp import web

_HEAD = b"POST /v1/chat/completions HTTP/1.1\r\nhost: 127.0.0.1\r\n"
_BODY = _HEAD + b"content-length: 100000\r\n\r\n"


async def connect(stand: Any, sent: bytes) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    port = int(stand.url.rpartition(":")[2])
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(sent)
    return reader, writer


async def trickle(stand: Any, sent: bytes) -> bytes:
    """Send a beginning, then byte by byte, and return what is said when the server has enough."""
    reader, writer = await connect(stand, sent)
    answer = asyncio.create_task(reader.readline())
    while not answer.done():
        if sent:
            writer.write(b"x")
        await asyncio.wait((answer,), timeout=0.02)
    with suppress(ConnectionResetError):
        await reader.read()  # returns at the end of the connection
    writer.close()
    return answer.result()


async def test_many_slow_heads_and_bodies_are_closed(gateway: Any) -> None:
    """Each hears that it was too slow; a byte now and then is no progress."""
    async with gateway(head_seconds=0.3, body_seconds=0.3) as stand:
        begun = [*[_HEAD] * 50, *[_BODY] * 50, b""]
        slow = asyncio.gather(*(trickle(stand, one) for one in begun))
        assert set(await asyncio.wait_for(slow, 20)) == {b"HTTP/1.1 408 Request Timeout\r\n"}
        assert stand.upstream.asked == []


async def test_the_head_of_a_second_request_has_a_limit_too(gateway: Any, kit: Any) -> None:
    """Also on a connection that has served one."""
    async with gateway(head_seconds=0.3) as stand:
        reader, writer = await connect(stand, b"GET /healthz HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n")
        assert b"200" in await reader.readline()
        await reader.readuntil(b"}")
        writer.write(_HEAD)
        said = await asyncio.wait_for(reader.read(), 20)
        assert said.startswith(b"HTTP/1.1 408")
        writer.close()


async def test_who_asks_in_time_may_wait_and_send_for_as_long_as_it_takes(
    gateway: Any, kit: Any
) -> None:
    """A body that arrives steadily and an answer that takes long are not cut."""

    async def answer_late(request: Any, body: bytes) -> Any:
        await asyncio.sleep(0.5)
        return await kit.answer_events(request, body)

    body = kit.packed(kit.talk("chat", 150))

    async def pieces() -> Any:
        for at in range(0, len(body), 20_000):
            yield body[at : at + 20_000]
            await asyncio.sleep(0.5 / (len(body) / 20_000))

    async with gateway(head_seconds=0.2, body_seconds=0.2) as stand:
        stand.upstream.script = answer_late
        where = f"{stand.url}/v1/chat/completions"
        async with stand.client.post(where, data=pieces()) as got:
            await got.read()
            assert got.status == 200
        assert len(body) > 60_000


async def test_a_websocket_may_be_silent_for_longer_than_a_head(gateway: Any) -> None:
    """Nothing more of a head is to come there."""

    async def echo(request: web.Request, _: bytes) -> web.StreamResponse:
        answer = web.WebSocketResponse()
        await answer.prepare(request)
        async for message in answer:
            await answer.send_str(message.data)
        return answer

    async with gateway(head_seconds=0.1) as stand:
        stand.upstream.script = echo
        async with stand.client.ws_connect(f"{stand.url}/v1/responses") as talk:
            await asyncio.sleep(0.2)  # the limit must have passed
            await talk.send_str("hello")
            assert await talk.receive_str() == "hello"
