"""Whether a compaction that is due pays, by what the provider charges and has in its cache."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from foldaway.caching.economics import Situation, Verdict, weigh
from foldaway.caching.prices import TTL_SECONDS, Prices, Ttl
from foldaway.catalog import Economy, economy_of
from foldaway.compaction.compact import Plan
from foldaway.compaction.partition import system_stop
from foldaway.policy import Budget
from foldaway.report import Urgency
from foldaway.writing.writers import Writers

Clock: TypeAlias = Callable[[], float]


class CostCheck:
    """The prices of the models of one conversation, and what was last decided by them."""

    def __init__(self, prices: Prices | None, ttl: Ttl, clock: Clock) -> None:
        self._prices, self._clock = prices, clock
        self._ttl: Ttl = ttl
        self._known: dict[str, Economy | None] = {}
        self._used_at = clock()
        self._retry_from = 0
        self._at: Urgency = "none"
        self.reason = ""
        """Why the last compaction was put off."""

    def note_use(self, at: float | None = None) -> None:
        """Note that the provider has read the conversation, by default just now: its cache is warm
        from then on.
        """
        self._used_at = self._clock() if at is None else at

    def verdict(
        self,
        todo: Plan,
        model: str,
        writers: Writers,
        *,
        now: int,
        cached: int,
        turns: int,
        budget: Budget,
        early_tokens: int,
    ) -> Verdict | None:
        """Return whether to go on, before anything is paid for; None if no prices are known.

        What it leaves is reckoned from the plan: head, kept groups, tail, and the room of the
        summary. `now` are the tokens of the prompt, `early_tokens` is the size from which it may
        act. A provider that compacts by itself reads what it has in
        its cache.
        """
        if model not in self._known:
            self._known[model] = economy_of(model, self._prices, self._ttl)
        economy = self._known[model]
        if economy is None:
            return None
        work, prices = todo.work, economy.prices
        is_cold = self._clock() - self._used_at >= TTL_SECONDS[economy.ttl]
        warm = 0 if is_cold else min(cached, now)
        is_native = writers.native is not None
        by_model = not writers.asks_nobody
        rides = is_native or writers.cached_request is not None
        scale = now / todo.tokens_before if todo.tokens_before else 1.0  # `now` may be measured
        per_turn = work.costs.span(0, len(work.log)) / turns if turns else 0.0
        situation = Situation(
            tokens_now=now,
            tokens_after=min(round(scale * expected_after(todo)), now),
            cached_tokens=warm,
            kept_prefix_tokens=round(scale * _kept_prefix(todo, at_marks=prices.at_marks)),
            turns_so_far=turns,
            tokens_per_turn=scale * per_turn,
            threshold_tokens=budget.threshold_tokens,
            early_tokens=early_tokens,
            hard_tokens=budget.hard_tokens,
            summary_input_tokens=now if by_model else 0,
            summary_cached_tokens=warm if rides else 0,
            summary_output_tokens=todo.choice.summary_tokens if by_model else 0,
            prices=prices,
            ttl=economy.ttl,
        )
        return weigh(situation, economy.rule)

    def put_off(self, why: str, until: int, urgency: Urgency) -> None:
        """Leave all as it is until the conversation has grown to this estimate, or it is more
        urgent.
        """
        self._retry_from, self.reason, self._at = until, why, urgency

    def begin_again(self) -> None:
        """Forget what was put off: a compaction changed the sum."""
        self._retry_from = 0

    def put_off_for(self, estimate: int, urgency: Urgency) -> int:
        """Return how much may come before a compaction that was put off is weighed again; 0 if none
        was, or it has become more urgent, or the cache has gone cold, which changes the sum.
        """
        is_warm = self._clock() - self._used_at < TTL_SECONDS[self._ttl]
        holds = is_warm and urgency == self._at
        return max(self._retry_from - estimate, 0) if holds else 0


def expected_after(todo: Plan) -> int:
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
