"""Summaries that are written while the agent goes on."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.testing.long_lists import Exchange, written

from foldaway import check
from foldaway._core.policy import Policy
from foldaway.engine.compressor import Compressor
from foldaway.errors import SummarizerFailed
from foldaway.summarizers.writers import Writers, writers_of
from foldaway.testing import ScriptedSummarizer

SMALL = Policy(floor_tokens=500)
GOOD = '{"decisions": [{"text": "Everything was checked before it was changed.", "source": ""}]}'
WAITS = 20.0
"""More than any test takes."""


def exchange(start: int, count: int = 1) -> list[Any]:
    return written("openai-chat", [Exchange(2, 2, 900)] * count, start=start)


def engine(summarizer: ScriptedSummarizer | Writers, **settings: Any) -> Compressor:
    return Compressor(**{
        "context_length": 24_000, "policy": SMALL, "summarizer": summarizer, "background": True,
        **settings,
    })  # fmt: skip


def until_pressure(made: Compressor, summarizer: ScriptedSummarizer) -> list[Any]:
    """Append exchanges until the summarizer is asked."""
    items: list[Any] = []
    for number in range(40):
        made.append(*(new := exchange(number)))
        items += new
        if made.decide().pressure:
            assert summarizer.asked.wait(WAITS)
            return items
    raise AssertionError("no pressure")


def test_pressure_begins_it_and_no_turn_waits() -> None:
    """While there is room, `compact` says that one is under way; then it takes it in."""
    summarizer = ScriptedSummarizer([GOOD], hold=True)
    made = engine(summarizer)
    items = until_pressure(made, summarizer)
    while not made.decide().due:
        made.append(*(new := exchange(len(items))))
        items += new
    report = made.compact()
    assert (report.status, report.reason) == ("unchanged", "already running")
    assert made.messages == items
    summarizer.release()
    while not made.is_prepared:
        pass
    made.append(*(new := exchange(900)))
    report = made.compact()
    assert (report.status, report.summary_source.source) == ("compacted", "model")
    assert made.messages[-len(new) :] == new
    assert not check(made.messages, provider="openai-chat")
    assert made.undo()
    assert made.messages == [*items, *new]
    assert len(summarizer.requests) == 1


def test_where_the_next_turn_would_not_fit_it_is_waited_for() -> None:
    """Hard urgency waits for what is under way, instead of beginning anew."""
    summarizer = ScriptedSummarizer([GOOD], hold=True)
    made = engine(summarizer)
    items = until_pressure(made, summarizer)
    made.append(*exchange(500, 12))
    assert made.decide().urgency == "hard"
    summarizer.release()
    report = made.compact()
    assert report.summary_source.source == "model"
    assert len(summarizer.requests) == 1
    assert items[0] == made.conversation.recall(report.references[0].ref)[0] or report.folded > 0


def test_a_changed_past_drops_what_was_prepared() -> None:
    """A forced run in between wins; the prepared one is never swapped in."""
    summarizer = ScriptedSummarizer([GOOD, GOOD], hold=True)
    made = engine(summarizer)
    until_pressure(made, summarizer)
    summarizer.release()
    assert made.compact(force=True).status == "compacted"
    assert made.state.count == 1
    assert made.compact().reason in ("below threshold", "deferred")
    assert made.state.count == 1


def test_what_is_cancelled_is_not_used() -> None:
    """Also where it was ready."""
    summarizer = ScriptedSummarizer([GOOD], hold=True)
    made = engine(summarizer)
    items = until_pressure(made, summarizer)
    made.cancel()
    summarizer.release()
    assert made.compact().reason == "below threshold"
    assert made.messages == items


def test_a_failure_in_the_background_changes_nothing() -> None:
    """It is told at the next run, and a pause follows."""
    summarizer = ScriptedSummarizer([SummarizerFailed("refused", "scripted:model")])
    made = engine(summarizer)
    items = until_pressure(made, summarizer)
    while not made.is_prepared:
        pass
    report = made.compact()
    assert (report.status, report.reason) == ("unchanged", "aborted")
    assert made.messages == items
    assert made.state.breaker.strikes == 1
    made.append(*exchange(700))
    assert len(summarizer.requests) == 1


def test_a_host_that_awaits_takes_in_what_was_prepared() -> None:
    """The loop stays free while the summary is written."""
    summarizer = ScriptedSummarizer([GOOD], hold=True)
    made = engine(summarizer, background=False)
    items = exchange(0, 5)
    made.append(*items)

    async def go() -> tuple[str, str]:
        assert made.prepare()
        assert not made.prepare()
        busy = (await made.acompact()).reason
        made.append(*(new := exchange(300)))
        items.extend(new)
        summarizer.release()
        while not made.is_prepared:
            await asyncio.sleep(0)
        return busy, (await made.acompact()).summary_source.source

    assert asyncio.run(go()) == ("already running", "model")
    assert made.undo()
    assert made.messages == items


STEPS = st.lists(
    st.sampled_from(("turn", "turns", "compact", "force", "prepare", "release", "hold", "cancel",
                     "undo", "restart", "fail", "usage")),
    min_size=4, max_size=24,
)  # fmt: skip


@pytest.mark.parametrize("background", [True, False])
@given(steps=STEPS)
def test_no_interleaving_breaks_a_law(steps: list[str], background: bool) -> None:
    """Turns, swaps, cancels, undos and restarts in any order: valid, nothing lost, all come back.

    After every step the provider accepts the list, the newest message is the last one, and every
    message that was ever appended is there or behind a reference.
    """
    _live(steps, background)


@pytest.mark.soak
@pytest.mark.parametrize("background", [True, False])
@settings(max_examples=400)
@given(steps=STEPS)
def test_no_interleaving_of_many_breaks_a_law(steps: list[str], background: bool) -> None:
    """The same for many more, which are new each time."""
    _live(steps, background)


def _live(steps: list[str], background: bool) -> None:
    world = _World(background=background)
    for step in steps:
        getattr(world, step)()
        world.hold_laws()
    world.end()


class _World:
    """One conversation, its host and its summarizer."""

    def __init__(self, *, background: bool) -> None:
        self.background = background
        self.fails = False
        self.items: list[Any] = []
        self.began_with: tuple[list[Any], int] = ([], 0)
        self.serial = 0
        self.summarizer = self._summarizer()
        self.made = self._engine()

    def _summarizer(self) -> ScriptedSummarizer:
        return ScriptedSummarizer(self._answer)

    def _answer(self, request: object) -> Any:
        del request
        return SummarizerFailed("overloaded", "scripted:model") if self.fails else GOOD

    def _engine(self) -> Compressor:
        return engine(writers_of(self.summarizer, timeout=WAITS), background=self.background)

    def turn(self) -> None:
        self.serial += 1
        new = exchange(self.serial)
        self.items += new
        self.made.append(*new)

    def turns(self) -> None:
        for _ in range(4):
            self.turn()

    def compact(self) -> None:
        if self.made.decide().urgency == "hard" or not self.made.is_preparing:
            self.summarizer.release()  # it would be waited for
        self.made.compact()

    def force(self) -> None:
        self.summarizer.release()
        self.made.compact(force=True)

    def prepare(self) -> None:
        self.made.prepare()

    def release(self) -> None:
        self.summarizer.release()

    def hold(self) -> None:
        self.summarizer.hold()

    def cancel(self) -> None:
        self.made.cancel()

    def undo(self) -> None:
        self.made.undo()

    def restart(self) -> None:
        """A new process: the state and what the model sees are kept by the host."""
        self.summarizer.release()
        self.made.cancel()
        was, self.made = self.made, self._engine()
        if was.length:
            log = [message.wire for message, _ in was.conversation.list_arrived(0)]
            assert log == self.items
            self.made.resume(log, was.view, was.snapshot())
            assert self.made.messages == was.messages
            self.began_with = (was.messages, was.length)

    def fail(self) -> None:
        self.fails = not self.fails

    def usage(self) -> None:
        if self.items:
            self.made.report_usage(self.made.decide().prompt_tokens + 9)

    def hold_laws(self) -> None:
        seen = self.made.messages
        if not self.items:
            return
        assert not check(seen, provider="openai-chat")
        assert seen[-1] == self.items[-1]
        behind: list[Any] = []
        for row in self.made.state.references:
            behind += self.made.conversation.recall(row.ref)
        held = [*map(repr, seen), *map(repr, behind)]
        missing = [item for item in self.items if repr(item) not in held]
        assert not missing

    def end(self) -> None:
        self.summarizer.release()
        self.made.cancel()
        while self.made.undo():
            pass
        seen, length = self.began_with
        assert self.made.messages == [*seen, *self.items[length:]]
