"""The planner: its sum adds up, and its answer follows from it."""

from __future__ import annotations

import math

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from msgspec.structs import replace

from foldaway.caching.economics import (
    PayoffRule,
    Situation,
    expected_growth,
    turns_expected,
    usd,
    weigh,
)
from foldaway.caching.prices import Prices, bill
from foldaway.errors import InvalidSetting
from foldaway.lab.simulate import expected_after
from foldaway.policy import Policy, budget_for

SONNET = Prices(
    input=3.0, output=15.0, cache_read=0.3, cache_write_5m=3.75, cache_write_1h=6.0, at_marks=True
)
sizes = st.integers(0, 300_000)


@st.composite
def situations(draw: st.DrawFn) -> Situation:
    threshold = draw(st.integers(1, 200_000))
    return Situation(
        tokens_now=draw(sizes),
        tokens_after=draw(sizes),
        cached_tokens=draw(sizes),
        kept_prefix_tokens=draw(sizes),
        turns_so_far=draw(st.integers(0, 500)),
        tokens_per_turn=draw(st.floats(0, 20_000)),
        remaining_turns=draw(st.one_of(st.none(), st.integers(0, 1_000))),
        threshold_tokens=threshold,
        early_tokens=draw(st.one_of(st.none(), sizes)),
        hard_tokens=threshold + draw(st.integers(0, 100_000)),
        summary_input_tokens=draw(st.one_of(st.just(0), sizes)),
        summary_cached_tokens=draw(sizes),
        summary_output_tokens=draw(st.integers(0, 12_000)),
        prices=draw(st.sampled_from([SONNET, None])),
        ttl=draw(st.sampled_from(["5m", "1h"])),
    )


def due(**changes: object) -> Situation:
    """Return a session of 100 calls at 120,000 tokens, warm, which 30,000 would do for."""
    plain = Situation(
        tokens_now=120_000, tokens_after=30_000, cached_tokens=119_000, kept_prefix_tokens=2_000,
        turns_so_far=100, tokens_per_turn=1_000.0, threshold_tokens=100_000, hard_tokens=170_000,
        prices=SONNET,
    )  # fmt: skip
    return replace(plain, **changes)


@given(situations())
def test_the_sum_adds_up(situation: Situation) -> None:
    """Every term is there: price and saving follow from the others, and the balance from them."""
    total = weigh(situation).sum
    assert (total is None) == (situation.prices is None)
    if total is None:
        return
    assert total.price == pytest.approx(
        total.next_call_if_acting + total.summary_call - total.next_call_if_waiting
    )
    assert total.saving == pytest.approx(total.saving_per_turn * total.turns_counted)
    assert total.balance == pytest.approx(total.saving - total.price)
    assert 0 <= total.turns_counted <= max(total.turns_remaining, 0)
    assert total.reads_lost_tokens <= situation.tokens_now
    assert total.writes_tokens <= situation.tokens_after


@given(situations(), st.integers(0, 1_000), st.integers(0, 1_000))
def test_more_turns_to_come_never_turn_act_into_wait(
    situation: Situation, one: int, other: int
) -> None:
    """Where a call is cheaper afterwards, a longer session is only one reason more."""
    fewer, more = sorted((one, other))
    short = weigh(replace(situation, remaining_turns=fewer))
    long = weigh(replace(situation, remaining_turns=more))
    assume(short.sum is None or short.sum.saving_per_turn >= 0)
    assert not (short.answer == "act" and long.answer == "wait")


@given(situations())
def test_the_answer_follows_the_window_first(situation: Situation) -> None:
    """Below the threshold it waits, unless it may act early and that pays; at the hard limit it
    never does; and it acts only to gain.
    """
    verdict = weigh(situation)
    if situation.tokens_now < situation.threshold_tokens:
        early = situation.early_tokens
        is_early = early is not None and situation.tokens_now >= early
        assert verdict.answer == "wait" or (is_early and verdict.basis == "costs")
    if situation.tokens_now >= situation.hard_tokens:
        assert verdict.answer in ("act", "cannot")
    if verdict.answer == "act":
        assert situation.tokens_after < situation.tokens_now
    assert verdict.sentence.startswith(f"{verdict.answer}: ")


@given(situations())
def test_without_prices_the_threshold_decides_and_says_so(situation: Situation) -> None:
    """The old rule, by name."""
    verdict = weigh(replace(situation, prices=None))
    assert verdict.basis in ("threshold", "urgency", "size")
    if verdict.basis == "threshold":
        assert verdict.answer == "act"
        assert "prices are not known" in verdict.sentence


def test_a_long_session_is_compacted_and_one_near_its_end_is_not() -> None:
    """The same prompt; only what is still to come differs."""
    assert weigh(due(remaining_turns=60)).answer == "act"
    verdict = weigh(due(remaining_turns=2))
    assert (verdict.answer, verdict.basis) == ("wait", "costs")
    assert "there is room" in verdict.sentence


def test_the_arithmetic_of_one_case_by_hand() -> None:
    """28,000 written and 2,000 read, against 119,000 read and 1,000 written; 90,000 a call less."""
    total = weigh(due(remaining_turns=10)).sum
    assert total is not None
    assert total.next_call_if_acting == pytest.approx((28_000 * 3.75 + 2_000 * 0.3) / 1e6)
    assert total.next_call_if_waiting == pytest.approx((119_000 * 0.3 + 1_000 * 3.75) / 1e6)
    assert total.saving_per_turn == pytest.approx(90_000 * 0.3 / 1e6)
    assert (total.reads_lost_tokens, total.writes_tokens) == (117_000, 28_000)
    # (100 × 1,000 + 10 × 500) / 110 tokens a call: 90,000 are there again after 94
    assert (total.turns_counted, total.turns_until_regrown) == (10, 94)


@given(st.integers(0, 10_000), st.floats(0, 1e6), st.integers(0, 100), st.integers(0, 10_000))
def test_what_is_expected_lies_between_what_was_seen_and_what_is_usual(
    turns: int, growth: float, prior_turns: int, usual: int
) -> None:
    """And nearer to what was seen, the longer the session lasts."""
    rule = PayoffRule(prior_turns=prior_turns, prior_tokens_per_turn=usual)
    expected = expected_growth(turns, growth, rule)
    if turns + prior_turns:
        seen = growth if turns else usual
        low, high = sorted((seen, usual if prior_turns else seen))
        assert low - 1e-6 <= expected <= high + 1e-6
    later = expected_growth(2 * turns, growth, rule)
    assert abs(later - growth) <= abs(expected - growth) + 1e-6 or not turns


def test_a_first_large_result_does_not_tell_how_a_session_grows() -> None:
    """Seven calls that read 20,000 tokens: most sessions that begin so go on more slowly, and a
    compaction pays where that is expected; not where the seven calls alone are believed."""
    early = due(
        tokens_now=20_400, tokens_after=7_000, cached_tokens=20_000, kept_prefix_tokens=0,
        turns_so_far=7, tokens_per_turn=2_900.0, threshold_tokens=20_000,
    )  # fmt: skip
    assert weigh(early).answer == "act"
    assert weigh(early, PayoffRule(prior_turns=0)).answer == "wait"


def test_after_a_pause_it_costs_nothing() -> None:
    """With a cold cache everything has to be sent anew anyway, and less is cheaper."""
    verdict = weigh(due(cached_tokens=0, remaining_turns=0))
    assert verdict.answer == "act"
    assert verdict.sum is not None
    assert verdict.sum.price < 0


def test_a_dear_summary_can_make_it_wait() -> None:
    """The summary call is part of the price."""
    near = due(remaining_turns=8)
    assert weigh(near).answer == "act"
    dear = replace(
        near, summary_input_tokens=120_000, summary_cached_tokens=119_000,
        summary_output_tokens=10_000,
    )  # fmt: skip
    verdict = weigh(dear)
    assert verdict.answer == "wait"
    assert verdict.sum is not None
    assert verdict.sum.summary_call == pytest.approx(bill(SONNET, 120_000, 119_000, 10_000).usd)


def test_at_the_limit_costs_are_not_asked_for() -> None:
    """The next turn has to fit, whatever it costs."""
    verdict = weigh(due(tokens_now=170_000, remaining_turns=0))
    assert (verdict.answer, verdict.basis) == ("act", "urgency")


def test_what_cannot_shrink_is_not_tried() -> None:
    """Less than a tenth is no reason to break a cache."""
    verdict = weigh(due(tokens_after=119_000))
    assert verdict.answer == "cannot"


@given(st.integers(0, 10_000), st.floats(0, 1e9), st.floats(0, 1e9))
def test_the_calls_expected_are_fewer_than_those_asked_about_and_those_that_were(
    turns: int, one: float, other: float
) -> None:
    """And more calls asked about are never fewer expected."""
    fewer, more = sorted((one, other))
    expected = turns_expected(turns, fewer)
    assert 0 <= expected <= min(turns, fewer + 0.5)
    assert expected <= turns_expected(turns, more)


def test_a_session_that_is_as_likely_as_not_to_double_has_seven_of_its_next_ten_calls() -> None:
    """After ten calls: the first is nearly sure, the tenth a toss."""
    assert turns_expected(10, 10) == round(sum(10 / (10 + call) for call in range(1, 11)))
    assert turns_expected(10, 10) == 7


def test_a_saving_that_needs_every_call_until_it_is_gone_is_not_waited_for() -> None:
    """Five calls would pay for it and after five the prompt has grown back; as the session may end
    before, it waits, and acts where somebody knows that they will come."""
    near = due(
        tokens_now=20_000, tokens_after=8_000, cached_tokens=19_500, kept_prefix_tokens=1_500,
        turns_so_far=10, tokens_per_turn=4_000.0, threshold_tokens=10_000,
    )  # fmt: skip
    total = weigh(near).sum
    assert total is not None
    assert 4 < total.price / total.saving_per_turn < 5
    assert (total.turns_until_regrown, total.turns_counted) == (5, 4)
    assert weigh(near).answer == "wait"
    assert weigh(replace(near, remaining_turns=10)).answer == "act"


def test_small_prompts_are_left_alone_until_a_session_has_lasted() -> None:
    """Below twenty thousand tokens a call costs too little for it to matter in a short session."""
    small = due(
        tokens_now=19_000, tokens_after=4_000, cached_tokens=19_000, kept_prefix_tokens=0,
        threshold_tokens=1_000, hard_tokens=40_000, turns_so_far=29, tokens_per_turn=600.0,
    )  # fmt: skip
    verdict = weigh(small)
    assert (verdict.answer, verdict.basis) == ("wait", "size")
    assert "30 calls" in verdict.sentence
    assert weigh(small, PayoffRule(least_tokens=0)).answer == "act"
    assert weigh(replace(small, tokens_now=20_000)).answer == "act"
    assert weigh(replace(small, turns_so_far=30)).answer == "act"


@given(situations())
def test_before_the_threshold_a_session_is_likely_to_last_until_it_has_paid(
    situation: Situation,
) -> None:
    """A session that has lasted n calls lasts t more with the chance n / (n + t)."""
    verdict = weigh(situation)
    total = verdict.sum
    if verdict.answer == "act" and situation.tokens_now < situation.threshold_tokens:
        assert total is not None
        needed = total.price / total.saving_per_turn if total.price > 0 else 0.0
        assert needed * 0.9 <= situation.turns_so_far * 0.1 * (1 + 1e-9)


def test_a_rule_out_of_its_range_is_refused() -> None:
    """Negative caution is none."""
    with pytest.raises(InvalidSetting):
        PayoffRule(margin=-1.0)
    with pytest.raises(InvalidSetting):
        PayoffRule(margin=math.nan)


@given(sizes, sizes, sizes, st.integers(10_000, 1_000_000))
def test_what_is_expected_to_stay_is_never_more_than_there_is(
    now: int, fixed: int, newest: int, window: int
) -> None:
    """And never less than what cannot be folded, as far as there is so much."""
    policy = Policy()
    after = expected_after(policy, budget_for(policy, window), now, fixed, newest)
    assert min(fixed, now) <= after <= now


@pytest.mark.parametrize(
    ("amount", "shown"),
    [(0.0, "$0.00"), (0.0123456, "$0.0123"), (1234.5, "$1,234.50"), (-0.5, "−$0.5000")],
)
def test_amounts_are_shown_so_that_they_can_be_told_from_nothing(amount: float, shown: str) -> None:
    """Fractions of a cent have more digits."""
    assert usd(amount) == shown
