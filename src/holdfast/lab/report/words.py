"""The verdict in sentences; every figure in them is computed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from holdfast.lab.report.glossary import title_of
from holdfast.lab.report.verdict import (
    LEAST_SESSIONS,
    MAIN_SCORES,
    Difference,
    Finding,
    Standing,
    drift_changes,
)
from holdfast.lab.rows import Row
from holdfast.lab.scoring.stats import Estimate
from holdfast.lab.session_rows import OWN
from holdfast.lab.ways.registry import OURS


def headline(found: Sequence[Finding], figure: str) -> str:
    """Return one sentence on a score: in which families Holdfast leads, and where it does not."""
    mine = [one for one in found if one.figure == figure and one.against]
    judged = [one for one in mine if len(one.of("too few")) < len(one.against)]
    if not judged:
        return (
            f"On {title_of(figure)} nothing can be said: no family has {LEAST_SESSIONS} sessions "
            "in which Holdfast and another strategy were both scored."
        )
    first = [one.family for one in judged if len(one.of("ahead")) == len(one.against)]
    rest = [_otherwise(one) for one in judged if one.family not in first]
    total = f"{len(judged)} {'family' if len(judged) == 1 else 'families'}"
    if not rest:
        where = f"all of {total}: {listed(first)}" if len(first) > 1 else first[0]
        return (
            f"On {title_of(figure)} Holdfast is ahead of every strategy that kept to the same "
            f"number of tokens, in {where}."
        )
    lead = (
        f"is ahead of every strategy that kept to the same number of tokens in {listed(first)} "
        f"({len(first)} of {total})"
        if first
        else f"leads all strategies that kept to the same number of tokens in none of {total}"
    )
    return f"On {title_of(figure)} Holdfast {lead}; {'; '.join(rest)}."


def with_more(found: Sequence[Finding], figure: str) -> str:
    """Return one sentence on those that took more tokens than allowed, and stand apart from it.

    "" where there are none.
    """
    mine = [one for one in found if one.figure == figure and one.against]
    said: list[str] = []
    for standing, words in _WITH_MORE:
        where: dict[str, list[str]] = {}
        for one in mine:
            for row in one.of(standing):
                where.setdefault(row.other, []).append(one.family)
        names = [
            name if len(families) == len(mine) else f"{name} ({', '.join(families)})"
            for name, families in where.items()
        ]
        if names:
            said.append(f"{words} {listed(names)}")
    if not said:
        return ""
    return f"Of those that took more tokens than allowed, on {title_of(figure)}: {'; '.join(said)}."


_WITH_MORE: tuple[tuple[Standing, str], ...] = (
    ("ahead", "Holdfast is ahead all the same of"), ("behind", "ahead of Holdfast are"),
)  # fmt: skip


def _otherwise(one: Finding) -> str:
    said = [
        f"{word} {listed(_named(rows))}"
        for word, rows in (
            ("behind", one.of("behind")), ("not apart from", one.of("even")),
            ("not comparable with", one.of("too few")),
        )
        if rows
    ]  # fmt: skip
    return f"in {one.family} it is {' and '.join(said)}"


def own(found: Sequence[Difference]) -> list[str]:
    """Return how Holdfast stands to summaries that agents wrote themselves, in as many tokens."""
    return [
        f"{one.family}, {title_of(one.figure)}: {_STANDINGS[one.standing]}, "
        f"{signed(one.by)}, {_sessions(one.by.sessions)}."
        for one in found
        if one.part == "own" and one.other == OWN and one.figure in MAIN_SCORES
    ]


def drifting(rows: Sequence[Row], scores: Sequence[str]) -> list[tuple[str, ...]]:
    """Return what the most compactions in a row change for Holdfast, beside a single one.

    A row is family, strategy, compactions, sessions, and the change of each score.
    """
    changes = {score: drift_changes(rows, score) for score in scores}
    places = sorted({place for found in changes.values() for place in found})
    said: list[tuple[str, ...]] = []
    for place in places:
        if place[1].startswith(OURS):
            known = {score: found[place] for score, found in changes.items() if place in found}
            most, sessions = max((most, by.sessions) for most, by in known.values())
            cells = [signed(known[score][1]) if score in known else "–" for score in scores]
            said.append((*place, str(most), str(sessions), *cells))
    return said


_STANDINGS: Mapping[Standing, str] = {
    "ahead": "Holdfast is ahead", "behind": "Holdfast is behind", "even": "not apart",
    "too few": "too few sessions to say",
}  # fmt: skip


def _sessions(count: int) -> str:
    return f"{count} session{'s' * (count != 1)}"


def loss(one: Difference) -> str:
    """Return in words by how much another strategy is ahead of Holdfast."""
    by = one.by
    back = Estimate(abs(by.mean), min(abs(by.low), abs(by.high)), max(abs(by.low), abs(by.high)),
                    by.sessions)  # fmt: skip
    return f"{one.other} by {number(back.mean)} ({number(back.low)} to {number(back.high)})"


def signed(by: Estimate) -> str:
    """Return a difference with its interval; one session has none."""
    if by.sessions == 1:
        return sign(by.mean)
    return f"{sign(by.mean)} ({sign(by.low)} to {sign(by.high)})"


def interval(found: Estimate) -> str:
    """Return a mean with its interval; one session has none."""
    if found.sessions == 1:
        return number(found.mean)
    return f"{number(found.mean)} ({number(found.low)} to {number(found.high)})"


def sign(value: float) -> str:
    """Return a difference: + or − before it, unless it shows as nothing."""
    shown = number(abs(value))
    return shown if float(shown) == 0 else f"{'+' if value > 0 else '−'}{shown}"


def number(value: float) -> str:
    """Return a figure with two places, a large one without."""
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.2f}"


def listed(names: Iterable[str]) -> str:
    """Return names in a row, the last two with an `and`."""
    rows = list(names)
    return " and ".join([", ".join(rows[:-1]), rows[-1]] if len(rows) > 1 else rows)


def _named(rows: Sequence[Difference]) -> list[str]:
    return [one.other for one in rows]
