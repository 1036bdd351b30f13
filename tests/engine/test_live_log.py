"""A log that grows: one message at a time is the same as all at once."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.testing.long_lists import Exchange, long_lists, written

from foldaway import load
from foldaway._core.policy import Policy
from foldaway.compaction.measure import message_tokens
from foldaway.dialects.profiles import profile_named
from foldaway.engine.live_log import GrowingLog
from foldaway.facts.ledger import Ledger, update
from foldaway.facts.reading import LogReading
from foldaway.transcript import Estimator

PROVIDERS = ("openai-chat", "openai-responses", "anthropic", "gemini", "strict")


@pytest.mark.parametrize("provider", PROVIDERS)
@given(data=st.data())
def test_one_at_a_time_is_all_at_once(provider: str, data: st.DataObject) -> None:
    """Messages, tokens, facts and the view are the same however the list was cut into appends,
    and the messages are those that a reader of the whole list sees."""
    items = data.draw(long_lists(provider, most=6))
    dialect = profile_named(provider).dialect
    whole = GrowingLog(dialect, LogReading(Estimator(), Policy()))
    whole.append(items)
    grown = GrowingLog(dialect, LogReading(Estimator(), Policy()))
    at = 0
    while at < len(items):
        size = data.draw(st.integers(1, 4))
        grown.append(items[at : at + size])
        at += size
    assert grown.messages == whole.messages
    everything = (0, len(items))
    assert grown.facts(*everything) == whole.facts(*everything)
    assert list(grown.groups) == list(whole.groups)
    assert grown.shown.tokens == whole.shown.tokens
    assert grown.view == whole.view
    read = load(items, dialect=dialect).messages
    assert [message.parts for message in whole.messages] == [message.parts for message in read]
    assert [message.position for message in whole.messages] == list(range(len(items)))


@pytest.mark.parametrize("provider", PROVIDERS)
@given(data=st.data())
def test_the_running_total_is_the_sum(provider: str, data: st.DataObject) -> None:
    """What is kept incrementally equals what a new count finds."""
    log = GrowingLog(profile_named(provider).dialect, LogReading(Estimator(), Policy()))
    log.append(data.draw(long_lists(provider, most=6)))
    counted = sum(message_tokens(message, Estimator()) for message in log.shown.render())
    assert log.shown.tokens == counted


def test_the_ledger_kept_on_the_way_is_the_ledger_of_all_facts() -> None:
    """Wherever the tail starts, and whether or not a compaction knows a part of it already."""
    log = GrowingLog("openai-chat", LogReading(Estimator(), Policy()))
    log.append(written("openai-chat", [Exchange(2, 1, 150)] * 120))
    assert len(log.messages) > 400
    for stop in (0, 5, 127, 128, 129, 300, len(log.messages)):
        expected = update(Ledger(), log.facts(0, stop))
        assert log.ledger(stop, Ledger(), 0) == expected
        known_to = stop // 2
        known = update(Ledger(), log.facts(0, known_to))
        assert log.ledger(stop, known, known_to) == expected
