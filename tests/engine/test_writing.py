"""Summaries by a model in the engine: what is taken in, and what every failure leaves behind."""

from __future__ import annotations

import asyncio
import json
from typing import Any, get_args

import pytest
from tests.testing.laws import broken_laws
from tests.testing.long_lists import Exchange, written
from tests.testing.rows import each_row

import foldaway
from foldaway._core.policy import Policy
from foldaway._core.report import Report
from foldaway.engine.compressor import Compressor
from foldaway.errors import FailureKind, InvalidSetting, SummarizerFailed, UnknownName
from foldaway.summarizers.failures import CLASSES, PAUSES
from foldaway.summarizers.writers import writers_of
from foldaway.testing import ScriptedSummarizer

SMALL = Policy(floor_tokens=500)
ITEMS = written("openai-chat", [Exchange(2, 2, 900)] * 8, with_system=True)
GOOD = (
    '{"completed": [{"text": "The agent looked through the values.", "source": ""}], '
    '"decisions": [{"text": "Everything was checked before it was changed.", "source": ""}]}'
)
KINDS: tuple[FailureKind, ...] = get_args(FailureKind)
OUT_OF_REACH = ("refused", "not found", "unreachable")
HOW = ("waits", "awaits")


class Clock:
    """A clock that stands still until it is told otherwise."""

    def __init__(self) -> None:
        self.now = 1_800_000_000.0

    def __call__(self) -> float:
        return self.now


WRITING = ("fallback", "on_failure", "timeout")
"""Settings of the engine below that its writers take."""


def engine(*answers: Any, clock: Clock | None = None, **settings: Any) -> Compressor:
    summarizer = settings.pop("summarizer", None) or ScriptedSummarizer(answers)
    asked = {key: settings.pop(key) for key in WRITING if key in settings}
    writers = writers_of(summarizer, **asked)
    made = Compressor(**{
        "context_length": 32_000, "policy": SMALL, "clock": clock or Clock(),
        "summarizer": writers, **settings,
    })  # fmt: skip
    made.append(*ITEMS)
    return made


def compact(made: Compressor, how: str, **wishes: Any) -> Report:
    if how == "waits":
        return made.compact(**wishes)
    return asyncio.run(made.acompact(**wishes))


def failure(kind: FailureKind) -> SummarizerFailed:
    return SummarizerFailed(kind, "scripted:model", "status 400")


@pytest.mark.parametrize("how", HOW)
def test_what_a_model_wrote_stands_in_the_summary(how: str) -> None:
    """Checked, beside the ledger's facts, and the report says who wrote it."""
    made = engine(GOOD)
    report = compact(made, how)
    assert report.status == "compacted"
    note = report.summary_source
    assert (note.source, note.name, note.calls, note.failure) == ("model", "scripted:model", 1, "")
    assert (note.unchecked, note.added) == (2, 0)
    assert "Everything was checked before it was changed." in str(made.messages)
    assert made.state.prose is not None
    assert (
        broken_laws(ITEMS, made.messages, report, made.conversation.recall, provider="openai-chat")
        == []
    )


def test_a_model_that_has_nothing_to_add_is_no_failure() -> None:
    """The ledger's summary is used, the report says why, and no pause follows."""
    made = engine('{"entries": []}')
    report = made.compact()
    assert (report.status, report.summary_source.source) == ("compacted", "ledger")
    assert "scripted:model had nothing to add" in report.notes
    assert made.state.breaker.strikes == 0


def test_what_an_older_note_said_of_the_state_goes_without_a_new_one() -> None:
    """Nobody has checked it against what happened since; what was decided stays."""
    told = {"decisions": "Chose the first of both ways.", "remaining": "The last way was left."}
    rows = {name: [{"text": text, "source": ""}] for name, text in told.items()}
    made = engine(json.dumps(rows), failure("timed out"))
    made.compact()
    assert all(text in str(made.messages) for text in told.values())
    made.append(*written("openai-chat", [Exchange(2, 2, 900)] * 12, with_system=False))
    assert made.compact(force=True).status == "compacted"
    assert told["decisions"] in str(made.messages)
    assert told["remaining"] not in str(made.messages)


@each_row("how", HOW)
@each_row("kind", KINDS)
def test_a_failure_loses_nothing(kind: FailureKind, how: str) -> None:
    """Where nobody can be reached and there is room, the very same messages come back; otherwise
    the ledger's summary, with the failure in the report and a pause after it.
    """
    clock = Clock()
    made = engine(failure(kind), clock=clock)
    assert made.decide().urgency == "soft"
    report = compact(made, how)
    if kind in OUT_OF_REACH or kind == "cancelled":
        assert (report.status, report.reason) == ("unchanged", "aborted")
        assert "nothing was changed" in report.detail
        assert made.messages == ITEMS
        assert made.state.count == 0
    else:
        assert (report.status, report.summary_source.source) == ("compacted", "ledger")
        assert any(kind in note for note in report.notes)
        assert made.undo()
        assert made.messages == ITEMS
    assert report.summary_source.failure == kind
    assert report.summary_source.retry_class == CLASSES[kind]
    pause = made.state.breaker.until - clock.now if report.status == "unchanged" else 0
    if kind in OUT_OF_REACH:
        assert pause == PAUSES[CLASSES[kind]]


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "cancelled"])
def test_the_settings_say_what_follows(kind: FailureKind) -> None:
    """`ledger` never stops, `abort` always does, and at hard urgency only `abort` does."""
    assert engine(failure(kind), on_failure="ledger").compact().status == "compacted"
    stopped = engine(failure(kind), on_failure="abort").compact()
    assert (stopped.status, stopped.reason) == ("unchanged", "aborted")
    tight = engine(failure(kind), context_length=24_000)
    assert tight.decide().urgency == "hard"
    assert tight.compact().summary_source.source == "ledger"
    stuck = engine(failure(kind), context_length=24_000, on_failure="abort")
    assert stuck.compact().reason == "aborted"
    assert stuck.messages == ITEMS


@pytest.mark.parametrize("how", HOW)
@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "cancelled"])
def test_the_other_summarizer_is_asked_once(kind: FailureKind, how: str) -> None:
    """Whatever went wrong with the first; the user reads of it."""
    other = ScriptedSummarizer([GOOD], name="scripted:other")
    made = engine(failure(kind), fallback=other)
    report = compact(made, how)
    assert report.summary_source.name == "scripted:other"
    assert len(other.requests) == 1
    assert any("the other summarizer was asked" in note for note in report.notes)
    assert not made.state.breaker.is_open(0)


def test_a_first_summarizer_that_failed_is_passed_over_while_the_other_one_writes() -> None:
    """Nobody waits for it again at every compaction; after its pause it is asked once more."""
    clock = Clock()
    first = ScriptedSummarizer([failure("timed out"), GOOD])
    other = ScriptedSummarizer([GOOD, GOOD], name="scripted:other")
    made = engine(clock=clock, summarizer=first, fallback=other)
    for _ in range(2):
        assert made.compact().summary_source.name == "scripted:other"
        made.append(*ITEMS)
    assert (len(first.requests), len(other.requests)) == (1, 2)
    clock.now += 3_600
    assert made.compact().summary_source.name == "scripted:model"
    assert made.state.first_breaker.strikes == 0


def test_both_fail_and_the_last_failure_counts() -> None:
    """One pause, that of the second."""
    clock = Clock()
    other = ScriptedSummarizer([failure("overloaded")], name="scripted:other")
    made = engine(failure("refused"), clock=clock, fallback=other)
    report = made.compact()
    assert (report.summary_source.source, report.summary_source.failure) == ("ledger", "overloaded")
    assert made.state.breaker.strikes == 1
    assert made.state.breaker.until == clock.now + 60


def test_nobody_is_asked_during_a_pause() -> None:
    """The reason is `cooldown`; after it, or by force, the summarizer is asked again."""
    clock = Clock()
    summarizer = ScriptedSummarizer([failure("refused"), failure("refused"), GOOD])
    made = engine(clock=clock, summarizer=summarizer)
    assert made.compact().reason == "aborted"
    assert made.compact().reason == "cooldown"
    clock.now += 599
    waiting = made.compact()
    assert (waiting.reason, len(summarizer.requests)) == ("cooldown", 1)
    assert "in 1 s" in waiting.detail
    clock.now += 1
    assert made.compact().reason == "aborted"
    assert made.state.breaker.until == clock.now + 1_200
    assert made.compact(force=True).summary_source.source == "model"
    assert made.state.breaker.strikes == 0


def test_a_pause_survives_a_restart() -> None:
    """It is part of the state."""
    clock = Clock()
    made = engine(failure("refused"), clock=clock)
    made.compact()
    again = Compressor(
        context_length=32_000, policy=SMALL, clock=clock, summarizer=ScriptedSummarizer([])
    )
    again.resume(ITEMS, None, made.snapshot())
    assert again.compact().reason == "cooldown"


def test_during_a_pause_a_full_session_goes_on_without_a_model() -> None:
    """Where the ledger may stand in, it does, and nobody is asked."""
    made = engine(failure("overloaded"))
    assert made.compact().summary_source.source == "ledger"
    made.append(*written("openai-chat", [Exchange(2, 2, 900)] * 8, start=900))
    made.report_usage({"prompt_tokens": 31_000})
    report = made.compact()
    assert (report.status, report.summary_source.source) == ("compacted", "ledger")
    assert report.summary_source.failure == "overloaded"


@each_row("how", HOW)
@each_row("error", [ValueError("secret words"), KeyError("x"), RuntimeError()])
def test_a_summarizer_that_breaks_its_protocol_is_a_failure(error: Exception, how: str) -> None:
    """Its error names the type alone: messages of errors may hold what was said."""
    report = compact(engine(error), how)
    assert report.summary_source.failure == "broken answer"
    assert "secret words" not in str(report)
    assert type(error).__name__ in str(report.notes)


@pytest.mark.parametrize("how", HOW)
def test_an_interrupt_leaves_everything_as_it_was(how: str) -> None:
    """It goes through, and the next run starts from the same place."""
    made = engine(KeyboardInterrupt(), GOOD)
    before = made.snapshot()
    with pytest.raises(KeyboardInterrupt):
        compact(made, how)
    assert made.messages == ITEMS
    assert made.snapshot() == before
    assert compact(made, how).summary_source.source == "model"


def test_cancelling_a_run_that_is_awaited_changes_nothing() -> None:
    """The task ends, the conversation is as before."""
    summarizer = ScriptedSummarizer([GOOD], hold=True)
    made = engine(summarizer=summarizer)

    async def go() -> None:
        task = asyncio.create_task(made.acompact())
        while not summarizer.asked.is_set():
            await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(go())
    assert made.messages == ITEMS
    assert made.state.count == 0
    assert made.state.breaker.strikes == 0


def test_what_arrives_while_a_run_is_awaited_is_kept() -> None:
    """The agent goes on; its new messages stand after the summary."""
    summarizer = ScriptedSummarizer([GOOD], hold=True)
    made = engine(summarizer=summarizer)
    new = {"role": "user", "content": "And this came in between."}

    async def go() -> Report:
        task = asyncio.create_task(made.acompact())
        while not summarizer.asked.is_set():
            await asyncio.sleep(0)
        made.append(new)
        summarizer.release()
        return await task

    report = asyncio.run(go())
    assert report.summary_source.source == "model"
    assert made.messages[-1] == new
    assert made.undo()
    assert made.messages == [*ITEMS, new]


def test_another_compaction_in_between_wins() -> None:
    """What was planned before it is dropped, and says so."""
    summarizer = ScriptedSummarizer([GOOD, GOOD], hold=True)
    made = engine(summarizer=summarizer)

    async def go() -> tuple[Report, Report]:
        first = asyncio.create_task(made.acompact())
        while not summarizer.asked.is_set():
            await asyncio.sleep(0)
        summarizer.release()
        second = made.compact()
        return await first, second

    first, second = asyncio.run(go())
    assert second.status == "compacted"
    assert (first.status, first.reason) == ("unchanged", "aborted")
    assert made.state.count == 1


@each_row("bad", [
    "", "   ", "I'm sorry, but I can't help with that.", "<html><body>502</body></html>",
    "{}", '{"task": []}',
])  # fmt: skip
def test_a_useless_answer_is_a_failure(bad: str) -> None:
    """The ledger's summary stands instead."""
    report = engine(bad).compact()
    assert report.status == "compacted"
    assert report.summary_source.source == "ledger"
    assert report.summary_source.failure in ("empty answer", "broken answer", "bad answer")


def test_one_shot_takes_a_summarizer_too() -> None:
    """By object or by name; a failure keeps the very object that was given."""
    done = foldaway.compress(
        ITEMS, context_length=12_000, policy=SMALL, summarizer=ScriptedSummarizer([GOOD])
    )
    assert done.report.summary_source.name == "scripted:model"
    refused = foldaway.compress(
        ITEMS,
        context_length=32_000,
        policy=SMALL,
        summarizer=ScriptedSummarizer([failure("refused")]),
    )
    assert refused.messages is ITEMS
    assert (refused.report.status, refused.report.reason) == ("unchanged", "aborted")
    with pytest.raises(UnknownName, match="openai:MODEL"):
        foldaway.compress(ITEMS, summarizer="llama:3")
    with pytest.raises(InvalidSetting, match="above 0"):
        writers_of(ScriptedSummarizer([]), timeout=0)
    with pytest.raises(InvalidSetting, match="needs a summarizer"):
        writers_of(None, ScriptedSummarizer([]))


def test_no_time_is_left_for_a_second_call() -> None:
    """All calls of one summary share the time that they are given."""
    slow = ScriptedSummarizer(hold=True)
    report = engine(summarizer=slow, timeout=0.02).compact()
    assert report.summary_source.failure == "timed out"
