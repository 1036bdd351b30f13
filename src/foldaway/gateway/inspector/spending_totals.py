"""What was spent by what a page chose: sums, periods for the chart, and what was compacted."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import date, timedelta
from typing import TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from foldaway.gateway.inspector.addresses import Choice
from foldaway.gateway.inspector.session_sources import file_name_of
from foldaway.gateway.inspector.spending_reader import Spending
from foldaway.gateway.inspector.static_files import ROOT
from foldaway.gateway.inspector.window_strips import WindowPart, parts_of
from foldaway.sessions import Show, short_title
from foldaway.usage import (
    KINDS,
    AnswerTable,
    Key,
    Overview,
    OwnCompaction,
    Period,
    ReplayedSession,
    UsageRow,
    UsageSum,
    by_day,
    kind_in_prompts,
    overview,
    short_paths,
)

Span: TypeAlias = tuple[date, date]
MOST_DAYS = 100
"""Bars of the chart, at most, if each is a day: a quarter; more of them are too thin to hit."""
MOST_WEEKS = 105
"""Bars of the chart, at most, if each is a week: two years; a longer time is shown by months."""
SHOWN_ROWS = 8
"""Rows of a table on the overview; the rest is one row that leads to all of them."""
SHOWN_COMPACTIONS = 5
"""The last compactions of Foldaway, each with a link: people ask what the last one dropped."""
_MOST_KEPT = 24
"""Choices whose sums are kept: going back and forth costs nothing."""


class PeriodBar(Struct, frozen=True, kw_only=True):
    """A day, week or month of the chart."""

    name: str
    address: str
    """The page about it alone."""
    tokens: int
    cost: float
    dollars: str
    requests: int
    is_chosen: bool
    """Whether the page is about it alone."""


class KeyRow(Struct, frozen=True, kw_only=True):
    """A project, agent or model, with the share of its bar."""

    key: str
    """What an address chooses it by; "" if it cannot, as with a secret in the name of a folder."""
    name: str
    sessions: int
    tokens: int
    dollars: str
    share: float


class Totals(Struct, frozen=True, kw_only=True):
    """All that the overview shows of one choice."""

    overview: Overview
    period: str
    bars: list[PeriodBar]
    undated: UsageSum | None
    """What the files give no date for."""
    tables: Mapping[str, list[KeyRow]]
    more: Mapping[str, int]
    """Rows that a table leaves out."""
    prompts: tuple[WindowPart, ...]
    by_agents: int
    """Compactions that agents made by themselves, as their files say."""
    own: Sequence[OwnCompaction]
    """Those of Foldaway, as the store says."""
    newest: Sequence[OwnCompaction]
    """Of those, the last ones; their titles are without secrets."""
    replayed: list[tuple[str, str, ReplayedSession]]
    """Those of the overview, each with its name in addresses and its title."""


def totals_of(spending: Spending, choice: Choice, show: Show) -> Totals:
    """Return what was spent; what was made before is not made again."""
    key = ("totals", choice, date.today() if choice.days else None)
    made = spending.memory.get(key)
    if made is None:
        if len(spending.memory) > _MOST_KEPT:
            spending.memory.clear()
        made = spending.memory[key] = _totals(spending, choice, show)
    return made


def _totals(spending: Spending, choice: Choice, show: Show) -> Totals:
    chosen = spending.answers if choice.is_empty else choice.answers(spending.answers)
    found = spending.overview if choice.is_empty else _overview(spending, chosen)
    period, bars, undated = _bars(_days(spending, choice, chosen), choice)
    own = _own(spending.stored.compactions, choice)
    rows: dict[Key, list[UsageRow]] = {
        "project": found.projects,
        "agent": found.agents,
        "model": found.models,
    }
    return Totals(
        overview=found,
        period=period,
        bars=bars,
        undated=undated,
        tables={by: _key_rows(some[:SHOWN_ROWS], by, show) for by, some in rows.items()},
        more={by: max(len(some) - SHOWN_ROWS, 0) for by, some in rows.items()},
        prompts=parts_of(_prompt_parts(found)),
        by_agents=sum(one.answer.follows_compaction for one in chosen if not one.session.is_stored),
        own=own,
        newest=[
            replace(one, title=short_title(show(one.title))) for one in own[:SHOWN_COMPACTIONS]
        ],
        replayed=[
            (file_name_of(session), short_title(show(session.title)), one)
            for one in found.replayed
            if (session := spending.native.get((one.agent, one.source_id)))
        ],
    )


def _overview(spending: Spending, rows: AnswerTable) -> Overview:
    """Return the sums; a session counts whole in what prompts held if one of its requests does."""
    chosen = {one.key for one in rows.sessions() if not one.is_stored}
    judged = [one for one in spending.judged if (one.agent, one.source_id) in chosen]
    return overview(rows.sessions(), rows, judged, spending.prices)


def _days(spending: Spending, choice: Choice, chosen: AnswerTable) -> Mapping[str, UsageSum]:
    """Return what the chart shows by day: also what is around the days that were chosen in it."""
    around = replace(choice, since="", until="")
    if around.is_empty:
        return spending.by_day
    return by_day(chosen if around == choice else around.answers(spending.answers))


# The chart


def _bars(
    days: Mapping[str, UsageSum], choice: Choice
) -> tuple[str, list[PeriodBar], UsageSum | None]:
    """Return days, weeks or months without gaps, whichever are few enough, and what has no date."""
    dated = sorted(date.fromisoformat(day) for day in days if day)
    if not dated:
        return "day", [], days.get("")
    length = (dated[-1] - dated[0]).days + 1
    period: Period = "day"
    if length > MOST_DAYS:
        period = "week" if length <= MOST_WEEKS * 7 else "month"
    bars: list[PeriodBar] = []
    at = 0
    for first, last in _spans(period, dated[0], dated[-1]):
        sums = UsageSum()
        while at < len(dated) and dated[at] <= last:
            sums.join(days[dated[at].isoformat()])
            at += 1
        bars.append(_bar(sums, period, (first, last), choice))
    return period, bars, days.get("")


def _spans(period: Period, first: date, last: date) -> Iterator[Span]:
    """Yield the first and last day of each period from one day to another."""
    at = first
    if period == "week":
        at -= timedelta(days=at.weekday())
    elif period == "month":
        at = at.replace(day=1)
    while at <= last:
        days = {"day": 1, "week": 7}.get(period)
        after = at + timedelta(days=days) if days else (at + timedelta(days=31)).replace(day=1)
        yield at, after - timedelta(days=1)
        at = after


def _bar(sums: UsageSum, period: Period, span: Span, choice: Choice) -> PeriodBar:
    since, until = (one.isoformat() for one in span)
    return PeriodBar(
        name=since[:7] if period == "month" else since,
        address=choice.address(ROOT, since=since, until=until) + "#sessions",
        tokens=sums.tokens,
        cost=round(sums.cost, 6),
        dollars=sums.dollars,
        requests=sums.requests,
        is_chosen=(choice.since, choice.until) == (since, until),
    )


# The tables


def _key_rows(rows: Sequence[UsageRow], by: Key, show: Show) -> list[KeyRow]:
    """Return rows with bars by cost, or by tokens if no cost is known."""
    keys = [row.key(by) for row in rows]
    names = short_paths(keys) if by == "project" else {}
    has_cost = any(row.cost for row in rows)
    sizes = [row.cost if has_cost else row.total_tokens for row in rows]
    most = max(sizes, default=0) or 1
    return [
        KeyRow(
            key=key if show(key) == key else "",
            name=show(names.get(key, key)) or "unknown",
            sessions=row.sessions,
            tokens=row.total_tokens,
            dollars=row.dollars,
            share=size / most,
        )
        for row, key, size in zip(rows, keys, sizes, strict=True)
    ]


# What the prompts held, and what was compacted


def _prompt_parts(found: Overview) -> Iterator[tuple[str, float]]:
    """Yield what prompts held by kind, in the order of all strips."""
    for kind in (*KINDS, "free"):
        for one in found.prompts:
            is_rest = one.name == "everything else"
            if (is_rest and kind == "free") or (not is_rest and kind_in_prompts(one.name) == kind):
                yield kind, one.share


def _own(all_of_them: Sequence[OwnCompaction], choice: Choice) -> list[OwnCompaction]:
    """Return the compactions of a choice, the newest first."""
    start, stop = choice.start(), choice.stop()
    found = [
        one
        for one in all_of_them
        if (not choice.project or one.project == choice.project)
        and (not choice.agent or one.agent == choice.agent)
        and (not choice.model or one.model == choice.model)
        and (start is None or one.time >= start)
        and (stop is None or one.time < stop)
    ]
    return sorted(found, key=lambda one: -one.time)
