"""Figures of the lab that follow from a made-up session, judged by hand."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from msgspec.structs import replace

from foldaway.lab.measures import (
    DEFAULT_PRICES,
    Archive,
    cost_ratio,
    count_violations,
    find_broken_rules,
)
from foldaway.lab.results import LONG_LIVED, OWN, ScoreRow, summarize
from foldaway.lab.scoring.needed import Elsewhere, prepare
from foldaway.lab.scoring.score import CutCase, case_at, cases_of, score
from foldaway.lab.scoring.session import LabSession, OwnSummary
from foldaway.lab.scoring.signals import compute_stale_share, find_changed_values
from foldaway.lab.scoring_rows import TrialTerms, session_rows
from foldaway.lab.strategies import (
    PLACEHOLDER,
    PLAIN,
    append_only,
    choose_strategies,
    masking,
    text_view,
)

NOTHING = Elsewhere(frozenset(), frozenset())


def call(number: int, command: str, result: str) -> list[dict[str, Any]]:
    """Return a call with its result."""
    function = {"name": "Bash", "arguments": json.dumps({"command": command})}
    made = {"id": f"c{number}", "type": "function", "function": function}
    return [
        {"role": "assistant", "content": None, "tool_calls": [made]},
        {"role": "tool", "tool_call_id": f"c{number}", "content": result},
    ]


@pytest.fixture
def case(make_session: Callable[[], LabSession]) -> CutCase:
    """Return the middle cut of a session."""
    return list(cases_of(prepare(make_session()), NOTHING))[1]


def test_a_view_is_stale_where_only_an_old_value_is_left() -> None:
    """The newest result of the same call decides; names that other calls have are left out."""
    messages = [
        *call(1, "cat conf", "retries = 3\nhost: alpha"),
        *call(2, "cat conf", "retries = 5\nhost: alpha"),
        *call(3, "cat other", "depth = 1"),
        *call(4, "cat third", "depth = 2"),
    ]
    changed = find_changed_values(messages)
    assert [(row.name, set(row.old), row.newest) for row in changed] == [("retries", {"3"}, "5")]
    assert compute_stale_share("retries = 3", changed) == 1
    assert compute_stale_share("retries = 3, then retries = 5", changed) == 0
    assert compute_stale_share("nothing of it", changed) is None
    assert compute_stale_share("retries = 3", []) is None


def test_going_on_with_everything_costs_what_it_costs(case: CutCase) -> None:
    """The ratio of append-only is 1; a small view saves, one that only breaks the cache does not.

    All of the prompt is read at a tenth of its price as long as nothing changes.
    """
    whole = append_only(case.messages, 0)
    assert cost_ratio(whole, case) == pytest.approx(1.0)
    assert cost_ratio(masking(case.messages, 10**9), case) == pytest.approx(1.0)
    small = cost_ratio(text_view("a short text"), case)
    broken = cost_ratio(text_view(whole.text), case)
    assert small is not None
    assert broken is not None
    assert small < 1 < broken
    assert DEFAULT_PRICES.cache_read < DEFAULT_PRICES.input < DEFAULT_PRICES.cache_write_5m


def test_masking_keeps_every_call_and_the_newest_results(case: CutCase) -> None:
    """With room for all calls, older outputs are left out and the newest messages are whole."""
    whole = append_only(case.messages, 0).tokens
    calls_alone = masking(case.messages, whole // 2)
    results = [row["content"] for row in calls_alone.messages if row["role"] == "tool"]
    assert results[0] == PLACEHOLDER
    assert results[-1] != PLACEHOLDER
    assert [row["role"] for row in calls_alone.messages] == [row["role"] for row in case.messages]


def test_masking_fills_its_budget_and_never_parts_a_result_from_its_call(case: CutCase) -> None:
    """What does not fit is left out from the oldest on; the list stays one that providers take."""
    before = find_broken_rules(case.messages)
    whole = append_only(case.messages, 0).tokens
    for share in (0.05, 0.1, 0.2, 0.4, 0.8, 1.0):
        shown = masking(case.messages, int(whole * share))
        assert int(whole * share) * 0.8 - 60 <= shown.tokens <= max(int(whole * share), 60)
        assert sum(count_violations(shown.messages, before).values()) == 0
    assert shown.messages == tuple(case.messages)


def test_masking_cuts_long_arguments_and_leaves_json() -> None:
    """Also those that are not JSON themselves."""
    words = " ".join(map(str, range(600)))
    long = [*call(1, words, words), *call(2, "ls", words)]
    raw = {"name": "patch", "arguments": f"*** Begin Patch {words}"}
    long[0]["tool_calls"].append({"id": "c1b", "type": "function", "function": raw})
    shown = masking(long, 900)
    first = [json.loads(made["function"]["arguments"]) for made in shown.messages[0]["tool_calls"]]
    assert [len(next(iter(values.values()))) for values in first] == [203, 203]


def test_what_is_lost_is_reached_by_the_words_beside_it() -> None:
    """An archive finds it by the words of its later use; without one what is lost is lost."""
    filling = [message for n in range(12) for message in call(n, f"ls {n}", "nothing new here")]
    messages: list[dict[str, Any]] = [
        {"role": "user", "content": "Look after the aviary."},
        *call(90, "cat notes", "the tarpaulin over the zebra finches is order_no_4711 of May"),
        *filling,
        {"role": "assistant", "content": "Zebra finches need their tarpaulin: order_no_4711."},
    ]
    prepared = prepare(LabSession("s", "f", "p", messages))
    case = case_at(prepared, len(messages) - 1, NOTHING)
    assert [fact.text for fact in case.facts] == ["order_no_4711"]
    assert "order_no" not in case.facts[0].cue
    empty = text_view("")
    assert score(case, empty).rates["reach"] == 0
    with Archive() as archive:
        archive.grow(case.messages)
        found = score(case, replace(empty, archived=True), archive.find)
        assert found.rates["reach"] == 1
        assert found.rates["recall"] == 0


def test_an_archive_holds_nothing_of_what_comes_later(
    make_session: Callable[[], LabSession],
) -> None:
    """It grows from cut to cut."""
    messages = make_session().messages
    with Archive() as archive:
        archive.grow(messages[:10])
        assert not any("module_20" in text for text in archive.find("module_20.py"))
        archive.grow(messages)
        assert any("module_20" in text for text in archive.find("module_20.py"))


def test_drift_and_the_agents_own_summary_have_rows_of_their_own(
    make_session: Callable[..., LabSession],
) -> None:
    """1, 2, 4 and 8 compactions; the agent's summary beside strategies with as many tokens."""
    plain = make_session(turns=24)
    said = "The importer is being mended; src/part_03/module_03.py was read, limit_of_part_03."
    handed = {"role": "user", "content": said}
    messages = [*plain.messages[:30], handed, *plain.messages[30:]]
    session = LabSession(plain.id, "made-up", "p", messages, 9_000, (OwnSummary(30, said),))
    terms = TrialTerms(
        strategies=choose_strategies(("foldaway", "keep-tail"), PLAIN),
        budgets=(0.2,), peer_budgets=(),
        drifting=frozenset({"foldaway"}),
    )  # fmt: skip
    rows = session_rows(session, NOTHING, terms)
    steps = {row.steps for row in rows if row.part == "drift" and row.strategy == LONG_LIVED}
    assert steps == {1, 2, 4, 8}
    own = {row.strategy: row for row in rows if row.part == "own"}
    assert set(own) == {OWN, "foldaway", "keep-tail"}
    assert own["keep-tail"].tokens <= own[OWN].tokens
    assert own[OWN].counts["invented"] == 0
    lines = summarize(rows)
    assert {line.part for line in lines} == {"cut", "drift", "own"}


def test_a_session_counts_once_however_many_cuts_it_has() -> None:
    """Cuts are averaged before sessions are."""

    def row(session: str, cut: int, bound: float) -> ScoreRow:
        return ScoreRow(
            part="cut", session=session, family="f", strategy="x", cut=cut, budget=0.2,
            tokens_before=100, allowed=20, tokens=20, rates={"bound": bound},
        )  # fmt: skip

    rows = [row("a", 1, 1.0), row("a", 2, 1.0), row("a", 3, 1.0), row("b", 1, 0.0)]
    (line,) = summarize(rows)
    assert (line.sessions, line.cuts) == (2, 4)
    assert line.figures["bound"].mean == 0.5
    assert line.figures["used"].mean == 1.0
