"""The plan for one transcript: measured, not guessed."""

from __future__ import annotations

import json
from typing import Any

from foldaway._core.policy import Policy, budget_for
from foldaway.caching.prices import Prices
from foldaway.dialects.loading import load
from foldaway.lab.replay import PlanRequest, PlanResult, plan_for, record

SONNET = Prices(
    input=3.0, output=15.0, cache_read=0.3, cache_write_5m=3.75, cache_write_1h=6.0, at_marks=True
)
AUTOMATIC = Prices(input=2.0, output=8.0, cache_read=0.2, cache_write_5m=2.0, cache_write_1h=2.0)
POLICY = Policy(floor_tokens=0)


def request(calls: int, *, system: str = "Be good. " * 300) -> dict[str, Any]:
    """Return a request to Anthropic with a system prompt and tools outside the list."""
    found: list[dict[str, Any]] = [{"role": "user", "content": "Mend the parser."}]
    for n in range(calls):
        found += [
            {"role": "assistant", "content": [
                {"type": "tool_use", "id": f"c{n}", "name": "read", "input": {"path": f"{n}.py"}}]},
            {"role": "user", "content": [
                {"type": "tool_result", "tool_use_id": f"c{n}", "content": f"{n} " * 700}]},
        ]  # fmt: skip
    tool = {"name": "read", "description": "Reads.", "input_schema": {"type": "object"}}
    return {
        "model": "claude-sonnet-4-5", "max_tokens": 100, "system": system, "tools": [tool],
        "messages": found,
    }  # fmt: skip


def planned(value: Any, window: int = 30_000, **asked: Any) -> PlanResult:
    budget = budget_for(POLICY, window)
    return plan_for(load(value), PlanRequest(policy=POLICY, budget=budget, prices=SONNET, **asked))


def test_the_situation_is_read_off_the_session() -> None:
    """Sizes and what was read again come from the messages."""
    value = request(20)
    found = planned(value)
    seen = found.situation
    assert found.calls == 20
    assert seen.tokens_now == record(load(value)).tokens
    assert 0 < seen.tokens_after < seen.tokens_now
    assert 0 < seen.reread_tokens < 20 * seen.tokens_now


def test_tools_and_system_prompt_stay_in_the_cache() -> None:
    """Also in the first compaction: only the messages behind them have to be written anew."""
    value = request(20)
    kept = planned(value).situation.kept_prefix_tokens
    assert kept == record(load(value)).outside_tokens > 0


def test_a_first_prompt_without_system_keeps_what_stands_before_the_fold() -> None:
    """A provider that caches any prefix reads the first messages again; one with marks does not."""
    chat = [
        {"role": ("user", "assistant")[n % 2], "content": f"{n} " * (900 if n > 2 else 90)}
        for n in range(41)
    ]
    budget = budget_for(POLICY, 30_000)
    loose = plan_for(load(chat), PlanRequest(policy=POLICY, budget=budget, prices=AUTOMATIC))
    marked = plan_for(load(chat), PlanRequest(policy=POLICY, budget=budget, prices=SONNET))
    assert loose.situation.kept_prefix_tokens > marked.situation.kept_prefix_tokens == 0


def test_a_cold_cache_is_a_time_to_compact() -> None:
    """Nothing is lost with it."""
    value = request(5)
    now = record(load(value)).tokens
    assert planned(value, int(1.9 * now)).verdict.answer == "wait"
    cold = planned(value, int(1.9 * now), is_cold=True)
    assert cold.situation.cached_tokens == 0
    assert cold.verdict.answer == "act"


def test_a_model_that_writes_the_summary_is_paid() -> None:
    """Its call is a term of its own."""
    verdict = planned(request(20), model_summary=True).verdict
    assert verdict.sum.summary_call > 0


def test_a_transcript_without_an_answer_waits() -> None:
    """Nothing was called yet, nothing can be folded."""
    plan = planned([{"role": "user", "content": "Hello."}])
    assert plan.calls == plan.situation.reread_tokens == 0
    assert plan.verdict.answer == "wait"


def test_a_plan_changes_nothing() -> None:
    """The compaction is tried out on the side."""
    value = request(20)
    before = json.dumps(value)
    planned(value)
    assert json.dumps(value) == before
