"""Have the summary of a plan written by a model, and answer every failure by the policy.

The steps are the same for callers that wait and for those that await: a generator says whom to ask
what, and takes the answer or the failure.
"""

from __future__ import annotations

import time
from collections.abc import Generator
from datetime import UTC, datetime
from typing import Any, Literal, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from holdfast.compaction.compact import Outcome, Plan, Unchanged
from holdfast.errors import SummarizerFailed
from holdfast.facts.ledger import is_complex
from holdfast.facts.summary import Summary
from holdfast.policy import Budget
from holdfast.ports import CachedPrefix, Summarizer, SummaryAnswer, SummaryRequest
from holdfast.report import Reason, Report, SummaryNote, Urgency
from holdfast.writing.asking import Asking, begin, take
from holdfast.writing.failures import (
    CLASSES,
    Breaker,
    after_failure,
    next_step,
    sentence,
    without_writer,
)
from holdfast.writing.gate import Checked, check, evidence_of
from holdfast.writing.writers import Writers


class Moment(Struct, frozen=True, kw_only=True):
    """When a summary is written, and how much it matters."""

    now: float
    """Seconds of the engine's clock: what pauses are counted in."""
    date: str
    """The day, for the words of the summary."""
    urgency: Urgency = "none"
    forced: bool = False
    """A forced run does not wait for a pause to end."""
    prefix: CachedPrefix | None = None


class Written(Struct, frozen=True, kw_only=True):
    """What came of it: checked words, or none, and then the ledger's; or the reason to stop."""

    checked: Checked | None = None
    note: SummaryNote = SummaryNote()
    breaker: Breaker = Breaker()
    done: Outcome | None = None
    """The next view where it is made already, as by a provider's own compaction."""
    native_breaker: Breaker | None = None
    """The pause of the provider's own compaction, where it was asked."""
    native_call: dict[str, Any] | None = None
    """What the provider's own compaction cost, where its price is known."""

    @property
    def prose(self) -> Summary | None:
        """What the model wrote, as far as the gate let it through."""
        return None if self.checked is None else self.checked.summary

    stops: Reason = ""
    detail: str = ""
    notes: tuple[str, ...] = ()


def moment_at(
    now: float, *, urgency: Urgency, forced: bool, prefix: CachedPrefix | None = None
) -> Moment:
    """Return the moment at a time of the clock."""
    date = datetime.fromtimestamp(now, UTC).date().isoformat()
    return Moment(now=now, date=date, urgency=urgency, forced=forced, prefix=prefix)


def told(report: Report, written: Written | None) -> Report:
    """Return the report with who wrote the summary, and what went wrong on the way."""
    if written is None:
        return report
    note = written.note if report.folded or written.stops else report.summary_source
    economics = report.economics
    if written.native_call is not None:
        economics = {**(economics or {}), "native_call": written.native_call}
    return replace(
        report, summary_source=note, notes=(*report.notes, *written.notes), economics=economics
    )


def patched(written: Written | None, done: Outcome | Unchanged) -> Written | None:
    """Return what was written with the count of what the ledger had to put in."""
    if written is None or written.checked is None or isinstance(done, Unchanged):
        return written
    return replace(written, note=replace(written.note, patched=done.patched))


class _Call(Struct, frozen=True):
    writer: Summarizer
    request: SummaryRequest


_Steps: TypeAlias = Generator[_Call, SummaryAnswer | SummarizerFailed, Written]


def write(todo: Plan, writers: Writers, moment: Moment) -> Written:
    """Return the summary of a plan; raises nothing that comes from a summariser."""
    asked = _Asked(todo, writers, moment)
    while (call := asked.call) is not None:
        try:
            answer = call.writer.summarise(call.request, asked.seconds())
        except Exception as error:  # noqa: BLE001 a summariser of the host's own
            answer = asked.failure(error)
        asked.take(answer)
    return asked.written


async def awrite(todo: Plan, writers: Writers, moment: Moment) -> Written:
    """Do what `write` does, for callers that await; cancelling it changes nothing."""
    asked = _Asked(todo, writers, moment)
    while (call := asked.call) is not None:
        try:
            answer = await call.writer.asummarise(call.request, asked.seconds())
        except Exception as error:  # noqa: BLE001 a summariser of the host's own
            answer = asked.failure(error)
        asked.take(answer)
    return asked.written


class _Asked:
    """The steps on their way: whom to ask next, and how much time there is for it."""

    def __init__(self, todo: Plan, writers: Writers, moment: Moment) -> None:
        self._steps = _steps(todo, writers, moment)
        self._timeout = writers.timeout
        self._deadline = time.monotonic() + writers.timeout
        self.call: _Call | None = None
        self.written = Written()
        self._go_on(None)

    def seconds(self) -> float:
        """Return the time that is left; raises `SummarizerFailed` where there is none."""
        left = self._deadline - time.monotonic()
        if left <= 0:
            raise SummarizerFailed("timed out", self._name, "all calls of a summary together")
        return left

    def failure(self, error: Exception) -> SummarizerFailed:
        """Return what is answered to an error; one that is not in the protocol shows its type."""
        if isinstance(error, SummarizerFailed):
            return error
        return SummarizerFailed("broken answer", self._name, type(error).__name__)

    def take(self, answer: SummaryAnswer | SummarizerFailed) -> None:
        """Go on with an answer; who is asked after a failure has all the time again."""
        if isinstance(answer, SummarizerFailed):
            self._deadline = time.monotonic() + self._timeout
        self._go_on(answer)

    @property
    def _name(self) -> str:
        return self.call.writer.name if self.call else ""

    def _go_on(self, answer: SummaryAnswer | SummarizerFailed | None) -> None:
        try:
            self.call = next(self._steps) if answer is None else self._steps.send(answer)
        except StopIteration as ended:
            self.call, self.written = None, ended.value


def _steps(todo: Plan, writers: Writers, moment: Moment) -> _Steps:
    breaker = todo.work.state.breaker
    if writers.is_preview:
        note = SummaryNote(source="ledger", confidence="medium")
        return Written(note=note, breaker=breaker, notes=(_preview(todo, writers, moment),))
    if breaker.is_open(moment.now) and not moment.forced:
        return _paused(breaker, writers, moment)
    notes: list[str] = []
    names = _in_order(todo, writers)
    for number, writer in enumerate(names, 1):
        notes.extend(window_note(writer, todo.work.budget))
        try:
            checked, calls = yield from _asked(todo, writer, writers, moment)
        except SummarizerFailed as failure:
            step = next_step(
                failure.kind, writers.on_failure, moment.urgency, has_other=number < len(names)
            )
            said = sentence(failure, step)
            if step == "other":
                notes.append(said)
                continue
            paused = after_failure(breaker, failure, moment.now)
            note = SummaryNote(
                source="ledger", confidence="medium", failure=failure.kind,
                retry_class=CLASSES[failure.kind],
            )  # fmt: skip
            if step == "abort":
                return Written(note=note, breaker=paused, stops="aborted", detail=said,
                               notes=tuple(notes))  # fmt: skip
            return Written(note=note, breaker=paused, notes=(*notes, said))
        if checked is None:
            return Written(note=SummaryNote(source="ledger", confidence="medium"), breaker=breaker)
        note = SummaryNote(
            source="model", name=writer.name, confidence=_confidence(checked),
            verified=checked.verified, patched=checked.patched, dropped=checked.dropped,
            unverified=checked.unverified, unchecked=checked.unchecked, calls=calls,
        )  # fmt: skip
        return Written(checked=checked, note=note, notes=tuple(notes))
    raise AssertionError("a failure of the last summariser ends in a step")


def _confidence(checked: Checked) -> Literal["low", "medium", "high"]:
    """Return how far the words can be trusted: low where none of them could be looked up."""
    if not checked.verified:
        return "low"
    sure = not (checked.dropped or checked.unverified) and checked.verified >= checked.unchecked
    return "high" if sure else "medium"


def _in_order(todo: Plan, writers: Writers) -> list[Summarizer]:
    if writers.other is None:
        return [writers.main]
    if writers.other_when_complex and is_complex(todo.told):
        return [writers.other, writers.main]
    return [writers.main, writers.other]


def window_note(writer: Summarizer, budget: Budget) -> list[str]:
    """Return what there is to say of a summariser that reads less than a session may hold."""
    if not 0 < writer.context_length < budget.threshold_tokens:
        return []
    return [
        f"{writer.name} reads {writer.context_length:,} tokens, less than the threshold of "
        f"{budget.threshold_tokens:,}: it is asked in pieces"
    ]


def _asked(
    todo: Plan, writer: Summarizer, writers: Writers, moment: Moment
) -> Generator[_Call, SummaryAnswer | SummarizerFailed, tuple[Checked | None, int]]:
    """Ask one summariser until it has told everything; return the checked words and the calls.

    There are no words where nothing was folded that it could tell of.
    """
    asking = _begun(todo, writer, writers, moment)
    calls = 0
    while (request := asking.request) is not None:
        calls += 1
        if writers.progress is not None:
            writers.progress(writer.name, calls, asking.calls_planned)
        answer = yield _Call(writer, request)
        if isinstance(answer, SummarizerFailed):
            raise answer
        try:
            asking = take(asking, answer)
        except SummarizerFailed as failure:
            raise _named(failure, writer) from None
    if asking.prose is None:
        if asking.left:
            raise SummarizerFailed("too long", writer.name, "its window is too small to ask")
        return None, calls
    try:
        evidence = evidence_of(todo, now=moment.date, name=writer.name)
        return check(asking.prose, evidence), calls
    except SummarizerFailed as failure:
        raise _named(failure, writer) from None


def _begun(todo: Plan, writer: Summarizer, writers: Writers, moment: Moment) -> Asking:
    return begin(
        todo, now=moment.date, summarizer_window=writer.context_length,
        most_calls=writers.most_calls,
        # another model has nothing of this conversation in its cache
        prefix=moment.prefix if writer is writers.main else None,
    )  # fmt: skip


def _preview(todo: Plan, writers: Writers, moment: Moment) -> str:
    """Return who would be asked first, and in how many calls."""
    writer = _in_order(todo, writers)[0]
    asking = _begun(todo, writer, writers, moment)
    calls, left = asking.calls_planned, len(asking.left)
    if not calls:
        return f"a preview asks nobody: there is nothing that {writer.name} would be asked"
    rest = f"; the oldest {left:,} messages are left to the ledger" if left else ""
    return (
        f"a preview asks nobody: {writer.name} would write the summary in {calls} "
        f"{'call' if calls == 1 else 'calls'}{rest}"
    )


def _named(failure: SummarizerFailed, writer: Summarizer) -> SummarizerFailed:
    return SummarizerFailed(
        failure.kind, writer.name, failure.said, retry_after=failure.retry_after
    )


def _paused(breaker: Breaker, writers: Writers, moment: Moment) -> Written:
    """Return what is done while no summariser is asked."""
    seconds = round(breaker.until - moment.now)
    said = f"the summariser failed ({breaker.kind}) and is asked again in {seconds:,} s"
    retry = CLASSES[breaker.kind] if breaker.kind else ""
    note = SummaryNote(
        source="ledger", confidence="medium", failure=breaker.kind or "", retry_class=retry
    )
    if without_writer(breaker.kind, writers.on_failure, moment.urgency) == "abort":
        return Written(note=note, breaker=breaker, stops="cooldown", detail=said)
    return Written(note=note, breaker=breaker, notes=(said,))
