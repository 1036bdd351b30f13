"""One session through every strategy: at each cut and budget, in drift, at its own compactions."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from foldaway._core import Policy
from foldaway.caching import Prices
from foldaway.compaction import Compaction, Options, Plan, finish, plan
from foldaway.engine import Compressor
from foldaway.errors import FoldawayError
from foldaway.lab.measures import (
    DEFAULT_PRICES,
    Archive,
    cost_ratio,
    count_provider_violations,
    count_violations,
    find_broken_rules,
)
from foldaway.lab.results import LONG_LIVED, OURS, OWN, Part, ScoreRow
from foldaway.lab.scoring.needed import Elsewhere, PreparedSession, prepare
from foldaway.lab.scoring.score import CUTS, CutCase, case_at, cases_of, score
from foldaway.lab.scoring.session import (
    JudgedView,
    LabSession,
    Message,
    is_system,
    render,
    render_all,
    without_system,
)
from foldaway.lab.scoring.statements import judge
from foldaway.lab.scoring.tally import StatementTally, tally
from foldaway.lab.scoring.truth import StatementTruth, truth_at
from foldaway.lab.strategies import Shrink, Strategy, foldaway_view, text_view
from foldaway.transcript import estimate_text

STEPS = (1, 2, 4, 8)
"""How many compactions a history is brought to its size in."""
Resolves: TypeAlias = Callable[[str], bool]

_WINDOW = 8
"""Windows per budget: its 5 % for the summary are 0.4 of the budget. The tail gets 0.6."""
_POLICY = Policy(floor_tokens=0, threshold=0.75, target_ratio=0.10, summary_tokens=1_000_000)


def split_stretches(messages: Sequence[Message], count: int) -> list[list[Message]]:
    """Return the messages in stretches of about the same size, each ending before the agent."""
    sizes = [len(render(message)) for message in messages]
    parts: list[list[Message]] = [[]]
    seen, total = 0, sum(sizes)
    for message, size in zip(messages, sizes, strict=True):
        due = len(parts) < count and seen >= total * len(parts) / count
        if due and message["role"] == "assistant" and without_system(parts[-1]):
            parts.append([])
        parts[-1].append(message)
        seen += size
    return parts


def run_long_lived(parts: Sequence[Sequence[Message]], budget: float) -> JudgedView:
    """Return the view of one compressor that took the stretches as they came."""
    engine = Compressor(context_length=1_000_000, policy=_POLICY)
    seen: list[Message] = []
    for part in parts:
        seen.extend(part)
        tokens = max(int(estimate_text(render_all(without_system(seen))) * budget), 1)
        engine.append(*part)
        engine.use_model("", tokens * _WINDOW)
        _compact_whole(engine)
    outside = estimate_text(render_all(filter(is_system, seen)))
    return foldaway_view(engine.messages, outside)


def _compact_whole(engine: Compressor) -> None:
    """Compact with a summary that may fill its room, however little is folded: strategies are
    compared at the same size.
    """
    work = engine.work_with(Options())
    budget = replace(work.budget, summary_min_tokens=work.budget.summary_max_tokens)
    todo = plan(replace(work, budget=budget))
    done = finish(todo) if isinstance(todo, Plan) else todo
    if isinstance(done, Compaction):
        engine.adopt(
            done,
            engine.report_on(work, done, engine.decide()),
            strips_thinking=work.rules.strips_thinking,
        )


def compact_repeatedly(
    shrink: Shrink, parts: Sequence[Sequence[Message]], budget: float
) -> JudgedView:
    """Return what a strategy makes of its own output and the next stretch, to the last one.

    A strategy that gives text is handed its text back as what a user said.
    """
    seen: list[Message] = []
    view: list[Message] = []
    shown, known = JudgedView(text="", tokens=0), list[Resolves]()
    for part in parts:
        seen.extend(part)
        tokens = int(estimate_text(render_all(without_system(seen))) * budget)
        shown = shrink([*view, *part], tokens)
        if shown.failed:
            return shown
        if shown.resolves is not None:
            known.append(shown.resolves)
        view = list(shown.messages) or [
            *filter(is_system, seen),
            {"role": "user", "content": shown.text},
        ]

    def resolves(reference: str) -> bool:  # the originals of all compactions are kept
        return any(one(reference) for one in known)

    return replace(shown, resolves=resolves if known else None)


class TrialTerms(Struct, frozen=True):
    """What is asked of every session: who is tried, at which shares of the tokens."""

    strategies: Mapping[str, Strategy]
    budgets: tuple[float, ...]
    peer_budgets: tuple[float, ...] = ()
    main: float = 0.2
    """The budget at which drift is measured, and a view made for each provider."""
    drifting: frozenset[str] = frozenset()
    """Names of the strategies that are also tried in 1, 2, 4 and 8 compactions."""
    prices: Prices = DEFAULT_PRICES
    with_missed: bool = False
    cuts: tuple[float, ...] = CUTS
    """At which shares of a session's text it is cut."""


class _Trial(Struct, frozen=True):
    """A session at one cut, which every strategy gets."""

    session: LabSession
    case: CutCase
    archive: Archive | None
    terms: TrialTerms
    truth: StatementTruth | None = None
    """What statements are judged by; None if they are not."""

    def row(
        self,
        part: Part,
        name: str,
        shown: JudgedView,
        *,
        budget: float,
        allowed: int,
        steps: int = 1,
    ) -> ScoreRow:
        """Return how a view does, or why there is none."""
        case, session, terms = self.case, self.session, self.terms
        row = ScoreRow(
            part=part,
            session=session.id,
            family=session.family,
            strategy=name,
            cut=case.cut,
            budget=budget,
            steps=steps,
            tokens_before=case.tokens,
            allowed=allowed,
            failed=shown.failed,
        )
        if shown.failed:
            return row
        found = score(case, shown, self.archive.find if self.archive else None)
        cost = cost_ratio(shown, case, terms.prices)
        rates = found.rates.items()
        return replace(
            row,
            tokens=shown.tokens,
            rates={key: None if rate is None else round(rate, 6) for key, rate in rates},
            counts=found.counts,
            cost=None if cost is None else round(cost, 6),
            cpu_ms=shown.cpu_ms,
            note=shown.note,
            statements=self._statements(shown),
            missed=found.missed if terms.with_missed else {},
        )

    def _statements(self, shown: JudgedView) -> dict[str, StatementTally]:
        if self.truth is None or not shown.messages:
            return {}
        return tally(judge(shown.messages, self.case.messages, self.truth))


def session_rows(
    session: LabSession,
    elsewhere: Elsewhere,
    terms: TrialTerms,
    tell: Callable[[], None] = lambda: None,
) -> list[ScoreRow]:
    """Return all rows of one session; `tell` is called after each cut."""
    prepared = prepare(session)
    rows: list[ScoreRow] = []
    with Archive() as archive:
        trials = [
            _Trial(session, case, archive, terms, truth_of(case))
            for case in cases_of(prepared, elsewhere, terms.cuts)
        ]
        for trial in trials:
            archive.grow(trial.case.messages)
            rows.extend(_cut_rows(trial))
            tell()
        if trials and terms.drifting:
            rows.extend(_drift_rows(trials[-1]))
    rows.extend(_score_own_summaries(session, prepared, elsewhere, terms))
    return rows


def truth_of(case: CutCase) -> StatementTruth:
    """Return what statements about a case are judged by."""
    return truth_at(without_system(case.messages), case.later)


def _cut_rows(trial: _Trial) -> Iterator[ScoreRow]:
    """Yield the rows of a cut. If Foldaway goes over, the others get as much as it took."""
    case, terms = trial.case, trial.terms
    free: dict[str, ScoreRow] = {}
    before = find_broken_rules(case.messages)
    for budget in sorted({*terms.budgets, *terms.peer_budgets}):
        allowed = int(case.tokens * budget)
        for name, strategy in terms.strategies.items():
            if budget not in (terms.peer_budgets if strategy.kind == "peer" else terms.budgets):
                continue
            if name in free:  # it takes what it takes, whatever the budget
                yield replace(free[name], budget=budget, allowed=allowed)
                continue
            shown = _measure_view(partial(strategy.shrink, case.messages, allowed))
            row = replace(
                trial.row("cut", name, shown, budget=budget, allowed=allowed),
                violations=_violations(trial, strategy, shown, before, budget),
            )
            yield row
            if not strategy.keeps_budget:
                free[name] = row
            if name == OURS and not shown.failed:
                allowed = max(allowed, shown.tokens)


def _violations(
    trial: _Trial,
    strategy: Strategy,
    shown: JudgedView,
    before: Mapping[str, frozenset[str]],
    budget: float,
) -> dict[str, int] | None:
    """Return broken rules by provider; a strategy that knows providers is asked for each, once."""
    if not shown.messages:
        return None
    shrink_for = strategy.shrink_for
    if shrink_for is None:
        return count_violations(shown.messages, before)
    if budget != trial.terms.main:
        return None
    tokens = int(trial.case.tokens * budget)
    return count_provider_violations(
        lambda given, name: shrink_for(given, tokens, name), trial.case.messages
    )


def _measure_view(work: Callable[[], JudgedView]) -> JudgedView:
    """Return the view that a strategy makes with its CPU time, or why it made none."""
    begun = time.process_time()
    try:
        shown = work()
    except FoldawayError as error:
        return JudgedView(text="", tokens=0, failed=str(error))
    if shown.cpu_ms:
        return shown
    return replace(shown, cpu_ms=round((time.process_time() - begun) * 1e3, 3))


def _drift_rows(trial: _Trial) -> Iterator[ScoreRow]:
    """Yield the rows of the last cut after 1, 2, 4 and 8 compactions, as far as turns suffice."""
    main, allowed = trial.terms.main, int(trial.case.tokens * trial.terms.main)
    for steps in STEPS:
        parts = split_stretches(trial.case.messages, steps)
        if len(parts) < steps:
            break
        made = partial(trial.row, "drift", budget=main, allowed=allowed, steps=steps)
        if OURS in trial.terms.strategies:
            yield made(LONG_LIVED, _measure_view(partial(run_long_lived, parts, main)))
        for name, strategy in trial.terms.strategies.items():
            if name in trial.terms.drifting:
                yield made(
                    name, _measure_view(partial(compact_repeatedly, strategy.shrink, parts, main))
                )


def _score_own_summaries(
    session: LabSession, prepared: PreparedSession, elsewhere: Elsewhere, terms: TrialTerms
) -> Iterator[ScoreRow]:
    """Yield what the agent's own summary kept, and what others keep in as many tokens."""
    for own in session.own:
        cut = own.at - sum(map(is_system, session.messages[: own.at]))
        if not own.text or not 0 < cut < len(prepared.messages):
            continue
        case = case_at(_without_summary(prepared, cut), cut, elsewhere)
        shown = replace(text_view(own.text), summaries=(own.text,))
        trial = _Trial(session, case, None, terms)
        budget, allowed = shown.tokens / max(case.tokens, 1), shown.tokens
        yield trial.row("own", OWN, shown, budget=budget, allowed=allowed)
        for name, strategy in terms.strategies.items():
            if strategy.kind in ("ours", "plain") and strategy.keeps_budget:
                shown = _measure_view(partial(strategy.shrink, case.messages, allowed))
                yield trial.row("own", name, shown, budget=budget, allowed=allowed)


def _without_summary(prepared: PreparedSession, cut: int) -> PreparedSession:
    """Return a session without the message that hands the agent its own summary at a place.

    Otherwise a user would be the first to say again all that the summary names.
    """
    if prepared.messages[cut]["role"] == "assistant":
        return prepared
    kept = [at for at in range(len(prepared.messages)) if at != cut]
    return dataclasses.replace(
        prepared,
        messages=[prepared.messages[at] for at in kept],
        texts=[prepared.texts[at] for at in kept],
        facts=[prepared.facts[at] for at in kept],
    )
