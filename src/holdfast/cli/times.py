"""Moments as people write and read them, in the time of this machine."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, TypeVar

import click

F = TypeVar("F", bound=Callable[..., Any])

_DAY = "%Y-%m-%d"
_DAY_SECONDS = 86_400
_FORMATS = [_DAY, "%Y-%m-%dT%H:%M", "%Y-%m-%d %H:%M", "%Y-%m-%dT%H:%M:%S", "%Y-%m-%d %H:%M:%S"]


def span_options(command: F) -> F:
    """Add `--since` and `--until` to a command."""
    for flag, text in (
        ("--until", "Only what is not newer, the day itself included."),
        ("--since", "Only what is not older: 2026-01-31, or with a time."),
    ):
        command = click.option(
            flag, type=click.DateTime(_FORMATS), metavar="DATE", help=text
        )(command)  # fmt: skip
    return command


def since_of(given: datetime | None) -> float | None:
    """Return the moment in seconds since 1970."""
    return None if given is None else _seconds(given)


def until_of(given: datetime | None) -> float | None:
    """Return the moment in seconds since 1970; a day alone ends with its last second."""
    if given is None:
        return None
    is_day = given == given.replace(hour=0, minute=0, second=0)
    return _seconds(given) + (_DAY_SECONDS if is_day else 0)


def _seconds(given: datetime) -> float:
    try:
        return given.timestamp()
    except (OverflowError, OSError, ValueError):  # a year that the system's clock cannot say
        return given.replace(tzinfo=UTC).timestamp()


def shown(seconds: float | None) -> str:
    """Return a moment for people, "" where there is none."""
    if seconds is None:
        return ""
    try:
        return datetime.fromtimestamp(seconds).strftime("%Y-%m-%d %H:%M")
    except (OverflowError, OSError, ValueError):  # a foreign file may say anything
        return "?"
