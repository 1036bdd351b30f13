"""Whether a compaction that is due pays, by what the provider charges and has in its cache."""

from __future__ import annotations

from typing import Any

import msgspec

from holdfast.caching.economics import Situation, Verdict, weigh
from holdfast.caching.prices import TTL_SECONDS
from holdfast.catalog.prices import Economy
from holdfast.compaction.partition import system_stop
from holdfast.engine.conversation import Conversation
from holdfast.engine.run import Run
from holdfast.writing.writers import Writers


def weighed(
    here: Conversation, run: Run, economy: Economy, writers: Writers | None, idle_seconds: float,
    *, due_at: int | None = None, is_native: bool = False,
) -> Verdict:  # fmt: skip
    """Return whether to go on with a run, before anything was paid for it.

    What it leaves is reckoned from the plan: head, islands, tail, and the room of the summary.
    `due_at` is the size from which it may act, the threshold where it is not given. Where the
    provider itself compacts (`is_native`), it reads what it has in its cache.
    """
    work, budget, prices = run.todo.work, here.settings.budget, economy.prices
    now = run.decision.prompt_tokens
    is_cold = idle_seconds >= TTL_SECONDS[economy.ttl]
    cached = 0 if is_cold else min(here.cached_tokens(), now)
    turns = here.log.turns
    by_model = is_native or writers is not None
    rides = is_native or (writers is not None and writers.reuse_prompt_cache)
    situation = Situation(
        tokens_now=now,
        tokens_after=min(expected_after(run), now),
        cached_tokens=cached,
        kept_prefix_tokens=_kept_prefix(run, at_marks=prices.at_marks),
        turns_so_far=turns,
        tokens_per_turn=work.costs.span(0, len(work.log)) / turns if turns else 0.0,
        threshold_tokens=budget.threshold_tokens if due_at is None else due_at,
        hard_tokens=budget.hard_tokens,
        summary_input_tokens=now if by_model else 0,
        summary_cached_tokens=cached if rides else 0,
        summary_output_tokens=run.todo.choice.summary_tokens if by_model else 0,
        prices=prices,
        ttl=economy.ttl,
    )
    return weigh(situation, economy.rule)


def expected_after(run: Run) -> int:
    """Return the tokens that a plan would leave."""
    choice, work = run.todo.choice, run.todo.work
    partition = choice.partition
    assert partition is not None
    kept = work.outside_tokens + work.costs.span(0, partition.head_stop) + partition.tail_tokens
    kept += sum(work.costs.span(start, stop) for start, stop in partition.islands)
    return kept + (choice.summary_tokens if partition.folds() else 0)


def _kept_prefix(run: Run, *, at_marks: bool) -> int:
    """Return the tokens before the first message that changes.

    Where only marked prefixes are cached, no more than tools and system prompt: the other marks
    stand on the newest messages.
    """
    choice, work = run.todo.choice, run.todo.work
    assert choice.partition is not None
    stop = system_stop(work.log) if at_marks else choice.partition.head_stop
    return work.outside_tokens + work.costs.span(0, stop)


def as_told(verdict: Verdict) -> dict[str, Any]:
    """Return a verdict as plain values, for the report."""
    found: dict[str, Any] = msgspec.to_builtins(verdict)
    return found
