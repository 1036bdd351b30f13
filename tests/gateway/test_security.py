"""Who may ask, how much, and what never stays behind."""

from __future__ import annotations

import logging
import zlib
from pathlib import Path
from typing import Any

import aiohttp
import pytest
import zstandard
from aiohttp import web

KEY = "sk-ant-test-0123456789abcdefghijklmnopqrstuvwxyz"
SECRET_WORDS = "the cat of the neighbor is called Zebulon"


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"host": "evil.example"}, 403),
        ({"host": "127.0.0.1.evil.example"}, 403),
        ({"host": "127.0.0.1@evil.example"}, 403),
        ({"host": "["}, 403),
        ({"host": "localhost:99"}, 200),
        ({"host": "work.example"}, 200),
        ({"origin": "https://evil.example"}, 403),
        ({"origin": "null"}, 403),
        ({"origin": "http://localhost:3000"}, 200),
        ({"x-foldaway-token": "wrong"}, 403),
        ({"x-foldaway-token": ""}, 403),
        ({"x-foldaway-token": "open s\xe9same"}, 200),
    ],
)
async def test_who_may_ask(gateway: Any, kit: Any, headers: dict[str, str], status: int) -> None:
    """Names of this machine, no pages of other sites, the right token; others reach nobody."""
    async with gateway(token="open s\xe9same", hosts=("work.example",)) as stand:
        given = {"x-foldaway-token": "open s\xe9same", **headers}
        async with stand.client.post(
            stand.url + kit.paths["chat"], data=kit.packed(kit.talk("chat", 1)), headers=given
        ) as got:
            assert got.status == status
        assert len(stand.upstream.asked) == (1 if status == 200 else 0)


async def test_the_token_and_our_own_headers_do_not_leave(gateway: Any, kit: Any) -> None:
    """The provider has no use for them; the client's own key goes on."""
    async with gateway(token="open") as stand:
        await stand.post(kit.talk("chat", 1), x_foldaway_token="open", authorization=KEY)
        seen = stand.upstream.headers[0]
        assert seen["authorization"] == KEY
        assert not [name for name in seen if name.lower().startswith("x-foldaway")]
        assert seen["host"] == stand.upstream.url.removeprefix("http://")


@pytest.mark.parametrize(
    "target",
    [
        "/one@{}/v1/messages",
        "/one@{}",
        "http://{}/v1/messages",
        "//{}/v1/messages",
        "/..@{}/",
        "{}",
        "@{}/",
        "/caf\xe9/{}",
        "*",
    ],
)
async def test_no_path_leads_to_another_provider(gateway: Any, target: str) -> None:
    """It is no open proxy: the name of a host is never made of what a client sends."""
    async with gateway() as evil, gateway() as good:
        own = good.upstream.url
        async with gateway(store=good.store, upstreams={"/one": own, "": own}) as stand:
            good.upstream.script = evil.upstream.script = _tea
            asked = target.format(evil.upstream.url.removeprefix("http://"))
            reader, writer = await stand.raw(
                f"GET {asked} HTTP/1.1\r\nhost: 127.0.0.1\r\nconnection: close\r\n\r\n".encode()
            )
            assert (await reader.read()).startswith(b"HTTP/1.1 4")
            writer.close()
            assert evil.upstream.paths == []


async def _tea(request: web.Request, _: bytes) -> web.StreamResponse:
    return web.Response(status=418)


async def test_a_prefix_of_a_path_ends_at_a_slash(gateway: Any, kit: Any) -> None:
    """`/one` does not take `/one.evil.example`: its address would become another host's."""
    async with (
        gateway() as other,
        gateway(upstreams={"/one": other.upstream.url, "": "http://127.0.0.1:1"}) as stand,
    ):
        body = kit.packed(kit.talk("chat", 1))
        for path, status in (("/one/v1/chat/completions", 200), ("/oneself/v1/x", 502)):
            async with stand.client.post(stand.url + path, data=body) as got:
                assert got.status == status
        assert other.upstream.paths == ["/v1/chat/completions"]


@pytest.mark.parametrize("is_chunked", [False, True])
async def test_a_body_has_a_limit(gateway: Any, kit: Any, is_chunked: bool) -> None:
    """In the form of the wire; what is smaller passes."""

    async def pieces() -> Any:
        for _ in range(11):
            yield b"x" * 1_000

    async with gateway(most_bytes=10_000) as stand:
        got = await stand.post(b" " * 10_000, "messages")
        assert got.status == 200
        data = pieces() if is_chunked else b" " * 10_001
        async with stand.client.post(stand.url + kit.paths["messages"], data=data) as refused:
            assert refused.status == 413
            said = await refused.json()
        assert said["error"]["type"] == "request_too_large"
        assert "10,000 bytes" in said["error"]["message"]
        assert len(stand.upstream.asked) == 1


@pytest.mark.parametrize("encoding", ["gzip", "zstd", "deflate", "br"])
async def test_a_compressed_body_that_grows_beyond_the_limit_passes_unread(
    gateway: Any, encoding: str
) -> None:
    """It is not unpacked in memory; the provider decides."""
    plain = b" " * 5_000_000
    packer = zlib.compressobj(wbits=31 if encoding == "gzip" else 15)
    body = packer.compress(plain) + packer.flush()
    if encoding == "zstd":
        body = zstandard.ZstdCompressor().compress(plain)
    async with gateway(most_bytes=100_000) as stand:
        got = await stand.post(body, content_encoding=encoding)
        assert got.note == "pass; unknown encoding"
        assert stand.upstream.asked == [body]


async def test_no_key_and_no_content_stays_in_a_log_or_beside_the_messages(
    gateway: Any, kit: Any, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Whatever happens: a turn, a compaction, a refusal, a cut, a fault of ours."""
    caplog.set_level(1)
    async with gateway() as stand:
        # the access log is off as long as it has no handler
        names = [name for name in logging.root.manager.loggerDict if name != "uvicorn.access"]
        places = [logging.getLogger(name) for name in names]
        for place in places:
            place.setLevel(1)
            place.addHandler(caplog.handler)
        keys = {"authorization": f"Bearer {KEY}", "x_api_key": KEY, "cookie": KEY}
        body = kit.talk("chat", 30)
        body["messages"][0]["content"] = SECRET_WORDS
        assert (await stand.post(body, **keys)).note == "compacted 1"
        stand.upstream.script = _cut
        with pytest.raises(aiohttp.ClientPayloadError):
            await stand.post(body, **keys)
        stand.upstream.script = _tea
        async with stand.client.get(f"{stand.url}/v1/models?key={KEY}") as got:
            await got.read()
        stand.upstream.script = kit.answer_events
        body["messages"].append({"role": "user", "content": SECRET_WORDS + kit.noise(800_000)})
        with kit.full_disk(tmp_path / "home"):
            assert (await stand.post(body, **keys)).note == "last view; StoreUnavailable"
        await stand.post(b"{" + SECRET_WORDS.encode(), **keys)
    for place in places:
        place.removeHandler(caplog.handler)
    said = "\n".join(str(record.__dict__) for record in caplog.records)
    seen = {vars(record).get("foldaway_event") for record in caplog.records}
    assert {"gateway.request", "gateway.fault", "compaction.done"} <= seen
    assert KEY not in said
    assert "Zebulon" not in said
    held = b"".join(path.read_bytes() for path in (tmp_path / "home").rglob("*") if path.is_file())
    assert held
    assert KEY.encode() not in held


async def _cut(request: web.Request, _: bytes) -> web.StreamResponse:
    response = web.StreamResponse(headers={"content-type": "text/event-stream"})
    await response.prepare(request)
    await response.write(b"data: Zebulon\n\n")
    assert request.transport is not None
    request.transport.abort()
    return response
