"""What the sessions of a machine used, and what a replay says of their bill."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from foldaway.caching import PriceList
from foldaway.stores import NewMessage, NewSession, TurnUsage, open_store
from foldaway.usage.counting import CountedAnswer
from foldaway.usage.overviews import overview, replayed_sessions
from foldaway.usage.reading import Judgement, count_stored_session
from foldaway.usage.record import SpentAnswer, SpentSession


def counted(name: str, *costs: float | None) -> list[CountedAnswer]:
    """Return the answers of a session by what each cost."""
    session = SpentSession(agent="a", source_id=name, path=f"/{name}")
    answers = [SpentAnswer(mark=f"{name}{at}".encode()) for at in range(len(costs))]
    return [
        CountedAnswer(session, session, answer, cost)
        for answer, cost in zip(answers, costs, strict=True)
    ]


def judged(name: str, was: float, would: float) -> Judgement:
    return Judgement(agent="a", source_id=name, usd_as_it_was=was, usd_with_foldaway=would)


def test_what_a_session_would_have_cost_is_its_bill_times_the_quotient_of_two_replays() -> None:
    """Both sides are anchored to what was paid; a replay in other dollars changes nothing."""
    rows = [*counted("one", 6.0, None, 2.0), *counted("two", 30.0)]
    for dollars in (1.0, 0.01):
        judgements = [judged("one", 4 * dollars, 3 * dollars), judged("two", 5.0, 5.0)]
        first, second = replayed_sessions(rows, judgements)
        assert (first.source_id, first.paid, first.expected) == ("two", 30.0, 30.0)
        assert (second.source_id, second.paid) == ("one", 8.0)
        assert second.expected == pytest.approx(6.0)
    made = overview([row.session for row in rows], rows, judgements, PriceList())
    assert (made.paid, made.expected) == (38.0, pytest.approx(36.0))


def test_a_session_without_a_bill_or_a_replay_is_not_compared() -> None:
    """There is nothing to anchor to."""
    rows = [*counted("free", None), *counted("dropped", 3.0)]
    assert replayed_sessions(rows, [judged("free", 1.0, 0.5), judged("dropped", 0.0, 0.0)]) == []


def test_an_undone_compaction_is_not_counted_as_another_one(tmp_path: Path) -> None:
    """The request after it is sent with an older view: it follows no compaction."""
    body = json.dumps({"role": "user", "content": "x"}).encode()
    with open_store(tmp_path) as store:
        new = [NewMessage(body=body, role="user", tokens=1) for _ in range(4)]
        info = store.create(NewSession(dialect="openai-chat"), messages=new)
        turns = [
            TurnUsage(position=at, input_tokens=9, view=view)
            for at, view in enumerate((0, 1, 0, 2))
        ]
        found = count_stored_session(store, info, turns)
    assert [one.follows_compaction for one in found.answers] == [False, True, False, True]
