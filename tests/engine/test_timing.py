"""A compaction that is due and does not pay waits, as long as there is room."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace
from tests.testing.long_lists import Exchange, written

from foldaway import Model
from foldaway._core.policy import Policy
from foldaway.caching.prices import Prices
from foldaway.engine.compressor import Compressor
from foldaway.testing import ScriptedSummarizer

SMALL = Policy(floor_tokens=500, target_ratio=0.6)
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
    """With a warm cache and few calls so far, little was read again."""
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
    assert total["paid"] < total["price"]
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
    """Then it acts where it is due, as ever, and says what it went by."""
    report = engine(4, model="nobody-knows-this-model").compact()
    assert report.status == "compacted"
    assert report.economics is not None
    assert report.economics["basis"] == "threshold"
    plain = engine(4, policy=replace(SMALL, save="off")).compact()
    assert plain.status == "compacted"
    assert plain.economics is not None
    assert plain.economics["basis"] == "threshold"


def test_a_summary_is_not_bought_where_it_does_not_pay() -> None:
    """Nobody is asked before the sum is done, also in the background."""
    summarizer = ScriptedSummarizer([GOOD])
    assert engine(4, summarizer=summarizer).compact().reason == "deferred"
    assert summarizer.requests == []
    quiet = ScriptedSummarizer([GOOD])
    made = engine(4, summarizer=quiet, background=True)
    assert not made.is_preparing
    assert quiet.requests == []


STEPS = [Exchange(3, 1, 600)]
"""Three small calls."""


def early(count: int, **settings: Any) -> Compressor:
    """A session of many small calls that is well below its threshold."""
    made = Compressor(**{
        "context_length": 200_000, "model": Model(prices=PRICES), "clock": Clock(), **settings,
    })  # fmt: skip
    made.append(*written("openai-chat", STEPS * count))
    return made


@pytest.mark.parametrize("model", [Model(prices=PRICES), "nobody-knows-this-model"])
def test_what_pays_is_done_before_it_is_due(model: Any) -> None:
    """From the size on that the policy says in words, by the prices or by the ratio of the wire."""
    made = early(40, model=model)
    assert made.decide().urgency == "early"
    report = made.compact()
    assert report.status == "compacted"
    assert report.economics is not None
    assert report.economics["basis"] == "costs"
    assert made.settings.budget.early_tokens == 40_000
    assert early(40, policy=Policy(save="little")).compact().reason == "below threshold"
    assert early(40, policy=Policy(save="off")).compact().reason == "below threshold"
    assert early(25).compact().reason == "below threshold"
    assert early(25, policy=Policy(save="most")).compact().status == "compacted"


def test_what_was_read_again_is_counted_from_the_log() -> None:
    """One list at once, message by message, or taken up again: the same figures."""
    once, grown = early(25), early(12)
    items = written("openai-chat", STEPS * 25)
    for item in items[len(grown.messages) :]:
        grown.append(item)
    resumed = early(0)
    resumed.resume(items)  # what else is in the request is known only afterwards
    for made in (once, grown, resumed):
        made.take_outside(9_000)
    shown = [made.situation().reread_tokens for made in (once, resumed)]
    assert shown[0] == shown[1] > 0
    assert once.situation().read_tokens == resumed.situation().read_tokens > 0
    assert grown.situation().reread_tokens == pytest.approx(shown[0], rel=0.05)


def test_after_a_compaction_nothing_has_been_paid_yet() -> None:
    """Nor after an undo; what came since counts again, also for who takes it up."""
    made = early(40)
    before = made.situation().reread_tokens
    assert made.compact().status == "compacted"
    view, state = made.view, made.snapshot()
    assert made.situation().reread_tokens == 0
    items = written("openai-chat", STEPS * 25, start=500)
    made.append(*items)
    paid = made.situation().reread_tokens
    assert 0 < paid < before
    other = early(0)
    other.resume([*written("openai-chat", STEPS * 40), *items], view, state)
    assert other.situation().reread_tokens == paid
    assert made.undo()
    assert made.situation().reread_tokens == 0


def test_what_is_put_off_is_planned_again_only_when_it_may_pay() -> None:
    """Until then nothing is looked at; a cold cache is looked at at once."""
    clock = Clock()
    made = engine(4, clock=clock)
    assert made.compact().reason == "deferred"
    assert made.decide().put_off
    assert not made.weigh().acts
    clock.now += 301
    assert not made.decide().put_off
    assert made.weigh().acts


@pytest.mark.slow
@pytest.mark.parametrize("measured", [0.6, 1.0, 1.8])
def test_what_was_put_off_is_made_when_it_pays(measured: float) -> None:
    """Also if the provider counts fewer tokens than we estimate, or more. Looking at every answer
    would have found it no more than two looks earlier, each after a tenth more was read again: it
    may pay at one moment of an exchange and not at the next.
    """
    made = Compressor(
        context_length=400_000, policy=Policy(save="most"), model=Model(prices=PRICES),
        clock=Clock(),
    )  # fmt: skip
    first = 0
    for item in written("openai-chat", [Exchange(1, 1, 2_400)] * 120):
        made.append(item)
        made.report_usage(int(measured * made.estimate()))
        now = made.situation()
        if not first and now.weigh().answer == "act":
            first = now.reread_tokens
        if made.compact().status == "compacted":
            assert first <= now.reread_tokens <= 1.1 * 1.1 * first + now.tokens_now
            return
    raise AssertionError("it never paid")


def test_what_is_not_due_is_never_said_to_begin() -> None:
    """Whoever asks first and then calls `compact` gets the same answer twice."""
    off = early(40, policy=Policy(enabled=False))
    assert off.decide().reason == "disabled"
    assert not off.weigh().acts
    assert off.compact().reason == "disabled"


def test_the_room_ends_where_a_compaction_may_be_made() -> None:
    """Before that nothing has to look."""
    made = early(12)
    assert made.decide().room_tokens == 40_000 - made.decide().prompt_tokens > 0
    assert early(40).decide().room_tokens == 0


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
    made = Compressor(context_length=200_000, model="nobody-knows-this-model", clock=Clock())
    made.append(*written("openai-chat", [Exchange(1, 1, 42_000)] * 2))
    assert made.decide().urgency == "early"
    assert made.compact().reason == "deferred"
    made.report_usage(made.settings.budget.threshold_tokens + 1)
    assert made.decide().urgency == "soft"
    assert made.compact().status == "compacted"
