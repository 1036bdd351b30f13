"""What a compaction would cost, and what waiting has cost, by the prices and the cache."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from foldaway._core import Budget, Policy, Urgency
from foldaway.caching import (
    TTL_SECONDS,
    Prices,
    Situation,
    Ttl,
    Verdict,
    known_prices,
    ratio_prices,
    reread_needed,
)
from foldaway.compaction import Plan, Skipped, system_stop
from foldaway.summarizers import Writers

Clock: TypeAlias = Callable[[], float]


class CostCheck:
    """The prices of one conversation, what its calls have read again, and what was put off."""

    def __init__(self, prices: Prices | None, ttl: Ttl, clock: Clock) -> None:
        self._given, self._clock = prices, clock
        self._ttl: Ttl = ttl
        self._known: dict[str, Prices] = {}
        self._used_at = clock()
        self._needed, self._at, self._scale = 0.0, "none", 1.0
        self.reread_tokens = 0
        """What a compaction would have removed, added up over the calls since the last one."""
        self.read_tokens = 0
        """The prompts of all calls, added up."""
        self.answered_tokens = 0
        self.reason = ""
        """Why the last compaction was put off."""

    def note_call(self, tokens: int, after: int) -> None:
        """Note a call by the tokens of its prompt, and by those that a compaction would have left
        of it.
        """
        self.read_tokens += tokens
        self.reread_tokens += max(tokens - after, 0)

    def note_use(self, at: float | None = None) -> None:
        """Note that the provider has read the conversation, by default just now: its cache is warm
        from then on.
        """
        self._used_at = self._clock() if at is None else at

    @property
    def is_cold(self) -> bool:
        """Whether the provider has forgotten the conversation."""
        return self._clock() - self._used_at >= TTL_SECONDS[self._ttl]

    def prices_of(self, model: str, dialect: str) -> Prices:
        """Return the prices of a model, or the ratios of its wire if nobody knows them."""
        if model not in self._known:
            found = self._given or known_prices(model)
            self._known[model] = found or ratio_prices(dialect)
        return self._known[model]

    def situation(
        self, todo: Plan | Skipped, prices: Prices, writers: Writers, policy: Policy,
        budget: Budget, *, now: int, cached: int,
    ) -> Situation:  # fmt: skip
        """Return what speaks for a plan and against it, before anything is paid for.

        What it leaves is reckoned from the plan: head, kept groups, tail, and the room of the
        summary. `now` are the tokens of the prompt. A provider that compacts by itself reads what
        it has in its cache.
        """
        warm = 0 if self.is_cold else min(cached, now)
        by_model = not writers.asks_nobody
        rides = writers.native is not None or writers.cached_request is not None
        scale = now / todo.tokens_before if todo.tokens_before else 1.0  # `now` may be measured
        self._scale = max(scale, 1e-9)
        after = kept = todo.tokens_before
        summary = 0
        if isinstance(todo, Plan):
            after, kept = left_by(todo), _kept_prefix(todo, at_marks=prices.at_marks)
            summary = todo.choice.summary_tokens
        return Situation(
            tokens_now=now,
            tokens_after=min(round(scale * after), now),
            cached_tokens=warm,
            kept_prefix_tokens=round(scale * kept),
            reread_tokens=round(scale * self.reread_tokens),
            read_tokens=round(scale * self.read_tokens),
            answered_tokens=round(scale * self.answered_tokens),
            early_tokens=budget.early_tokens,
            threshold_tokens=budget.threshold_tokens,
            hard_tokens=budget.hard_tokens,
            acts_at_threshold=prices.is_ratio or policy.save == "off",
            summary_input_tokens=now if by_model else 0,
            summary_cached_tokens=warm if rides else 0,
            summary_output_tokens=summary if by_model else 0,
            prices=prices,
            ttl=self._ttl,
        )

    def put_off(self, verdict: Verdict, prices: Prices, urgency: Urgency) -> None:
        """Leave all as it is until so much was read again that it pays, or it is more urgent."""
        self.reason, self._at = verdict.sentence, urgency
        self._needed = reread_needed(verdict, prices) / self._scale

    def put_off_in_vain(self, why: str) -> None:
        """Leave an early compaction that changed nothing until a quarter more was read again."""
        self.reason, self._at = why, "early"
        self._needed = 1.25 * self.reread_tokens + 1

    def is_put_off(self, urgency: Urgency) -> bool:
        """Return whether a compaction was put off and nothing has changed the sum since: it has not
        become more urgent, and the cache is warm.
        """
        return urgency == self._at and self.reread_tokens < self._needed and not self.is_cold

    def forget(self) -> None:
        """Forget the conversation."""
        self.begin_again()
        self.read_tokens = self.answered_tokens = 0

    def begin_again(self) -> None:
        """Forget what was paid and put off: the model sees something else now."""
        self.reread_tokens, self._needed = 0, 0.0


def left_by(todo: Plan) -> int:
    """Return the tokens that a plan would leave."""
    choice, work = todo.choice, todo.work
    partition = choice.partition
    kept = work.outside_tokens + work.costs.span(0, partition.head_stop) + partition.tail_tokens
    kept += sum(choice.costs.get(at, work.costs[at]) for at in partition.between())
    return kept + (choice.summary_tokens if partition.folds() else 0)


def _kept_prefix(todo: Plan, *, at_marks: bool) -> int:
    """Return the tokens before the first message that changes.

    If only marked prefixes are cached, these are tools and system prompt: the other marks are on
    the newest messages.
    """
    choice, work = todo.choice, todo.work
    stop = system_stop(work.log) if at_marks else choice.partition.head_stop
    return work.outside_tokens + work.costs.span(0, stop)
