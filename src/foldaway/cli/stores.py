"""The options that say where sessions are kept, the store they open, and rows for programs."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Literal, TypeAlias

import click
from msgspec import Struct, to_builtins

from foldaway.cli import say
from foldaway.cli.dates import Date
from foldaway.cli.files import count_of, format_time, join_on_one_line, shorten
from foldaway.cli.inputs import OptionRow, json_option, options, print_json, usage_error
from foldaway.cli.settings import CONFIG_ROW, HOME_ROW, home_of, settings_from
from foldaway.config import Settings, open_store, read_settings
from foldaway.errors import StoreUnavailable
from foldaway.sessions import Project, SessionRow, name_in_words, short_title
from foldaway.stores import SessionInfo, Store

Use: TypeAlias = Literal["read", "search", "write", "create"]
"""`read` never changes the file; `search` completes its index if it may; `write` wants a store
that exists; `create` makes one if there is none."""

_OWN_ID = re.compile(r"[0-9]{8}-[0-9]{6}-[0-9a-f]{8}")
_POSITION = re.compile(r"m?([0-9]{1,12})")

NO_WORDS = "(no words of a user)"
"""The title of a session without one."""
_PLACE_ROWS = (
    HOME_ROW,
    ("--profile NAME", str, "Whose sessions; those of another profile can only be read."),
    ("--store URL", str, "A folder, a .db file or postgresql://…; by default FOLDAWAY_STORE."),
)
place_options = options(*_PLACE_ROWS)
"""`--home`, `--profile` and `--store`, for a command that has `--config` already."""
store_options = options(CONFIG_ROW, *_PLACE_ROWS)

span_options = options(
    ("--since DATE", Date(), "From this date on: 2026-01-31, 2026-01, yesterday, 7d, last month."),
    ("--until DATE", Date(), "Only up to this date, the day itself included."),
    ("--project NAME", str, "Only in this folder or inside it; the end of its path is enough."),
)


def session_command(*rows: OptionRow) -> Callable[[Callable[..., int]], click.Command]:
    """Return a decorator for a command on a session: its argument, options, store and `--json`."""

    def add(function: Callable[..., int]) -> click.Command:
        function = options(*rows)(store_options(json_option(function)))
        return click.command()(click.argument("session")(function))

    return add


def open_given(given: Mapping[str, Any], use: Use) -> Store:
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
            say(
                f"no sessions are kept yet at {error.where}; `foldaway import` takes those of "
                "your agents",
                1,
            )
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
        return home_of(given) / "sessions"
    return settings.store or home_of(given) / "sessions"


def is_own(given: Mapping[str, Any]) -> bool:
    """Return whether the command line names no other profile than that of the settings."""
    return given["profile"] in (None, read_settings(given["config"]).profile)


def is_missing(error: StoreUnavailable) -> bool:
    """Return whether a store could not be opened because nobody has made it."""
    return "://" not in error.where and not os.path.exists(error.where)


class Narrowing(Struct, frozen=True, kw_only=True):
    """What `span_options` narrow a list or a search to."""

    since: float | None
    until: float | None
    folders: tuple[str, ...] | None


def read_narrowing(store: Store, given: Mapping[str, Any]) -> Narrowing:
    """Return what `span_options` ask for; raise if no session ran in the project."""
    since, until, project = given["since"], given["until"], given["project"]
    return Narrowing(
        since=since and since.start,
        until=until and until.end,
        folders=None if project is None else folders_of(project, store.folders()),
    )


def folders_of(project: str, folders: Iterable[str]) -> tuple[str, ...]:
    """Return the folders of a project: of its path, or else all with a part of that name."""
    known = [folder for folder in folders if folder]
    found = Project.at(Path(project).expanduser()).pick(known)
    if not found and os.sep not in project:
        found = tuple(one for one in known if project in Path(one).parts)
    if found:
        return found
    names = list(dict.fromkeys(Path(one).name for one in known))
    near = get_close_matches(project, names, 3) or names[:5]
    there = f"there are {', '.join(map(shorten, near))}" if near else "none has a folder"
    raise usage_error(f"--project {project!r}: no session ran there; {there}")


class Position(click.ParamType[int]):
    """A place in a log: 12 or m12."""

    name = "position"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> int:
        """Return the number, or fail with a sentence."""
        found = _POSITION.fullmatch(str(value))
        if found is None:
            self.fail(f"{value!r} is not a place in a session; give one from m0 on", param, ctx)
        return int(found[1])


def session_row(info: SessionInfo) -> dict[str, object]:
    """Return a session as it is printed for programs."""
    return to_builtins(SessionRow.of(info))


def print_session(info: SessionInfo, change: str, *, as_json: bool) -> None:
    """Print a session that was changed, and for people what was done."""
    if as_json:
        print_json(session_row(info))
    else:
        click.echo(f"{clip_id(info.id)}: {change}")


def clip_id(session_id: str) -> str:
    """Return what people type for an id: its random part, which is its end."""
    return session_id[-8:] if _OWN_ID.fullmatch(session_id) else session_id


def session_name(info: SessionInfo) -> str:
    """Return what people know a session by, on one line."""
    return join_on_one_line(short_title(name_in_words(info)) or NO_WORDS)


def session_line(info: SessionInfo) -> list[tuple[str, str]]:
    """Return a session in one line, as pieces with their styles."""
    facts = (info.source, format_time(info.updated), count_of(info.length, "message"))
    pieces = [(f"  {shorten(piece)}", "dim") for piece in facts if piece]
    return [(clip_id(info.id), "bold"), *pieces, (f"  {session_name(info)}", "")]
