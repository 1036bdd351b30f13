"""Whether a compaction pays: the sum adds up, the answer follows from it, and its bound holds."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from tests.testing.rows import each_row

from foldaway._core.policy import SAVES_FROM, Policy, budget_for, estimate_after
from foldaway.caching.economics import Situation
from foldaway.caching.prices import Prices, usd

SONNET = Prices(
    input=3.0, output=15.0, cache_read=0.3, cache_write_5m=3.75, cache_write_1h=6.0, at_marks=True
)
RATIO = Prices.of_wire("openai-chat")
sizes = st.integers(0, 300_000)


@st.composite
def situations(draw: st.DrawFn) -> Situation:
    threshold = draw(st.integers(1, 200_000))
    prices = draw(st.sampled_from([SONNET, RATIO]))
    return Situation(
        tokens_now=draw(sizes),
        tokens_after=draw(sizes),
        cached_tokens=draw(sizes),
        kept_prefix_tokens=draw(sizes),
        reread_tokens=draw(st.integers(0, 10_000_000)),
        read_tokens=draw(st.integers(0, 10_000_000)),
        answered_tokens=draw(st.integers(0, 100_000)),
        threshold_tokens=threshold,
        early_tokens=draw(st.integers(0, threshold)),
        hard_tokens=threshold + draw(st.integers(0, 100_000)),
        summary_input_tokens=draw(st.one_of(st.just(0), sizes)),
        summary_cached_tokens=draw(sizes),
        summary_output_tokens=draw(st.integers(0, 12_000)),
        prices=prices,
        acts_at_threshold=prices.is_ratio,
        ttl=draw(st.sampled_from(["5m", "1h"])),
    )


def due(**changes: Any) -> Situation:
    """Return a session at 60,000 tokens, warm, of which 20,000 would do."""
    plain = Situation(
        tokens_now=60_000, tokens_after=20_000, cached_tokens=59_000, kept_prefix_tokens=2_000,
        reread_tokens=400_000, read_tokens=4_000_000, early_tokens=40_000,
        threshold_tokens=100_000, hard_tokens=170_000, prices=SONNET,
    )  # fmt: skip
    return replace(plain, **changes)


@given(situations())
def test_the_sum_is_the_difference_of_two_requests(situation: Situation) -> None:
    """Nothing is counted twice, and nothing is left out."""
    total, now, after = situation.weigh().sum, situation.tokens_now, situation.tokens_after
    prices, ttl = situation.prices, situation.ttl
    cached = min(situation.cached_tokens, now)
    kept = min(situation.kept_prefix_tokens, cached, after)
    assert total.next_call_if_waiting == prices.bill(now, cached, ttl=ttl).usd
    assert total.next_call_if_acting == prices.bill(after, kept, ttl=ttl).usd
    assert total.price == pytest.approx(
        total.next_call_if_acting + total.summary_call - total.next_call_if_waiting
    )
    assert total.paid == pytest.approx(situation.reread_tokens * prices.cache_read / 1e6)


@given(situations(), st.integers(0, 10_000_000))
def test_what_was_read_again_never_speaks_against_a_compaction(
    situation: Situation, more: int
) -> None:
    """And as much as a verdict says is needed is enough."""
    verdict = situation.weigh()
    dearer = replace(situation, reread_tokens=situation.reread_tokens + more).weigh()
    assert verdict.answer != "act" or dearer.answer == "act"
    if (verdict.answer, verdict.basis) == ("wait", "costs"):
        needed = int(verdict.reread_needed(situation.prices)) + 1
        assert needed > situation.reread_tokens
        long = replace(situation, reread_tokens=needed, read_tokens=10**12)
        assert long.weigh().answer == "act"


@given(situations())
def test_the_answer_follows_from_sizes_and_the_sum(situation: Situation) -> None:
    """Each basis where it belongs."""
    verdict = situation.weigh()
    now, total = situation.tokens_now, verdict.sum
    is_ratio = situation.prices.is_ratio
    match verdict.answer, verdict.basis:
        case "act", "urgency":
            assert now >= situation.hard_tokens
        case "act", "threshold":
            assert is_ratio
            assert now >= situation.threshold_tokens
        case "act", "costs":
            assert situation.early_tokens <= now < situation.hard_tokens
            assert total.paid >= total.price
            assert total.price <= 0.05 * total.spent
        case "wait", "costs":
            assert total.paid < total.price or total.price > 0.05 * total.spent
            assert not is_ratio or now < situation.threshold_tokens
        case "wait", "size":
            after = situation.tokens_after
            assert now < situation.early_tokens or now <= after or now - after < 0.1 * now
        case _:
            assert (verdict.answer, verdict.basis) == ("cannot", "size")
    assert verdict.sentence.startswith(f"{verdict.answer}: ")


def test_it_waits_until_reading_has_cost_as_much() -> None:
    """18,000 tokens would be written at 3.75, and 40,000 less read at 0.3 in the next call."""
    price = (18_000 * 3.75 - 57_000 * 0.3 - 1_000 * 3.75) / 1e6
    verdict = due().weigh()
    assert verdict.sum.price == pytest.approx(price)
    assert verdict.answer == "act"
    assert due(reread_tokens=int(price / 0.3e-6) - 1).weigh().answer == "wait"
    assert due(reread_tokens=int(price / 0.3e-6) + 1).weigh().answer == "act"


def test_a_cold_cache_is_a_time_to_compact() -> None:
    """All of it would have to be written again anyway."""
    verdict = due(cached_tokens=0, reread_tokens=0).weigh()
    assert (verdict.answer, verdict.basis) == ("act", "costs")
    assert "costs nothing" in verdict.sentence


def test_a_summary_by_a_model_is_part_of_the_price() -> None:
    """It reads the prompt and writes at the price of output."""
    dear = due(summary_input_tokens=60_000, summary_output_tokens=4_000)
    assert dear.weigh().sum.summary_call > 0.2
    assert dear.weigh().answer == "wait"
    rides = replace(
        dear, summary_cached_tokens=60_000, summary_output_tokens=500, read_tokens=9_000_000
    )
    assert rides.weigh().answer == "act"


def test_a_full_window_is_not_asked_what_it_costs() -> None:
    """Nor is a compaction made that changes next to nothing."""
    assert due(tokens_now=170_000, reread_tokens=0).weigh().basis == "urgency"
    assert due(tokens_now=170_000, tokens_after=160_000).weigh().answer == "cannot"
    assert due(tokens_after=59_000).weigh().answer == "wait"


def test_without_prices_the_ratio_decides_and_the_threshold_in_the_end() -> None:
    """In input tokens, not in dollars."""
    without = {"prices": RATIO, "acts_at_threshold": True}
    verdict = due(**without).weigh()
    assert verdict.answer == "act"
    assert "input tokens" in verdict.sentence
    assert "$" not in verdict.sentence
    assert due(**without, reread_tokens=0).weigh().answer == "wait"
    over = due(**without, reread_tokens=0, tokens_now=100_000, cached_tokens=99_000).weigh()
    assert (over.answer, over.basis) == ("act", "threshold")
    known = due(reread_tokens=0, tokens_now=100_000, cached_tokens=99_000,
                      tokens_after=60_000).weigh()  # fmt: skip
    assert known.answer == "wait"


@given(st.integers(50, 8_000), st.integers(1_000, 40_000), st.integers(2_000, 30_000))
def test_a_session_that_ends_anywhere_costs_at_most_a_twentieth_more(
    growth: int, frame: int, after: int
) -> None:
    """The bound of the rule, at steady growth and every stop; and all compactions together cost no
    more than what was read again before them.
    """
    prompt, whole, sent, before, reread, read = frame + 1_000, frame + 1_000, 0, 0, 0, 0
    ours = direct = compactions = paid = 0.0
    for _ in range(200):
        left = min(frame + after, prompt)
        verdict = due(
            tokens_now=prompt, tokens_after=left, cached_tokens=sent, kept_prefix_tokens=frame,
            reread_tokens=reread, read_tokens=read, early_tokens=0, threshold_tokens=10**9,
            hard_tokens=10**9,
        ).weigh()  # fmt: skip
        if verdict.answer == "act" and sent:
            compactions += max(verdict.sum.price, 0)
            prompt, sent, reread = left, min(frame, left), 0
        ours += SONNET.bill(prompt, sent).usd
        direct += SONNET.bill(whole, before).usd
        read += sent
        more = max(sent - frame - after, 0)
        reread += more
        paid += more * SONNET.cache_read / 1e6
        assert compactions <= paid + 1e-9
        assert ours <= 1.05 * direct
        sent, before = prompt, whole
        prompt, whole = prompt + growth, whole + growth


def test_the_words_for_saving_are_floors_in_tokens() -> None:
    """Never above the threshold; without saving the threshold alone."""
    for save, floor in SAVES_FROM.items():
        assert budget_for(Policy(save=save), 1_000_000).early_tokens == floor
    budget = budget_for(Policy(save="off"), 1_000_000)
    assert budget.early_tokens == budget.threshold_tokens == 500_000
    small = budget_for(Policy(save="little"), 100_000)
    assert small.early_tokens == small.threshold_tokens == 64_000


@given(sizes, sizes, sizes, st.integers(10_000, 1_000_000))
def test_what_is_expected_to_stay_is_never_more_than_there_is(
    now: int, fixed: int, newest: int, window: int
) -> None:
    """And never less than what cannot be folded, as far as there is so much."""
    policy = Policy()
    after = estimate_after(budget_for(policy, window), now, fixed, newest)
    assert min(fixed, now) <= after <= now


@each_row(
    ("value", "shown"),
    [(0.0, "$0.00"), (0.0123456, "$0.0123"), (1234.5, "$1,234.50"), (-0.5, "−$0.5000")],
)
def test_amounts_are_shown_so_that_they_can_be_told_from_nothing(value: float, shown: str) -> None:
    """Fractions of a cent have more digits; without a price they are tokens."""
    assert usd(value) == SONNET.amount(value) == shown
    assert RATIO.amount(0.012) == "12,000 input tokens"
