"""A client that rewrites its newest messages, or whose thinking is bound: few compactions, kept."""

from __future__ import annotations

import json
import re
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from foldaway.stores.open import open_store
from foldaway.stores.values import SessionFilter

WIRES = ["messages", "chat", "responses", "gemini"]
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


@pytest.mark.parametrize("count", [1, 4, 8])
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
    """What the client rewrites is known from its second request on."""
    async with gateway() as stand:
        for steps in range(40, 100):
            body = with_notes(kit.talk(wire, steps), steps, 4)
            assert (await stand.post(body, wire)).status == 200
        asked = stand.upstream.asked[1:]
        sizes, breaks = list(map(len, asked)), breaks_in(asked, 4)
        assert 2 <= len(breaks) <= 10
        assert all(sizes[at] < 0.75 * sizes[at - 1] for at in breaks)


async def test_a_late_gateway_sends_no_note_of_before(gateway: Any, kit: Any) -> None:
    """The last view goes out with the newest messages as they are now."""
    async with gateway(deadlines=(0.0, 0.0)) as stand:
        for steps in range(5, 65):
            body = with_notes(kit.talk("chat", steps), steps, 4)
            assert (await stand.post(body)).status == 200
            assert set(NOTE.findall(stand.upstream.asked[-1])) == {b"%d" % steps}
        breaks = breaks_in(stand.upstream.asked, 4)
        assert 2 <= len(breaks) <= compactions_in(stand.store) <= 10
