"""A client that rewrites its newest messages, or whose thinking is bound: few compactions, kept."""

from __future__ import annotations

import hashlib
import json
import re
import threading
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from foldaway import check
from foldaway.stores.open import open_store
from foldaway.stores.values import SessionFilter

WIRES = [
    "messages",
    *(pytest.param(wire, marks=pytest.mark.slow) for wire in ("chat", "responses", "gemini")),
]
LISTS = ("messages", "input", "contents")
NOTE = re.compile(rb"note of request (\d+)")


def listed(body: bytes) -> list[Any]:
    value = json.loads(body)
    return next(value[key] for key in LISTS if key in value)


def with_notes(body: dict[str, Any], request: int, count: int) -> dict[str, Any]:
    """Return a request whose newest messages say when it was made."""
    key = next(key for key in LISTS if key in body)
    held = body[key]
    notes = [_noted(one, f"[note of request {request}]") for one in held[-count:]]
    return {**body, key: [*held[:-count], *notes]}


def _noted(value: Any, note: str) -> Any:
    """Return a message with a note in its text, its arguments or its result."""
    if isinstance(value, list):
        return [_noted(one, note) for one in value]
    if not isinstance(value, dict):
        return value
    texts = {"text", "content", "output", "result"}
    return {
        key: f"{one} {note}" if key in texts and isinstance(one, str) else _noted(one, note)
        for key, one in value.items()
    }


def breaks_in(asked: list[bytes], volatile: int = 0) -> list[int]:
    """Return which requests do not begin as the one before, without its newest messages."""
    lists = [listed(body) for body in asked]
    return [
        at
        for at, (one, two) in enumerate(pairwise(lists), 1)
        if one[: len(one) - volatile] != two[: len(one) - volatile]
    ]


def compactions_in(store: Any) -> int:
    return sum(one.compactions for one in store.sessions(SessionFilter()).sessions)


@pytest.mark.parametrize("count", [1, 4, pytest.param(8, marks=pytest.mark.slow)])
@pytest.mark.parametrize("wire", WIRES)
async def test_a_client_that_rewrites_its_newest_messages_breaks_only_at_compactions(
    gateway: Any, kit: Any, tmp_path: Path, wire: str, count: int
) -> None:
    """Each compaction frees a real share, also after a restart, and no note of before is sent."""
    asked: list[bytes] = []
    with open_store(tmp_path / "kept") as store:
        for first in (5, 35):
            async with gateway(store=store) as stand:
                for steps in range(first, first + 30):
                    body = with_notes(kit.talk(wire, steps), steps, count)
                    assert (await stand.post(body, wire)).status == 200
                    sent = stand.upstream.asked[-1]
                    assert listed(sent)[-count:] == listed(kit.packed(body))[-count:]
                    assert set(NOTE.findall(sent)) == {b"%d" % steps}
                asked += stand.upstream.asked
        sizes, breaks = list(map(len, asked)), breaks_in(asked, count)
        assert len(breaks) == compactions_in(store)
        assert 2 <= len(breaks) <= 10
        assert all(sizes[at] < 0.75 * sizes[at - 1] for at in breaks)


@pytest.mark.parametrize("wire", WIRES)
async def test_a_full_window_whose_end_is_rewritten_is_compacted_once_more_and_then_grows(
    gateway: Any, kit: Any, wire: str
) -> None:
    """What the client rewrites is known from its second request on; every fifth request may find
    the window full again."""
    async with gateway() as stand:
        for steps in range(40, 100):
            body = with_notes(kit.talk(wire, steps), steps, 4)
            assert (await stand.post(body, wire)).status == 200
        asked = stand.upstream.asked[1:]
        sizes, breaks = list(map(len, asked)), breaks_in(asked, 4)
        assert 2 <= len(breaks) <= 12
        assert all(sizes[at] < 0.75 * sizes[at - 1] for at in breaks)


@pytest.mark.slow
async def test_a_late_gateway_sends_no_note_of_before(gateway: Any, kit: Any) -> None:
    """The last view goes out with the newest messages as they are now."""
    async with gateway(deadlines=(0.0, 0.0)) as stand:
        for steps in range(5, 65):
            body = with_notes(kit.talk("chat", steps), steps, 4)
            assert (await stand.post(body)).status == 200
            assert set(NOTE.findall(stand.upstream.asked[-1])) == {b"%d" % steps}
        breaks = breaks_in(stand.upstream.asked, 4)
        assert 2 <= len(breaks) <= compactions_in(stand.store) <= 10


def signed_for(messages: list[Any]) -> str:
    """Return the signature of thinking that answers these messages."""
    return hashlib.sha256(json.dumps(messages).encode()).hexdigest()


def misplaced(messages: list[Any]) -> list[int]:
    """Return the messages whose thinking was signed for others than those before it."""
    return [
        at
        for at, one in enumerate(messages)
        if isinstance(one["content"], list)
        for block in one["content"]
        if block["type"] == "thinking" and block["signature"] != signed_for(messages[:at])
    ]


THINKING: list[dict[str, Any]] = [{"type": "adaptive"}, {"type": "enabled", "budget_tokens": 1_024}]


@pytest.mark.slow
@pytest.mark.parametrize("thinking", THINKING, ids=lambda one: one["type"])
async def test_bound_thinking_is_compacted_once_and_the_newest_result_stays(
    gateway: Any, kit: Any, thinking: dict[str, Any]
) -> None:
    """With no time at all and beside busy threads: each compaction is kept, none is undone."""
    frame = {"model": "claude-opus-5-5", "max_tokens": 2_000, "thinking": thinking}
    whole = kit.talk("messages", 60)["messages"]
    stop = threading.Event()
    busy = [threading.Thread(target=_work_until, args=(stop,)) for _ in range(2)]
    for one in busy:
        one.start()
    try:
        async with gateway(deadlines=(0.0, 0.0)) as stand:
            for steps in range(60):
                messages = whole[: 2 * steps + 1]
                body = {**kit.talk("messages", 1), **frame, "messages": messages}
                assert (await stand.post(body, "messages")).status == 200
                sent = json.loads(stand.upstream.asked[-1])
                assert check(sent, provider="anthropic") == []
                assert misplaced(sent["messages"]) == []
                newest = messages[-1]["content"]
                newest = newest[0]["content"] if steps else newest
                assert newest in json.dumps(sent["messages"][-1])
                assert whole[0]["content"] in json.dumps(sent)
                signature = signed_for(sent["messages"])
                thought = {"type": "thinking", "thinking": "So.", "signature": signature}
                whole[2 * steps + 1]["content"].insert(0, thought)
            asked = stand.upstream.asked
            sizes, breaks = list(map(len, asked)), breaks_in(asked)
            assert len(breaks) == compactions_in(stand.store)
            assert 2 <= len(breaks) <= 10
            assert all(sizes[at] < 0.75 * sizes[at - 1] for at in breaks)
    finally:
        stop.set()
        for one in busy:
            one.join()


def _work_until(stop: threading.Event) -> None:
    """Keep the interpreter busy."""
    while not stop.is_set():
        sum(range(10_000))
