"""The replay lab: its cache, its bills, and what strategies do to them."""

from __future__ import annotations

import json
from typing import Any
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.testing.strategies import PROVIDERS, valid_bodies, valid_lists

from foldaway.caching.prices import Prices
from foldaway.dialects.loading import load
from foldaway.lab.replay import (
    CallState,
    Prompt,
    Recording,
    Replay,
    ReplayCompaction,
    ReplayPlayer,
    ReplayTerms,
    record,
    replay,
)
from foldaway.lab.report.panels import cost_plot
from foldaway.lab.simulation import (
    ReplayStrategy,
    append_only,
    compact_at_share,
    compact_rarely,
    compacting,
    masking,
    planner,
    policy_at,
    quantiles,
    simulate,
    strategies_for,
)

SONNET = Prices(
    input=3.0, output=15.0, cache_read=0.3, cache_write_5m=3.75, cache_write_1h=6.0, at_marks=True
)
FREE_WRITES = Prices(
    input=2.0, output=8.0, cache_read=0.2, cache_write_5m=2.0, cache_write_1h=2.0
)  # fmt: skip
"""A provider that caches every prefix and writes for nothing."""


def session(calls: int, result: str = "line of a file\n" * 120) -> Recording:
    """Return a session that reads a file in every call."""
    found: list[dict[str, Any]] = [
        {"role": "system", "content": "You are an agent. " * 150},
        {"role": "user", "content": "Mend the parser."},
    ]
    for n in range(calls):
        call = {"name": "read_file", "arguments": json.dumps({"path": f"src/module_{n}.py"})}
        found += [
            {"role": "assistant", "content": None, "tool_calls": [
                {"id": f"c{n}", "type": "function", "function": call}]},
            {"role": "tool", "tool_call_id": f"c{n}", "content": f"{n} {result}"},
        ]  # fmt: skip
    return record(load(found))


def terms(prices: Prices = SONNET, window: int = 20_000, **more: Any) -> ReplayTerms:
    return ReplayTerms(prices=prices, context_length=window, **more)


def run(recording: Recording, strategy: ReplayStrategy, under: ReplayTerms) -> Replay:
    return replay(recording, strategy.name, strategy.start(recording, under), under)


@pytest.mark.parametrize("prices", [SONNET, FREE_WRITES])
def test_append_only_costs_what_the_formula_says(prices: Prices) -> None:
    """Each call reads the last prompt from the cache and writes what came since."""
    recording = session(30)
    expected, before = 0.0, 0
    prompt = 0
    for new, answer in recording.calls():
        prompt += sum(entry.tokens for entry in new)
        output = sum(entry.tokens for entry in answer)
        expected += prices.bill(prompt, before, output).usd
        before, prompt = prompt, prompt + output
    made = run(recording, append_only(), terms(prices))
    assert made.usd == pytest.approx(expected)
    assert made.calls == 30
    assert made.compactions == 0


def test_a_call_is_a_run_of_agent_messages() -> None:
    """Text and tool calls that were written apart are one answer; what comes first is no call."""
    recording = record(load([
        {"role": "assistant", "content": "Hello."},
        {"role": "user", "content": "Hi."},
        {"role": "assistant", "content": "One."},
        {"role": "assistant", "content": "Two."},
        {"role": "user", "content": "End."},
    ]))  # fmt: skip
    calls = [(len(new), len(answer)) for new, answer in recording.calls()]
    assert calls == [(2, 2)]


def test_masking_every_turn_costs_more_than_doing_nothing() -> None:
    """Every mask breaks the cached prefix; rare and deep compaction costs less than nothing."""
    recording = session(60)
    plain = run(recording, append_only(), terms())
    assert run(recording, masking(), terms()).usd > 1.5 * plain.usd
    assert run(recording, compact_rarely(), terms()).usd < plain.usd
    assert plain.overflows > 0


@pytest.mark.slow
def test_the_planner_is_not_dearer_than_the_thresholds_on_a_steady_session() -> None:
    """On even growth it finds about the best of them by itself, in a window of any size."""
    recording = session(200)
    small = terms(window=100_000)
    best = min(run(recording, compact_at_share(share), small).usd for share in (0.2, 0.3, 0.5, 0.8))
    made = run(recording, planner("most"), small)
    assert made.usd <= 1.05 * best
    assert made.compactions > 0
    assert run(recording, planner("most"), terms(window=1_000_000)).usd <= 1.1 * made.usd


def test_the_planner_leaves_a_short_session_alone() -> None:
    """What ends soon is not compacted, whatever share of the window it has reached."""
    made = run(session(6), planner("most"), terms(window=30_000))
    assert made.compactions == 0


def test_compactions_stand_at_the_calls_that_were_chosen() -> None:
    """One before each of them and none elsewhere; chosen in hindsight they can only save."""

    def chosen(*calls: int) -> ReplayStrategy:
        return compacting("in hindsight", policy_at(0.1), frozenset(calls))

    recording = session(40)
    none = run(recording, chosen(), terms())
    assert none.bill == run(recording, append_only(), terms()).bill
    made = run(recording, chosen(10, 25), terms())
    assert made.compactions == 2
    assert made.usd < none.usd
    early = run(recording, chosen(1), terms(window=100_000))
    assert early.compactions == 0


def test_what_never_pays_still_keeps_within_the_window() -> None:
    """At the hard limit it acts, whatever that costs."""
    dear = Prices(input=1e3, output=1.0, cache_read=1e-6, cache_write_5m=1e3, cache_write_1h=1e3)
    made = run(session(60), planner("most"), terms(dear))
    assert made.compactions > 0
    assert made.overflows == 0


def test_a_long_pause_makes_the_cache_cold() -> None:
    """From the ttl on, a call after a user's message reads nothing."""
    chat = [{"role": ("user", "assistant")[n % 2], "content": f"{n} " + "word " * 900}
            for n in range(12)]  # fmt: skip
    recording = record(load(chat))
    warm = run(recording, append_only(), terms(pause_seconds=299.0))
    cold = run(recording, append_only(), terms(pause_seconds=300.0))
    hour = run(recording, append_only(), terms(pause_seconds=300.0, ttl="1h"))
    assert warm.bill.read_tokens == hour.bill.read_tokens > 0
    assert cold.bill.read_tokens == 0


def test_summaries_by_the_model_are_paid_for() -> None:
    """Each reads the prompt and writes a summary."""
    free = run(session(60), compact_at_share(0.5), terms())
    paid = run(session(60), compact_at_share(0.5), terms(model_summary=True))
    assert free.compactions == paid.compactions > 0
    assert free.summaries.usd == 0
    assert paid.summaries.output_tokens > 0
    assert paid.bill.usd == pytest.approx(free.bill.usd)


class _Any(ReplayPlayer):
    """Changes the prompt at random places, as a property asks for it."""

    def __init__(self, places: list[int]) -> None:
        self._places = places

    def take(self, entries: object, prompt: Prompt) -> None:
        del entries, prompt

    def act(self, state: CallState) -> ReplayCompaction | None:
        pieces = state.prompt.pieces
        if self._places and pieces:
            state.prompt.change(self._places.pop() % len(pieces), (object(), 7))


@given(
    st.lists(st.integers(0, 60), max_size=20), st.sampled_from([SONNET, FREE_WRITES]),
    st.integers(0, 600),
)  # fmt: skip
def test_the_cache_never_holds_more_than_the_common_prefix(
    places: list[int], prices: Prices, pause: int
) -> None:
    """Whatever is changed, every call is billed for its whole prompt, and reads no more of it than
    the last one had in common with it.
    """
    player: ReplayPlayer = _Any(list(places))
    made = replay(session(20), "any", player, terms(prices, pause_seconds=pause))
    plain = run(session(20), append_only(), terms(prices))
    assert made.bill.read_tokens <= made.bill.prompt_tokens
    assert made.bill.prompt_tokens <= plain.bill.prompt_tokens
    assert made.calls == plain.calls
    assert 0 <= made.hit_rate <= 1


def test_a_changed_message_ends_what_is_cached() -> None:
    """A provider with marks finds only its marks; another finds all before the change."""
    prompt = Prompt(100, 1)
    prompt.extend([(f"m{n}", 10) for n in range(10)])
    prompt.sent()
    assert prompt.cached_tokens(10, at_marks=True) == 200
    prompt.change(8, ("new", 10))
    assert prompt.cached_tokens(10, at_marks=True) == 180
    assert prompt.cached_tokens(10, at_marks=False) == 180
    prompt.change(5, ("new", 10))
    assert prompt.cached_tokens(10, at_marks=True) == 110
    assert prompt.cached_tokens(10, at_marks=False) == 150
    prompt.change(0, ("new", 10))
    assert prompt.cached_tokens(10, at_marks=True) == 100
    assert prompt.cached_tokens(0, at_marks=False) == 0


@settings(max_examples=25)
@given(st.data())
def test_any_transcript_can_be_replayed(data: st.DataObject) -> None:
    """No dialect and no shape is too odd; append only is the yardstick."""
    provider = data.draw(st.sampled_from(sorted(PROVIDERS)))
    shape = data.draw(st.sampled_from([valid_lists, valid_bodies]))
    recording = record(load(data.draw(shape(provider))))
    found = simulate([recording], terms(window=4_000), strategies_for((0.2, 0.8)))
    assert found[0].ratio == 1.0
    assert {one.calls for one in found} == {found[0].calls}
    assert all(one.usd >= 0 for one in found)


def test_the_plot_is_well_formed_and_names_every_strategy() -> None:
    """SVG that a parser takes, also with odd names and nothing to show."""
    found = simulate([session(5), session(9)], terms(), strategies_for((0.5,)))
    text = cost_plot("a < b & c", found)
    words = {element.text for element in ElementTree.fromstring(text).iter()}
    assert {one.strategy for one in found} <= words
    ElementTree.fromstring(cost_plot("nothing", []))


def test_quantiles_of_little() -> None:
    """One value is all of them, and nothing has none."""
    assert quantiles([], (0.5,)) == []
    assert quantiles([2.0], (0.0, 0.5, 1.0)) == [2.0, 2.0, 2.0]
    assert quantiles([3.0, 1.0, 2.0], (0.0, 0.5, 1.0)) == [1.0, 2.0, 3.0]
