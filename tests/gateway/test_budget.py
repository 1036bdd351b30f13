"""A budget: what gateways on one store spend together, and what a client is told at its end."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anthropic
import openai
import pytest
from aiohttp import web

from foldaway.caching import Prices
from foldaway.errors import StoreUnavailable
from foldaway.gateway.spending import SpendingMeter
from foldaway.stores.open import open_store
from foldaway.usage.spending import SpendingLimit

PRICES = Prices.from_figures({"input": 1_000_000.0, "output": 0.0})
"""A dollar for each token."""
DAY = 86_400.0
ASK: dict[str, Any] = {"model": "nobody's", "messages": [{"role": "user", "content": "Hi"}]}
ANSWERS: dict[str, Any] = {
    "chat": {"choices": [{"message": {"role": "assistant", "content": "hi"}}],
             "usage": {"prompt_tokens": 2, "completion_tokens": 1}},
    "messages": {"type": "message", "role": "assistant", "content": [],
                 "usage": {"input_tokens": 2, "output_tokens": 1}},
}  # fmt: skip


async def answer(request: web.Request, _: bytes) -> web.StreamResponse:
    """Answer for two dollars."""
    wire = "messages" if request.path.endswith("/messages") else "chat"
    return web.json_response(ANSWERS[wire])


def limited(text: str = "5$/day", **given: Any) -> dict[str, Any]:
    return {"budget": SpendingLimit.parse(text), "prices": PRICES, **given}


async def test_requests_pass_below_the_budget_and_are_refused_above(
    gateway: Any, caplog: pytest.LogCaptureFixture
) -> None:
    """With 4 of 5 dollars there is a warning; the request that exceeds it is still answered."""
    with caplog.at_level(logging.WARNING, "foldaway.gateway"):
        async with gateway(**limited()) as stand:
            stand.upstream.script = answer
            seen = [await stand.post(ASK, key=f"k{at}") for at in range(5)]
    assert [one.status for one in seen] == [200, 200, 200, 402, 402]
    assert len(stand.upstream.asked) == 3
    assert seen[3].note == "refused"
    facts = [vars(one)["foldaway_facts"] for one in caplog.records
             if vars(one)["foldaway_event"] == "gateway.budget"]  # fmt: skip
    assert facts == [{"budget": "5$/day", "spent": 4.0}, {"budget": "5$/day", "spent": 6.0}]


@pytest.mark.parametrize("wire", ["messages", "chat", "responses", "gemini"])
async def test_the_refusal_has_the_form_of_its_wire(gateway: Any, kit: Any, wire: str) -> None:
    """It says what is spent and what to do; nothing is asked of the provider."""
    async with gateway(**limited("1$/month")) as stand:
        stand.upstream.script = answer
        await stand.post(ASK)
        got = await stand.post(kit.talk(wire, 1), wire, key="two")
    assert (got.status, len(stand.upstream.asked)) == (402, 1)
    error = json.loads(got.body)["error"]
    assert "the budget of 1$/month is spent ($2.00)" in error["message"]
    kinds = {"messages": error.get("type"), "gemini": error.get("status")}
    assert kinds.get(wire, error.get("code")).lower() == "billing_error"
    assert got.headers["x-should-retry"] == "false"


async def test_what_costs_nothing_passes_when_the_budget_is_spent(gateway: Any) -> None:
    """Counting tokens, the list of models, and the gateway's own pages."""
    async with gateway(**limited("1$/day")) as stand:
        stand.upstream.script = answer
        await stand.post(ASK)
        async with stand.client.get(f"{stand.url}/v1/models") as models:
            assert models.status == 200
        where = f"{stand.url}/v1/messages/count_tokens"
        async with stand.client.post(where, data=json.dumps(ASK)) as count:
            assert count.status == 200
        assert (await stand.post(ASK)).status == 402


@pytest.mark.parametrize("wire", ["messages", "chat", "responses", "gemini"])
async def test_what_belongs_to_no_conversation_is_counted_too(
    gateway: Any, kit: Any, wire: str
) -> None:
    """A title, a first request without a name, one whose list the provider holds: by its model."""
    usage = {
        "messages": {"usage": {"input_tokens": 1_000_000, "output_tokens": 0}},
        "gemini": {"usageMetadata": {"promptTokenCount": 1_000_000}},
        "responses": {"usage": {"input_tokens": 1_000_000, "output_tokens": 0}},
    }
    told = usage.get(wire, {"usage": {"prompt_tokens": 1_000_000, "completion_tokens": 0}})

    async def tell(request: web.Request, _: bytes) -> web.StreamResponse:
        return web.json_response(told)

    asked: list[dict[str, Any]] = [kit.talk(wire, 0), {**kit.talk(wire, 0), "tools": []}]
    if wire == "responses":
        asked.append({**kit.talk(wire, 1), "previous_response_id": "resp_1"})
    async with gateway() as stand:
        stand.upstream.script = tell
        for number, body in enumerate(asked, 1):
            where, data = stand.url + kit.paths[wire], kit.packed(body)
            async with stand.client.post(where, data=data) as got:
                assert got.status == 200
            await until(lambda: stand.store.spent_since(0) > 0.5 * number)  # noqa: B023 awaited


async def until(holds: Callable[[], bool]) -> None:
    """Wait until something holds; the test has a limit."""
    while not holds():
        await asyncio.sleep(0)


async def test_a_budget_is_shared_by_the_gateways_of_a_store_and_outlives_them(
    gateway: Any, tmp_path: Path
) -> None:
    """What one spent while it had none, too; a larger one has room again."""
    with open_store(tmp_path / "shared") as store:
        async with gateway(store, prices=PRICES) as one, gateway(store, **limited("3$/day")) as two:
            one.upstream.script = two.upstream.script = answer
            assert (await one.post(ASK)).status == 200
            assert (await two.post(ASK)).status == 200
            assert (await two.post(ASK)).status == 402
            assert (await one.post(ASK)).status == 200
    with open_store(tmp_path / "shared") as store:
        async with gateway(store, **limited("3$/day")) as after:
            assert (await after.post(ASK)).status == 402
        async with gateway(store, **limited("7$/day")) as after:
            after.upstream.script = answer
            assert (await after.post(ASK)).status == 200


async def test_the_next_day_begins_with_nothing_spent(gateway: Any) -> None:
    """By the clock of the gateway; a month has both days."""
    now = [1_768_478_400.0]
    async with gateway(**limited("1$/day", clock=lambda: now[0])) as stand:
        stand.upstream.script = answer
        assert [(await stand.post(ASK)).status for _ in range(2)] == [200, 402]
        now[0] += DAY
        assert [(await stand.post(ASK)).status for _ in range(2)] == [200, 402]
        assert stand.store.spent_since(now[0] - 3 * DAY) == 4.0


class FailingStore:
    """A store that fails while it is told to."""

    def __init__(self) -> None:
        self.spent, self.is_broken = 0.0, False

    def add_spent(self, dollars: float, now: float) -> None:
        self.spent_since(now)
        self.spent += dollars

    def spent_since(self, moment: float) -> float:
        if self.is_broken:
            raise StoreUnavailable("a store", "is gone", remedy="wait")
        return self.spent


async def test_a_store_that_fails_refuses_nothing() -> None:
    """Unless it was known before that all is spent; what the store missed is written later."""
    store: Any = FailingStore()
    spending = SpendingMeter(store, SpendingLimit.parse("5$/day"), lambda: 1_768_478_400.0)
    store.is_broken = True
    await asyncio.create_task(spending.add(3.0))
    assert await spending.refusal() == ""
    store.is_broken = False
    assert (await spending.refusal(), store.spent) == ("", 0.0)
    await asyncio.create_task(spending.add(2.0))
    assert store.spent == 5.0
    assert "($5.00)" in await spending.refusal()
    store.is_broken = True
    assert "($5.00)" in await spending.refusal()


async def test_concurrent_requests_are_all_counted(gateway: Any, tmp_path: Path) -> None:
    """Through two gateways at once; no sum is lost."""
    with open_store(tmp_path / "shared") as store:
        async with gateway(store, prices=PRICES) as one, gateway(store, prices=PRICES) as two:
            one.upstream.script = two.upstream.script = answer
            asked = [stand.post(ASK, key=f"{at}") for at in range(20) for stand in (one, two)]
            assert {got.status for got in await asyncio.gather(*asked)} == {200}
        assert store.spent_since(0) == 80.0


async def test_sdks_raise_the_refusal_once(gateway: Any) -> None:
    """Those of OpenAI and Anthropic retry some errors; this one they must not."""
    async with gateway(**limited("1$/day")) as stand:
        stand.upstream.script = answer
        await stand.post(ASK)
        got: list[int] = []
        hooks = {"response": [lambda response: _note(got, response)]}
        async with openai.AsyncOpenAI(
            base_url=f"{stand.url}/v1", api_key="k", max_retries=2,
            http_client=openai.DefaultAsyncHttpxClient(event_hooks=hooks),
        ) as client:  # fmt: skip
            with pytest.raises(openai.APIStatusError, match="the budget of") as error:
                await client.chat.completions.create(**ASK)
            assert (error.value.status_code, error.value.code) == (402, "billing_error")
            with pytest.raises(openai.APIStatusError, match="the budget of"):
                await client.responses.create(model="nobody's", input="Hi")
        async with anthropic.AsyncAnthropic(
            base_url=stand.url, api_key="k", max_retries=2,
            http_client=anthropic.DefaultAsyncHttpxClient(event_hooks=hooks),
        ) as client:  # fmt: skip
            with pytest.raises(anthropic.APIStatusError, match="the budget of") as refused:
                await client.messages.create(max_tokens=9, **ASK)
            assert refused.value.status_code == 402
    assert got == [402, 402, 402]
    assert len(stand.upstream.asked) == 1


async def _note(got: list[int], response: Any) -> None:
    got.append(response.status_code)
