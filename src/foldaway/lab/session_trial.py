"""Strategies tried on one session: what each keeps, which are better than ours, what each costs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from foldaway.agents.importers import ImportedSession
from foldaway.caching import PriceList, window_of
from foldaway.errors import MissingExtra, NotReadable
from foldaway.lab.figures import COST, LESS_IS_BETTER, glossary
from foldaway.lab.reading import lab_session
from foldaway.lab.replay import ReplayTerms
from foldaway.lab.results import MAIN_SHARE, OURS, ScoreLine, summarize
from foldaway.lab.scoring.needed import Elsewhere
from foldaway.lab.scoring.score import CUTS
from foldaway.lab.scoring.shell import shell_parser
from foldaway.lab.scoring_rows import TrialTerms, session_rows
from foldaway.lab.simulation import (
    THRESHOLDS,
    StrategyCost,
    recordings_of,
    simulate,
    strategies_for,
)
from foldaway.lab.strategies import PLAIN, choose_strategies

TRIED = (OURS, "head+tail", "keep-tail", "masking", "one-liners", "random-lines")
"""Strategies of the lab that keep usable text within a budget."""
TRIAL_COLUMNS = {
    "bound": "used later and kept",
    "far": "from the middle",
    "commands": "commands run again",
    "errors": "open errors",
    "files R": "changed files",
    COST: "cost of the rest",
}
"""Figures of the lab that a page has columns for, and what it calls them."""
_CLEARLY = 0.01
"""By so much another strategy must be better to be named: less is not seen in whole per cents."""

Tell: TypeAlias = Callable[[Literal["measuring", "replaying"], int, int], None]
"""Told what is done, how much of it, and of how much."""


def needed_for_trials() -> str:
    """Return what must be installed before a session can be tried, "" if nothing must."""
    try:
        shell_parser()
    except MissingExtra as error:
        return str(error)
    return ""


class TrialColumn(Struct, frozen=True):
    """A figure that a page shows of a trial."""

    figure: str
    title: str
    called: str
    """What the lab calls it."""
    says: str


def trial_columns() -> list[TrialColumn]:
    """Return the figures that a page shows of a trial."""
    return [
        TrialColumn(name, title, glossary()[name].title, glossary()[name].says)
        for name, title in TRIAL_COLUMNS.items()
    ]


class TrialPoint(Struct, frozen=True):
    """What a strategy keeps of what was used later, and what the rest of the session costs."""

    strategy: str
    is_ours: bool
    kept: float
    cost: float


class SessionTrial(Struct, frozen=True, kw_only=True):
    """What came of a trial."""

    kept: Sequence[ScoreLine]
    """What each strategy keeps, ours first."""
    own: Sequence[ScoreLine]
    """At the agent's own compactions, in as many tokens as its summary took; empty without any."""
    losses: Sequence[str]
    """A sentence for each figure in which another strategy is better than Foldaway."""
    costs: Sequence[StrategyCost]
    """The whole session replayed; empty if the price of its model is not known."""
    model: str
    window_tokens: int

    @property
    def verdict(self) -> str:
        """In a sentence what Foldaway keeps beside the best of the others."""
        kept = {
            line.strategy: line.figures["bound"].mean
            for line in self.kept
            if "bound" in line.figures
        }
        if OURS not in kept or len(kept) == 1:
            return (
                "Nothing of what stood before the cuts was used after them, so nothing can be said."
            )
        best, who = max((value, name) for name, value in kept.items() if name != OURS)
        first = (
            f"At {MAIN_SHARE:.0%} of the tokens Foldaway keeps {kept[OURS]:.0%} of what the agent "
            "used"
        )
        if f"{best:.0%}" == f"{kept[OURS]:.0%}":
            return f"{first} later, as much as {who}, the best of the others."
        return f"{first} later; {who}, the best of the others, keeps {best:.0%}."

    @property
    def points(self) -> list[TrialPoint]:
        """Where each strategy stands that has both figures."""
        return [
            TrialPoint(
                line.strategy,
                line.strategy == OURS,
                line.figures["bound"].mean,
                line.figures[COST].mean,
            )
            for line in self.kept
            if "bound" in line.figures and COST in line.figures
        ]


def try_session(
    found: ImportedSession, system_tokens: int, window_tokens: int | None, tell: Tell
) -> SessionTrial:
    """Return what each strategy keeps of a session at the cuts of the lab, and costs.

    `system_tokens` is the size of the system prompt and the tools, if the transcript does not hold
    them; the window is that of the model if none is given. Raises `NotReadable`.
    """
    kept, own = _measure(found, tell)
    price, window = PriceList().of(found.model), window_of(found.model, window_tokens)[0]
    costs: list[StrategyCost] = []
    if price is not None:
        parts = recordings_of(found.transcript, found.summaries, system_tokens)
        strategies = strategies_for(THRESHOLDS)
        done, total = 0, len(parts) * len(strategies)

        def count_replay(_: int) -> None:
            nonlocal done
            done += 1
            tell("replaying", done, total)

        terms = ReplayTerms(prices=price, context_length=window)
        costs = simulate(parts, terms, strategies, count_replay)
    return SessionTrial(
        kept=kept,
        own=own,
        losses=find_losses(kept),
        costs=costs,
        model=found.model,
        window_tokens=window,
    )


def _measure(found: ImportedSession, tell: Tell) -> tuple[list[ScoreLine], list[ScoreLine]]:
    """Return what each strategy keeps at the cuts, and at the agent's own compactions."""
    session = lab_session(found)
    if isinstance(session, NotReadable):
        raise session
    terms = TrialTerms(strategies=choose_strategies(TRIED, PLAIN), budgets=(MAIN_SHARE,))
    done = 0

    def tell_cut() -> None:
        nonlocal done
        done += 1
        tell("measuring", done, len(CUTS))

    tell("measuring", 0, len(CUTS))
    # what stands in one session alone cannot be common knowledge
    nothing = Elsewhere(frozenset(), frozenset())
    lines = summarize(session_rows(replace(session, family="session"), nothing, terms, tell_cut))
    kept = [line for line in lines if line.part == "cut"]
    if not kept:
        raise NotReadable("is too short to be cut and measured", where=found.path)
    return kept, [line for line in lines if line.part == "own"]


def find_losses(lines: Sequence[ScoreLine]) -> list[str]:
    """Return a sentence for each figure in which another strategy is better than Foldaway."""
    ours = next((line for line in lines if line.strategy == OURS), None)
    if ours is None:
        return []
    found: list[str] = []
    for name, title in TRIAL_COLUMNS.items():
        own, is_less = ours.figures.get(name), name in LESS_IS_BETTER
        others = [
            (line.figures[name].mean, line.strategy)
            for line in lines
            if line is not ours and name in line.figures
        ]
        if own is None or not others:
            continue
        best, who = min(others) if is_less else max(others)
        if (own.mean - best if is_less else best - own.mean) > _CLEARLY:
            less = " (less is better)" if is_less else ""
            found.append(f"{title}: {who} {best:.0%}, Foldaway {own.mean:.0%}{less}")
    return found
