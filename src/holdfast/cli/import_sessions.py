"""`holdfast import`: the sessions that other agents left, taken into the store."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Generator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import Any

import click
from msgspec import Struct, to_builtins

from holdfast.cli import say
from holdfast.cli.files import label
from holdfast.cli.inputs import json_option
from holdfast.cli.redact_input import is_terminal
from holdfast.cli.settings import settings_from
from holdfast.cli.store import is_missing, opened, place_of, store_options
from holdfast.config import agent_places, open_store
from holdfast.dialects.jsontext import dump
from holdfast.errors import StoreUnavailable
from holdfast.importers import bytes_in, sessions_in
from holdfast.sessions.importing import Taken, take_all
from holdfast.stores.store import Store

_INDEXED_AT_ONCE = 1_000
Tell = Callable[[int, str], None]
"""Told how many bytes or messages more are done, and what to say."""


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
    """A file that looked like a session and is none, or could not be read."""

    path: str
    problem: str


class Imported(Struct, frozen=True, kw_only=True):
    """What an import did, or would do."""

    dry_run: bool
    agents: tuple[FromAgent, ...]
    unreadable: tuple[Unread, ...]
    sessions: tuple[dict[str, Any], ...]
    """For `--json` only: a home has tens of thousands."""


@click.command("import")
@click.argument("paths", nargs=-1, type=click.Path(), metavar="[PATH]...")
@click.option("--dry-run", is_flag=True, help="Say what would be taken; nothing is written.")
@click.option("--follow-links", is_flag=True, help="Follow links that lead out of a folder.")
@store_options
@json_option
def import_sessions(
    paths: Sequence[str], dry_run: bool, follow_links: bool, as_json: bool, **options: Any
) -> int:
    """Take sessions that other agents left on this machine.

    PATH is a file or a folder; without one the usual folders of Claude Code, Codex, OpenCode, Pi,
    Hermes, OpenHands, mini-swe-agent, SWE-agent and aider are looked into. What a file is, its
    data say. Taking them again adds only what is new; nothing is changed where they lie. Files
    that cannot be read are reported and do not stop it. Pipes, sockets, devices and links that
    lead out of a folder are skipped and reported.

    \b
    holdfast import
    holdfast import ~/old-laptop/.claude/projects session.json
    """
    missing = [path for path in paths if not os.path.lexists(path)]
    if missing:
        return say(f"{label(missing[0])}: does not exist; nothing was taken")
    places = [Path(path) for path in paths] or [path for _, path in agent_places()]
    if not places:
        return say("no agent's folder was found on this machine; name a file or a folder", 1)
    here = Path.cwd() if not paths and Path.cwd() != Path.home() else None
    settings = settings_from(options)
    is_shown = is_terminal(sys.stderr)
    total = sum(bytes_in(one, follow_links=follow_links) for one in places) if is_shown else 0
    done = ImportTally(dry_run=dry_run, lists_sessions=as_json)
    with _store(options, dry_run=dry_run) as store:
        with _progress(total, is_shown=is_shown) as tell:
            found = (
                one
                for place in places
                for one in sessions_in(
                    place, limits=settings.limits, follow_links=follow_links,
                    within=here if place.parent == here else None,
                    tell=lambda _, size: tell(size, done.said),
                )
            )  # fmt: skip
            for one in take_all(store, found, mode=settings.sessions_mode, dry_run=dry_run):
                done.add(one)
                tell(0, done.said)
        if store is not None and not dry_run:
            _complete(store, is_shown=is_shown)
    return _finish(done.summed(), as_json=as_json)


def _finish(done: Imported, *, as_json: bool) -> int:
    if as_json:
        click.echo(dump(to_builtins(done)))
    else:
        from holdfast.cli.show_import import show_import

        show_import(done)
    return 0 if done.agents or not done.unreadable else 2


def _store(options: dict[str, Any], *, dry_run: bool) -> AbstractContextManager[Store | None]:
    """Return the store; for a dry run as it is, None where there is none yet."""
    if not dry_run:
        return opened(options, "create")
    settings = settings_from(options)
    try:
        return open_store(place_of(options, settings), profile=settings.profile, read_only=True)
    except StoreUnavailable as error:
        if is_missing(error):
            return nullcontext()
        raise


def _complete(store: Store, *, is_shown: bool) -> None:
    """Bring the substring index up to date, so that the first search need not."""
    total = store.health().unindexed if is_shown else 0
    with _progress(total, is_shown=is_shown, is_bytes=False) as tell:
        while done := store.complete_index(_INDEXED_AT_ONCE):
            tell(done, "indexing")


@contextmanager
def _progress(total: int, *, is_shown: bool, is_bytes: bool = True) -> Generator[Tell]:
    """Give what is told how much more was done; on a terminal it is a bar with the time left."""
    if not is_shown or not total:
        yield lambda _, __: None
        return
    from rich import progress as bars

    from holdfast.cli.draw import console_for

    done = bars.DownloadColumn() if is_bytes else bars.MofNCompleteColumn()
    speed = [bars.TransferSpeedColumn()] if is_bytes else []
    columns = (bars.TextColumn("{task.description}"), bars.BarColumn(), done, *speed,
               bars.TimeRemainingColumn())  # fmt: skip
    with bars.Progress(*columns, console=console_for(stderr=True), transient=True) as bar:
        task = bar.add_task("looking", total=total)
        yield lambda more, said: bar.update(task, advance=more, description=said)


class ImportTally:
    """What an import did so far, without the sessions themselves."""

    def __init__(self, *, dry_run: bool, lists_sessions: bool) -> None:
        self._dry_run, self._lists_sessions = dry_run, lists_sessions
        self._agents: dict[str, FromAgent] = {}
        self._unreadable: list[Unread] = []
        self._sessions: list[dict[str, Any]] = []

    @property
    def said(self) -> str:
        """How much was taken, for people."""
        rows = self._agents.values()
        sessions, messages = sum(row.sessions for row in rows), sum(row.read for row in rows)
        return f"{sessions:,} sessions, {messages:,} messages"

    def add(self, one: Taken) -> None:
        """Count one session, or the file that gave none."""
        if one.problem:
            self._unreadable.append(Unread(one.path, one.problem))
            return
        row = self._agents.setdefault(one.agent, FromAgent(agent=one.agent))
        row.sessions += 1
        row.new_sessions += one.is_new
        row.messages += one.added
        row.known += one.known
        for note in one.notes:
            row.notes[note.kind] = row.notes.get(note.kind, 0) + 1
        if self._lists_sessions:
            self._sessions.append(_row(one))

    def summed(self) -> Imported:
        """Return all of it."""
        return Imported(
            dry_run=self._dry_run,
            agents=tuple(self._agents.values()),
            unreadable=tuple(self._unreadable),
            sessions=tuple(self._sessions),
        )


def _row(one: Taken) -> dict[str, Any]:
    return {
        "session": one.session.id if one.session else None, "source": one.agent,
        "source_id": one.session.source_id if one.session else one.source_id, "path": one.path,
        "new": one.is_new, "messages": one.added, "known": one.known,
    }  # fmt: skip
