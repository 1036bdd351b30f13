"""What was spent by what a page chose: sums, periods for the chart, and what was compacted."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import date, timedelta
from typing import TypeAlias

from msgspec import Struct, UnsetType
from msgspec.structs import replace

from holdfast.inspector.choosing import Choice
from holdfast.inspector.own_compactions import OwnCompaction
from holdfast.inspector.shelf import file_name_of
from holdfast.inspector.spending import Spending
from holdfast.inspector.window_strips import KINDS, WindowPart, kind_of, parts_of
from holdfast.sessions.showing import Show
from holdfast.spending.figures import CountedAnswer, Key, Period, UsageRow, add_up, dollars
from holdfast.spending.numbers import short_paths
from holdfast.spending.overview import Overview, overview
from holdfast.spending.record import SpentSession

Span: TypeAlias = tuple[date, date]
MOST_DAYS = 100
"""Bars of the chart, at most, if each is a day: a quarter; more of them are too thin to hit."""
MOST_WEEKS = 105
"""Bars of the chart, at most, if each is a week: two years; a longer time is shown by months."""
SHOWN_ROWS = 8
"""Rows of a table on the overview; the rest is one row that leads to all of them."""
_MOST_KEPT = 24
"""Choices whose sums are kept: going back and forth costs nothing."""


class PeriodBar(Struct, frozen=True, kw_only=True):
    """A day, week or month of the chart."""

    name: str
    since: str
    until: str
    tokens: int
    cost: float
    dollars: str
    requests: int
    is_chosen: bool
    """Whether the page is about it alone."""


class KeyRow(Struct, frozen=True, kw_only=True):
    """A project, agent or model, with the share of its bar."""

    key: str
    """What an address chooses it by; "" if it cannot."""
    name: str
    sessions: int
    tokens: int
    dollars: str
    share: float


class SimulatedSession(Struct, frozen=True):
    """A session that was replayed: what it cost as it was and would cost, both simulated."""

    name: str
    title: str
    cost: float
    cost_with_holdfast: float


class Totals(Struct, frozen=True, kw_only=True):
    """All that the overview shows of one choice."""

    overview: Overview
    period: str
    bars: list[PeriodBar]
    undated: UsageRow | None
    """What the files give no date for."""
    tables: Mapping[str, list[KeyRow]]
    more: Mapping[str, int]
    """Rows that a table leaves out."""
    prompts: tuple[WindowPart, ...]
    own: Sequence[OwnCompaction]
    simulated: list[SimulatedSession]

    @property
    def own_before(self) -> int:
        """Tokens before the compactions of Holdfast, added up."""
        return sum(one.tokens_before for one in self.own)

    @property
    def own_after(self) -> int:
        """Tokens after the compactions of Holdfast, added up."""
        return sum(one.tokens_after for one in self.own)


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
    found = _overview(spending, choice)
    around = replace(choice, since="", until="")
    period, bars, undated = _bars(around.answers(list(spending.answers)), choice)
    rows: dict[Key, list[UsageRow]] = {
        "project": found.projects, "agent": found.agents, "model": found.models
    }  # fmt: skip
    return Totals(
        overview=found, period=period, bars=bars, undated=undated,
        tables={by: _key_rows(some[:SHOWN_ROWS], by, show) for by, some in rows.items()},
        more={by: max(len(some) - SHOWN_ROWS, 0) for by, some in rows.items()},
        prompts=parts_of(_prompt_parts(found)), own=_own(spending.own, choice),
        simulated=_simulated(spending, choice, show),
    )  # fmt: skip


def _overview(spending: Spending, choice: Choice) -> Overview:
    """Return the sums; a session counts whole in what prompts held if one of its requests does."""
    if choice.is_empty:
        return spending.overview
    rows = choice.answers(list(spending.answers))
    chosen = {row.session.key: row.session for row in rows}
    judged = [one for one in spending.judged if (one.agent, one.source_id) in chosen]
    return overview(list(chosen.values()), rows, judged, spending.prices)


# The chart


def _bars(
    rows: Sequence[CountedAnswer], choice: Choice
) -> tuple[str, list[PeriodBar], UsageRow | None]:  # fmt: skip
    """Return days, weeks or months without gaps, whichever are few enough, and what has no date."""
    by_day = {str(row.period): row for row in add_up(rows, "day")}
    undated = by_day.pop("", None)
    if not by_day:
        return "day", [], undated
    first, last = date.fromisoformat(min(by_day)), date.fromisoformat(max(by_day))
    length = (last - first).days + 1
    period: Period = "day"
    if length > MOST_DAYS:
        period = "week" if length <= MOST_WEEKS * 7 else "month"
        by_day = {str(row.period): row for row in add_up(rows, period)}
    return (
        period,
        [_bar(by_day, period, span, choice) for span in _spans(period, first, last)],
        (undated),
    )


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


def _bar(rows: Mapping[str, UsageRow], period: Period, span: Span, choice: Choice) -> PeriodBar:
    since, until = (one.isoformat() for one in span)
    name = since[:7] if period == "month" else since
    row = rows.get(name, UsageRow())
    return PeriodBar(
        name=name, since=since, until=until, tokens=row.total_tokens, cost=row.cost,
        dollars=dollars(row), requests=row.requests,
        is_chosen=(choice.since, choice.until) == (since, until),
    )  # fmt: skip


# The tables


def _key_rows(rows: Sequence[UsageRow], by: Key, show: Show) -> list[KeyRow]:
    """Return rows with bars by cost, or by tokens if no cost is known."""
    keys = [_key_in(row, by) for row in rows]
    names = short_paths(keys) if by == "project" else {}
    has_cost = any(row.cost for row in rows)
    sizes = [row.cost if has_cost else row.total_tokens for row in rows]
    most = max(sizes, default=0) or 1
    return [
        KeyRow(
            key=key, name=show(names.get(key, key)) or "unknown", sessions=row.sessions,
            tokens=row.total_tokens, dollars=dollars(row), share=size / most,
        )
        for row, key, size in zip(rows, keys, sizes, strict=True)
    ]  # fmt: skip


def _key_in(row: UsageRow, by: Key) -> str:
    value = getattr(row, by)
    return "" if isinstance(value, UnsetType) else str(value)


# What the prompts held, and what was compacted


def _prompt_parts(found: Overview) -> Iterator[tuple[str, float]]:
    """Yield what prompts held by kind, in the order of all strips."""
    for kind in (*KINDS, "free"):
        for one in found.prompts:
            is_rest = one.name == "everything else"
            if (is_rest and kind == "free") or (not is_rest and kind_of(one.name) == kind):
                yield kind, one.share


def _own(all_of_them: Sequence[OwnCompaction], choice: Choice) -> list[OwnCompaction]:
    start, stop = choice.start(), choice.stop()
    return [
        one
        for one in all_of_them
        if (not choice.project or one.project == choice.project)
        and (not choice.agent or one.agent == choice.agent)
        and (not choice.model or one.model == choice.model)
        and (start is None or one.time >= start)
        and (stop is None or one.time < stop)
    ]


def _simulated(spending: Spending, choice: Choice, show: Show) -> list[SimulatedSession]:
    """Return the sessions that were replayed, the dearest first."""
    by_key: dict[tuple[str, str], SpentSession] = {one.key: one for one in spending.sessions}
    if not choice.is_empty:
        chosen = {row.session.key for row in choice.answers(list(spending.answers))}
        by_key = {key: one for key, one in by_key.items() if key in chosen}
    found = [
        SimulatedSession(
            file_name_of(session), show(session.title), one.usd_as_it_was, one.usd_with_holdfast
        )
        for one in spending.judged
        if one.usd_as_it_was > 0 and (session := by_key.get((one.agent, one.source_id)))
    ]
    return sorted(found, key=lambda one: -one.cost)
