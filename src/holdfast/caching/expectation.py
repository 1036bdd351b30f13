"""What a compaction would leave, reckoned from budgets without running one."""

from __future__ import annotations

from holdfast.policy import Budget, Policy


def expected_after(policy: Policy, budget: Budget, now: int, fixed: int, newest: int = 0) -> int:
    """Return about how many tokens a compaction of a prompt of `now` tokens leaves.

    `fixed` is what it never folds: tools, system prompt, the first messages, the latest ask;
    `newest` the last messages that stay whatever their size. The tail gets its budget, and the
    summary its share of the rest within its bounds.
    """
    tail = min(max(budget.tail_tokens, newest), max(now - fixed, 0))
    folded = max(now - fixed - tail, 0)
    share = int(folded * policy.summary_ratio)
    summary = min(max(share, budget.summary_min_tokens), budget.summary_max_tokens, folded)
    return min(fixed + tail + summary, now)
