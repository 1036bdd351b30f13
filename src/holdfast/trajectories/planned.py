"""A region as the plan of a compaction: what live ones ask and check by serves here as it is."""

from __future__ import annotations

from collections.abc import Sequence

from holdfast.compaction.choose import Choice
from holdfast.compaction.compact import Plan
from holdfast.compaction.partition import Partition
from holdfast.compaction.state import CompactionState
from holdfast.compaction.work import Work
from holdfast.policy import Policy, budget_for
from holdfast.ports import Redact, TokenCounter, WireRules
from holdfast.trajectories.ledger import Told
from holdfast.trajectories.region import Region
from holdfast.transcript import Message, whole

_POLICY = Policy()
_BUDGET = budget_for(_POLICY, 200_000)
_RULES = WireRules("trajectory", check=lambda _: ())
"""What a plan must have and neither a question nor a check looks at."""


def planned(
    messages: Sequence[Message], region: Region, told: Told, counter: TokenCounter,
    redact: Redact, summary_tokens: int,
) -> Plan:  # fmt: skip
    """Return the plan that folds the region into a summary of so many tokens."""
    work = Work(
        log=messages, index=told.index, view=whole(len(messages)),
        state=CompactionState(carried=told.carried), policy=_POLICY, budget=_BUDGET, rules=_RULES,
        counter=counter, redact=redact,
    )  # fmt: skip
    partition = Partition(region.start, region.stop, (), 0)
    choice = Choice(partition, {}, {}, {}, summary_tokens, 0, 0, {})
    return Plan(work, choice, told.ledger, told.ledger, 0)
