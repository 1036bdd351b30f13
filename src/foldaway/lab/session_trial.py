"""Strategies tried on one session: what each keeps, and which ones are better than ours."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from msgspec import Struct
from msgspec.structs import replace

from foldaway.agents.importers import ImportedSession
from foldaway.errors import NotReadable
from foldaway.lab.figures import COST, LESS_IS_BETTER
from foldaway.lab.reading import lab_session
from foldaway.lab.results import OURS, ScoreLine, summarize
from foldaway.lab.scoring.needed import Elsewhere
from foldaway.lab.scoring.score import CUTS
from foldaway.lab.scoring_rows import TrialTerms, session_rows
from foldaway.lab.strategies import PLAIN, choose_strategies

TRIED = (OURS, "head+tail", "keep-tail", "masking", "one-liners", "random-lines")
"""Strategies of the lab that keep usable text within a budget."""
BUDGET = 0.2
"""Of the tokens before a cut: the main budget of the lab."""
TRIAL_COLUMNS = {
    "bound": "used later and kept", "far": "from the middle",
    "commands": "commands run again", "errors": "open errors", "files R": "changed files",
    COST: "cost of the rest",
}  # fmt: skip
"""Figures of the lab that the page has columns for, and what it calls them."""
_CLEARLY = 0.01
"""By so much another strategy must be better to be named: less is not seen in whole per cents."""


class TrialScores(Struct, frozen=True, kw_only=True):
    """What each strategy keeps of one session."""

    kept: Sequence[ScoreLine]
    """At 20 % of the tokens, ours first."""
    own: Sequence[ScoreLine]
    """At the agent's own compactions, in as many tokens as its summary took; empty without any."""
    losses: Sequence[str]
    """A sentence for each figure in which another strategy is better than Foldaway."""


def measure_session(found: ImportedSession, tell: Callable[[int, int], None]) -> TrialScores:
    """Return what each strategy keeps of a session at the cuts of the lab; raises `NotReadable`.

    `tell` is told how many cuts were measured, and of how many.
    """
    session = lab_session(found)
    if isinstance(session, NotReadable):
        raise session
    terms = TrialTerms(
        strategies=choose_strategies(TRIED, PLAIN), budgets=(BUDGET,), peer_budgets=(), main=BUDGET
    )
    done = 0

    def tell_cut() -> None:
        nonlocal done
        done += 1
        tell(done, len(CUTS))

    tell(0, len(CUTS))
    # what stands in one session alone cannot be common knowledge
    nothing = Elsewhere(frozenset(), frozenset())
    lines = summarize(session_rows(replace(session, family="session"), nothing, terms, tell_cut))
    kept = [line for line in lines if line.part == "cut"]
    if not kept:
        raise NotReadable("is too short to be cut and measured", where=found.path)
    own = [line for line in lines if line.part == "own"]
    return TrialScores(kept=kept, own=own, losses=find_losses(kept))


def find_losses(lines: Sequence[ScoreLine]) -> list[str]:
    """Return a sentence for each figure in which another strategy is better than Foldaway."""
    ours = next((line for line in lines if line.strategy == OURS), None)
    if ours is None:
        return []
    found: list[str] = []
    for name, title in TRIAL_COLUMNS.items():
        own, is_less = ours.figures.get(name), name in LESS_IS_BETTER
        others = [(line.figures[name].mean, line.strategy) for line in lines
                  if line is not ours and name in line.figures]  # fmt: skip
        if own is None or not others:
            continue
        best, who = min(others) if is_less else max(others)
        if (own.mean - best if is_less else best - own.mean) > _CLEARLY:
            less = " (less is better)" if is_less else ""
            found.append(f"{title}: {who} {best:.0%}, Foldaway {own.mean:.0%}{less}")
    return found
