"""Plans to ask about, without an engine around them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from foldaway._core.policy import Policy, budget_for
from foldaway._core.ports import Redact, WireRules
from foldaway.compaction.compact import Plan, plan
from foldaway.compaction.work import CompactionInput, CompactionState, FrozenLog, Options
from foldaway.facts.reading import LogReading
from foldaway.transcript import Estimator, Message, View, whole_view


@pytest.fixture(scope="session")
def planned() -> Callable[..., Plan]:
    """Make a plan that folds all of a log but its end."""
    return plan_of


def plan_of(
    log: Sequence[Message],
    *,
    keep_last: int = 1,
    focus: str = "",
    redact: Redact = str,
    state: CompactionState | None = None,
    view: View | None = None,
    window: int = 64_000,
) -> Plan:
    counter, policy = Estimator(), Policy(protect_first=0)
    shown = view or whole_view(len(log))
    rules: Callable[[Any], Sequence[Any]] = lambda _: ()  # noqa: E731
    made = plan(
        CompactionInput(
            log=log,
            index=FrozenLog(log, shown, LogReading(counter, policy, redact)),
            view=shown,
            state=state or CompactionState(),
            policy=policy,
            budget=budget_for(policy, window),
            rules=WireRules("any", rules),
            counter=counter,
            redact=redact,
            options=Options(keep_last=keep_last, focus=focus),
        )
    )
    assert isinstance(made, Plan)
    return made
