"""When a compaction is due: urgency and reason as values, every one of them reachable."""

from __future__ import annotations

from typing import Any

from tests.testing.rows import each_row

from foldaway._core.policy import Policy, budget_for
from foldaway.engine.trigger import Moment, decide

BUDGET = budget_for(Policy(), 200_000)
"""Threshold 100,000, hard 170,000, pressure 85,000."""


def moment(tokens: int, **facts: Any) -> Moment:
    return Moment(prompt_tokens=tokens, source=facts.pop("source", "estimated"), **facts)


@each_row(("tokens", "facts", "policy", "urgency", "reason", "due"), [
    (39_999, {}, Policy(), "none", "below threshold", False),
    (99_999, {}, Policy(), "early", "", True),
    (100_000, {}, Policy(), "soft", "", True),
    (170_000, {}, Policy(), "hard", "", True),
    (120_000, {}, Policy(enabled=False), "soft", "disabled", False),
    (120_000, {"floor_tokens": 110_000}, Policy(), "soft", "cannot", False),
    (180_000, {"floor_tokens": 170_000}, Policy(), "hard", "cannot", False),
    (180_000, {"floor_tokens": 110_000}, Policy(), "hard", "", True),
    (210_000, {"floor_tokens": 205_000}, Policy(), "hard", "", True),
    (210_000, {"floor_tokens": 205_000, "ineffective": 1}, Policy(), "hard", "cannot", False),
    (210_000, {"floor_tokens": 205_000, "can_shorten": False}, Policy(), "hard", "cannot", False),
    (120_000, {"unconfirmed": True}, Policy(), "soft", "deferred", False),
    (120_000, {"unconfirmed": True, "source": "measured"}, Policy(), "soft", "", True),
    (180_000, {"unconfirmed": True}, Policy(), "hard", "", True),
    (120_000, {"ineffective": 1}, Policy(), "soft", "", True),
    (120_000, {"ineffective": 2}, Policy(), "soft", "ineffective", False),
])  # fmt: skip
def test_what_the_trigger_says(
    tokens: int, facts: dict[str, Any], policy: Policy, urgency: str, reason: str, due: bool
) -> None:
    """The table of moments; a reason is given exactly where nothing is done."""
    decision = decide(moment(tokens, **facts), policy, BUDGET)
    assert (decision.urgency, decision.reason, decision.due) == (urgency, reason, due)
    assert bool(decision.detail) == bool(reason)


def test_a_dense_session_is_told_from_a_poor_result() -> None:
    """Waiting says which of the two it is, and what helps then."""
    dense = decide(moment(120_000, ineffective=2, is_dense=True), Policy(), BUDGET)
    poor = decide(moment(120_000, ineffective=2), Policy(), BUDGET)
    assert "dense" in dense.detail
    assert "new session" in dense.detail
    assert "summarizer" in poor.detail
    assert all("focus" in one.detail for one in (dense, poor))


def test_the_pressure_warning_comes_and_goes_with_the_usage() -> None:
    """From 85 % of the threshold, and no longer below it."""
    assert [decide(moment(n), Policy(), BUDGET).pressure for n in (84_999, 85_000, 84_000)] == [
        False, True, False,
    ]  # fmt: skip


def test_a_floor_above_the_threshold_is_said_with_the_numbers() -> None:
    """Nothing loops: the reason names what cannot be folded and what would help."""
    detail = decide(moment(150_000, floor_tokens=140_000), Policy(), BUDGET).detail
    assert "140,000" in detail
    assert "100,000" in detail
