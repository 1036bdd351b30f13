"""A small run that is made up, with whatever names one likes."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

import pytest
from msgspec import Struct

from foldaway.lab.results import RunManifest, RunSummary, ScoreRow, summarize

LEVELS = {"foldaway": 0.8, "head+tail": 0.5, "masking-3": 0.9, "bare-list": 0.05, "peer": 0.6}
SCORES = ("recall", "bound", "copy4", "errors", "reach", "stale")


class MadeUp(Struct, frozen=True):
    """A run and what follows from it."""

    rows: list[ScoreRow]
    summary: RunSummary


def made_up(
    families: Sequence[str] = ("coding", "dialogue"),
    strategies: Sequence[str] = tuple(LEVELS),
    sessions: int = 7,
    seed: int = 1,
    skipped: Sequence[str] = (),
) -> MadeUp:
    """Return a run in which Foldaway is better than head+tail by about .3, and somebody failed."""
    draw = random.Random(seed)
    rows: list[ScoreRow] = []

    def add(family: str, session: int, strategy: str, **more: object) -> None:
        level = LEVELS.get(strategy, 0.6)
        rates = {name: round(min(max(level + draw.uniform(-0.1, 0.1), 0), 1), 4) for name in SCORES}
        over = strategy == "masking-3"
        fields = {
            "part": "cut", "cut": 9, "budget": 0.2, "tokens_before": 10_000, "allowed": 2_000,
            "tokens": 6_000 if over else 1_900, "rates": rates, "cost": 0.7 + level / 5,
            "counts": {"invented": 0, "bad refs": 0, "leaked": int(over)}, "cpu_ms": 10 + level,
            "violations": {"anthropic": 2, "strict": 0} if strategy == "peer" else None,
            "missed": {"far": ["the words of a session"]}, **more,
        }  # fmt: skip
        rows.append(
            ScoreRow(family=family, session=f"{family}/{session}", strategy=strategy, **fields)
        )

    for family in families:
        for session in range(sessions):
            for strategy in strategies:
                for budget in (0.1, 0.2):
                    add(family, session, strategy, budget=budget, allowed=int(10_000 * budget))
                add(family, session, strategy, part="own", budget=0.13)
                for steps in (1, 2, 4, 8):
                    add(family, session, strategy, part="drift", steps=steps)
            add(family, session, "agents-own-summary", part="own", budget=0.13)
            rows.append(ScoreRow(
                part="cut", session=f"{family}/{session}", family=family, cut=9, budget=0.2,
                strategy="absent", failed="could not be installed",
            ))  # fmt: skip
    manifest = RunManifest(
        version="1", strategies=(*strategies, "absent"), budgets=(0.1, 0.2), peer_budgets=(),
        main=0.2, drifting=tuple(strategies), asked={"model": ""}, digest="0123",
        sessions=tuple(dict.fromkeys(row.session for row in rows)),
    )  # fmt: skip
    return MadeUp(rows, RunSummary(manifest=manifest, skipped=list(skipped), lines=summarize(rows)))


@pytest.fixture(scope="session")
def make_run() -> Callable[..., MadeUp]:
    """Return what makes up a run."""
    return made_up
