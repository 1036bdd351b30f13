"""When a gateway compacts: if it pays, in the window that the provider told, never halfway."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from tests.testing.rows import each_row

from foldaway._core.policy import Policy, Saving
from foldaway.caching.prices import Prices
from foldaway.gateway.windows import windows_in
from foldaway.stores.open import open_store
from foldaway.stores.values import SessionFilter
from foldaway.summarizers.writers import writers_of
from foldaway.testing import ScriptedSummarizer


@pytest.mark.parametrize(("save", "note"), [("most", "compacted 1"), ("off", "pass; ")])
async def test_what_pays_is_compacted_before_it_is_due(
    gateway: Any, kit: Any, save: Saving, note: str
) -> None:
    """A long session far below its threshold; what was read again is more than what it costs."""
    given = {"context_length": 200_000, "policy": Policy(save=save)}
    async with gateway(**given) as stand:
        await stand.post(kit.talk("chat", 60))
        await stand.post(kit.talk("chat", 61))
        got = await stand.post(kit.talk("chat", 62))
        assert got.note.startswith(note)


async def test_a_cold_cache_is_a_time_to_compact(gateway: Any, kit: Any) -> None:
    """As long as the provider has a session of few turns in its cache, a compaction costs more than
    was paid for reading; after a pause it costs nothing.
    """
    now = [1_800_000_000.0]
    prices = Prices(input=3, output=9, cache_read=0.01, cache_write_5m=3, cache_write_1h=3)
    given = {"context_length": 200_000, "policy": Policy(save="most"), "clock": lambda: now[0],
             "prices": prices}  # fmt: skip
    async with gateway(**given) as stand:
        for steps in (4, 5):
            got = await stand.post({**kit.talk("chat", steps, chars=20_000), "model": "ours"})
            assert got.note.startswith("pass; nothing is due")
        now[0] += 301
        got = await stand.post({**kit.talk("chat", 6, chars=20_000), "model": "ours"})
        assert got.note.startswith("compacted 1")


async def test_thinking_that_is_bound_to_a_view_waits_for_it(
    gateway: Any, kit: Any, tmp_path: Path
) -> None:
    """The provider would refuse such a request as the client sent it, so no deadline counts."""

    def talk(steps: int) -> dict[str, Any]:
        return {**kit.talk("messages", steps), "thinking": {"type": "adaptive"}}

    with open_store(tmp_path / "shared") as store:
        async with gateway(store=store) as stand:
            await stand.post(talk(2), wire="messages")
            assert (await stand.post(talk(40), wire="messages")).note.startswith("compacted")
        async with gateway(store=store, deadlines=(0.0, 0.0)) as stand:
            assert (await stand.post(talk(41), wire="messages")).note.startswith("compacted")
            assert (await stand.post(talk(42), wire="messages")).note.startswith("compacted")


MODELS: list[tuple[Any, dict[str, int]]] = [
    ({"data": [{"id": "one", "context_length": 32_000}]}, {"one": 32_000}),
    ({"data": [{"id": "two", "max_model_len": 16_000}, {"id": "x"}]}, {"two": 16_000}),
    ({"models": [{"name": "models/g", "inputTokenLimit": 1_048_576}]}, {"g": 1_048_576}),
    ({"data": [{"id": "y", "context_length": "many"}, 7, {"context_length": 5}]}, {}),
    ({"data": {"id": "z"}}, {}),
    ([], {}),
]


@each_row(("listed", "windows"), MODELS)
def test_lists_of_models_name_windows(listed: Any, windows: dict[str, int]) -> None:
    assert windows_in(json.dumps(listed).encode()) == windows


async def test_a_window_in_the_list_of_models_holds_from_then_on(
    gateway: Any, kit: Any, tmp_path: Path
) -> None:
    """For a model that nobody else knows, also after a restart, and the list passes as it came."""
    body = json.dumps({"data": [{"id": "ours", "context_length": 16_000}]}).encode()

    async def script(request: web.Request, asked: bytes) -> web.StreamResponse:
        if request.method == "GET":
            return web.Response(body=body, content_type="application/json")
        return await kit.answer_events(request, asked)

    with open_store(tmp_path / "kept") as store:
        async with gateway(store=store, context_length=None) as stand:
            stand.upstream.script = script
            async with stand.client.get(stand.url + "/v1/models") as got:
                assert await got.read() == body
        async with gateway(store=store, context_length=None) as stand:
            await stand.post({**kit.talk("chat", 2), "model": "ours"})
            got = await stand.post({**kit.talk("chat", 40), "model": "ours"})
            assert got.note.startswith("compacted")


async def test_a_window_that_a_refusal_names_holds_for_other_conversations(
    gateway: Any, kit: Any, tmp_path: Path
) -> None:
    """The next one is not refused first, also after a restart."""
    said = json.dumps({"error": {"message": "maximum context length is 10000 tokens"}}).encode()

    async def narrow(request: web.Request, body: bytes) -> web.StreamResponse:
        if len(body) > 40_000:
            return web.Response(status=400, body=said, content_type="application/json")
        return await kit.answer_events(request, body)

    with open_store(tmp_path / "kept") as store:
        for key, tries in (("one", 3), ("two", 2)):
            async with gateway(store=store, context_length=None) as stand:
                stand.upstream.script = narrow
                await stand.post({**kit.talk("chat", 2, name=key), "model": "ours"}, key=key)
                got = await stand.post({**kit.talk("chat", 40, name=key), "model": "ours"}, key=key)
                assert got.status == 200
                assert len(stand.upstream.asked) == tries


async def test_large_results_are_reduced_at_first_sight_if_that_is_asked_for(
    gateway: Any, kit: Any, tmp_path: Path
) -> None:
    """Only those that no model has seen, the same bytes each time and after a restart; the original
    stays in the store.
    """
    policy = Policy(follow_arrival="bounded", arrival_tools={"*": 500})
    asked: list[bytes] = []
    with open_store(tmp_path / "kept") as store:
        for steps in (range(4), range(3, 6)):
            async with gateway(store=store, context_length=200_000, policy=policy) as stand:
                for count in steps:
                    await stand.post(kit.talk("chat", count, chars=8_000))
                asked += stand.upstream.asked
        sizes = [len(body) for body in asked]
        assert sizes[-1] < 6 * 4_000 < len(kit.packed(kit.talk("chat", 5, chars=8_000)))
        assert asked[3] == asked[4]
        one, two = (json.loads(body)["messages"] for body in (asked[-2], asked[-1]))
        assert two[: len(one)] == one
        (session,) = store.sessions(SessionFilter()).sessions
        kept = [json.loads(row.body) for row in store.read(session.id)]
        assert kept == kit.talk("chat", 5, chars=8_000)["messages"]


async def test_a_models_summary_is_prepared_before_it_is_due(gateway: Any, kit: Any) -> None:
    """At the pressure warning, while requests go on as they came; then it is taken in."""
    said = "The parser was rewritten because of its recursion."
    answer = json.dumps({"decisions": [{"text": said, "source": ""}]})
    writer = ScriptedSummarizer(lambda _: answer, hold=True)
    async with gateway(summarizer=writers_of(writer)) as stand:
        notes: list[str] = []
        steps = 0
        while not notes or notes[-1].startswith("pass; nothing"):
            steps += 1
            got = await stand.post({**kit.talk("chat", steps, chars=500), "model": "ours"})
            notes.append(got.note)
            if steps > 2 and await asyncio.to_thread(writer.asked.wait, 0.05):
                writer.release()
        assert writer.requests
        assert notes[-1] == "compacted 1"
        assert said.encode() in stand.upstream.asked[-1]
