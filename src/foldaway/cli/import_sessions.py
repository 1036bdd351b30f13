"""`foldaway import`: the sessions that other agents left, taken into the store."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Generator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import Any

import click
from msgspec import Struct

from foldaway import __version__
from foldaway.agents.importers import Taken, bytes_in, sessions_in, take_all
from foldaway.agents.known import find_agent, known_agents
from foldaway.cli import say
from foldaway.cli.draw import Picture, Piece, console_for, progress_bar, text_of
from foldaway.cli.files import count_of, is_terminal, label, shorten
from foldaway.cli.inputs import json_option, options, print_json
from foldaway.cli.settings import home_of, settings_from
from foldaway.cli.stores import is_missing, open_given, store_options, store_place
from foldaway.config import agent_places, open_store
from foldaway.errors import StoreUnavailable
from foldaway.stores import Store
from foldaway.usage import UsageReader

INDEXED_AT_ONCE = 1_000
"""Messages that are indexed between two steps of the bar."""
BAR_COLUMNS = 16
"""The width of the bar of the agent with the most messages; the table has five more columns."""
WIDE_COLUMNS = 80
"""A narrower terminal has no room for the speed beside the bar."""
SHOWN_FILES = 5
"""Files that could not be read that are listed."""
NOTE_WORDS = {
    "torn": "lines that are not whole",
    "too long": "lines beyond the limit",
    "duplicate": "entries that came twice",
    "unanswered": "calls without a result",
    "without call": "results without a call",
    "left out": "entries that hold no message",
    "taken back": "what the user undid in the agent",
}
"""What the kinds of notes mean, for people."""
Tell = Callable[[int, str], None]
"""Takes how many bytes or messages more are done, and what to say."""


class FromAgent(Struct, kw_only=True):
    """What was taken of one agent."""

    agent: str
    sessions: int = 0
    new_sessions: int = 0
    messages: int = 0
    """Those that are new."""
    known: int = 0
    """Those that were there already."""
    notes: dict[str, int] = {}
    """What was survived: how often lines were torn, doubled, unanswered, …"""

    @property
    def read(self) -> int:
        """Messages, new and known."""
        return self.messages + self.known


class Unread(Struct, frozen=True):
    """A file that looked like a session and is none, or could not be read; or a line of one."""

    path: str
    problem: str


class Imported(Struct, kw_only=True):
    """What an import did so far, or would do, without the sessions themselves."""

    dry_run: bool
    agents: list[FromAgent] = []
    unreadable: list[Unread] = []
    sessions: list[dict[str, object]] = []
    """For `--json` only: a home has tens of thousands."""

    @property
    def summary(self) -> str:
        """How much was taken, for people."""
        sessions = sum(row.sessions for row in self.agents)
        return f"{sessions:,} sessions, {sum(row.read for row in self.agents):,} messages"

    def add(self, one: Taken, *, is_listed: bool) -> None:
        """Count one session, or the file that gave none."""
        if one.problem:
            self.unreadable.append(Unread(one.path, one.problem))
            return
        row = next((row for row in self.agents if row.agent == one.agent), None)
        if row is None:
            row = FromAgent(agent=one.agent)
            self.agents.append(row)
        row.sessions += 1
        row.new_sessions += one.is_new
        row.messages += one.added
        row.known += one.known
        for note in one.notes:
            row.notes[note.kind] = row.notes.get(note.kind, 0) + 1
            if note.kind == "too long":
                problem = f"{one.path}, {note.where}: {note.said}"
                self.unreadable.append(Unread(one.path, problem))
        if is_listed:
            self.sessions.append(_row(one))


_TITLES = ", ".join(one.title for one in known_agents().values() if one.leaves_sessions)


@click.command("import", epilog=f"Agents: {_TITLES}.")
@click.argument("paths", nargs=-1, type=click.Path(), metavar="[PATH]...")
@options(
    ("--dry-run", bool, "Show what would be imported; nothing is written."),
    ("--follow-links", bool, "Follow links that lead out of a folder."),
)
@store_options
@json_option
def import_sessions(
    paths: Sequence[str], dry_run: bool, follow_links: bool, as_json: bool, **given: Any
) -> int:
    """Import the sessions of other agents on this machine.

    PATH is a file or a folder; without one, the usual folders of the agents below are read. The
    format is detected from the content. Importing again adds only what is new; the files themselves
    are not changed. Files that cannot be read are reported and skipped, and so are pipes, sockets,
    devices and links that lead out of a folder.

    \b
    foldaway import
    foldaway import ~/old-laptop/.claude/projects session.json
    """
    missing = [path for path in paths if not os.path.lexists(path)]
    if missing:
        return say(f"{label(missing[0])}: does not exist; nothing was taken")
    places = [Path(path) for path in paths] or [path for _, path in agent_places()]
    if not places:
        return say("no agent's folder was found on this machine; name a file or a folder", 1)
    here = Path.cwd() if not paths and Path.cwd() != Path.home() else None
    settings = settings_from(given)
    is_shown = is_terminal(sys.stderr)
    total = sum(bytes_in(one, follow_links=follow_links) for one in places) if is_shown else 0
    done = Imported(dry_run=dry_run)
    with _store(given, dry_run=dry_run) as store:
        with _progress(total, is_shown=is_shown) as tell:
            found = (
                one
                for place in places
                for one in sessions_in(
                    place,
                    limits=settings.limits,
                    follow_links=follow_links,
                    within=here if place.parent == here else None,
                    tell=lambda _, size: tell(size, done.summary),
                )
            )
            in_projects: dict[Path, None] = {}
            for one in take_all(store, found, mode=settings.sessions_mode, dry_run=dry_run):
                done.add(one, is_listed=as_json)
                tell(0, done.summary)
                if find_agent(one.agent).files.in_project:
                    in_projects[Path(one.path)] = None
        if store is not None and not dry_run:
            _complete(store, is_shown=is_shown)
            if in_projects:  # their tokens count from now on, wherever somebody asks
                reader = UsageReader(home_of(given), __version__)
                reader.read_files(in_projects, lambda done, total: None)
                reader.save(is_whole=False)
    if as_json:
        print_json(done)
    else:
        show_import(done)
    return 0 if done.agents or not done.unreadable else 2


def _store(given: dict[str, Any], *, dry_run: bool) -> AbstractContextManager[Store | None]:
    """Return the store; for a dry run as it is, None if there is none yet."""
    if not dry_run:
        return open_given(given, "create")
    settings = settings_from(given)
    try:
        return open_store(store_place(given, settings), profile=settings.profile, read_only=True)
    except StoreUnavailable as error:
        if is_missing(error):
            return nullcontext()
        raise


def _complete(store: Store, *, is_shown: bool) -> None:
    """Bring the substring index up to date, so that the first search need not."""
    total = store.health().unindexed if is_shown else 0
    with _progress(total, is_shown=is_shown, is_bytes=False) as tell:
        while done := store.complete_index(INDEXED_AT_ONCE):
            tell(done, "indexing")


@contextmanager
def _progress(total: int, *, is_shown: bool, is_bytes: bool = True) -> Generator[Tell]:
    """Give a function that takes how much more was done; on a terminal it moves a bar."""
    if not is_shown or not total:
        yield lambda _, __: None
        return
    from rich import progress as bars

    done = bars.DownloadColumn() if is_bytes else bars.MofNCompleteColumn()
    is_wide = console_for(stderr=True).width >= WIDE_COLUMNS
    speed = [bars.TransferSpeedColumn()] if is_bytes and is_wide else []
    columns = (done, *speed, bars.TimeRemainingColumn(compact=not is_wide))
    with progress_bar("looking", quiet=False, total=total, columns=columns) as update:
        yield lambda more, said: update(advance=more, description=said)


def _row(one: Taken) -> dict[str, object]:
    return {
        "session": one.session.id if one.session else None,
        "source": one.agent,
        "source_id": one.session.source_id if one.session else one.source_id,
        "path": one.path,
        "new": one.is_new,
        "messages": one.added,
        "known": one.known,
    }


def show_import(done: Imported) -> None:
    """Print what was taken of each agent, and what could not be read."""
    picture = Picture()
    sessions = sum(row.new_sessions for row in done.agents)
    messages = sum(row.messages for row in done.agents)
    verb = "Would import" if done.dry_run else "Imported"
    what = f"{verb} {count_of(messages, 'new message')}, {count_of(sessions, 'new session')}"
    picture.line((what, "bold"))
    most = max((row.read for row in done.agents), default=0)
    rows: list[tuple[Piece, ...]] = []
    for row in done.agents:
        new = (picture.bar(row.messages, most, BAR_COLUMNS), "green")
        known = (picture.bar(row.known, most, BAR_COLUMNS), "bright_black")
        notes = ", ".join(f"{number:,} {kind}" for kind, number in row.notes.items())
        rows.append(
            (
                shorten(row.agent),
                f"{row.sessions:,}",
                f"{row.messages:,}",
                f"{row.known:,}",
                text_of(new, known),
                (notes, "dim"),
            )
        )
    names = ("agent", "sessions", "new", "known", "", "skipped or repaired") if rows else ()
    picture.table("lrrrbw", rows, names=names)
    if rows:
        seen = {kind for row in done.agents for kind in row.notes}
        said = [f"{kind}: {words}" for kind, words in NOTE_WORDS.items() if kind in seen]
        legend = "; ".join(("new, known: messages", *said))
        picture.paragraph((legend, "dim"), indent=2)
    for one in done.unreadable[:SHOWN_FILES]:
        picture.line(("  not read: ", "yellow"), shorten(one.problem))
    picture.more(len(done.unreadable), SHOWN_FILES)
    if not rows and not done.unreadable:
        picture.line("  no session files here")
    if messages and not done.dry_run:
        picture.line(('\n  find something: foldaway search "…"', "dim"))
