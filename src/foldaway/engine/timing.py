"""What decides when a conversation is compacted: its size, its calls, its cache and the prices; and
the summary that is written in the background before that.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import Literal, TypeAlias

from msgspec import Struct

from foldaway._core import Report, estimate_after, fit_budget
from foldaway.caching import TTL_SECONDS, Prices, Situation, known_prices
from foldaway.compaction import CompactionState, Plan, Skipped, system_stop
from foldaway.engine.live_log import GrowingLog
from foldaway.engine.requests import UsageMeter
from foldaway.engine.run import EngineSettings, Finished, Model, Run, finish_run
from foldaway.engine.trigger import Background, Decision, Moment, PutOff, decide
from foldaway.summarizers import WriteContext, Writers, draft_steps, run_calls
from foldaway.transcript import ToolCall, ToolResult

Clock: TypeAlias = Callable[[], float]


class Current(Struct, frozen=True):
    """A conversation as it is now."""

    settings: EngineSettings
    log: GrowingLog
    state: CompactionState
    background: Background = ""

    @property
    def estimate(self) -> int:
        """Our own estimate of what the model sees."""
        return self.settings.outside_tokens + self.log.shown.tokens

    @property
    def floor(self) -> int:
        """The tokens that no compaction folds."""
        least = self.settings.policy.min_tail
        return self.settings.outside_tokens + self.log.floor_tokens(least)

    @property
    def can_shorten(self) -> bool:
        """Whether the newest messages hold calls or results."""
        newest = self.log.messages[-self.settings.policy.min_tail :]
        return any(isinstance(part, (ToolCall, ToolResult)) for one in newest for part in one.parts)


class _Calls(Struct):
    """What the calls of a conversation have read and answered, in tokens."""

    reread: int = 0
    """What a compaction would have removed, added up over the calls since the last one."""
    read: int = 0
    """The prompts of all calls, added up."""
    answered: int = 0
    counted: int = 0
    """How many messages were looked at."""
    resumed: int = 0
    """How many of them were there before the view that a session was taken up with."""

    def note(self, tokens: int, after: int) -> None:
        """Note a call by its prompt, and by what a compaction would have left of it."""
        self.read += tokens
        self.reread += max(tokens - after, 0)


class _Attempt(Struct, frozen=True):
    """The last run that was begun, and the estimate after it."""

    report: Report | None = None
    estimate: int = 0


class Timing:
    """What is known of one conversation that decides when it is compacted."""

    def __init__(self, model: Model, clock: Clock) -> None:
        """Take the prices of a model, if it has any."""
        self.meter = UsageMeter()
        """What the provider counted."""
        self.attempt = _Attempt()
        self._model, self._clock, self._used_at = model, clock, clock()
        self._prices: dict[str, Prices] = {}
        self._calls, self._put_off = _Calls(), PutOff()

    # What is learned

    def note_use(self, at: float | None = None) -> None:
        """Note that the provider has read the conversation, by default just now: its cache is warm
        from then on.
        """
        self._used_at = self._clock() if at is None else at

    def note_end(self, report: Report, estimate: int) -> None:
        """Note how a run ended."""
        self.attempt = _Attempt(report, estimate)

    def note_in_vain(self, report: Report, estimate: int, decision: Decision) -> None:
        """Note a run that changed nothing. One that was early is left until a quarter more was read
        again.
        """
        if decision.urgency == "early":
            self._put_off = PutOff(
                report.detail or report.reason, "early", 1.25 * self._calls.reread + 1
            )
        self.note_end(report, estimate)

    def note_change(self, estimate: int) -> None:
        """Forget what was paid and put off: the model sees something else now."""
        self.meter.note_change(estimate)
        self._calls.reread, self._put_off = 0, PutOff()

    def put_off(self, todo: Plan | Skipped, decision: Decision, prices: Prices) -> str:
        """Leave all as it is until so much was read again that it pays, or it is more urgent;
        return why.
        """
        verdict = decision.verdict
        assert verdict is not None
        needed = verdict.reread_needed(prices) / _scale(todo, decision.prompt_tokens)
        self._put_off = PutOff(verdict.sentence, decision.urgency, needed)
        return verdict.sentence

    def forget(self, resumed: int = 0) -> None:
        """Forget the conversation, or begin with one whose first `resumed` messages are known."""
        self.attempt, self._put_off = _Attempt(), PutOff()
        self._calls = _Calls(resumed=resumed)
        self.meter.reset()

    def count_calls(self, now: Current) -> None:
        """Count what those calls have read whose answers have come since the last look.

        Of calls before the view that a session was taken up with, only about: they had other views.
        """
        log, calls = now.log, self._calls
        start, calls.counted = calls.counted, len(log.messages)
        calls.answered += sum(
            log.tokens[at]
            for at in range(start, len(log.messages))
            if log.messages[at].role == "assistant"
        )
        if start == len(log.messages):
            return
        policy, budget, floor = now.settings.policy, now.settings.budget, now.floor
        tokens = now.settings.outside_tokens
        for at in range(start, calls.resumed):
            if log.is_answer_start(at):
                calls.note(min(tokens, budget.early_tokens), tokens)
            tokens += log.tokens[at]
        tokens = now.estimate
        for at in range(len(log.messages) - 1, max(start, calls.resumed) - 1, -1):
            tokens -= log.tokens[at]
            if log.is_answer_start(at):
                first, stop = max(at - policy.protect_last, 0), max(at - policy.min_tail, 0)
                newest = sum(log.tokens[first:stop])
                calls.note(tokens, estimate_after(budget, tokens, floor, newest))

    # What follows from it

    def decide(self, now: Current, prompt_tokens: int | None = None) -> Decision:
        """Return whether a compaction is due, and why; independent of the length of the log."""
        settings, usage, estimate = now.settings, self.meter.last, now.estimate
        budget = settings.budget
        if self._put_off.why:
            self.count_calls(now)
        source: Literal["measured", "estimated"] = "measured"
        if prompt_tokens is None:
            prompt_tokens, source = self.meter.prompt_tokens(settings.model, estimate)
        last, unconfirmed = self.attempt, estimate - usage.at_estimate
        enough = fit_budget(budget, prompt_tokens).tail_tokens
        if prompt_tokens > budget.effective_window:
            enough = 1  # it does not fit: any new material is a reason to try again
        moment = Moment(
            prompt_tokens=prompt_tokens,
            source=source,
            ineffective=now.state.ineffective if estimate - last.estimate < enough else 0,
            floor_tokens=now.floor,
            is_dense=last.report is not None and last.report.is_dense,
            can_shorten=now.can_shorten,
            unconfirmed=not usage.confirmed
            and unconfirmed < 0.1 * min(budget.threshold_tokens, prompt_tokens),
            background=now.background,
            put_off=self._put_off,
            reread_tokens=self._calls.reread,
            is_cold=self._is_cold,
        )
        return decide(moment, settings.policy, budget)

    def weigh(
        self, now: Current, todo: Plan | Skipped, decision: Decision, writers: Writers
    ) -> Decision:
        """Return a decision with what speaks for a plan and against it, before anything is paid.

        What it leaves is worked out from the plan: head, kept groups, tail, and the room of the
        summary. A provider that compacts by itself reads what it has in its cache.
        """
        self.count_calls(now)
        settings, calls, tokens = now.settings, self._calls, decision.prompt_tokens
        budget, prices = settings.budget, self.prices(now)
        cached = self.meter.cached_tokens(now.estimate)
        warm = 0 if self._is_cold else min(cached, tokens)
        by_model = not writers.asks_nobody
        is_cached = writers.native is not None or writers.cached_request is not None
        scale = _scale(todo, tokens)  # the prompt may be measured
        after = kept = todo.tokens_before
        summary = 0
        if isinstance(todo, Plan):
            after, kept = _count_left(todo), _count_kept(todo, at_marks=prices.at_marks)
            summary = todo.choice.summary_tokens
        return decision.weighed(
            Situation(
                tokens_now=tokens,
                tokens_after=min(round(scale * after), tokens),
                cached_tokens=warm,
                kept_prefix_tokens=round(scale * kept),
                reread_tokens=round(scale * calls.reread),
                read_tokens=round(scale * calls.read),
                answered_tokens=round(scale * calls.answered),
                early_tokens=budget.early_tokens,
                threshold_tokens=budget.threshold_tokens,
                hard_tokens=budget.hard_tokens,
                acts_at_threshold=prices.is_ratio or settings.policy.save == "off",
                summary_input_tokens=tokens if by_model else 0,
                summary_cached_tokens=warm if is_cached else 0,
                summary_output_tokens=summary if by_model else 0,
                prices=prices,
                ttl=self._model.cache_ttl,
            )
        )

    @property
    def _is_cold(self) -> bool:
        """Whether the provider has forgotten the conversation."""
        return self._clock() - self._used_at >= TTL_SECONDS[self._model.cache_ttl]

    def prices(self, now: Current) -> Prices:
        """Return the prices of the model, or the ratios of its wire if nobody knows them."""
        name = now.settings.model
        if name not in self._prices:
            found = self._model.prices or known_prices(name)
            self._prices[name] = found or Prices.of_wire(now.log.dialect)
        return self._prices[name]


def _scale(todo: Plan | Skipped, now: int) -> float:
    """Return the ratio of tokens in the prompt to tokens of a plan."""
    return max(now / todo.tokens_before, 1e-9) if todo.tokens_before else 1.0


def _count_left(todo: Plan) -> int:
    """Return the tokens that a plan would leave."""
    choice, work = todo.choice, todo.work
    partition = choice.partition
    kept = work.outside_tokens + work.costs.span(0, partition.head_stop) + partition.tail_tokens
    kept += sum(choice.costs.get(at, work.costs[at]) for at in partition.between())
    return kept + (choice.summary_tokens if partition.folds() else 0)


def _count_kept(todo: Plan, *, at_marks: bool) -> int:
    """Return the tokens before the first message that changes.

    If only marked prefixes are cached, these are tools and system prompt: the other marks are on
    the newest messages.
    """
    choice, work = todo.choice, todo.work
    stop = system_stop(work.log) if at_marks else choice.partition.head_stop
    return work.outside_tokens + work.costs.span(0, stop)


_WORTH_ANOTHER = 0.05
"""A share of the prompt: so much must have come before a summary is prepared again."""


class InThread:
    """Draft in a thread of its own, which ends with the process."""

    def __init__(self, run: Run, writers: Writers, moment: WriteContext) -> None:
        self.run = run
        self._finished: Finished | None = None
        self._ended = threading.Event()
        thread = threading.Thread(
            target=self._write, args=(writers, moment), name="foldaway-summary", daemon=True
        )
        thread.start()

    def _write(self, writers: Writers, moment: WriteContext) -> None:
        try:
            written = run_calls(draft_steps(self.run.todo, writers, moment))
            self._finished = finish_run(self.run.todo, written)
        finally:
            self._ended.set()

    @property
    def is_done(self) -> bool:
        """Whether the thread has ended."""
        return self._ended.is_set()

    @property
    def result(self) -> Finished | None:
        """What came of it; None if it was canceled, or broke, or is not done."""
        return self._finished if self._ended.is_set() else None

    def wait(self, timeout: float) -> None:
        """Wait until it is done, at most so long."""
        self._ended.wait(timeout)

    async def await_done(self, timeout: float) -> None:
        """Do what `wait` does, for hosts that await."""
        await asyncio.to_thread(self._ended.wait, timeout)

    def cancel(self) -> None:
        """Let it go; a request that is under way ends by itself, and is not used."""
        self._finished = None


class Preparation:
    """The summary of one conversation that is written in the background, if there is one."""

    def __init__(self, is_wanted: bool, clock: Clock) -> None:
        self.is_wanted, self.clock = is_wanted, clock
        self.task: InThread | None = None
        self._looked_at = 0

    @property
    def state(self) -> Background:
        """Whether it is being written, or waits to be used."""
        if self.task is None:
            return ""
        return "ready" if self.task.is_done else "being written"

    def is_time(self, decision: Decision, now: Current) -> bool:
        """Return whether pressure asks for a summary, and trying again is worth it."""
        if not decision.may_prepare or now.state.breaker.is_open(self.clock()):
            return False
        least = min(now.settings.budget.threshold_tokens, decision.prompt_tokens)
        return abs(now.estimate - self._looked_at) >= _WORTH_ANOTHER * least

    def note_look(self, estimate: int) -> None:
        """Note the size at which it was tried."""
        self._looked_at = estimate

    def take(self, task: InThread) -> Finished | None:
        """Let go of a task and return what came of it; a result that is late is not used."""
        finished = task.result
        if self.task is task:
            self.task = None
        if finished is None:
            task.cancel()
        return finished

    def cancel(self) -> None:
        """Let go of what is being written."""
        if self.task is not None:
            self.task.cancel()
            self.task = None
