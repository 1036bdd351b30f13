"""Have the summary of a plan written by a model, and answer every failure by the policy.

The steps are a generator of calls, the same for callers that wait and for those that await: `run`
and `arun` put the calls.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Generator
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeAlias, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from foldaway._core import (
    CachedPrefix,
    Reason,
    Report,
    Summarizer,
    SummaryAnswer,
    SummaryNote,
    SummaryRequest,
    Urgency,
    log_event,
)
from foldaway.compaction import Compaction, Plan, Skipped
from foldaway.errors import SummarizerFailed
from foldaway.facts import Summary
from foldaway.facts.ledger import Ledger
from foldaway.summarizers.failures import (
    Breaker,
    after_failure,
    failure_note,
    next_step,
    sentence,
    without_writer,
)
from foldaway.summarizers.writers import Writers, window_note

if TYPE_CHECKING:  # what only a run with a model needs is imported by it
    from foldaway.summarizers.asking import Asking
    from foldaway.summarizers.gate import Checked
    from foldaway.summarizers.material import Material

T = TypeVar("T")
BY_LEDGER = SummaryNote(source="ledger", confidence="medium")


class WriteContext(Struct, frozen=True, kw_only=True):
    """When a summary is written, and how much it matters."""

    now: float
    """Seconds of the engine's clock: what pauses are counted in."""
    urgency: Urgency = "none"
    forced: bool = False
    """A forced run does not wait for a pause to end."""
    prefix: CachedPrefix | None = None

    @property
    def date(self) -> str:
        """The day, for the words of the summary."""
        return datetime.fromtimestamp(self.now, UTC).date().isoformat()


class Draft(Struct, frozen=True, kw_only=True):
    """What came of it: checked words, or none, and then the ledger's; or the reason to stop."""

    checked: Checked | None = None
    note: SummaryNote = SummaryNote()
    breaker: Breaker = Breaker()
    first_breaker: Breaker = Breaker()
    """The pause of the first summarizer, if the other one was asked in its place."""
    done: Compaction | None = None
    """The next view if it is made already, as by a provider's own compaction."""
    native_breaker: Breaker | None = None
    """The pause of the provider's own compaction, if it was asked."""
    native_call: dict[str, Any] | None = None
    """What the provider's own compaction cost, if its price is known."""
    stops: Reason = ""
    detail: str = ""
    notes: tuple[str, ...] = ()

    @property
    def prose(self) -> Summary | None:
        """What the model wrote, as far as the gate let it through."""
        return None if self.checked is None else self.checked.summary

    @property
    def is_final(self) -> bool:
        """Whether nobody else is to be asked."""
        return self.done is not None or self.stops != ""

    def add_to(self, report: Report) -> Report:
        """Return the report with who wrote the summary, and what went wrong on the way."""
        note = self.note if report.folded or self.stops else report.summary_source
        economics = report.economics
        if self.native_call is not None:
            economics = {**(economics or {}), "native_call": self.native_call}
        notes = (*report.notes, *self.notes)
        return replace(report, summary_source=note, notes=notes, economics=economics)

    def count_added(self, done: Compaction | Skipped) -> Draft:
        """Return the draft with the count of what the model added to the ledger's summary."""
        if self.checked is None or isinstance(done, Skipped):
            return self
        return replace(self, note=replace(self.note, added=done.added))


# Calls, and who puts them


class Call(Generic[T]):
    """One question to somebody outside, in both forms; the caller notes what came of it."""

    result: T | SummarizerFailed

    def __init__(self, name: str, ask: Callable[[], T], aask: Callable[[], Awaitable[T]]) -> None:
        self._name = name
        self.ask = ask
        self.aask = aask

    def fail(self, error: Exception) -> None:
        """Note an error; one that is not in the protocol shows its type alone."""
        if not isinstance(error, SummarizerFailed):
            error = SummarizerFailed("broken answer", self._name, type(error).__name__)
        self.result = error


Steps: TypeAlias = Generator[Call[Any], None, T]


def run_calls(steps: Steps[T]) -> T:
    """Return what the steps come to; waits for every call."""
    while True:
        try:
            call = next(steps)
        except StopIteration as ended:
            return ended.value
        try:
            call.result = call.ask()
        except Exception as error:  # noqa: BLE001 a summarizer of the host's own
            call.fail(error)


async def arun_calls(steps: Steps[T]) -> T:
    """Do what `run_calls` does, for callers that await; cancelling it changes nothing."""
    while True:
        try:
            call = next(steps)
        except StopIteration as ended:
            return ended.value
        try:
            call.result = await call.aask()
        except Exception as error:  # noqa: BLE001 a summarizer of the host's own
            call.fail(error)


def answer_of(call: Call[T]) -> Steps[T | SummarizerFailed]:
    """Have a call put, and return what came of it."""
    yield call
    return call.result


# Writing


def write_steps(plan: Plan, writers: Writers, context: WriteContext) -> Steps[Draft]:
    """Have the summary of a plan written; raises nothing that comes from a summarizer."""
    from foldaway.summarizers.material import material_of

    material, breaker = material_of(plan), plan.work.state.breaker
    if writers.is_preview:
        said = _preview(material, writers, context)
        return Draft(note=BY_LEDGER, breaker=breaker, notes=(said,))
    if breaker.is_open(context.now) and not context.forced:
        return _while_paused(breaker, writers, context)
    deadline = _Deadline(writers.timeout)
    notes: list[str] = []
    names = _in_order(material.ledger, writers)
    first = plan.work.state.first_breaker
    if len(names) > 1 and first.is_open(context.now) and not context.forced:
        names = names[1:]
    for number, writer in enumerate(names, 1):
        notes.extend(window_note(writer, plan.work.budget))
        try:
            checked, calls = yield from _ask(material, writer, writers, context, deadline)
        except SummarizerFailed as failure:
            step = next_step(
                failure.kind, writers.on_failure, context.urgency, has_other=number < len(names)
            )
            log_event("summary.failed", summarizer=writer.name, failure=failure.kind, then=step)
            said = sentence(failure, step)
            if step == "other":
                notes.append(said)
                first = after_failure(first, failure, context.now)
                continue
            if writers.no_own:
                said += f"; the conversation's own model was not asked: {writers.no_own}"
            note = failure_note(failure.kind)
            paused = after_failure(breaker, failure, context.now)
            if step == "abort":
                return Draft(
                    note=note, breaker=paused, stops="aborted", detail=said, notes=tuple(notes)
                )
            return Draft(note=note, breaker=paused, notes=(*notes, said))
        if checked is None:
            said = (f"{writer.name} had nothing to add",) if calls else ()
            return Draft(note=BY_LEDGER, breaker=breaker, notes=(*notes, *said))
        note = _model_note(writer.name, checked, calls)
        log_event(
            "summary.written",
            summarizer=writer.name,
            calls=calls,
            confidence=note.confidence,
            verified=note.verified,
            dropped=note.dropped,
            contradicted=note.contradicted,
        )
        paused = Breaker() if writer is writers.main else first
        return Draft(checked=checked, note=note, notes=tuple(notes), first_breaker=paused)
    raise AssertionError("a failure of the last summarizer ends in a step")


def _model_note(name: str, checked: Checked, calls: int) -> SummaryNote:
    return SummaryNote(
        source="model",
        name=name,
        confidence=_confidence(checked),
        verified=checked.verified,
        dropped=checked.dropped,
        contradicted=checked.contradicted,
        unchecked=checked.unchecked,
        calls=calls,
    )


def _confidence(checked: Checked) -> Literal["low", "medium", "high"]:
    """Return how far the words can be trusted: low if none of them could be looked up."""
    if not checked.verified:
        return "low"
    sure = not (checked.dropped or checked.contradicted) and checked.verified >= checked.unchecked
    return "high" if sure else "medium"


def _in_order(ledger: Ledger, writers: Writers) -> list[Summarizer]:
    asked = [one for one in (writers.main, writers.fallback) if one is not None]
    return asked[::-1] if writers.fallback_when_complex and ledger.is_complex else asked


class _Deadline:
    """The time for all calls of a summary together; it begins again after a failed call."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self.restart()

    def restart(self) -> None:
        self._ends = time.monotonic() + self._seconds

    def left(self, name: str) -> float:
        """Return the seconds that are left; raises `SummarizerFailed` if there are none."""
        left = self._ends - time.monotonic()
        if left <= 0:
            raise SummarizerFailed("timed out", name, "all calls of a summary together")
        return left


def _ask(
    material: Material,
    writer: Summarizer,
    writers: Writers,
    context: WriteContext,
    deadline: _Deadline,
) -> Steps[tuple[Checked | None, int]]:
    """Ask one summarizer until it has told everything; return the checked words and the calls.

    There are no words if nothing was folded that it could tell of, or if it has nothing to add.
    """
    from foldaway.summarizers.gate import check_note

    asking = _begin(material, writer, writers, context)
    calls = 0
    while (request := asking.request) is not None:
        calls += 1
        if writers.progress is not None:
            writers.progress(writer.name, calls, asking.calls_planned)
        answer = yield from _answer(writer, request, deadline)
        try:
            asking = asking.take(answer)
        except SummarizerFailed as failure:
            raise SummarizerFailed(
                failure.kind, writer.name, failure.said, retry_after=failure.retry_after
            ) from None
    if asking.prose is None:
        if asking.left:
            raise SummarizerFailed("too long", writer.name, "its window is too small to ask")
        return None, calls
    if not asking.prose.sections:
        return None, calls
    return check_note(asking.prose, material, now=context.date, name=writer.name), calls


def _answer(
    writer: Summarizer, request: SummaryRequest, deadline: _Deadline
) -> Steps[SummaryAnswer]:
    """Ask once; raises `SummarizerFailed`, and the next writer has all the time again."""
    answer = yield from answer_of(
        Call(
            writer.name,
            lambda: writer.summarize(request, deadline.left(writer.name)),
            lambda: writer.asummarize(request, deadline.left(writer.name)),
        )
    )
    if isinstance(answer, SummarizerFailed):
        deadline.restart()
        raise answer
    return answer


def _begin(
    material: Material, writer: Summarizer, writers: Writers, context: WriteContext
) -> Asking:
    from foldaway.summarizers.asking import begin

    return begin(
        material,
        now=context.date,
        summarizer_window=writer.context_length,
        most_calls=writers.most_calls,
        # another model has nothing of this conversation in its cache
        prefix=context.prefix if writer is writers.main else None,
    )


def _preview(material: Material, writers: Writers, context: WriteContext) -> str:
    """Return who would be asked first, and in how many calls."""
    writer = _in_order(material.ledger, writers)[0]
    asking = _begin(material, writer, writers, context)
    calls, left = asking.calls_planned, len(asking.left)
    if not calls:
        return f"a preview asks nobody: there is nothing that {writer.name} would be asked"
    rest = f"; the oldest {left:,} messages are left to the ledger" if left else ""
    return (
        f"a preview asks nobody: {writer.name} would write the summary in {calls} "
        f"{'call' if calls == 1 else 'calls'}{rest}"
    )


def _while_paused(breaker: Breaker, writers: Writers, context: WriteContext) -> Draft:
    """Return what is done while no summarizer is asked."""
    seconds = round(breaker.until - context.now)
    log_event("summary.skipped", failure=breaker.kind, seconds=seconds)
    said = f"the summarizer failed ({breaker.kind}) and is asked again in {seconds:,} s"
    note = failure_note(breaker.kind)
    if without_writer(breaker.kind, writers.on_failure, context.urgency) == "abort":
        return Draft(note=note, breaker=breaker, stops="cooldown", detail=said)
    return Draft(note=note, breaker=breaker, notes=(said,))
