"""One session through every strategy: at each cut and budget, in drift, at its own compactions."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from functools import partial

from msgspec import Struct
from msgspec.structs import replace

from holdfast.caching.prices import Prices
from holdfast.errors import HoldfastError
from holdfast.lab.archive import Archive
from holdfast.lab.drift import STEPS, again_and_again, long_lived, stretches
from holdfast.lab.net_cost import DEFAULT_PRICES, cost_ratio
from holdfast.lab.providers import rules_broken, violations, violations_of
from holdfast.lab.rows import Part, Row
from holdfast.lab.scoring.needed import Elsewhere, Prepared, prepare
from holdfast.lab.scoring.render import is_system
from holdfast.lab.scoring.score import CUTS, Case, case_at, cases_of, score
from holdfast.lab.scoring.session import Session
from holdfast.lab.scoring.shown import Shown
from holdfast.lab.ways.registry import OURS
from holdfast.lab.ways.way import Way, shown_text

LONG_LIVED = "holdfast-long-lived"
OWN = "agents-own-summary"


class Terms(Struct, frozen=True):
    """What is asked of every session: who is tried, at which shares of the tokens."""

    ways: Mapping[str, Way]
    budgets: tuple[float, ...]
    peer_budgets: tuple[float, ...]
    main: float = 0.2
    """The budget at which drift is measured, and a view made for each provider."""
    drifting: frozenset[str] = frozenset()
    """Names of the ways that are held to 1, 2, 4 and 8 compactions."""
    prices: Prices = DEFAULT_PRICES
    with_missed: bool = False
    cuts: tuple[float, ...] = CUTS
    """At which shares of a session's text it is cut."""


def session_rows(session: Session, elsewhere: Elsewhere, terms: Terms) -> list[Row]:
    """Return all rows of one session."""
    prepared = prepare(session)
    with Archive() as archive:
        cases = list(cases_of(prepared, elsewhere, terms.cuts))
        rows: list[Row] = []
        for case in cases:
            archive.grow(case.messages)
            rows.extend(_cut_rows(session, case, archive, terms))
        if cases and terms.drifting:
            rows.extend(_drift_rows(session, cases[-1], archive, terms))
    rows.extend(_own_rows(session, prepared, elsewhere, terms))
    return rows


def _cut_rows(session: Session, case: Case, archive: Archive, terms: Terms) -> Iterator[Row]:
    """Yield the rows of a cut. Where Holdfast goes over, the others get as much as it took."""
    free: dict[str, Row] = {}
    before = rules_broken(case.messages)
    for budget in sorted({*terms.budgets, *terms.peer_budgets}):
        allowed = int(case.tokens * budget)
        for name, way in terms.ways.items():
            if budget not in (terms.peer_budgets if way.kind == "peer" else terms.budgets):
                continue
            if name in free:  # it takes what it takes, whatever the budget
                yield replace(free[name], budget=budget, allowed=allowed)
                continue
            shown = _timed(partial(way.shrink, case.messages, allowed))
            row = _row(session, case, archive, terms, "cut", name, shown,
                       budget=budget, allowed=allowed)  # fmt: skip
            row = replace(row, violations=_violations(way, shown, case, before, budget, terms))
            yield row
            if not way.keeps_budget:
                free[name] = row
            if name == OURS and not shown.failed:
                allowed = max(allowed, shown.tokens)


def _violations(
    way: Way, shown: Shown, case: Case, before: Mapping[str, frozenset[str]], budget: float,
    terms: Terms,
) -> dict[str, int] | None:  # fmt: skip
    """Return broken rules by provider; a way that knows providers is asked for each, once."""
    if not shown.messages:
        return None
    shrink_for = way.shrink_for
    if shrink_for is None:
        return violations(shown.messages, before)
    if budget != terms.main:
        return None
    tokens = int(case.tokens * budget)
    return violations_of(lambda given, name: shrink_for(given, tokens, name), case.messages)


def _timed(work: Callable[[], Shown]) -> Shown:
    """Return what a way makes; what it cannot do is said in its place."""
    begun = time.process_time()
    try:
        shown = work()
    except HoldfastError as error:
        return Shown(text="", tokens=0, failed=str(error))
    if shown.cpu_ms:
        return shown
    return replace(shown, cpu_ms=round((time.process_time() - begun) * 1e3, 3))


def _row(
    session: Session,
    case: Case,
    archive: Archive | None,
    terms: Terms,
    part: Part,
    name: str,
    shown: Shown,
    *,
    budget: float,
    allowed: int,
    steps: int = 1,
) -> Row:
    row = Row(
        part=part, session=session.id, family=session.family, strategy=name, cut=case.cut,
        budget=budget, steps=steps, tokens_before=case.tokens, allowed=allowed,
        failed=shown.failed,
    )  # fmt: skip
    if shown.failed:
        return row
    found = score(case, shown, allowed, archive.find if archive is not None else None)
    cost = cost_ratio(shown, case, terms.prices)
    return replace(
        row,
        tokens=shown.tokens,
        rates={key: None if rate is None else round(rate, 6) for key, rate in found.rates.items()},
        counts=found.counts,
        cost=None if cost is None else round(cost, 6),
        cpu_ms=shown.cpu_ms,
        note=shown.note,
        missed=found.missed if terms.with_missed else {},
    )


def _drift_rows(session: Session, case: Case, archive: Archive, terms: Terms) -> Iterator[Row]:
    """Yield the rows of the last cut after 1, 2, 4 and 8 compactions, as far as turns suffice."""
    allowed = int(case.tokens * terms.main)
    for steps in STEPS:
        parts = stretches(case.messages, steps)
        if len(parts) < steps:
            break
        made = partial(_row, session, case, archive, terms, "drift", budget=terms.main,
                       allowed=allowed, steps=steps)  # fmt: skip
        if OURS in terms.ways:
            yield made(LONG_LIVED, _timed(partial(long_lived, parts, terms.main)))
        for name, way in terms.ways.items():
            if name in terms.drifting:
                work = partial(again_and_again, way.shrink, parts, terms.main)
                yield made(name, _timed(work))


def _own_rows(
    session: Session, prepared: Prepared, elsewhere: Elsewhere, terms: Terms
) -> Iterator[Row]:
    """Yield what the agent's own summary kept, and what others keep in as many tokens."""
    for own in session.own:
        cut = _place(session, own.at)
        if not own.text or not 0 < cut < len(prepared.messages):
            continue
        case = case_at(_without_summary(prepared, cut), cut, elsewhere)
        shown = shown_text(own.text)
        budget = shown.tokens / max(case.tokens, 1)
        made = partial(_row, session, case, None, terms, "own", budget=budget)
        written = Shown(text=own.text, tokens=shown.tokens, summaries=(own.text,))
        yield made(OWN, written, allowed=shown.tokens)
        for name, way in terms.ways.items():
            if way.kind in ("ours", "plain") and way.keeps_budget:
                yield made(
                    name,
                    _timed(partial(way.shrink, case.messages, shown.tokens)),
                    allowed=shown.tokens,
                )


def _place(session: Session, at: int) -> int:
    """Return a position of the session among its messages without system prompts."""
    return at - sum(is_system(message) for message in session.messages[:at])


def _without_summary(prepared: Prepared, cut: int) -> Prepared:
    """Return a session without the message that hands the agent its own summary at a place.

    Otherwise a user would be the first to say again all that the summary names.
    """
    if prepared.messages[cut]["role"] == "assistant":
        return prepared
    kept = [at for at in range(len(prepared.messages)) if at != cut]
    return Prepared(
        prepared.session, [prepared.messages[at] for at in kept],
        [prepared.texts[at] for at in kept], [prepared.facts[at] for at in kept],
        prepared.system_text, prepared.schema,
    )  # fmt: skip
