"""The context window request by request: sums that hold, steps at their places, few reads."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.testing.long_lists import Exchange, written
from tests.testing.strategies import views

from foldaway._core.policy import Policy
from foldaway.agents.importers import sessions_in
from foldaway.agents.importers.take import take_all
from foldaway.engine.conversation_log import pack_view
from foldaway.gateway.inspector.timeline import Timeline, Timelines, columns, timeline
from foldaway.gateway.inspector.window_amounts import scale
from foldaway.gateway.inspector.window_strips import strip
from foldaway.sessions import SessionOptions
from foldaway.sessions.session import Session, internals
from foldaway.stores.open import open_store
from foldaway.stores.store import Store
from foldaway.stores.values import NewMessage, NewSession, NewView, SessionInfo, TurnUsage
from foldaway.transcript import Folded, Kept, Message, Text, View
from foldaway.usage.categories import KINDS, Kind

DATA = Path(os.environ.get("FOLDAWAY_DATA", Path(__file__).parents[4] / "shared" / "data"))
PER_EXAMPLE = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
ROLES = ("system", "user", "assistant", "tool")
SUMMARY = Message("user", (Text("what came before"),), origin="summary")


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with open_store(tmp_path) as opened:
        yield opened


def said(role: str, tokens: int, text: str = "words", **fields: Any) -> NewMessage:
    body = json.dumps({"role": role, "content": text}).encode()
    facts: dict[str, Any] = {"time": 1.0, **fields}
    return NewMessage(body=body, role=role, tokens=tokens, **facts)


def session(store: Store, *messages: NewMessage, **fields: Any) -> SessionInfo:
    facts: dict[str, Any] = {"dialect": "openai-chat", "started": 0.0, **fields}
    return store.create(NewSession(**facts), messages=messages)


def folding(start: int, stop: int, length: int) -> NewView:
    items = [Kept(0, start), Folded(start, stop, (SUMMARY,), "fold"), Kept(stop, length)]
    view = View(tuple(item for item in items if item.stop > item.start), length)
    return NewView(items=pack_view(view, "openai-chat"), length=length)


def kinds(found: Timeline, at: int) -> dict[Kind, int]:
    return {kind: tokens for kind, tokens in zip(KINDS, found.held[at], strict=True) if tokens}


ASKED = (said("system", 10), said("user", 20), said("assistant", 30, tools=("bash",)),
         said("tool", 400, tools=("bash",)), said("assistant", 50))  # fmt: skip


def reports(length: int) -> st.SearchStrategy[list[TurnUsage]]:
    """Requests at any places, some of which say nothing of their prompt."""
    one = st.builds(
        TurnUsage, position=st.integers(0, length), time=st.floats(0, 9),
        model=st.sampled_from(("", "claude-sonnet-4-5", "nobody's")), view=st.integers(0, 2),
        input_tokens=st.integers(0, 5_000), output_tokens=st.integers(0, 900),
        cache_read_tokens=st.integers(0, 5_000), cost=st.sampled_from((None, 0.5)),
    )  # fmt: skip
    return st.lists(one, max_size=9)


@PER_EXAMPLE
@given(st.data())
def test_kinds_add_up_whatever_was_sent(store: Store, data: st.DataObject) -> None:
    """The kinds of a prompt are never negative and add up to what the provider counted; columns
    keep the cost and what no cache had.
    """
    row = st.builds(said, st.sampled_from(ROLES), st.integers(0, 500), generated=st.booleans())
    info = session(store, *data.draw(st.lists(row, max_size=12)))
    log = [Message("user", (), at) for at in range(info.length)]
    for number in range(data.draw(st.integers(0, 2))):
        packed = pack_view(data.draw(views(log)), "openai-chat")
        store.commit(info.id, NewView(items=packed, length=info.length), expect=number)
    usage = data.draw(reports(info.length))
    store.add_usage(info.id, *usage)
    found = timeline(store, store.session(info.id))
    assert len(found.held) == len(found.requests)
    assert all(tokens >= 0 for held in found.held for tokens in held)
    for one, held in zip(found.requests, found.held, strict=True):
        assert not one.input_tokens or sum(held) == one.input_tokens
    assert all(0 <= step.request <= len(found.requests) for step in found.steps)
    most = data.draw(st.integers(1, 12))
    drawn = columns(found, most)
    assert len(drawn.first) <= most
    costs = [one.cost for one in found.requests if one.cost is not None]
    assert sum(one or 0 for one in drawn.cost) == pytest.approx(sum(costs))
    missed = [
        max(sum(held) - one.cache_read_tokens, 0)
        for one, held in zip(found.requests, found.held, strict=True)
    ]
    assert max(drawn.paid, default=0) == max(missed, default=0)
    assert [sum(of) for of in zip(*drawn.held.values(), strict=True)] == drawn.prompt[
        : len(drawn.prompt) if drawn.held else 0
    ]
    assert msgspec.json.decode(msgspec.json.encode(drawn))["last"] == drawn.last


amounts = st.tuples(*[st.integers(0, 10_000)] * len(KINDS))


@given(amounts, amounts, st.integers(1, 50_000))
def test_a_scaled_prompt_has_the_tokens_that_were_counted(
    fixed: tuple[int, ...], more: tuple[int, ...], total: int
) -> None:
    """To the token; what stands around the messages does not change if it fits."""
    estimate = tuple(map(sum, zip(fixed, more, strict=True)))
    found = scale(estimate, fixed, total)
    assert sum(found) == total
    assert min(found) >= 0
    if total >= sum(fixed):
        assert all(one >= kept for one, kept in zip(found, fixed, strict=True))


def test_a_prompt_is_told_by_kind(store: Store) -> None:
    """Roles tell kinds; what the first prompt had beyond them is not recorded, and stays."""
    info = session(store, *ASKED)
    store.add_usage(info.id, TurnUsage(position=2, input_tokens=1_030, time=1.0),
                    TurnUsage(position=4, input_tokens=1_460, time=2.0))  # fmt: skip
    found = timeline(store, info)
    assert kinds(found, 0) == {"unrecorded": 1_000, "system": 10, "user": 20}
    assert kinds(found, 1) == {
        "unrecorded": 1_000, "system": 10, "user": 20, "agent": 30, "results": 400,
    }  # fmt: skip
    assert (found.source, found.totals.requests, found.steps) == ("measured", 2, ())


def test_an_answer_is_no_part_of_its_own_prompt(store: Store) -> None:
    """Also if its usage was reported with its last message."""
    info = session(store, said("user", 20), said("assistant", 30), said("assistant", 40))
    store.add_usage(info.id, TurnUsage(position=2, input_tokens=20))
    assert kinds(timeline(store, info), 0) == {"user": 20}


def test_without_reports_each_answer_has_a_request_without_a_cost(store: Store) -> None:
    """A run of messages of the agent is one answer; what is estimated has no price."""
    info = session(store, *ASKED, said("assistant", 5), model="claude-sonnet-4-5")
    found = timeline(store, info)
    assert [(one.position, one.input_tokens, one.output_tokens) for one in found.requests] == [
        (2, 30, 30), (4, 460, 55),
    ]  # fmt: skip
    assert found.source == "estimated"
    assert found.totals.cost is None
    assert timeline(store, session(store)).source == "none"


def test_a_compaction_is_a_step_at_the_first_request_with_its_view(store: Store) -> None:
    """And so is an undo; one that was never sent stands after the last request."""
    info = session(store, *ASKED)
    store.add_usage(info.id, TurnUsage(position=4, input_tokens=460, time=1.0))
    store.commit(info.id, folding(1, 4, 5), expect=0)
    store.add_usage(info.id, TurnUsage(position=5, input_tokens=90, view=1, time=2.0),
                    TurnUsage(position=5, input_tokens=510, view=0, time=3.0))  # fmt: skip
    found = timeline(store, store.session(info.id))
    assert [(step.request, step.view, step.reason, step.tokens_before, step.tokens_after)
            for step in found.steps] == [
        (1, 1, "compaction", 460, 90), (2, 0, "undo", 90, 510),
    ]  # fmt: skip
    assert set(kinds(found, 1)) == {"system", "summary", "agent"}
    store.commit(info.id, folding(2, 4, 5), expect=1)
    late = timeline(store, store.session(info.id)).steps[-1]
    assert (late.request, late.view) == (3, 2)


def test_a_timeline_is_made_again_only_after_something_in_it_changed(store: Store) -> None:
    """A message, a request, a compaction, an undo or what a provider said of the window."""
    kept = Timelines()
    info = session(store, *ASKED, model="nobody's")
    last = kept.find(store, info)
    changes: list[Callable[[], object]] = [
        lambda: store.add_usage(info.id, TurnUsage(position=4, input_tokens=460, time=1.0)),
        lambda: store.add_usage(info.id, TurnUsage(position=4, input_tokens=480, time=2.0)),
        lambda: store.append(info.id, [said("user", 5)]),
        lambda: store.commit(info.id, folding(1, 4, 5), expect=0),
        lambda: store.undo(info.id, expect=1),
        lambda: store.learn_windows({"refused nobody's": 70_000}),
    ]
    for change in changes:
        change()
        found = kept.find(store, store.session(info.id))
        assert found is not last
        assert found == timeline(store, store.session(info.id))
        assert kept.find(store, store.session(info.id)) is found
        last = found


def test_few_timelines_are_kept(store: Store) -> None:
    """Those of the sessions that were asked for last."""
    kept = Timelines()
    first, *others = [session(store, *ASKED) for _ in range(6)]
    made = kept.find(store, first)
    for other in others[:3]:
        kept.find(store, other)
        assert kept.find(store, first) is made
    for other in others:
        kept.find(store, other)
    assert kept.find(store, first) is not made


def test_the_agents_own_compaction_is_a_step(store: Store) -> None:
    """What came before its summary is not in the prompt any more; the system prompt is."""
    info = session(
        store, *ASKED, said("user", 60, generated=True), said("user", 7), said("assistant", 9)
    )
    store.add_usage(info.id, TurnUsage(position=4, input_tokens=460),
                    TurnUsage(position=7, input_tokens=77))  # fmt: skip
    found = timeline(store, info)
    assert kinds(found, 1) == {"system": 10, "summary": 60, "user": 7}
    (step,) = found.steps
    assert (step.request, step.reason, step.tokens_before, step.tokens_after) == (
        1, "agent", 460, 77,
    )  # fmt: skip
    assert found.threshold_tokens == 160_000, "so early it was done by hand"


def test_what_the_agent_kept_beside_its_summary_is_no_summary(store: Store) -> None:
    """A prompt after a compaction that is longer than the summary holds the newest messages before
    it too, as many as fit; the last prompt before a compaction is where the agent compacts.
    """
    talk = [said("user" if at % 2 else "assistant", 100) for at in range(1_000)]
    info = session(store, said("system", 10), *talk, said("user", 60, generated=True),
                   said("user", 40), said("assistant", 9))  # fmt: skip
    store.add_usage(info.id, TurnUsage(position=1_000, input_tokens=99_960, time=1.0),
                    TurnUsage(position=1_003, input_tokens=510, time=2.0))  # fmt: skip
    found = timeline(store, info)
    assert kinds(found, 1) == {"system": 10, "summary": 60, "user": 240, "agent": 200}
    assert found.threshold_tokens == 99_960


def test_a_session_of_ours_shows_its_own_window_before_any_compaction(store: Store) -> None:
    """The window and the threshold that it was opened with, and not those of its model."""
    policy = Policy(threshold=0.6, floor_tokens=1_000)
    kept = Session(store, "own", model="gpt-5", context_length=40_000, policy=policy)
    kept.append({"role": "user", "content": "hello"}, {"role": "assistant", "content": "yes"})
    found = timeline(store, store.session(kept.id))
    due = internals(kept).engine.settings.budget.threshold_tokens
    assert due < 40_000
    assert (found.window_tokens, found.window_source) == (40_000, "given")
    assert found.threshold_tokens == due


def test_a_session_of_ours_shows_its_window_and_its_compaction(store: Store) -> None:
    """What was appended, used and compacted through a session is on its timeline, with the window
    and the threshold of the report.
    """
    items = written("openai-chat", [Exchange(3, 2, 900)] * 8)
    kept = Session(
        store, context_length=12_000, options=SessionOptions(new=NewSession(dialect="openai-chat"))
    )
    kept.append(*items)
    kept.used({"prompt_tokens": 11_000, "completion_tokens": 5})
    report = kept.compact(force=True)
    kept.used({"prompt_tokens": 3_000, "completion_tokens": 5})
    found = timeline(store, store.session(kept.id))
    (step,) = found.steps
    assert (step.request, step.view, step.tokens_before, step.tokens_after) == (
        1, 1, report.tokens_before, report.tokens_after,
    )  # fmt: skip
    assert (found.window_tokens, found.threshold_tokens) == (12_000, report.threshold_tokens)
    assert "summary" in kinds(found, 1)
    assert kinds(found, 1)["results"] < kinds(found, 0)["results"]
    assert "summary" in dict(strip(store, store.session(kept.id)))


def test_what_a_request_has_around_its_messages_is_known_from_a_report(store: Store) -> None:
    """A store keeps no system prompt and tools of a host's requests, but their tokens."""
    tools = [{"name": f"tool_{at}", "description": "d " * 200} for at in range(4)]
    body = {"model": "m", "system": "You are an agent. " * 50, "tools": tools}
    items = written("anthropic", [Exchange(3, 2, 900)] * 8)
    kept = Session(
        store, context_length=12_000, options=SessionOptions(new=NewSession(dialect="anthropic"))
    )
    kept.follow(request=json.dumps({**body, "messages": items}).encode(), force=True)
    info = store.session(kept.id)
    assert info.view
    store.add_usage(info.id, TurnUsage(position=info.length, input_tokens=9_000, view=1))
    found = kinds(timeline(store, info), 0)
    assert found["tools"] > 500
    assert found["system"] > 200
    assert {"system", "tools", "summary"} <= set(dict(strip(store, info)))


RULES = ("# AGENTS.md instructions for /repo\n\n<INSTRUCTIONS>\n" + "Run make test. " * 40
         + "\n</INSTRUCTIONS>")  # fmt: skip


@pytest.mark.parametrize(
    ("role", "text", "expected"),
    [
        ("user", RULES, {"rules"}),
        ("user", "Please shorten\nAGENTS.md\nand say what you left out.", {"user"}),
        ("system", "You are an agent.\n\n" + RULES, {"system", "rules"}),
        ("user", "Fix it.", {"user"}),
    ],
)
def test_rules_files_are_told_from_words(
    store: Store, role: str, text: str, expected: set[str]
) -> None:
    """A rules file that an agent puts before the first answer is no talk of the user; what the
    user says about one is.
    """
    info = session(store, said(role, 200, text), said("assistant", 5))
    found = kinds(timeline(store, info), 0)
    assert set(found) == expected
    assert sum(found.values()) == 200
    assert {kind for kind, _ in strip(store, info)} == {*expected, "agent"}


def test_what_stands_around_the_messages_counts(store: Store) -> None:
    """System prompt and tools of the frame; the window is the one that the agent recorded."""
    frame = {"key": "messages", "window": 50_000, "body": {
        "system": "You are an agent. " * 30, "tools": [{"name": "read", "description": "d " * 90}],
    }}  # fmt: skip
    info = session(store, said("user", 5), said("assistant", 3), dialect="anthropic",
                   frame=json.dumps(frame).encode())  # fmt: skip
    found = timeline(store, info)
    assert set(kinds(found, 0)) == {"system", "tools", "user"}
    assert (found.window_tokens, found.window_source) == (50_000, "given")


def test_bodies_after_the_first_answer_are_not_decoded(store: Store) -> None:
    """A session opens although nobody can read its messages."""
    broken = [msgspec.structs.replace(one, body=b"\xff") for one in ASKED[2:]]
    info = session(store, *ASKED[:2], *broken)
    assert len(timeline(store, info).requests) == 2
    assert strip(store, info)


def test_a_strip_is_the_prompt_of_now(store: Store) -> None:
    """The last prompt and what came since, as shares of the window; what is folded is not in it."""
    info = session(store, *ASKED, source="claude-code")
    store.add_usage(info.id, TurnUsage(position=4, input_tokens=20_460, time=1.0))
    shares = dict(strip(store, info))
    assert sum(shares.values()) == pytest.approx(20_510 / 200_000)
    assert shares["results"] == pytest.approx(400 / 200_000)
    assert shares["unrecorded"] == pytest.approx(20_000 / 200_000)
    store.commit(info.id, folding(1, 4, 5), expect=0)
    after = dict(strip(store, store.session(info.id)))
    assert set(after) == {"system", "summary", "agent"}


def test_a_strip_reads_no_more_than_a_window_holds(store: Store) -> None:
    """Of a log that is longer than the window the newest messages fill it; the agent's own
    compaction ends it.
    """
    long = session(store, *[said("user", 1_000) for _ in range(2_000)])
    assert dict(strip(store, long)) == {"user": pytest.approx(1.0)}
    own = session(store, *ASKED, said("user", 60, generated=True), said("user", 40))
    assert dict(strip(store, own)) == {
        "summary": pytest.approx(60 / 200_000), "user": pytest.approx(40 / 200_000),
    }  # fmt: skip


AGENTS = {"claude-code": 60, "codex": 30, "opencode": 15, "pi": 900, "openhands": 9}
"""Agents and the messages of a session that is long enough to look at."""


@pytest.mark.shared
@pytest.mark.parametrize("agent", AGENTS)
def test_real_sessions_have_plausible_windows(store: Store, agent: str) -> None:
    """Prompts grow with the log up to a window of a known size, and results have their share."""
    folder = DATA / "native" / agent
    if not folder.is_dir():
        pytest.skip(f"no shared data at {folder}; set FOLDAWAY_DATA")
    taken = take_all(store, (one for path in sorted(folder.iterdir()) for one in sessions_in(path)))
    long = [one.session for one in taken if one.session and one.session.length >= AGENTS[agent]]
    assert long
    for info in long:
        found = timeline(store, info)
        assert found.source != "none"
        prompts = list(map(sum, found.held))
        assert prompts[0] <= max(prompts) <= found.window_tokens
        assert found.threshold_tokens <= found.window_tokens
        _no_kind_is_lost(found)
        assert sum(share for _, share in strip(store, info)) <= 1


def _no_kind_is_lost(found: Timeline) -> None:
    last = kinds(found, -1)
    assert {"user", "agent", "results"} <= set(last)
    assert _share(last, "user") < 0.5
    if found.source == "measured":
        assert found.totals.cost
        first = found.held[0][KINDS.index("unrecorded")]
        assert {held[0] for held in found.held if sum(held) >= first} == {first}


def _share(found: dict[Kind, int], *wanted: Kind) -> float:
    parts: Sequence[int] = [found.get(kind, 0) for kind in wanted]
    return sum(parts) / sum(found.values())
