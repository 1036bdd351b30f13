"""A compaction that is due and does not pay waits, as long as there is room."""

from __future__ import annotations

from typing import Any

import pytest
from tests.testing.long_lists import Exchange, written

from foldaway import Model
from foldaway.caching.prices import Prices
from foldaway.engine.compressor import Compressor
from foldaway.policy import Policy
from foldaway.testing import ScriptedSummarizer

SMALL = Policy(floor_tokens=500, summary_min_tokens=600, target_ratio=0.6)
PRICES = Prices(
    input=3.0, output=15.0, cache_read=0.3, cache_write_5m=3.75, cache_write_1h=6.0, at_marks=True
)
GOOD = '{"decisions": [{"text": "Everything was checked before it was changed.", "source": ""}]}'


class Clock:
    def __init__(self) -> None:
        self.now = 1_800_000_000.0

    def __call__(self) -> float:
        return self.now


def engine(count: int, **settings: Any) -> Compressor:
    """A session of few calls, each of them large, most of which stays: little is to be saved."""
    made = Compressor(**{
        "context_length": 80_000, "policy": SMALL, "model": Model(prices=PRICES),
        "clock": Clock(), **settings,
    })  # fmt: skip
    made.append(*written("openai-chat", [Exchange(1, 2, 9_000)] * count))
    return made


def test_what_does_not_pay_waits_and_shows_the_sum() -> None:
    """With a warm cache and few turns so far, breaking the prefix costs more than it saves."""
    made = engine(4)
    assert made.decide().urgency == "soft"
    before = made.messages
    report = made.compact()
    assert (report.status, report.reason) == ("unchanged", "deferred")
    assert made.messages == before
    economics = report.economics
    assert economics is not None
    assert economics["answer"] == "wait"
    total = economics["sum"]
    assert total["price"] == pytest.approx(
        total["next_call_if_acting"] + total["summary_call"] - total["next_call_if_waiting"]
    )
    assert total["saving"] < total["price"]
    assert "$" in report.detail
    again = made.compact()
    assert (again.reason, again.detail) == ("deferred", report.detail)


def test_force_hard_urgency_and_a_cold_cache_do_not_wait() -> None:
    """A run by hand acts, a full window acts, and after a pause nothing is lost with the cache."""
    assert engine(4).compact(force=True).status == "compacted"
    full = engine(4, context_length=56_000)
    assert full.decide().urgency == "hard"
    acted = full.compact()
    assert acted.status == "compacted"
    assert acted.economics is not None
    assert acted.economics["basis"] == "urgency"
    clock = Clock()
    paused = engine(4, clock=clock)
    assert paused.compact().reason == "deferred"
    clock.now += 301
    assert paused.compact().status == "compacted"


def test_prices_that_nobody_knows_leave_the_threshold_alone() -> None:
    """Then it acts where it is due, as ever."""
    report = engine(4, model="nobody-knows-this-model").compact()
    assert (report.status, report.economics) == ("compacted", None)


def test_a_summary_is_not_bought_where_it_does_not_pay() -> None:
    """Nobody is asked before the sum is done, also in the background."""
    summarizer = ScriptedSummarizer([GOOD])
    assert engine(4, summarizer=summarizer).compact().reason == "deferred"
    assert summarizer.requests == []
    quiet = ScriptedSummarizer([GOOD])
    made = engine(4, summarizer=quiet, background=True)
    assert not made.is_preparing
    assert quiet.requests == []


def test_many_turns_make_it_pay() -> None:
    """A session of many small calls, as long as it is large."""
    made = Compressor(
        context_length=80_000, policy=SMALL, model=Model(prices=PRICES), clock=Clock()
    )
    made.append(*written("openai-chat", [Exchange(3, 1, 600)] * 40))
    assert made.decide().urgency == "soft"
    report = made.compact()
    assert report.status == "compacted"
    assert report.economics is not None
    assert report.economics["answer"] == "act"


EARLY = Policy(floor_tokens=500, summary_min_tokens=600, target_ratio=0.6, pays_from=0.1)


def early(**settings: Any) -> Compressor:
    """A session of many small calls that is well below its threshold."""
    made = Compressor(**{
        "context_length": 200_000, "policy": EARLY, "model": Model(prices=PRICES),
        "clock": Clock(), **settings,
    })  # fmt: skip
    made.append(*written("openai-chat", [Exchange(3, 1, 600)] * 40))
    return made


def test_what_pays_is_done_before_it_is_due() -> None:
    """If the policy says from where on, and the sum says so."""
    made = early()
    assert made.decide().urgency == "early"
    report = made.compact()
    assert report.status == "compacted"
    assert report.economics is not None
    assert report.economics["basis"] == "costs"
    assert early(policy=SMALL).compact().reason == "below threshold"


def test_nothing_is_done_early_if_the_prices_are_not_known() -> None:
    """Size alone is no reason below the threshold, and it is not reckoned again at each turn."""
    made = early(model="nobody-knows-this-model")
    assert made.compact().reason == "deferred"
    assert not made.would_compact()
    assert made.room() > 0


def test_the_room_before_a_compaction_ends_where_it_is_weighed_again() -> None:
    """Until then nothing has to look; a cold cache is looked at at once."""
    clock = Clock()
    made = engine(4, clock=clock)
    assert made.room() == 0
    assert made.compact().reason == "deferred"
    assert 0 < made.room() <= made.settings.budget.tail_tokens // 2
    clock.now += 301
    assert made.room() == 0


def test_an_answer_of_several_items_is_one_call() -> None:
    """Growth is reckoned by call; on Responses an answer is a list of items."""
    step = [
        {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "gAAA"},
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "I"}]},
        {"type": "function_call", "call_id": "c1", "name": "look", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "c1", "output": "nothing"},
    ]
    made = Compressor(context_length=80_000, provider="openai-responses")
    made.append({"role": "user", "content": "Look."}, *step)
    assert made.log.turns == 1
    made.append(*step)
    assert made.log.turns == 2


def test_what_was_put_off_early_is_not_put_off_when_it_is_due() -> None:
    """The provider counts more than we estimated: the threshold decides at once."""
    made = early(model="nobody-knows-this-model")
    assert made.compact().reason == "deferred"
    made.report_usage(made.settings.budget.threshold_tokens + 1)
    assert made.decide().urgency == "soft"
    assert made.room() == 0
    assert made.compact().status == "compacted"
