"""Strategies that cheat, planted: each is exposed by a figure of its own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from foldaway.lab.figures import OVER
from foldaway.lab.results import ScoreRow, summarize
from foldaway.lab.scoring.needed import Elsewhere
from foldaway.lab.scoring.session import JudgedView, LabSession, Message
from foldaway.lab.scoring_rows import TrialTerms, session_rows
from foldaway.lab.strategies import PLAIN, Strategy, message_view, text_view

pytestmark = pytest.mark.slow

NOTHING = Elsewhere(frozenset(), frozenset())
HONEST = {strategy.name: strategy for strategy in PLAIN}


@pytest.fixture
def session(make_session: Callable[[], LabSession]) -> LabSession:
    """Return one session."""
    return make_session()


def rows_of(session: LabSession, *strategies: Strategy) -> dict[str, list[ScoreRow]]:
    """Return the rows at 20 % of the honest ones and of these."""
    tried = {
        strategy.name: strategy
        for strategy in (HONEST["foldaway"], HONEST["keep-tail"], *strategies)
    }
    found: dict[str, list[ScoreRow]] = {}
    terms = TrialTerms(strategies=tried, budgets=(0.2,), peer_budgets=())
    for row in session_rows(session, NOTHING, terms):
        found.setdefault(row.strategy, []).append(row)
    return found


def test_a_strategy_that_copies_the_future_leaks_what_was_not_yet_said(session: LabSession) -> None:
    """Its recall is perfect; names that nobody had said give it away. Honest ones leak nothing."""

    def peeks(messages: Sequence[Message], budget: int) -> JudgedView:
        del budget
        later = session.messages[len(messages) :]
        return message_view([*messages, *later])

    found = rows_of(session, Strategy("peeks", "adversary", "copies the future", peeks))
    assert all(row.counts["leaked"] > 0 for row in found["peeks"])
    assert all(row.rates["recall"] == 1 for row in found["peeks"])
    for name in ("foldaway", "keep-tail"):
        assert [row.counts["leaked"] for row in found[name]] == [0] * len(found[name])


def test_the_bare_list_wins_recall_and_loses_what_can_be_used(session: LabSession) -> None:
    """Facts without their words are not bound, and nothing of the text is left."""
    (bare,) = [strategy for strategy in PLAIN if strategy.name == "bare-list"]
    for row in rows_of(session, bare)["bare-list"]:
        assert row.rates["recall"] is not None
        assert row.rates["recall"] > 0.5
        assert (row.rates["bound"] or 0) < 0.1
        assert (row.rates["copy4"] or 0) < 0.1


def test_a_strategy_that_returns_an_invalid_list_breaks_rules(session: LabSession) -> None:
    """Results without their calls are counted at every provider that refuses them."""

    def orphans(messages: Sequence[Message], budget: int) -> JudgedView:
        del budget
        return message_view([row for row in messages if row["role"] != "assistant"])

    found = rows_of(session, Strategy("orphans", "adversary", "drops calls", orphans))
    for row in found["orphans"]:
        assert row.violations is not None
        assert all(row.violations[name] > 0 for name in ("openai-chat", "anthropic", "strict"))
    for row in found["foldaway"]:
        assert row.violations is not None
        assert sum(row.violations.values()) == 0


def test_a_strategy_that_overruns_its_budget_is_marked(session: LabSession) -> None:
    """It keeps all; the share of the budget and the mark say at what price."""

    def greedy(messages: Sequence[Message], budget: int) -> JudgedView:
        del budget
        return message_view(messages)

    found = rows_of(session, Strategy("greedy", "adversary", "keeps all", greedy))
    rows = [row for name in found for row in found[name]]
    lines = {line.strategy: line for line in summarize(rows)}
    assert lines["greedy"].figures[OVER].mean == 1
    assert lines["greedy"].figures["used"].mean > 3
    assert lines["keep-tail"].figures[OVER].mean == 0


@pytest.mark.parametrize("claim", ["src/never_there.py", "invented_name_here"])
def test_a_strategy_that_makes_things_up_is_counted(session: LabSession, claim: str) -> None:
    """A fact of a summary that the source has not is an invention."""

    def liar(messages: Sequence[Message], budget: int) -> JudgedView:
        del messages, budget
        text = f"The agent settled {claim} already."
        return JudgedView(text=text, tokens=8, summaries=(text,))

    assert all(row.counts["invented"] == 1 for row in rows_of(session, _way(liar))["liar"])


def test_a_strategy_that_fails_is_said_and_not_scored(session: LabSession) -> None:
    """The reason stands in place of figures, and the others have theirs."""

    def broken(messages: Sequence[Message], budget: int) -> JudgedView:
        del messages, budget
        return JudgedView(text="", tokens=0, failed="cannot run offline")

    found = rows_of(session, Strategy("broken", "peer", "fails", broken), _way(_empty))
    assert "broken" not in found, "a peer has no budget here"
    tried = {"broken": Strategy("broken", "peer", "fails", broken)}
    terms = TrialTerms(strategies=tried, budgets=(), peer_budgets=(0.2,))
    (line,) = summarize(session_rows(session, NOTHING, terms))
    assert line.failed == "cannot run offline"
    assert not line.figures


def _empty(messages: Sequence[Message], budget: int) -> JudgedView:
    del messages, budget
    return text_view("")


def _way(shrink: Any) -> Strategy:
    return Strategy("liar", "adversary", "makes things up", shrink)
