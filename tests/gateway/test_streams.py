"""What passes is what came: requests and answers, byte for byte."""

from __future__ import annotations

import asyncio
import gzip
import statistics
import time
import zlib
from typing import Any

import aiohttp
import pytest
import zstandard
from aiohttp import web

from foldaway.stores.open import open_store

WIRES = ("messages", "chat", "responses", "gemini")


@pytest.mark.parametrize("wire", WIRES)
async def test_a_stream_is_the_same_bytes(gateway: Any, kit: Any, wire: str) -> None:
    """On every wire, and so is a request in which nothing is due."""
    async with gateway() as stand:
        body = kit.packed(kit.talk(wire, 2))
        got = await stand.post(body, wire)
        assert got.body == b"".join(kit.events[wire])
        assert stand.upstream.asked == [body]
        assert stand.upstream.paths == [kit.paths[wire]]
        assert got.note == "pass; nothing is due"


PACKERS = {
    "gzip": gzip.compress,
    "zstd": zstandard.ZstdCompressor().compress,
    "deflate": zlib.compress,
}


@pytest.mark.parametrize("encoding", PACKERS)
async def test_a_compressed_request_passes_as_it_came_until_it_is_compacted(
    gateway: Any, kit: Any, encoding: str
) -> None:
    """Then it goes plain, because what it says is spliced from its bytes."""
    async with gateway() as stand:
        small = PACKERS[encoding](kit.packed(kit.talk("chat", 2)))
        await stand.post(small, content_encoding=encoding)
        large = PACKERS[encoding](kit.packed(kit.talk("chat", 30)))
        got = await stand.post(large, content_encoding=encoding)
        assert stand.upstream.asked[0] == small
        assert stand.upstream.headers[0]["content-encoding"] == encoding
        assert got.note == "compacted 1"
        assert b"module_29.py" in stand.upstream.asked[1]
        assert "content-encoding" not in stand.upstream.headers[1]


@pytest.mark.parametrize("encoding", ["gzip", "zstd"])
async def test_a_compressed_answer_passes_as_it_came(gateway: Any, kit: Any, encoding: str) -> None:
    """With its header; nothing is written into it, however long it is silent."""
    said = PACKERS[encoding](b"".join(kit.events["chat"]))
    is_silent = asyncio.Event()

    async def script(request: web.Request, _: bytes) -> web.StreamResponse:
        headers = {"content-type": "text/event-stream", "content-encoding": encoding}
        response = web.StreamResponse(headers=headers)
        await response.prepare(request)
        await response.write(said[:10])
        await asyncio.wait_for(is_silent.wait(), 10)
        await response.write(said[10:])
        return response

    async with gateway(ping_seconds=0.01) as stand:
        stand.upstream.script = script
        asyncio.get_running_loop().call_later(0.1, is_silent.set)
        got = await stand.post(kit.talk("chat", 2))
        assert (got.body, got.headers["content-encoding"]) == (said, encoding)


PINGS = {
    "messages": b'event: ping\ndata: {"type": "ping"}\n\n',
    "chat": b": ping\n\n",
    "responses": b": ping\n\n",
    "gemini": b"\n",
}


class Steps:
    """A stream that goes on when the test says so."""

    def __init__(self) -> None:
        self.queue: asyncio.Queue[bytes | None] = asyncio.Queue()

    async def __call__(self, request: web.Request, _: bytes) -> web.StreamResponse:
        response = web.StreamResponse(headers={"content-type": "text/event-stream"})
        await response.prepare(request)
        while piece := await self.queue.get():
            await response.write(piece)
        return response


def unpinged(data: bytes, ping: bytes) -> bytes:
    while data.startswith(ping):
        data = data.removeprefix(ping)
    return data


@pytest.mark.parametrize("wire", WIRES)
async def test_a_silent_stream_is_kept_open_in_the_words_of_its_wire(
    gateway: Any, kit: Any, wire: str
) -> None:
    """Between two events, also if the end of one came in two pieces; without the pings it is the
    stream as it came.
    """
    steps, ping = Steps(), PINGS[wire]
    async with gateway(ping_seconds=0.01) as stand:
        stand.upstream.script = steps
        headers = {"x-foldaway-session": "one"}
        async with stand.client.post(
            stand.url + kit.paths[wire], data=kit.packed(kit.talk(wire, 1)), headers=headers
        ) as got:
            first, *rest = kit.events[wire]
            assert await got.content.readexactly(len(ping)) == ping  # before the first event
            steps.queue.put_nowait(first[:-1])
            found = await got.content.readuntil(first[:-1])
            assert unpinged(found, ping) == first[:-1]
            steps.queue.put_nowait(first[-1:])
            assert await got.content.readexactly(1 + len(ping)) == first[-1:] + ping
            for piece in (*rest, None):
                steps.queue.put_nowait(piece)
            assert unpinged(await got.read(), ping) == b"".join(rest)


async def test_nothing_is_written_into_the_middle_of_an_event(gateway: Any, kit: Any) -> None:
    """However long the provider stops there."""
    steps = Steps()
    async with gateway(ping_seconds=0.01) as stand:
        stand.upstream.script = steps
        said = b"".join(kit.events["chat"])
        asked = asyncio.create_task(stand.post(kit.talk("chat", 1)))
        steps.queue.put_nowait(said[:9])
        asyncio.get_running_loop().call_later(0.1, steps.queue.put_nowait, said[9:])
        asyncio.get_running_loop().call_later(0.1, steps.queue.put_nowait, None)
        assert (await asked).body.replace(b": ping\n\n", b"") == said
        assert b": ping" not in (await asked).body[8:12]


async def test_bytes_go_on_as_they_arrive(gateway: Any, kit: Any) -> None:
    """One byte of the provider reaches the client before the next is written."""
    steps = Steps()
    async with gateway() as stand:
        stand.upstream.script = steps
        async with stand.client.post(
            stand.url + kit.paths["chat"], data=kit.packed(kit.talk("chat", 1))
        ) as got:
            for byte in b"data: x\n\n":
                steps.queue.put_nowait(bytes([byte]))
                assert await got.content.readexactly(1) == bytes([byte])
            steps.queue.put_nowait(None)
            assert await got.read() == b""


async def test_no_answer_waits_for_the_acknowledgement_of_its_head(gateway: Any, kit: Any) -> None:
    """Linux acknowledges after 40 ms at the earliest; an answer is two small packets at least."""
    async with gateway(open_store(":memory:")) as stand:
        took: list[float] = []
        for _ in range(30):
            begun = time.perf_counter()
            await stand.post(b"{}")
            took.append(time.perf_counter() - begun)
        assert statistics.median(took) < 0.035


@pytest.mark.parametrize("begun", [False, True], ids=["before the head", "in the middle"])
async def test_a_client_that_is_gone_cancels_its_request_within_100_ms(
    gateway: Any, kit: Any, begun: bool
) -> None:
    """At a provider that hangs, before its answer and in the middle of it."""
    hangs = asyncio.Event()

    async def script(request: web.Request, _: bytes) -> web.StreamResponse:
        response = web.StreamResponse(headers={"content-type": "text/event-stream"})
        if begun:
            await response.prepare(request)
            await response.write(kit.events["chat"][0])
        hangs.set()
        await asyncio.Event().wait()
        return response

    async with gateway() as stand:
        stand.upstream.script = script
        asked = asyncio.create_task(stand.post(kit.talk("chat", 1)))
        await hangs.wait()
        asked.cancel()
        await asyncio.wait_for(stand.upstream.gone.wait(), 0.1)


@pytest.mark.parametrize("length", [None, 10_000], ids=["chunked", "of a known length"])
async def test_an_answer_that_is_cut_is_cut_for_the_client(
    gateway: Any, kit: Any, length: int | None
) -> None:
    """Never a clean end: an agent would take half an answer for a whole one."""

    async def script(request: web.Request, _: bytes) -> web.StreamResponse:
        headers = {"content-type": "text/event-stream"}
        if length:
            headers["content-length"] = str(length)
        response = web.StreamResponse(headers=headers)
        await response.prepare(request)
        await response.write(kit.events["chat"][0])
        assert request.transport is not None
        request.transport.close()
        return response

    async with gateway() as stand:
        stand.upstream.script = script
        with pytest.raises(aiohttp.ClientPayloadError):
            await stand.post(kit.talk("chat", 1))
        assert len(stand.upstream.asked) == 1


@pytest.mark.parametrize("method", ["GET", "DELETE", "PATCH", "OPTIONS", "HEAD", "PUT"])
async def test_every_other_path_and_method_passes(gateway: Any, method: str) -> None:
    """With its query and headers as they were written, and the provider's status and headers."""

    async def script(request: web.Request, body: bytes) -> web.StreamResponse:
        return web.Response(status=418, headers={"x-one": "1", "set-cookie": "a=b"}, body=b"tea")

    async with gateway() as stand:
        stand.upstream.script = script
        path = "/v1/files/a%2Fb?after=%20x&limit=2"
        got = await stand.client.request(
            method, aiohttp.client.URL(stand.url + path, encoded=True), headers={"x-two": "2"}
        )
        assert (got.status, got.headers["x-one"], got.headers["set-cookie"]) == (418, "1", "a=b")
        assert await got.read() == (b"" if method == "HEAD" else b"tea")
        assert stand.upstream.paths == [path]
        assert stand.upstream.headers[0]["x-two"] == "2"


NO_REQUESTS = (
    b"", b"[]", b"null", b'"x"', b"{}", b'{"messages": 3}', b'{"messages": [], "tools": [1]}',
    b'{"messages": [1, "assistant"]}', b'{"messages": [{"role": "assistant"}], "tools": 4}',
    b'{"messages": [{"role": "assistant", "content": "\\ud800"}], "tools": [{}]}',
    b"\xff\xfe", b"[" * 100_000, b'{"messages": [{"role": "assistant", "content": NaN}]}',
    b'{"messages": [{"role": "assistant"}], "metadata": {"user_id": "{}"}, "model": []}',
    b'{"messages": [{"role": "assistant"}], "metadata": {"user_id": "[3]"}, "model": 3}',
    b'{"messages": [{"role": "assistant"}], "metadata": {"user_id": "{1}"}, "thinking": 3}',
)  # fmt: skip


async def test_what_is_no_request_of_its_wire_passes_too(gateway: Any, kit: Any) -> None:
    """What a client sends is not ours to judge: the provider says what is wrong with it."""
    async with gateway(open_store(":memory:")) as stand:
        for wire in WIRES:
            for number, body in enumerate(NO_REQUESTS):
                mine = body.replace(b"messages", {"responses": b"input", "gemini": b"contents"}.get(
                    wire, b"messages"))  # fmt: skip
                for key in (f"{wire} {number}", ""):
                    got = await stand.post(mine, wire, key=key)
                    assert (got.status, stand.upstream.asked[-1]) == (200, mine)


async def test_a_stream_of_a_known_length_stays_as_long(gateway: Any, kit: Any) -> None:
    """Nothing is written into it, however long it is silent."""
    said, pause = b"".join(kit.events["chat"]), asyncio.Event()

    async def script(request: web.Request, _: bytes) -> web.StreamResponse:
        headers = {"content-type": "text/event-stream", "content-length": str(len(said))}
        response = web.StreamResponse(headers=headers)
        await response.prepare(request)
        await asyncio.wait_for(pause.wait(), 10)
        await response.write(said)
        return response

    async with gateway(ping_seconds=0.01) as stand:
        stand.upstream.script = script
        asyncio.get_running_loop().call_later(0.1, pause.set)
        assert (await stand.post(kit.talk("chat", 2))).body == said
