"""What goes wrong at a client, a provider, the store or the clock: nobody is left waiting, nothing
is lost, and what the gateway cannot improve goes on as it came.
"""

from __future__ import annotations

import asyncio
import json
import shutil
import threading
import time
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import apsw
import pytest
from aiohttp import web

from foldaway._core.policy import Policy
from foldaway.errors import StoreUnavailable
from foldaway.gateway.conversation import Conversation, Threads
from foldaway.gateway.requests import Turn
from foldaway.gateway.states import Standings
from foldaway.sessions.too_long import SIGNS
from foldaway.stores.store import Store
from foldaway.stores.values import SessionFilter

# Clients


async def test_a_client_that_sends_byte_by_byte_holds_up_nobody(gateway: Any, kit: Any) -> None:
    """Others are served meanwhile, and in the end so is it."""
    body = kit.packed(kit.talk("chat", 1))
    head = f"POST {kit.paths['chat']} HTTP/1.1\r\nhost: 127.0.0.1\r\n"
    async with gateway() as stand:
        slow = [await stand.raw(head.encode()) for _ in range(20)]
        for at, (_, writer) in enumerate(slow):
            writer.write(f"content-length: {len(body)}\r\n\r\n".encode() + body[: at + 1])
            await writer.drain()
            assert (await stand.post(body, key=f"quick {at}")).status == 200
        assert len(stand.upstream.asked) == 20
        reader, writer = slow[-1]
        for byte in body[20:]:
            writer.write(bytes([byte]))
            await writer.drain()
        assert (await reader.readline()) == b"HTTP/1.1 200 OK\r\n"
        for _, writer in slow:
            writer.close()
        assert stand.upstream.asked[20] == body


async def test_half_a_request_never_reaches_the_provider(gateway: Any, kit: Any) -> None:
    """A client that breaks off while it sends asked nothing."""
    body = kit.packed(kit.talk("chat", 1))
    async with gateway() as stand:
        head = f"POST {kit.paths['chat']} HTTP/1.1\r\nhost: 127.0.0.1\r\n"
        _, writer = await stand.raw(head.encode() + b"content-length: 9999\r\n\r\n" + body)
        writer.close()
        await writer.wait_closed()
        assert (await stand.post(body)).status == 200
        assert len(stand.upstream.asked) == 1


# Providers


@pytest.mark.parametrize("said", [b"", b"\x00\xff garbage\r\n\r\n", b"HTTP/1.1 200 OK\r\nbad\r\n"])
@pytest.mark.parametrize("wire", ["messages", "chat", "responses", "gemini"])
async def test_a_provider_that_answers_garbage_is_an_error_in_the_form_of_the_wire(
    gateway: Any, kit: Any, wire: str, said: bytes
) -> None:
    """A 502 that clients try again, and the next request goes through."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(said)
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    async with server, gateway(upstreams={"": url}) as stand:
        got = await stand.post(kit.talk(wire, 1), wire)
        assert got.status == 502
        assert "the provider cannot be reached" in json.loads(got.body)["error"]["message"]
        assert got.headers["content-type"] == "application/json"


async def test_a_provider_that_hung_up_between_two_requests_is_called_again(
    gateway: Any, kit: Any
) -> None:
    """Connections that are kept are no promise."""

    async def script(request: web.Request, body: bytes) -> web.StreamResponse:
        response = await kit.answer_events(request, body)
        await response.write_eof()
        assert request.transport is not None
        request.transport.close()
        return response

    async with gateway() as stand:
        stand.upstream.script = script
        for _ in range(5):
            assert (await stand.post(kit.talk("chat", 1))).status == 200


@pytest.mark.slow
@pytest.mark.parametrize("status", [401, 404, 429, 500, 503, 529])
async def test_storms_pass_as_they_are(gateway: Any, kit: Any, status: int) -> None:
    """Each once: when to try again is the client's business."""
    said = json.dumps({"error": {"type": "overloaded_error", "message": "Overloaded"}}).encode()

    async def script(request: web.Request, _: bytes) -> web.StreamResponse:
        headers = {"retry-after": "7", "content-type": "application/json"}
        return web.Response(status=status, body=said, headers=headers)

    async with gateway() as stand:
        stand.upstream.script = script
        body = kit.packed(kit.talk("chat", 2))
        answers = await asyncio.gather(*(stand.post(body, key=str(at)) for at in range(20)))
        assert {(one.status, one.body, one.headers["retry-after"]) for one in answers} == {
            (status, said, "7")
        }
        assert stand.upstream.asked == [body] * 20


SENTENCES: Mapping[tuple[str, str], str] = {
    ("openai", "maximum"): "This model's maximum context length is {} tokens, you sent more.",
    ("openai", "input"): "Your input exceeds the context window of this model.",
    ("anthropic", "prompt"): "prompt is too long: 999999 tokens > {} maximum",
    ("anthropic", "required"): "Extra usage is required for long context requests.",
    ("anthropic", "exceed"): "input length and `max_tokens` exceed context limit: 9 + 9 > {}, dec",
    ("gemini", "exceeds"): "The input token count exceeds the maximum number of tokens allowed {}.",
    ("bedrock", "input"): "Input is too long for requested model.",
    ("bedrock", "too"): "Too many tokens in request",
    ("mistral", "too"): "Prompt contains more tokens, too large for model with {} maximum context "
    "length",
    ("xai", "maximum"): "This model's maximum prompt length is {} but the request contains more.",
    ("groq", "please"): "Please reduce the length of the messages or completion.",
    ("cohere", "too"): "too many tokens: total number of tokens in the prompt cannot exceed it",
    ("together", "`inputs`"): "`inputs` tokens + `max_new_tokens` must be <= {}.",
    ("llama.cpp", "exceeds"): "the request exceeds the available context size, try increasing it",
    ("ollama", "input"): "the input length exceeds the context length",
    ("vllm", "longer"): "The prompt is longer than the maximum model length of {}.",
}
CONTEXT = [sign for sign in SIGNS if sign.means == "context"]


def sentence(provider: str, words: str) -> str:
    found = [text for (who, start), text in SENTENCES.items()
             if who == provider and words.startswith(start)]  # fmt: skip
    return found[0] if found else "No."


class Narrow:
    """A provider that refuses what is longer than it reads, in somebody's words."""

    def __init__(self, kit: Any, most_bytes: int, said: str, code: str, status: int = 400) -> None:
        self.kit, self.most, self.status = kit, most_bytes, status
        error = {"message": said.format(most_bytes // 4), "type": code or "invalid", "code": code}
        self.said = json.dumps({"error": error}).encode()

    async def __call__(self, request: web.Request, body: bytes) -> web.StreamResponse:
        if len(body) <= self.most:
            return await self.kit.answer_events(request, body)
        response = web.StreamResponse(status=self.status, headers={"x-one": "1"})
        response.content_type = "application/json"
        await response.prepare(request)
        await response.write(self.said[:9])
        await asyncio.sleep(0.001)  # a provider may send its error in pieces
        await response.write(self.said[9:])
        return response


@pytest.mark.parametrize("sign", CONTEXT, ids=lambda sign: f"{sign.provider} {sign.words[:9]}")
async def test_what_is_too_long_is_made_smaller_and_sent_again(
    gateway: Any, kit: Any, sign: Any
) -> None:
    """In the words of every provider, with the window in them or without; the client sees only the
    answer, and the next request is small enough at once.
    """
    said = sentence(sign.provider, sign.words)
    assert said != "No." or sign.code
    async with gateway(context_length=200_000) as stand:
        status = 500 if sign.provider == "llama.cpp" else min(sign.statuses)
        stand.upstream.script = Narrow(kit, 40_000, said, sign.code, status)
        body = kit.talk("chat", 40)
        got = await stand.post(body)
        assert (got.status, got.body) == (200, b"".join(kit.events["chat"]))
        assert got.note.startswith("compacted")
        tries = len(stand.upstream.asked)
        assert 2 <= tries <= 5
        assert (await stand.post(kit.talk("chat", 41))).status == 200
        assert len(stand.upstream.asked) == tries + 1


@pytest.mark.parametrize("steps", [0, 1, 40])
async def test_what_cannot_be_made_small_enough_is_the_providers_own_error(
    gateway: Any, kit: Any, steps: int
) -> None:
    """Its status, its headers, its bytes; after a few tries at most."""
    async with gateway(context_length=200_000) as stand:
        narrow = Narrow(kit, 10, "prompt is too long", "")
        stand.upstream.script = narrow
        got = await stand.post(kit.talk("chat", steps))
        assert (got.status, got.body, got.headers["x-one"]) == (400, narrow.said, "1")
        assert len(stand.upstream.asked) <= 6


# The store


async def steady(stand: Any, kit: Any, *, key: str = "one") -> bytes:
    """Send a request and one more like it; return the second as the provider got it."""
    for _ in range(2):
        assert (await stand.post(kit.talk("chat", 2), key=key)).status == 200
    return stand.upstream.asked[-1]


async def test_a_full_disk_leaves_requests_as_they_came(
    gateway: Any, kit: Any, tmp_path: Path
) -> None:
    """And compacts again when there is room."""
    async with gateway() as stand:
        await steady(stand, kit)
        body = kit.talk("chat", 30)
        body["messages"][8]["content"] = kit.noise(400_000)
        with kit.full_disk(tmp_path / "home"):
            got = await stand.post(body)
            assert (got.status, got.note) == (200, "pass; StoreUnavailable")
            assert stand.upstream.asked[-1] == kit.packed(body)
        for _ in range(2):
            last = await stand.post(body)
        assert last.note == "compacted 1"


async def test_a_locked_store_holds_a_request_up_to_its_deadline_only(
    gateway: Any, kit: Any, tmp_path: Path
) -> None:
    """Then it goes on as it came, as long as it fits; other conversations too."""
    async with gateway(deadlines=(0.05, 0.05), context_length=64_000) as stand:
        await steady(stand, kit)
        other = apsw.Connection(str(tmp_path / "home" / "default.db"))
        other.set_busy_timeout(30_000)  # what was sent is still being taken down
        other.execute("BEGIN IMMEDIATE")
        try:
            body = kit.packed(kit.talk("chat", 30))
            began = time.monotonic()
            got = await asyncio.gather(*(stand.post(body, key=key) for key in ("two", "three")))
            assert {one.note for one in got} == {"pass; deadline"}
            assert time.monotonic() - began < 5.0
            assert stand.upstream.asked[-2:] == [body, body]
        finally:
            other.execute("ROLLBACK")
            other.close()


async def test_a_store_that_is_gone_stops_nobody(gateway: Any, kit: Any, tmp_path: Path) -> None:
    """Its folder is deleted while conversations go on, and new ones begin."""
    async with gateway() as stand:
        await steady(stand, kit)
        shutil.rmtree(tmp_path / "home")
        for key in ("one", "two"):
            body = kit.packed(kit.talk("chat", 5))
            assert (await stand.post(body, key=key)).status == 200
            assert stand.upstream.asked[-1] == body


async def test_a_conversation_that_fails_again_and_again_is_left_alone(
    gateway: Any, kit: Any, tmp_path: Path
) -> None:
    """Its requests do not wait for the next fault; others are followed as ever."""
    async with gateway() as stand:
        await steady(stand, kit)
        body = kit.talk("chat", 30)
        body["messages"].append({"role": "user", "content": kit.noise(400_000)})
        notes: list[str] = []
        with kit.full_disk(tmp_path / "home"):
            for _ in range(4):
                notes.append((await stand.post(body)).note)
        assert notes == ["pass; StoreUnavailable"] * 3 + ["pass; left alone after faults"]
        assert (await stand.post(kit.talk("chat", 30), key="two")).note == "compacted 1"


async def test_work_that_nobody_waits_for_any_more_keeps_others_out() -> None:
    """A session is for one thread at a time, also if the client is gone."""
    is_inside, others = threading.Event(), threading.Event()

    def opened(turn: Turn, window: int | None) -> Any:
        if is_inside.is_set():
            others.set()
        is_inside.set()
        others.wait(0.1)
        is_inside.clear()
        raise StoreUnavailable("here", "is locked", remedy="wait")

    with closing(Threads(4)) as threads:  # two of them for what nobody waits for
        told = Standings(lambda _: None, "key", "agent", "model")
        stored: Any = SimpleNamespace(open=opened)
        conversation = Conversation(stored, threads, told)
        turn = Turn("key", "model", "agent", b"{}", False)
        first = asyncio.create_task(conversation.take_down(turn, {}, 0))
        while not is_inside.is_set():
            await asyncio.sleep(0)
        first.cancel()
        with pytest.raises(StoreUnavailable):
            await conversation.take_down(turn, {}, 0)
    assert not others.is_set()


@pytest.mark.parametrize("jump", [-1e9, 3_600.0])
async def test_a_clock_that_jumps_changes_nothing(gateway: Any, kit: Any, jump: float) -> None:
    """The same list is the same bytes, and a conversation goes on."""
    now = time.time()
    times = iter([now] * 40)
    async with gateway(clock=lambda: next(times, now + jump)) as stand:
        body = kit.talk("chat", 30)
        for _ in range(3):
            assert (await stand.post(body)).note == "compacted 1"
        assert len(set(stand.upstream.asked)) == 1
        for steps in range(31, 60, 4):
            assert (await stand.post(kit.talk("chat", steps))).note.startswith("compacted")


# Many at once


def kept(store: Store) -> dict[str, list[str]]:
    """Return the ends of lineages of a store with the messages of each, as JSON."""
    found: dict[str, list[str]] = {}
    after = ""
    while True:
        page = store.sessions(SessionFilter(), most=500, after=after)
        for info in page.sessions:
            found[info.id] = [message.body.decode() for message in store.read(info.id)]
        if not page.next:
            return found
        after = page.next


def holds(store: Store, body: Mapping[str, Any]) -> bool:
    """Return whether all messages of a request are in one session."""
    wanted = [json.dumps(one, ensure_ascii=False) for one in body["messages"]]
    return any(messages[: len(wanted)] == wanted for messages in kept(store).values())


async def test_two_clients_go_two_ways_in_one_conversation(gateway: Any, kit: Any) -> None:
    """At the same time: both are answered, and both ways are in the store."""
    async with gateway() as stand:
        ways: list[Any] = []
        for name in ("left", "right"):
            body = kit.talk("chat", 30)
            body["messages"] += kit.talk("chat", 8, name=name)["messages"][1:]
            ways.append(body)
        for _ in range(2):
            got = await asyncio.gather(*(stand.post(body) for body in (*ways, *ways)))
            assert {one.status for one in got} == {200}
        seen = stand.upstream.asked
        store = stand.store
        for name, body in zip(("left", "right"), ways, strict=True):
            mine = {one for one in seen if f"{name}_7".encode() in one}
            assert len(mine) == 1, name
            assert len(next(iter(mine))) < len(kit.packed(body))
    assert all(holds(store, body) for body in ways)


def pixels(count: int) -> dict[str, Any]:
    """Return a message with an image: many bytes, few tokens."""
    url = {"url": "data:image/png;base64," + "iVBORw0KGgoA" * count}
    return {"role": "user", "content": [{"type": "image_url", "image_url": url}]}


@pytest.mark.parametrize("steps", [30, 29, 31])
async def test_a_subagent_does_not_take_the_compaction_of_its_parent_away(
    gateway: Any, kit: Any, steps: int
) -> None:
    """They share an id; the parent's next request is small, also if it is larger or a step back."""
    async with gateway() as stand:
        for known in (29, 30):
            assert (await stand.post(kit.talk("chat", known))).note == "compacted 1"
        child = kit.talk("chat", 1, name="child")
        child["messages"].append(pixels(10_000))
        for _ in range(2):
            assert (await stand.post(child)).note.startswith("pass")
        assert (await stand.post(kit.talk("chat", steps))).note.startswith("compacted")


async def test_a_step_back_shows_what_was_shown_before(gateway: Any, kit: Any) -> None:
    """A shorter list than the last one is no reason to send all of it."""
    async with gateway() as stand:
        for steps in (30, 31, 30):
            await stand.post(kit.talk("chat", steps))
        first, _, third = stand.upstream.asked
        assert third == first


async def crowd(stand: Any, kit: Any, count: int) -> None:
    bodies = [kit.talk("chat", 30, chars=1_500, name=f"c{at}") for at in range(count)]
    got = await asyncio.gather(
        *(stand.post(body, key=f"key {at}") for at, body in enumerate(bodies))
    )
    assert {one.status for one in got} == {200}
    assert len(stand.upstream.asked) == count
    again = await asyncio.gather(
        *(stand.post(body, key=f"key {at}") for at, body in enumerate(bodies))
    )
    assert {one.status for one in again} == {200}


@pytest.mark.slow
async def test_many_conversations_at_once(gateway: Any, kit: Any) -> None:
    """More than are held open: each is answered, and each is in the store."""
    async with gateway(held_bytes=4 << 20) as stand:
        await crowd(stand, kit, 12)
        store = stand.store
    assert len(kept(store)) == 12


@pytest.mark.soak
async def test_a_thousand_conversations_at_once(gateway: Any, kit: Any) -> None:
    """The same with a thousand."""
    async with gateway(deadlines=(0.25, 2.0)) as stand:
        await crowd(stand, kit, 1_000)
        store = stand.store
    assert len(kept(store)) == 1_000


async def test_what_an_answer_cost_is_noted_with_the_branch_that_asked(
    gateway: Any, kit: Any
) -> None:
    """A parent and its subagent wait at the same time; the first to ask is the first answered."""
    both = asyncio.Event()

    async def script(request: web.Request, body: bytes) -> web.StreamResponse:
        if len(stand.upstream.asked) == 2:
            both.set()
        await both.wait()
        return web.json_response({"usage": {"prompt_tokens": len(body), "completion_tokens": 1}})

    parent, child = kit.talk("chat", 20), kit.talk("chat", 3, name="child")
    async with gateway(context_length=200_000) as stand:
        stand.upstream.script = script
        await asyncio.gather(stand.post(parent), stand.post(child))
        store = stand.store
    for body in (parent, child):
        (mine,) = [name for name, messages in kept(store).items()
                   if messages == [json.dumps(one) for one in body["messages"]]]  # fmt: skip
        assert [one.input_tokens for one in store.usage(mine)] == [len(kit.packed(body))]


async def test_the_cost_of_a_request_that_could_not_wait_says_nothing_about_the_view(
    gateway: Any, kit: Any
) -> None:
    """The whole list was sent and counted; the view that came too late is smaller."""

    async def script(request: web.Request, body: bytes) -> web.StreamResponse:
        return web.json_response({"usage": {"prompt_tokens": len(body), "completion_tokens": 1}})

    policy = Policy(floor_tokens=1_000, threshold=0.2)
    async with gateway(deadlines=(0.0, 0.0), policy=policy, context_length=80_000) as stand:
        stand.upstream.script = script
        assert (await stand.post(kit.talk("chat", 30))).note == "pass; deadline"
        store = stand.store
    assert [store.usage(name) for name in kept(store)] == [()]


PAYLOAD = [sign for sign in SIGNS if sign.means == "payload"]


@pytest.mark.parametrize("sign", PAYLOAD, ids=lambda sign: f"{sign.provider} {sign.words[:9]}")
async def test_what_is_too_large_is_sent_again_without_its_older_images(
    gateway: Any, kit: Any, sign: Any
) -> None:
    """More bytes than a server takes, not more tokens than a model reads."""
    said = {
        "anthropic": "Request exceeds the maximum size",
        "any": "Payload too large",
        "gemini": "Request payload size exceeds the limit",
    }.get(sign.provider, "No.")
    status = max(sign.statuses & {400, 413})
    async with gateway(context_length=200_000) as stand:
        stand.upstream.script = Narrow(kit, 100_000, said, sign.code, status)
        body = kit.talk("chat", 1)
        for number in range(6):
            body["messages"] += [pixels(3_000 + number), {"role": "assistant", "content": "Seen."}]
        body["messages"].append({"role": "user", "content": "What was in the first image?"})
        got = await stand.post(body)
        assert got.status == 200
        assert len(stand.upstream.asked) == 2
