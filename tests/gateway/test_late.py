"""A gateway that is late, cold or one of two: what was compacted stays compacted."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from foldaway import Policy
from foldaway.gateway.conversation import Room
from foldaway.gateway.requests import Turn
from foldaway.stores import Held
from foldaway.stores.open import open_store
from foldaway.stores.values import SessionFilter

WIRES = [
    "messages",
    *(pytest.param(wire, marks=pytest.mark.slow) for wire in ("chat", "responses", "gemini")),
]
MOST_BYTES = 64_000
"""What the provider takes; the gateway is told a window of a quarter as many tokens."""


class Strict:
    """A provider that refuses what is longer than it reads, and says how long that may be."""

    def __init__(self, kit: Any, *, says_limit: bool = True) -> None:
        self.kit, self.says_limit, self.refused = kit, says_limit, 0

    async def __call__(self, request: web.Request, body: bytes) -> web.StreamResponse:
        if len(body) <= MOST_BYTES:
            usage = {"prompt_tokens": len(body) // 4, "completion_tokens": 9}
            if not request.path.endswith("/completions"):
                return await self.kit.answer_events(request, body)
            choice = {"message": {"role": "assistant", "content": "Done."}}
            return web.json_response({"choices": [choice], "usage": usage})
        self.refused += 1
        said = "prompt is too long"
        if self.says_limit:
            said += f": {len(body) // 4} tokens > {MOST_BYTES // 4} maximum"
        error = {"error": {"type": "invalid_request_error", "message": said}}
        return web.json_response(error, status=400)


def listed(body: bytes) -> list[Any]:
    value = json.loads(body)
    return next(value[key] for key in ("messages", "input", "contents") if key in value)


@pytest.mark.parametrize("wire", WIRES)
async def test_a_late_gateway_sends_the_last_view_and_what_is_new(
    gateway: Any, kit: Any, wire: str
) -> None:
    """With no time at all: nothing is refused, and the same request becomes the same bytes."""
    async with gateway() as stand:
        strict = stand.upstream.script = Strict(kit)
        for steps in range(10, 25, 3):
            got = await stand.post(kit.talk(wire, steps), wire)
            assert got.status == 200
        assert got.note.startswith("compacted")
        before = stand.upstream.asked[-1]
    async with gateway(deadlines=(0.0, 0.0)) as stand:
        strict = stand.upstream.script = Strict(kit)
        got = await stand.post(kit.talk(wire, 22), wire)
        assert got.status == 200
        assert stand.upstream.asked[-1] == before
        got = await stand.post(kit.talk(wire, 23), wire)
        assert listed(stand.upstream.asked[-1])[:-2] == listed(before)
        for steps in range(24, 120):
            got = await stand.post(kit.talk(wire, steps), wire)
            assert (got.status, strict.refused) == (200, 0), (steps, got.note)
            newest = listed(kit.packed(kit.talk(wire, steps)))[-1]
            assert listed(stand.upstream.asked[-1])[-1] == newest


@pytest.mark.parametrize("wire", WIRES)
async def test_two_gateways_in_turns_never_send_what_is_too_long(
    gateway: Any, kit: Any, tmp_path: Path, wire: str
) -> None:
    """Each is late at every request that it could not prepare for."""
    store = open_store(tmp_path / "both")
    late: Any = {"store": store, "is_shared": True, "deadlines": (0.0, 0.0)}
    async with gateway(**late) as one, gateway(**late) as other:
        both = [one.upstream, other.upstream]
        for upstream in both:
            upstream.script = Strict(kit)
        for steps in range(5, 100):
            stand = (one, other)[steps % 2]
            got = await stand.post(kit.talk(wire, steps), wire)
            refused = [each.script.refused for each in both]
            sizes = [len(body) for body in stand.upstream.asked[-2:]]
            assert (got.status, refused) == (200, [0, 0]), (steps, got.note, sizes)
    store.close()


class Leased:
    """A store whose sessions somebody else is compacting, so many times that it is asked."""

    def __init__(self, store: Any) -> None:
        self.store, self.left = store, 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self.store, name)

    def acquire(self, *given: Any, **named: Any) -> Any:
        if self.left:
            self.left -= 1
            return Held("another process", 60.0)
        return self.store.acquire(*given, **named)


async def test_a_request_that_does_not_fit_waits_for_the_compaction_of_another_process(
    gateway: Any, kit: Any, tmp_path: Path
) -> None:
    """Sent as it is, it would be refused."""
    store = Leased(open_store(tmp_path / "both"))
    async with gateway(store=store, is_shared=True) as stand:
        strict = stand.upstream.script = Strict(kit)
        assert (await stand.post(kit.talk("chat", 5), "chat")).status == 200
        store.left = 3
        got = await stand.post(kit.talk("chat", 40), "chat")
        assert (got.status, strict.refused, store.left) == (200, 0, 0)
        assert got.note.startswith("compacted")
    store.close()


@pytest.mark.slow
@pytest.mark.parametrize("says", [True, False], ids=["named", "not named"])
async def test_a_window_is_learned_from_what_was_refused(
    gateway: Any, kit: Any, says: bool
) -> None:
    """Never below what the provider accepted before in this conversation: one refusal is enough,
    and views keep their size.
    """
    async with gateway(context_length=64_000) as stand:
        strict = stand.upstream.script = Strict(kit, says_limit=says)
        sizes: list[int] = []
        for steps in range(10, 100):
            got = await stand.post(kit.talk("chat", steps), "chat")
            assert got.status == 200
            sizes.append(len(stand.upstream.asked[-1]))
        assert 1 <= strict.refused <= 2
        assert max(sizes[40:]) > MOST_BYTES / 4


class StrictInStream(Strict):
    """A provider that refuses inside the stream, as OpenAI does on Responses."""

    async def __call__(self, request: web.Request, body: bytes) -> web.StreamResponse:
        if len(body) <= MOST_BYTES:
            return await self.kit.answer_events(request, body)
        self.refused += 1
        said = {"code": "context_length_exceeded", "message": "Your input exceeds the context "
                "window of this model. Please adjust your input and try again."}  # fmt: skip
        events = {
            "responses": [
                {"type": "response.created", "response": {"id": "resp_1"}},
                {"type": "response.in_progress", "response": {"id": "resp_1"}},
                {"type": "response.failed", "response": {"id": "resp_1", "error": said}},
            ],
            "messages": [{"type": "error", "error": {
                "type": "invalid_request_error", "message": "prompt is too long"}}],
        }  # fmt: skip
        response = web.StreamResponse(headers={"content-type": "text/event-stream"})
        await response.prepare(request)
        wire = next(name for name, path in self.kit.paths.items()
                    if request.path.startswith(path.partition("?")[0]))  # fmt: skip
        for event in events.get(wire, [{"error": said}]):
            named = f"event: {event['type']}\n" if "type" in event else ""
            await response.write(f"{named}data: {json.dumps(event)}\n\n".encode())
        return response


@pytest.mark.parametrize("wire", WIRES)
async def test_a_refusal_inside_a_stream_is_mended_like_any_other(
    gateway: Any, kit: Any, wire: str
) -> None:
    """The client sees only the answer to the smaller request."""
    async with gateway(context_length=200_000) as stand:
        strict = stand.upstream.script = StrictInStream(kit)
        for steps in (10, 60):
            got = await stand.post(kit.talk(wire, steps), wire)
            assert (got.status, got.body) == (200, b"".join(kit.events[wire]))
        assert strict.refused >= 1
        assert len(stand.upstream.asked[-1]) <= MOST_BYTES


class Gated:
    """A store in which nothing can begin until that is let."""

    def __init__(self, store: Any) -> None:
        self.store, self.gate, self.inside = store, threading.Event(), threading.Event()

    def __getattr__(self, name: str) -> Any:
        return getattr(self.store, name)

    def create(self, *given: Any, **named: Any) -> Any:
        self.inside.set()
        assert self.gate.wait(60)
        return self.store.create(*given, **named)


async def test_a_burst_of_small_conversations_waits_for_no_engine(
    gateway: Any, kit: Any, tmp_path: Path
) -> None:
    """They have gone on elsewhere, and nothing is due: none is late, and all are taken down."""
    store, count = Gated(open_store(tmp_path / "both")), 60
    late: Any = {"context_length": 200_000, "policy": Policy(), "deadlines": (1.0, 1.0)}
    async with gateway(store=store, **late) as stand:
        try:
            for steps in (4, 5):
                bodies = [kit.talk("chat", steps, name=f"talk {at}") for at in range(count)]
                asked = (stand.post(body, key=str(at)) for at, body in enumerate(bodies))
                notes = {got.note for got in await asyncio.gather(*asked)}
                assert notes == {"pass; nothing is due"}
        finally:
            store.gate.set()
    found = list(store.all_sessions(SessionFilter()))
    assert [one.length for one in found] == [len(bodies[0]["messages"])] * count
    store.close()


async def test_a_small_request_of_what_was_compacted_is_not_taken_for_a_new_one(
    gateway: Any, kit: Any, tmp_path: Path
) -> None:
    """Its prefix stays the same bytes in a gateway that would leave it alone."""
    store = open_store(tmp_path / "both")
    async with gateway(store=store) as stand:
        for steps in range(8, 13):
            await stand.post(kit.talk("chat", steps, chars=4_000))
        before = listed(stand.upstream.asked[-1])
    async with gateway(store=store, policy=Policy(), context_length=900_000) as stand:
        body = kit.talk("chat", 13, chars=4_000)
        await stand.post(body)
        after = listed(stand.upstream.asked[-1])
        assert after[: len(before)] == before != listed(kit.packed(body))[: len(before)]
    store.close()


def test_after_it_was_let_go_a_shorter_request_does_not_pass() -> None:
    """Somebody else may have compacted the conversation meanwhile."""
    room, turn = Room(), Turn("chat:one", "gpt-5", "", b" " * 900, is_first=False, binds=False)
    room.begin(9_000)
    room.request_bytes = 1_000
    assert room.allows(turn, time.time)
    room.forget()
    assert not room.allows(turn, time.time)


async def test_what_was_compacted_by_hand_after_a_refused_request_stays_compacted(
    gateway: Any, kit: Any, tmp_path: Path
) -> None:
    """The conversation was not open yet, because its request was small."""
    store = open_store(tmp_path / "both")
    small: Any = {"store": store, "policy": Policy(), "context_length": 900_000}
    async with gateway(**small) as stand:
        await stand.post(kit.talk("chat", 9))
        await taken_down(store, 19)
        (info,) = store.all_sessions(SessionFilter())
    async with gateway(**small) as stand:

        async def refuse(request: web.Request, body: bytes) -> web.StreamResponse:
            return web.json_response({"error": {"message": "overloaded"}}, status=529)

        script, stand.upstream.script = stand.upstream.script, refuse
        assert (await stand.post(kit.talk("chat", 10))).note == "pass; nothing is due"
        stand.upstream.script = script
        where = f"{stand.url}/foldaway/sessions/{info.id}/compact"
        owner = {"x-foldaway-token": "of the owner"}
        wanted = {"target_tokens": 2_000}
        async with stand.client.post(where, json=wanted, headers=owner) as got:
            assert got.status == 200
        assert (await stand.post(kit.talk("chat", 10))).note == "compacted 1"
    store.close()


async def taken_down(store: Any, length: int) -> None:
    """Wait until the only session of a store has so many messages."""
    while [one.length for one in store.all_sessions(SessionFilter())] != [length]:
        await asyncio.sleep(0.02)


@pytest.mark.slow
async def test_waiting_for_others_does_not_make_a_request_late(
    gateway: Any, kit: Any, tmp_path: Path
) -> None:
    """Only the work on it counts against its deadline."""
    store = Gated(open_store(tmp_path / "both"))
    pays: Any = {"context_length": 200_000, "policy": Policy(save="most")}
    async with gateway(store=store, deadlines=(3.0, 3.0), workers=1, **pays) as stand:
        other = asyncio.create_task(stand.post(kit.talk("chat", 70), key="other"))
        await asyncio.to_thread(store.inside.wait)
        asking = asyncio.create_task(stand.post(kit.talk("chat", 70)))
        await asyncio.wait({asking}, timeout=4)
        store.gate.set()
        notes = ((await other).note, (await asking).note)
        assert notes == ("pass; deadline", "compacted 1")
    store.close()
