"""Dates as people write and read them: `yesterday`, `7d`, `3 days ago`, `last month`, `2026-01`."""

from __future__ import annotations

import re
from calendar import monthrange
from datetime import UTC, datetime, timedelta

import click
from msgspec import Struct

_DAY = timedelta(days=1)
_WEEK = timedelta(weeks=1)
_DAYS = {"today": 0, "yesterday": 1}
_AGO = re.compile(r"(\d{1,4}|an?|one) ?(h|d|w|mo|y|hours?|days?|weeks?|months?|years?)(?: ago)?")
_SPAN = re.compile(r"(this|last) (week|month|year)")
_MONTH = re.compile(r"(\d{4})-(\d{2})")
_EXAMPLES = "2026-01-31, 2026-01, yesterday, 7d, 3 days ago or last month"


class DateSpan(Struct, frozen=True):
    """What a date means, in seconds since 1970: a moment, or a day, week, month or year, of which
    `--since` takes the start and `--until` the end.
    """

    start: float
    end: float


class Date(click.ParamType[DateSpan]):
    """A date of an option."""

    name = "date"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> DateSpan:
        """Return what was meant, or fail with examples."""
        if isinstance(value, DateSpan):
            return value
        found = read_date(str(value), datetime.now())
        if found is None:
            self.fail(f"{value!r} is not a date; give one such as {_EXAMPLES}", param, ctx)
        return found


def read_date(text: str, now: datetime) -> DateSpan | None:
    """Return what a text means at a moment of this machine's clock, None if it is not a date."""
    words = " ".join(text.lower().split())
    try:
        span = _parse_words(words, now) or _parse_figures(text.strip())
        return None if span is None else DateSpan(*map(_seconds, span))
    except (ValueError, OverflowError):
        return None


def _parse_words(words: str, now: datetime) -> tuple[datetime, datetime] | None:
    today = now.replace(hour=0, minute=0, second=0, microsecond=0)
    if words in _DAYS:
        return _day(today - _DAYS[words] * _DAY)
    if found := _AGO.fullmatch(words):
        count = int(found[1]) if found[1].isdecimal() else 1
        match found[2][:1]:
            case "h":
                moment = now - timedelta(hours=count)
                return moment, moment
            case "d":
                return _day(today - count * _DAY)
            case "w":
                return _day(today - count * _WEEK)
            case unit:
                return _day(_months_before(today, count * (12 if unit == "y" else 1)))
    if found := _SPAN.fullmatch(words):
        back = found[1] == "last"
        if found[2] == "week":
            start = today - today.weekday() * _DAY - back * _WEEK
            return start, start + _WEEK
        months = 12 if found[2] == "year" else 1
        first = today.replace(day=1, month=1 if months > 1 else today.month)
        start = _months_before(first, months * back)
        return start, _months_before(start, -months)
    return None


def _parse_figures(text: str) -> tuple[datetime, datetime] | None:
    if found := _MONTH.fullmatch(text):
        start = datetime(int(found[1]), int(found[2]), 1)
        return start, _months_before(start, -1)
    moment = datetime.fromisoformat(text)
    return _day(moment) if len(text) <= len("2026-01-31") else (moment, moment)


def _day(start: datetime) -> tuple[datetime, datetime]:
    return start, start + min(_DAY, datetime.max - start.replace(tzinfo=None))


def _months_before(day: datetime, months: int) -> datetime:
    """Return the same day some months earlier, or the last of a shorter month."""
    year, month = divmod(day.year * 12 + day.month - 1 - months, 12)
    return day.replace(year=year, month=month + 1, day=min(day.day, monthrange(year, month + 1)[1]))


def _seconds(moment: datetime) -> float:
    try:
        return moment.timestamp()
    except (OverflowError, OSError, ValueError):  # a year that the system's clock does not know
        return moment.replace(tzinfo=UTC).timestamp()


def short_date(seconds: float, now: datetime | None = None) -> str:
    """Return a moment in at most eleven characters: a time of today, yesterday, or a date."""
    try:
        moment, today = datetime.fromtimestamp(seconds), now or datetime.now()
    except (OverflowError, OSError, ValueError):  # a foreign file may contain any number
        return "?"
    days = (today.date() - moment.date()).days
    return {0: f"today {moment:%H:%M}", 1: "yesterday"}.get(days, f"{moment:%Y-%m-%d}")
