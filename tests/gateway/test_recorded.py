"""Requests that real agents sent, through the gateway, and a WebSocket."""

from __future__ import annotations

import gzip
import json
import os
from pathlib import Path
from typing import Any

import pytest
from aiohttp import WSMsgType, WSServerHandshakeError, web

import foldaway
from foldaway.sessions import internals
from foldaway.stores.open import open_store

ROOT = Path(__file__).resolve().parents[2]
DATA = Path(os.environ.get("FOLDAWAY_DATA", ROOT.parent / "shared" / "data"))
REQUESTS = sorted((DATA / "requests").glob("*.jsonl.gz"))


def window_for(path: Path) -> int:
    """Return a window that the conversation of a client fills to 85 % before its end: from there on
    it is compacted whatever that costs.
    """
    with gzip.open(path) as lines:
        *_, last = lines
    session = foldaway.Session(context_length=1_000_000)
    session.follow(request=json.loads(last)["body"].encode())
    whole, settings = internals(session).engine.estimate(), internals(session).engine.settings
    beside = settings.outside_tokens
    room = int((beside + (whole - beside) * 0.7) / 0.85)
    return room + min(settings.output_tokens, room // 3)


async def replay(stand: Any, path: Path) -> list[tuple[bytes, bytes, str]]:
    """Return what each request was, what reached the provider, and what the gateway says of it."""

    async def answer(_: web.Request, __: bytes) -> web.StreamResponse:
        return web.json_response({"id": "no usage, so that estimates stay what they are"})

    stand.upstream.script = answer
    found: list[tuple[bytes, bytes, str]] = []
    for line in gzip.decompress(path.read_bytes()).splitlines():
        row = json.loads(line)
        body = row["body"].encode()
        headers = {name: value for name, value in row["headers"].items() if name.lower() != "host"}
        headers["content-type"] = "application/json"
        where = f"{stand.url}{row['path']}{'?' + row['query'] if row['query'] else ''}"
        async with stand.client.post(where, data=body, headers=headers) as got:
            assert got.status == 200
            await got.read()
            found.append((body, stand.upstream.asked[-1], got.headers["x-foldaway"]))
    return found


@pytest.mark.shared
@pytest.mark.skipif(not REQUESTS, reason="needs the captured requests of FOLDAWAY_DATA")
@pytest.mark.parametrize("path", REQUESTS, ids=lambda path: path.name.partition(".")[0])
async def test_requests_of_real_agents_arrive_as_they_were_or_smaller_and_valid(
    gateway: Any, path: Path
) -> None:
    """As the same bytes if nothing is due; compacted without a rule broken that held before."""
    async with gateway(context_length=1_000_000) as stand:
        for given, sent, note in await replay(stand, path):
            assert sent == given
            assert note.startswith("pass; ")
    async with gateway(open_store(":memory:"), context_length=window_for(path)) as stand:
        made = [one for one in await replay(stand, path) if one[2].startswith("compacted")]
        assert made
        for given, sent, _ in made:
            assert len(sent) < len(given)
            broken = {one.rule for one in foldaway.check(json.loads(given))}
            assert {one.rule for one in foldaway.check(json.loads(sent))} <= broken


async def test_a_websocket_passes_in_both_directions(gateway: Any) -> None:
    async def echo(request: web.Request, _: bytes) -> web.StreamResponse:
        answer = web.WebSocketResponse(protocols=("realtime",))
        await answer.prepare(request)
        async for message in answer:
            if message.type is WSMsgType.TEXT:
                await answer.send_str(message.data.upper())
            else:
                await answer.send_bytes(message.data[::-1])
        return answer

    async with gateway() as stand:
        stand.upstream.script = echo
        url = f"{stand.url}/v1/responses?x=1"
        headers = {"authorization": "Bearer dummy"}
        async with stand.client.ws_connect(url, protocols=("realtime",), headers=headers) as talk:
            assert talk.protocol == "realtime"
            await talk.send_str("hello")
            assert await talk.receive_str() == "HELLO"
            await talk.send_bytes(b"abc")
            assert await talk.receive_bytes() == b"cba"
        assert stand.upstream.paths[-1] == "/v1/responses?x=1"
        assert stand.upstream.headers[-1]["authorization"] == "Bearer dummy"


async def test_a_websocket_can_be_refused_so_that_a_client_uses_http(gateway: Any) -> None:
    """With the status by which Codex knows it; nothing reaches the provider."""
    async with gateway(refuses_websockets=True) as stand:
        with pytest.raises(WSServerHandshakeError) as refused:
            await stand.client.ws_connect(f"{stand.url}/v1/responses")
        assert refused.value.status == 426
        assert stand.upstream.paths == []
