"""Which sessions and requests a page is about, as its address says."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, datetime, timedelta
from typing import get_args
from urllib.parse import urlencode

from msgspec import Struct
from msgspec.structs import fields, replace
from starlette.datastructures import QueryParams

from foldaway.stores import SessionFilter, SessionOrder
from foldaway.usage import AnswerTable, SpentSession

_MOST_CHARS = 1_000
"""Of a value in an address: longer than any path that a session ran in."""
_MOST_DAYS = 36_500
"""A hundred years: more than any file of an agent covers."""


class Choice(Struct, frozen=True, kw_only=True):
    """What narrows a page; an empty field asks nothing."""

    days: int = 0
    """Today, and the days before it up to this many."""
    since: str = ""
    """A day, this one included."""
    until: str = ""
    """A day, this one included."""
    project: str = ""
    agent: str = ""
    model: str = ""
    text: str = ""
    """Part of the title."""
    order: str = ""
    """What a list is sorted by, as a store calls it; "" is the time of the last use."""
    subagents: bool = False
    """Whether sessions of subagents are listed, too."""

    @property
    def is_empty(self) -> bool:
        """Whether everything counts."""
        return self == Choice(subagents=self.subagents, order=self.order)

    def start(self) -> float | None:
        """Return the first moment that counts; None without one."""
        found = [_midnight(date.fromisoformat(self.since))] if self.since else []
        if self.days:
            found.append(_midnight(date.today() - timedelta(days=self.days - 1)))
        return max(found, default=None)

    def stop(self) -> float | None:
        """Return the first moment after those that count; None without one."""
        if not self.until:
            return None
        return _midnight(date.fromisoformat(self.until), 1)

    def address(self, path: str, **changes: object) -> str:
        """Return the address of a page with this choice, some of it changed."""
        made, more = (
            replace(self, **{k: v for k, v in changes.items() if k in _NAMES}),
            {name: value for name, value in changes.items() if name not in _NAMES},
        )
        given = {name: getattr(made, name) for name in _NAMES} | more
        chosen = {name: int(v) if v is True else v for name, v in given.items() if v}
        query = urlencode(chosen, errors="replace")  # a path may be no valid Unicode
        return f"{path}?{query}" if query else path

    def answers(self, rows: AnswerTable) -> AnswerTable:
        """Return the requests that count."""
        start, stop = self.start(), self.stop()
        return rows.where(
            lambda row: (
                (not self.project or row.root.project == self.project)
                and (not self.agent or row.root.agent == self.agent)
                and (not self.model or row.answer.model == self.model)
                and _is_within(row.time, row.time, start, stop)
            )
        )

    def takes_file(self) -> Callable[[SpentSession, float], bool]:
        """Return what tells whether a session of a file is listed, by when it was last used."""
        start, stop, text = self.start(), self.stop(), self.text.casefold()

        def takes(one: SpentSession, last: float) -> bool:
            return (
                (self.subagents or not one.is_subagent)
                and (not self.project or one.project == self.project)
                and (not self.agent or one.agent == self.agent)
                and (not self.model or any(answer.model == self.model for answer in one.answers))
                and (not text or text in one.title.casefold())
                and _is_within(one.started, last, start, stop)
            )

        return takes

    def to_filter(self) -> SessionFilter:
        """Return the same for the sessions of a store."""
        return SessionFilter(
            source=self.agent,
            model=self.model,
            kind="any" if self.subagents else "main",
            text=self.text,
            since=self.start(),
            until=self.stop(),
            folders=(self.project,) if self.project else None,
        )


_NAMES = tuple(one.name for one in fields(Choice))


class WrongAddress(Exception):
    """An address that is none of a page, such as one with a word in place of a number."""


def whole_number(text: str) -> int:
    """Return a number that an address has; raises `WrongAddress` for another text."""
    try:
        return int(text)
    except ValueError:
        raise WrongAddress(text) from None


def choice_of(query: QueryParams) -> Choice:
    """Return what an address chooses; raises `WrongAddress` for a number or a day that is none."""
    given = {name: query.get(name, "")[:_MOST_CHARS] for name in _NAMES}
    for name in ("since", "until"):
        try:
            day = date.fromisoformat(given[name] or "2000-01-01")
            _midnight(day)
            _midnight(day, 1)
        except ValueError:
            raise WrongAddress(given[name]) from None
    if given["order"] not in ("", *get_args(SessionOrder)):
        raise WrongAddress(given["order"])
    return Choice(
        order=given["order"],
        days=min(max(whole_number(given["days"] or "0"), 0), _MOST_DAYS),
        since=given["since"],
        until=given["until"],
        project=given["project"],
        agent=given["agent"],
        model=given["model"],
        text=given["text"].strip(),
        subagents=given["subagents"] not in ("", "0"),
    )


def _midnight(day: date, later: int = 0) -> float:
    """Return when a day begins in the local time zone; `later` adds days to it."""
    try:
        then = day + timedelta(days=later)
        return datetime(then.year, then.month, then.day).timestamp()
    except OverflowError:
        raise ValueError(f"not a day: {day}") from None


def _is_within(
    first: float | None, last: float | None, start: float | None, stop: float | None
) -> bool:
    """Return whether a time overlaps a span; one without a date does if there are no bounds."""
    if start is None and stop is None:
        return True
    if last is None:
        return False
    return (start is None or last >= start) and (
        stop is None or (last if first is None else first) < stop
    )
