"""One conversation inside its window: its log and view, when it is compacted, and the way back."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any, Unpack

from msgspec import Struct, to_builtins
from msgspec.structs import replace

from foldaway._core import CachedPrefix, MediaReducer, Policy, Redact, Report, Summarizer, log_event
from foldaway.caching import Situation, Verdict
from foldaway.compaction import (
    Compaction,
    CompactionInput,
    CompactionState,
    Options,
    Plan,
    ResultPolicy,
    Skipped,
    Wishes,
    counted_by,
    plan,
    record,
    unbound_since,
    without_older_media,
)
from foldaway.dialects import refuse_strangers
from foldaway.engine.conversation_log import ConversationLog, pack_snapshot, unpack_snapshot
from foldaway.engine.live_log import GrowingLog
from foldaway.engine.old_media import drop_old_media
from foldaway.engine.requests import Requests, figures_of, prompt_tokens_of
from foldaway.engine.run import (
    EngineSettings,
    Finished,
    Model,
    Run,
    finish_run,
    log_run,
    model_of,
    report_of,
    settings_for,
    with_pauses,
    work_on,
)
from foldaway.engine.timing import Clock, Current, InThread, Preparation, Timing
from foldaway.engine.trigger import Decision
from foldaway.summarizers import (
    Call,
    Steps,
    WriteContext,
    Writers,
    arun_calls,
    draft_steps,
    prefix_of,
    run_calls,
    writers_of,
)
from foldaway.transcript import Payload, Transcript, View


class Step(Struct, frozen=True, kw_only=True):
    """A compaction that is about to be applied, for the session to store."""

    view: View
    state: CompactionState
    snapshot: bytes
    report: Report


class PreviewedRun(Struct, frozen=True, kw_only=True):
    """What a compaction would do: its report, the view after it, and its summary in its frame."""

    report: Report
    view: View
    """The one that is there if nothing would change."""
    summary: str = ""


class SummaryContext(Struct):
    """What summaries are told beside the log."""

    goal: str = ""
    """What the session is for; every summary of ours begins with it, letter for letter."""
    delegated: tuple[str, ...] = ()
    """What subagents were asked for and how that stands; in every summary."""
    remembered: str = ""
    """What memory says to a model that writes the next summary; shown to it as data."""

    def add_to(self, options: Options) -> Options:
        """Return the options of a compaction with all of that."""
        return replace(
            options, goal=self.goal, delegated=self.delegated, remembered=self.remembered
        )


class Compressor:
    """Keeps one conversation inside its window.

    `append` what arrives, ask `decide`, call `compact`, send `messages`. Each message is decoded
    and measured once. Every step is whole, or leaves all as it was. One thread or task at a time.
    """

    def __init__(
        self,
        *,
        model: str | Model = "",
        context_length: int | None = None,
        policy: Policy | None = None,
        provider: str | None = None,
        summarizer: Summarizer | Writers | str | None = None,
        redact: Redact | None = None,
        tools: Sequence[Payload] = (),
        background: bool = False,
        clock: Clock = time.time,
    ) -> None:
        """Make a compressor for a window, a model whose window is known, or 200,000 tokens.

        With a `summarizer` a model writes the prose of summaries, in the `background` as soon as
        the pressure warning is due. If the model has prices, or they are known by its name (the
        extra `prices`), a compaction that would cost more than it saves is deferred as long as
        there is room. `provider` is a provider's name or that of a wire format; the format is
        found if it is not given. `tools` are those of the requests.
        """
        model = model_of(model)
        settings = settings_for(
            model=model,
            context_length=context_length,
            policy=policy,
            provider=provider,
            redact=redact,
        )
        self._requests = Requests(
            settings,
            tools,
            window=context_length or model.context_length,
            is_open=not model.name,
            has_redactor=redact is not None,
        )
        self.about = SummaryContext()
        """What summaries are told beside the log."""
        self._writers = writers_of(summarizer).with_request(
            tools=self.settings.tools, prices=model.prices
        )
        self._timing = Timing(model, clock)
        self._keep: Callable[[Step], None] | None = None
        is_wanted = background and not self._writers.asks_nobody
        self._preparation = Preparation(is_wanted, clock)
        self._begin(ConversationLog(self._requests))
        if is_wanted:
            writers = self._ready_writers
            for writer in (writers.main, writers.fallback):
                # what an SDK needs to begin would hold up a turn later
                getattr(writer, "warm", _do_nothing)()

    def _begin(self, conversation: ConversationLog, resumed: int = 0) -> None:
        self.conversation = conversation
        """The log, what the model sees of it, and the way back."""
        self.last_report: Report | None = None
        """What the last run did."""
        self._timing.forget(resumed)

    def reset(self) -> None:
        """Forget the conversation; the calibration belongs to the model and stays."""
        self.cancel()
        self._begin(ConversationLog(self._requests))

    # What arrives

    def append(self, *messages: Any, arrives: bool = True) -> None:
        """Take new messages at the end of the conversation; costs the same at any length.

        What does not arrive now was sent before, and is shown as it is. `NotReadable` for what is
        no message.
        """
        if not messages:
            return
        refuse_strangers(messages)
        if self.conversation.append(messages, arrives=arrives) and arrives:
            self.note_use()
        if not arrives:
            self._timing.meter.catch_up(self.estimate())
        self.prepare_if_due()

    def take_request(self, frame: Payload | None, *, held: Sequence[Any] = ()) -> None:
        """Take what else is in the next request: its tools, system prompt,
        model and settings; and messages that are sent after those of the log.
        """
        self._requests.take(frame, self.log.dialect, held)

    def take_system(self, text: str) -> None:
        """Take the system prompt that is sent beside the messages of the log."""
        self._requests.take_system(text)

    def take_outside(self, tokens: int) -> None:
        """Take how many tokens of a request are outside the messages, as the provider counts."""
        self._requests.take_outside(tokens)

    def take_model(self, name: str) -> None:
        """Take the model that a conversation has now, with its window, as far as they were not
        given when this was made.
        """
        self._requests.take_model(name)

    def report_usage(self, usage: object, *, corrects: bool = True) -> None:
        """Take the provider's count of the last prompt: a number, its usage report as a mapping,
        or the object of its client. It corrects the estimates if it may.
        """
        prompt_tokens = usage if isinstance(usage, int) else prompt_tokens_of(figures_of(usage))
        if prompt_tokens <= 0:
            return
        if corrects:
            self.note_use()
            if self.last_report is not None and not self._timing.meter.last.confirmed:
                self.last_report = self.last_report.confirmed_by(prompt_tokens)
        self._timing.meter.report(
            self.settings.model,
            prompt_tokens,
            corrects=corrects,
            estimate=self.estimate(),
            length=self.length,
        )

    def note_use(self, at: float | None = None) -> None:
        """Note when the provider read what the model sees, by default now: its cache is warm."""
        self._timing.note_use(at)

    def use_model(self, model: str, context_length: int, output_tokens: int | None = None) -> None:
        """Take another model: the next `decide` already uses its window."""
        self._requests.use_model(model, context_length, output_tokens)

    @property
    def settings(self) -> EngineSettings:
        """The settings as they are now, with what the requests say."""
        return self._requests.settings

    @property
    def request(self) -> Transcript:
        """What else is in a request, without its messages: tools, system prompt, settings."""
        return self._requests.request

    # Whether a compaction is due

    def decide(self, prompt_tokens: int | None = None) -> Decision:
        """Return whether a compaction is due, and why; independent of the length of the log."""
        return self._timing.decide(self._current, prompt_tokens)

    def weigh(self, prompt_tokens: int | None = None) -> Decision:
        """Return the same with what a compaction costs, if the price decides; what does not pay is
        not looked at again until that may have changed.
        """
        decision = self.decide(prompt_tokens)
        if not decision.needs_price:
            return decision
        todo = plan(self.work_with(Options(), decision=decision))
        if isinstance(todo, Skipped) and decision.urgency == "early":
            return replace(decision, put_off=todo.detail)
        decision = self._with_price(todo, decision)
        if decision.waits and isinstance(todo, Plan):
            self._put_off(todo, decision)
        return decision

    def weigh_by_hand(self, options: Options) -> Verdict | None:
        """Return whether a compaction by hand would pay, of any size; None if prices are not known.
        Nothing changes.
        """
        if self._timing.prices(self._current).is_ratio:
            return None
        todo = plan(self.work_with(replace(options, force=True)))
        found = self._with_price(todo, self.decide()).situation
        return None if found is None else replace(found, early_tokens=0).weigh()

    def situation(self) -> Situation:
        """Return what speaks for a compaction now and against it; nothing changes."""
        decision = self.decide()
        todo = plan(self.work_with(Options(), decision=decision))
        found = self._with_price(todo, decision).situation
        assert found is not None
        return found

    def _with_price(self, todo: Plan | Skipped, decision: Decision) -> Decision:
        return self._timing.weigh(self._current, todo, decision, self._writers)

    def _put_off(self, todo: Plan, decision: Decision) -> str:
        prices = self._timing.prices(self._current)
        return self._timing.put_off(todo, decision, prices)

    @property
    def _current(self) -> Current:
        return Current(self.settings, self.conversation.peek(), self.state, self._preparation.state)

    def estimate(self) -> int:
        """Return our own estimate of what the model sees."""
        return self._current.estimate

    # Compaction

    def compact(
        self,
        *,
        force: bool = False,
        by_hand: bool | None = None,
        pinned: Iterable[int] = (),
        **wishes: Unpack[Wishes],
    ) -> Report:
        """Fold what is due and return what was done; without `force` only if it is due.

        What was prepared in the background is taken in. `pinned` are log positions that stay as
        they are. What is forced counts as asked for by hand, unless `by_hand` says otherwise.
        """
        asked = Options(
            **wishes, pinned=frozenset(pinned), force=force if by_hand is None else by_hand
        )
        return log_run(run_calls(self._steps(asked, force=force)))

    async def acompact(
        self,
        *,
        force: bool = False,
        by_hand: bool | None = None,
        pinned: Iterable[int] = (),
        **wishes: Unpack[Wishes],
    ) -> Report:
        """Do what `compact` does, for hosts that await; cancelling it changes nothing."""
        asked = Options(
            **wishes, pinned=frozenset(pinned), force=force if by_hand is None else by_hand
        )
        return log_run(await arun_calls(self._steps(asked, force=force)))

    def _steps(self, options: Options, *, force: bool) -> Steps[Report]:
        """Yield the calls to make, and return the report; the caller waits or awaits."""
        preparing = self._usable(force=force)
        if preparing is not None:
            if not self.decide().acts:
                return self._report_busy()
            seconds = self._writers.patience
            yield Call(
                self.summarizer_name,
                partial(preparing.wait, seconds),
                partial(preparing.await_done, seconds),
            )
            if (finished := self._preparation.take(preparing)) is not None:
                return self._with_verdict(self.end_run(preparing.run, finished), None)
        if not force:
            self._timing.count_calls(self._current)
            decision = self.decide()
            if decision.put_off:
                stays = Skipped("deferred", decision.put_off, self.estimate())
                return self._report_skip(self.work_with(options), stays, decision)
        run = self.begin_run(options, force=force, frozen=not self._writers.asks_nobody)
        if isinstance(run, Report):
            return run
        decision = run.decision if force else self._with_price(run.todo, run.decision)
        if decision.waits:
            return self._report_put_off(run, decision)
        moment = self._moment(run, forced=force)
        written = yield from draft_steps(run.todo, self._ready_writers, moment)
        ended = self.end_run(run, finish_run(run.todo, written))
        return self._with_verdict(ended, decision.verdict)

    def preview(self, options: Options) -> PreviewedRun:
        """Return what `compact` by hand would do; nothing changes. Who writes summaries is asked.

        What is read of the log is kept: another size costs less than the first.
        """
        work, todo, decision = self._plan(replace(options, force=True), force=True)
        if isinstance(todo, Skipped):
            return PreviewedRun(report=self.report_on(work, todo, decision), view=self.view)
        run = Run(todo, decision, self.log, self.state)
        written = run_calls(draft_steps(todo, self._ready_writers, self._moment(run, forced=True)))
        finished = finish_run(todo, written)
        report = self._report_end(run, finished)
        if isinstance(finished.done, Skipped):
            return PreviewedRun(report=report, view=self.view)
        return PreviewedRun(
            report=report, view=finished.done.view, summary=finished.done.summary_text
        )

    def begin_run(self, options: Options, *, force: bool, frozen: bool = False) -> Run | Report:
        """Return what to do, or the report if nothing is; a frozen run does not see what arrives
        while its summary is written.
        """
        work, todo, decision = self._plan(options, force=force, frozen=frozen)
        if isinstance(todo, Plan):
            return Run(todo, decision, self.log, self.state)
        report = self._report_skip(work, todo, decision)
        if force or decision.due:
            self._note_in_vain(report, decision)
        return report

    def _plan(
        self, options: Options, *, force: bool, frozen: bool = False
    ) -> tuple[CompactionInput, Plan | Skipped, Decision]:
        """Return what to do, with what it starts from and why; nothing changes."""
        decision = self.decide()
        work = self.work_with(options, frozen=frozen, decision=None if force else decision)
        if force or decision.due:
            return work, plan(work), decision
        last = self._timing.attempt.report
        floor = max(self._current.floor, 0 if last is None else last.floor_tokens)
        stays = Skipped(decision.reason, decision.detail, self.estimate(), floor)
        return work, stays, decision

    def end_run(self, run: Run, finished: Finished) -> Report:
        """Take in what a run came to, and return the report; if the conversation did more than
        grow since it was begun, nothing changes.
        """
        work, decision, written = run.todo.work, run.decision, finished.written
        if not self._is_still_valid(run):
            gone = Skipped(
                "aborted",
                "the conversation was compacted, undone or replaced in the meantime",
                self.estimate(),
            )
            return self._report_skip(self.work_with(work.options), gone, decision)
        done = finished.done
        report = self._report_end(run, finished)
        if isinstance(done, Compaction):
            self.adopt(done, report, strips_thinking=work.rules.strips_thinking)
        elif written is not None and written.stops:
            self.conversation.state = with_pauses(self.state, written)
        else:
            self._note_in_vain(report, decision)
        self.last_report = report
        return report

    def _report_end(self, run: Run, finished: Finished) -> Report:
        """Return the report of a run that came to an end."""
        said = self.report_on(run.todo.work, finished.done, run.decision)
        return said if finished.written is None else finished.written.add_to(said)

    def _is_still_valid(self, run: Run) -> bool:
        """Return whether the conversation only grew since a run was begun; if a tool loop must have
        thinking that is bound to what it saw, it may not even grow.
        """
        work, is_same = run.todo.work, run.log is self.log and run.state is self.state
        is_fixed = work.rules.strips_thinking and work.rules.loop_thinks
        return is_same and not (is_fixed and len(work.log) < self.length)

    def work_with(
        self, options: Options, *, frozen: bool = False, decision: Decision | None = None
    ) -> CompactionInput:
        """Return what a compaction starts from; a frozen one does not see what arrives later, and
        one that is made early, by a decision, keeps less.
        """
        log, at = self.log, None
        if decision is not None and decision.urgency == "early":
            at = decision.prompt_tokens
        work = work_on(
            self.settings,
            replace(self.request, dialect=log.dialect),
            log,
            log=tuple(log.messages) if frozen else log.messages,
            view=log.view,
            state=self.conversation.with_arrivals(self.state),
            carried=log.reader.carried,
            options=self.about.add_to(options),
            ratio=self._timing.meter.ratio(self.settings.model),
            at_tokens=at,
        )
        return replace(work, writer=self._writers.writer)

    def adopt(self, done: Compaction, report: Report, *, strips_thinking: bool = False) -> None:
        """Take what a compaction made; everything that may fail comes before the first change.

        Messages that arrived since its work was frozen are after it as they are, without thinking
        that is bound to what was before them.
        """
        log = self.log
        newer = range(done.view.length, len(log.messages))
        if strips_thinking:
            done = replace(done, view=unbound_since(done.view, log.messages))
        made, seen = self.conversation.grow(done.view)
        state = self.conversation.with_arrivals(done.state)
        shown = {one.name: one.tokens_after for one in done.categories}
        if self._keep is not None:
            snapshot = pack_snapshot(state, self._timing.meter.calibration)
            self._keep(Step(view=done.view, state=state, snapshot=snapshot, report=report))
        self._timing.count_calls(self._current)
        self.conversation.take(made, seen, shown, newer, state)
        added = sum(made.tokens.get(at, log.tokens[at]) for at in newer)
        self._timing.note_change(done.tokens_after + added)
        self._timing.note_end(report, self.estimate())

    def undo(self) -> bool:
        """Take back the last compaction and keep what came since; False if there is none."""
        if not self.conversation.can_undo:
            return False
        self._timing.count_calls(self._current)
        self.conversation.undo()
        self._timing.note_change(self.estimate())
        log_event("compaction.undone", tokens=self.estimate())
        return True

    def lighten(self, reducer: MediaReducer = without_older_media) -> Report:
        """Show older media as placeholders, for a request whose payload is too large."""
        work = self.work_with(Options())
        done = drop_old_media(self.log, work, self.estimate(), reducer)
        report = self.report_on(work, done, self.decide())
        if isinstance(done, Compaction):
            self.adopt(done, report)
        self.last_report = report
        return log_run(report)

    def record(self, stop: int, focus: str = "") -> str:
        """Return all that is known of the log up to `stop`, in one text, what is about the `focus`
        first; nothing changes.
        """
        return record(self.work_with(Options(focus=focus)), stop)

    # Reports

    def report_on(
        self, work: CompactionInput, done: Compaction | Skipped, decision: Decision
    ) -> Report:
        """Return the report of a run."""
        budget = self.settings.budget
        return replace(
            report_of(work, done, replace(self.request, dialect=self.log.dialect)),
            context_length=budget.context_length,
            effective_window=budget.effective_window,
            threshold_tokens=budget.threshold_tokens,
            urgency=decision.urgency,
            prompt_tokens=decision.prompt_tokens,
            prompt_tokens_source=decision.source,
            context_length_source=self.settings.window_source,
        )

    def _report_skip(self, work: CompactionInput, why: Skipped, decision: Decision) -> Report:
        self.last_report = self.report_on(work, why, decision)
        return self.last_report

    def _report_busy(self) -> Report:
        detail = "a summary is being written in the background; there is room for the next turn"
        stays = Skipped("already running", detail, self.estimate())
        return self._report_skip(self.work_with(Options()), stays, self.decide())

    def _note_in_vain(self, report: Report, decision: Decision) -> None:
        """Note a compaction that changed nothing; it counts if it was due by size."""
        if decision.urgency != "early" and decision.due:
            self.conversation.state = replace(self.state, ineffective=self.state.ineffective + 1)
        self._timing.note_in_vain(report, self.estimate(), decision)

    def _report_put_off(self, run: Run, decision: Decision) -> Report:
        why = self._put_off(run.todo, decision)
        stays = Skipped("deferred", why, run.todo.tokens_before)
        report = self._report_skip(run.todo.work, stays, decision)
        return self._with_verdict(report, decision.verdict)

    def _with_verdict(self, report: Report, verdict: Verdict | None) -> Report:
        if verdict is not None:
            economics = {**to_builtins(verdict), **(report.economics or {})}
            self.last_report = report = replace(report, economics=economics)
        return report

    # In the background

    def prepare(self) -> bool:
        """Begin to write the next summary in the background, in a thread; `compact` takes it in.

        False if there is nothing to write, or a summary is under way already.
        """
        if self._preparation.task is not None:
            return False
        self._preparation.note_look(self.estimate())
        _, todo, decision = self._plan(Options(), force=True, frozen=True)
        if isinstance(todo, Skipped) or self._writers.asks_nobody:
            return False
        if not self._with_price(todo, decision).pays_in_advance:
            return False
        run = Run(todo, decision, self.log, self.state)
        moment = self._moment(run, forced=False)
        self._preparation.task = InThread(run, self._ready_writers, moment)
        return True

    @property
    def is_preparing(self) -> bool:
        """Whether a summary is under way in the background, or waits for `compact`."""
        return self._preparation.task is not None

    @property
    def is_prepared(self) -> bool:
        """Whether a summary was written in the background and waits for `compact`."""
        return self._preparation.state == "ready"

    def cancel(self) -> None:
        """Let go of what is written in the background; nothing of it will be used."""
        self._preparation.cancel()

    def prepare_if_due(self) -> None:
        """Begin to prepare if a summary may be written in the background and pressure says so;
        `append` does this by itself.
        """
        preparation = self._preparation
        if preparation.is_wanted and preparation.task is None:
            now = self._current
            if preparation.is_time(self.decide(), now):
                self.prepare()

    def _usable(self, *, force: bool) -> InThread | None:
        """Return what is being prepared; a run by hand, or a changed past, lets it go."""
        found = self._preparation.task
        if found is not None and (force or not self._is_still_valid(found.run)):
            self.cancel()
            return None
        return found

    @property
    def _ready_writers(self) -> Writers:
        """Who is asked: the conversation's own model too, whichever that is now."""
        return self._writers.for_model(self.settings.model)

    def _moment(self, run: Run, *, forced: bool) -> WriteContext:
        return WriteContext(
            now=self._preparation.clock(),
            urgency=run.decision.urgency,
            forced=forced,
            prefix=self._prefix(),
        )

    def _prefix(self) -> CachedPrefix | None:
        """Return what the main model has in its cache, if it is the one that writes."""
        request = self._writers.cached_request
        if request is None:
            return None
        return prefix_of(self.log.dialect, self.messages, request, tools=self.settings.tools)

    # What the model sees, and the way back

    @property
    def messages(self) -> list[Any]:
        """What the model should see now, in the dialect that was given."""
        return list(self.conversation.seen)

    @property
    def notes(self) -> list[str]:
        """What there is to say of the summarizer before it is asked."""
        return self._writers.notes(self.settings.budget)

    @property
    def summarizer_name(self) -> str:
        """Who writes summaries: a name, or `none`."""
        return "none" if self._writers.main is None else self._writers.main.name

    # For the session

    def snapshot(self) -> bytes:
        """Return what survives a restart beside the transcript."""
        return pack_snapshot(self.state, self._timing.meter.calibration)

    def take_count(self, count: int, snapshot: bytes) -> None:
        """Go on counting compactions, and with the calibration of a conversation before."""
        self.conversation.state = replace(self.state, count=count)
        self._timing.meter.calibration = unpack_snapshot(snapshot).calibration

    def resume(
        self,
        messages: Sequence[Any],
        view: View | None = None,
        state: bytes = b"",
        *,
        arriving: ResultPolicy | None = None,
        tokens: Sequence[int] | None = None,
    ) -> None:
        """Go on with a session that was kept: its whole log, the view on it and a snapshot.

        What the model sees is the same bytes, and every reference resolves. Messages that came
        after the view was made are after it. `arriving` is how its results were shown on arrival,
        by the policy if it is not given. `tokens` are those of each message as it came, if they
        are kept under the same `counted_by`.
        """
        self.cancel()
        found = unpack_snapshot(state) if state else None
        conversation = ConversationLog(self._requests, arriving)
        conversation.load(messages, view, tokens)
        self._begin(
            conversation, 0 if view is None else min(view.length, len(conversation.log.messages))
        )
        if found is not None:
            conversation.state, self._timing.meter.calibration = found.state, found.calibration

    def hide_with(self, redact: Redact) -> None:
        """Take the host's redactor, before the first message is taken.

        One that the compressor was made with stays.
        """
        self._requests.hide_with(redact)

    def keep_with(self, keep: Callable[[Step], None]) -> None:
        """Have every compaction handed to `keep` before it is taken in.

        If `keep` raises, nothing changes, and what it raised comes out of `compact`.
        """
        self._keep = keep

    @property
    def counted_by(self) -> str:
        """Under what name the tokens of messages are kept."""
        return counted_by(self.settings.counter)

    @property
    def log(self) -> GrowingLog:
        """The log; an empty one if nothing has arrived yet."""
        return self.conversation.log

    @property
    def state(self) -> CompactionState:
        """What the next compaction starts from."""
        return self.conversation.state

    @property
    def view(self) -> View:
        """The view on the log as it is now."""
        return self.log.view

    @property
    def length(self) -> int:
        """How many messages the log has."""
        return len(self.log.messages)

    @property
    def dialect(self) -> str:
        """The dialect of the conversation."""
        return self.log.dialect


def _do_nothing() -> None:
    """Do what a summarizer that needs no warming up does."""
