"""`holdfast import`: the sessions that other agents left, taken into the store."""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

import click
from msgspec import Struct, to_builtins

from holdfast.cli import say
from holdfast.cli.files import label
from holdfast.cli.inputs import json_option
from holdfast.cli.settings import settings_from
from holdfast.cli.store import is_missing, opened, place_of, store_options
from holdfast.config import agent_places, open_store
from holdfast.dialects.jsontext import dump
from holdfast.errors import NotReadable, StoreUnavailable
from holdfast.importers import ImportedSession, sessions_in
from holdfast.sessions.importing import Taken, take_all
from holdfast.stores.store import Store

_INDEXED_AT_ONCE = 1_000
Tell = Callable[[str], None]


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


@click.command("import")
@click.argument("paths", nargs=-1, type=click.Path(), metavar="[PATH]...")
@click.option("--dry-run", is_flag=True, help="Say what would be taken; nothing is written.")
@store_options
@json_option
def import_sessions(paths: Sequence[str], dry_run: bool, as_json: bool, **options: Any) -> int:
    """Take sessions that other agents left on this machine.

    PATH is a file or a folder; without one the usual folders of Claude Code, Codex, OpenCode, Pi,
    Hermes, OpenHands, mini-swe-agent, SWE-agent and aider are looked into. What a file is, its
    data say. Taking them again adds only what is new; nothing is changed where they lie. Files
    that cannot be read are reported and do not stop it.

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
    with _store(options, dry_run=dry_run) as store, _progress() as tell:
        mode = settings_from(options).sessions_mode
        rows = take_all(store, _found(places), mode=mode, dry_run=dry_run)
        taken = list(_told(rows, tell))
        if store is not None and not dry_run:
            _complete(store, tell)
    done = _summed(taken, dry_run=dry_run)
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


def _found(places: Sequence[Path]) -> Iterator[ImportedSession | NotReadable]:
    for place in places:
        yield from sessions_in(place)


def _told(taken: Iterator[Taken], tell: Tell) -> Iterator[Taken]:
    messages = 0
    for number, one in enumerate(taken, 1):
        messages += one.added + one.known
        tell(f"{number:,} sessions, {messages:,} messages  {label(one.path)[-60:]}")
        yield one


def _complete(store: Store, tell: Tell) -> None:
    """Bring the substring index up to date, so that the first search need not."""
    done = 0
    while found := store.complete_index(_INDEXED_AT_ONCE):
        done += found
        tell(f"indexing, {done:,} messages")


class _Quiet:
    """Progress where nobody looks."""

    def __enter__(self) -> Tell:
        return lambda text: None

    def __exit__(self, *_: object) -> None:
        return None


class _Shown:
    """Progress on one line of standard error."""

    def __enter__(self) -> Tell:
        from holdfast.cli.draw import console_for

        self._status = console_for(stderr=True).status("looking")
        self._status.start()
        return self._status.update

    def __exit__(self, *_: object) -> None:
        self._status.stop()


def _progress() -> AbstractContextManager[Tell]:
    return _Shown() if sys.stderr.isatty() else _Quiet()


def _summed(taken: Sequence[Taken], *, dry_run: bool) -> Imported:
    agents: dict[str, FromAgent] = {}
    notes: dict[str, Counter[str]] = {}
    for one in taken:
        if one.problem:
            continue
        row = agents.setdefault(one.agent, FromAgent(agent=one.agent))
        row.sessions += 1
        row.new_sessions += one.is_new
        row.messages += one.added
        row.known += one.known
        notes.setdefault(one.agent, Counter()).update(note.kind for note in one.notes)
    for agent, counts in notes.items():
        agents[agent].notes = dict(counts)
    return Imported(
        dry_run=dry_run,
        agents=tuple(agents.values()),
        unreadable=tuple(Unread(one.path, one.problem) for one in taken if one.problem),
        sessions=tuple(_row(one) for one in taken if not one.problem),
    )


def _row(one: Taken) -> dict[str, Any]:
    return {
        "session": one.session.id if one.session else None, "source": one.agent,
        "source_id": one.session.source_id if one.session else one.source_id, "path": one.path,
        "new": one.is_new, "messages": one.added, "known": one.known,
    }  # fmt: skip
