"""The options that say where sessions are kept, the store they open, and rows for programs."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal, TypeAlias

import click
from msgspec import to_builtins

from holdfast.cli import say
from holdfast.cli.files import counted, format_time, on_one_line, shortened
from holdfast.cli.inputs import json_option, options, print_json
from holdfast.cli.settings import CONFIG_ROW, HOME_ROW, settings_from
from holdfast.config import Settings, home_folder, open_store, read_settings
from holdfast.errors import StoreUnavailable
from holdfast.sessions import details
from holdfast.stores.store import Store
from holdfast.stores.values import SessionInfo

Use: TypeAlias = Literal["read", "search", "write", "create"]
"""`read` never changes the file; `search` completes its index if it may; `write` wants a store
that exists; `create` makes one if there is none."""

_DATE_FORMATS = [
    "%Y-%m-%d", "%Y-%m-%dT%H:%M", "%Y-%m-%d %H:%M", "%Y-%m-%dT%H:%M:%S", "%Y-%m-%d %H:%M:%S",
]  # fmt: skip
_DATE = click.DateTime(_DATE_FORMATS)
_DAY_SECONDS = 86_400
_POSITION = re.compile(r"m?([0-9]{1,12})")

_PLACE_ROWS = (
    HOME_ROW,
    ("--profile", str, "NAME",
     "Whose sessions; search, list and read do not change another profile than your own."),
    ("--store", str, "URL", "A folder, a .db file or postgresql://…; by default HOLDFAST_STORE."),
)  # fmt: skip
place_options = options(*_PLACE_ROWS)
"""`--home`, `--profile` and `--store`, for a command that has `--config` already."""
store_options = options(CONFIG_ROW, *_PLACE_ROWS)

span_options = options(
    ("--since", _DATE, "DATE", "Only what is not older: 2026-01-31, or with a time."),
    ("--until", _DATE, "DATE", "Only what is not newer, the day itself included."),
)


def session_command(*rows: Sequence[Any]) -> Callable[[Callable[..., int]], click.Command]:
    """Return a decorator for a command on a session: its argument, options, store and `--json`."""

    def add(function: Callable[..., int]) -> click.Command:
        function = options(*rows)(store_options(json_option(function)))
        return click.command()(click.argument("session")(function))

    return add


def opened(given: Mapping[str, Any], use: Use) -> Store:
    """Return the store that the options name, or raise; the caller closes it.

    If there is none yet, and none is to be made, that is said and the command ends with 1.
    """
    settings = settings_from(given)
    place = store_place(given, settings)
    if use == "create":
        return open_store(place, profile=settings.profile)
    own = is_own(given)
    try:
        store = open_store(place, profile=settings.profile, read_only=True)
    except StoreUnavailable as error:
        if is_missing(error):
            say(f"no sessions are kept yet at {error.where}; `holdfast import` takes those of "
                "your agents", 1)  # fmt: skip
            raise click.exceptions.Exit(1) from None
        if not own and use != "write":
            raise
        return open_store(place, profile=settings.profile)
    if use == "read" or (use == "search" and not own):
        return store
    try:
        return open_store(place, profile=settings.profile)
    except StoreUnavailable:
        if use == "write":
            raise
        return store  # it can still be searched, only slower


def store_place(given: Mapping[str, Any], settings: Settings) -> str | Path:
    """Return where the store is: a flag wins over the settings."""
    if given.get("store"):
        return given["store"]
    if given.get("home"):
        return Path(given["home"]) / "sessions"
    return settings.store or home_folder() / "sessions"


def is_own(given: Mapping[str, Any]) -> bool:
    """Return whether the command line names no other profile than that of the settings."""
    return given["profile"] in (None, read_settings(given["config"]).profile)


def is_missing(error: StoreUnavailable) -> bool:
    """Return whether a store could not be opened because nobody has made it."""
    return "://" not in error.where and not os.path.exists(error.where)


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
    except (OverflowError, OSError, ValueError):  # a year that the system's clock does not know
        return given.replace(tzinfo=UTC).timestamp()


class Position(click.ParamType[int]):
    """A place in a log: 12 or m12."""

    name = "position"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> int:  # fmt: skip
        """Return the number, or fail with a sentence."""
        found = _POSITION.fullmatch(str(value))
        if found is None:
            self.fail(f"{value!r} is not a place in a session; give one from m0 on", param, ctx)
        return int(found[1])


def session_row(info: SessionInfo) -> dict[str, Any]:
    """Return a session as it is printed for programs."""
    return to_builtins(details.session_row(info))


def print_session(info: SessionInfo, change: str, *, as_json: bool) -> None:
    """Print a session that was changed, and for people what was done."""
    if as_json:
        print_json(session_row(info))
    else:
        click.echo(f"{info.id}: {change}")


def session_name(info: SessionInfo) -> str:
    """Return what people know a session by, on one line."""
    return on_one_line(info.title or info.first_ask or info.source_id)


def session_line(info: SessionInfo) -> list[tuple[str, str]]:
    """Return a session in one line, as pieces with their styles."""
    facts = (info.source, format_time(info.updated), counted(info.length, "message"))
    pieces = [(f"  {shortened(piece)}", "dim") for piece in facts if piece]
    return [(info.id, "bold"), *pieces, (f"  {session_name(info)}", "")]
