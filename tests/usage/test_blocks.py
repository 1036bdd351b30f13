"""Blocks of five hours, and what a limit and a budget leave of a span of time."""

from __future__ import annotations

import json
import os
import time
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as some

from foldaway.caching.catalog import PriceList
from foldaway.errors import InvalidSetting
from foldaway.usage.blocks import BLOCK_SECONDS, UsageBlock
from foldaway.usage.reading import UsageReader
from foldaway.usage.record import SpentAnswer, SpentSession
from foldaway.usage.spending import SpendingLimit
from foldaway.usage.sums import CountedAnswer

NOON = 1_768_478_400.0
"""12:00 UTC on a day."""
HOUR = 3_600


def answers(*times: float, agent: str = "a", tokens: int = 100) -> list[CountedAnswer]:
    """Return answers at these seconds after noon, of a dollar each."""
    session = SpentSession(agent=agent, source_id="s", path="/s")
    return [
        CountedAnswer(
            session,
            session,
            SpentAnswer(mark=str(at).encode(), time=NOON + at, input_tokens=tokens),
            1.0,
        )
        for at in times
    ]


def spans(blocks: list[UsageBlock]) -> list[tuple[float, int]]:
    return [(one.period.start - NOON, one.row.requests) for one in blocks]


def test_a_block_begins_at_the_full_hour_and_lasts_five() -> None:
    """An answer after its end begins the next one, at the full hour of that answer."""
    made = UsageBlock.of(answers(40 * 60, 4 * HOUR + 3_599, 5 * HOUR + 600, 6 * HOUR))
    assert spans(made) == [(0, 2), (5 * HOUR, 2)]
    assert made[0].period.stop - made[0].period.start == BLOCK_SECONDS


def test_a_pause_of_more_than_five_hours_begins_a_block() -> None:
    """The same pause from late in one to later: its hours belong to neither."""
    assert spans(UsageBlock.of(answers(600, 6 * HOUR))) == [(0, 1), (6 * HOUR, 1)]
    assert spans(UsageBlock.of(answers(2 * HOUR, 7 * HOUR))) == [(2 * HOUR, 2)]


def test_each_agent_has_blocks_of_its_own() -> None:
    """A limit belongs to the subscription of one of them."""
    made = UsageBlock.of([*answers(0, HOUR), *answers(HOUR, agent="b")])
    assert [(one.agent, one.row.requests) for one in made] == [("a", 2), ("b", 1)]


@given(some.lists(some.floats(0, 60 * HOUR), min_size=1, max_size=40))
def test_every_answer_is_in_one_block_that_has_its_time(times: list[float]) -> None:
    """Whatever the times are, and in whatever order they come."""
    made = UsageBlock.of(answers(*times))
    assert sum(one.row.requests for one in made) == len(times)
    for before, one in zip([None, *made], made, strict=False):
        period = one.period
        assert period.start <= period.first <= period.last <= period.stop
        assert period.first - period.start < HOUR
        assert before is None or before.period.last < period.first


def test_a_running_block_goes_on_at_its_own_pace() -> None:
    """200 tokens and 2 dollars in half an hour, and an hour is left."""
    (made,) = UsageBlock.of(answers(0, 1_800))
    found = made.figures(NOON + 4 * HOUR, 500)
    assert (found.is_running, found.seconds_left) == (True, HOUR)
    assert found.tokens_per_minute == pytest.approx(6.7)
    assert found.cost_per_hour == pytest.approx(4.0)
    assert (found.projected_tokens, found.projected_cost) == (600, pytest.approx(6.0))
    assert (found.limit_share, found.limit_seconds) == (0.4, 2_700)
    assert made.figures(NOON + 4 * HOUR, 700).limit_seconds is None
    assert made.figures(NOON + 4 * HOUR, 150).limit_seconds == 0
    over = made.figures(NOON + 5 * HOUR, 500)
    assert (over.is_running, over.limit_share, over.seconds_left) == (False, 0.4, 0)


def test_the_largest_block_that_is_over_can_be_the_limit() -> None:
    """Of the same agent; the running one is no limit for itself."""
    made = UsageBlock.of(
        [*answers(0, 1, 2), *answers(10 * HOUR), *answers(20 * HOUR, tokens=900),
         *answers(20 * HOUR, agent="b")]
    )  # fmt: skip
    assert UsageBlock.limits(made, "max", NOON + 20 * HOUR) == {"a": 300}
    assert UsageBlock.limits(made, 77, NOON + 20 * HOUR) == {"a": 77, "b": 77}
    assert UsageBlock.limits(made, None, NOON) == {}


def test_a_block_that_takes_too_long_to_read_is_there_some_calls_later(tmp_path: Path) -> None:
    """A status line must be quick; each call keeps what it has read. Old files do not count."""
    now = time.time()
    when = datetime.fromtimestamp(now - 60, UTC).isoformat()
    for at in range(4):
        used = {"id": f"m{at}", "model": "m", "role": "assistant", "content": "Yes.",
                "usage": {"input_tokens": 100, "output_tokens": 0}}  # fmt: skip
        own = {"uuid": "u", "sessionId": f"s-{at}", "timestamp": when, "cwd": "/work"}
        ask = {**own, "type": "user", "message": {"role": "user", "content": "Go"}}
        answer = {**own, "type": "assistant", "uuid": "v", "parentUuid": "u", "message": used}
        (tmp_path / f"{at}.jsonl").write_text(f"{json.dumps(ask)}\n{json.dumps(answer)}\n")
    os.utime(tmp_path / "3.jsonl", (now - 9 * 86_400,) * 2)
    home, prices = tmp_path / "home", PriceList()
    found = [
        UsageBlock.running(
            "claude-code", [tmp_path], UsageReader(home, "1"), prices, now, seconds=-1.0
        )
        for _ in range(3)
    ]
    assert [one and one.period.tokens for one in found] == [None, None, 300]


@pytest.mark.parametrize(
    ("text", "shown"),
    [("5$/day", "5$/day"), ("$2.50/week", "2.5$/week"), ("100 $ / month", "100$/month")],
)
def test_a_budget_is_dollars_for_a_day_a_week_or_a_month(text: str, shown: str) -> None:
    """The sign may stand on either side."""
    assert str(SpendingLimit.parse(text)) == shown


@pytest.mark.parametrize("text", ["", "5", "5$", "$/day", "0$/day", "5€/day", "-5$/day", "5$/year"])
def test_anything_else_is_no_budget(text: str) -> None:
    """The error shows one that is."""
    with pytest.raises(InvalidSetting, match=r"such as 5\$/day"):
        SpendingLimit.parse(text)


@pytest.mark.parametrize(
    ("every", "start", "stop"),
    [
        ("day", "2026-02-05", "2026-02-06"),
        ("week", "2026-02-02", "2026-02-09"),
        ("month", "2026-02-01", "2026-03-01"),
    ],
)
def test_a_budget_resets_at_midnight_of_this_machine(every: str, start: str, stop: str) -> None:
    """Of the day, the Monday, or the first of the month."""
    asked: list[float] = []

    def spent_since(moment: float) -> float:
        asked.append(moment)
        return 4.0

    budget = SpendingLimit.parse(f"5$/{every}")
    period = budget.period(datetime(2026, 2, 5, 13).timestamp(), spent_since)
    assert datetime.fromtimestamp(period.start) == datetime.fromisoformat(start)
    assert datetime.fromtimestamp(period.stop) == datetime.fromisoformat(stop)
    assert (asked, period.cost) == ([period.start], 4.0)
    assert (budget.is_near(3.99), budget.is_near(4.0), budget.is_spent(4.99)) == (
        False, True, False)  # fmt: skip
    assert budget.is_spent(5.0)
