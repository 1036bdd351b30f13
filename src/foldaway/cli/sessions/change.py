"""`foldaway sessions branch`, `title`, `goal`, `pin`, `unpin` and `delete`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import islice
from typing import Any

import click
from msgspec import to_builtins
from msgspec.structs import replace

from foldaway.cli import say
from foldaway.cli.draw import Picture
from foldaway.cli.files import count_of
from foldaway.cli.inputs import AMOUNT, confirm, json_option, options, print_json, usage_error
from foldaway.cli.settings import settings_from
from foldaway.cli.stores import (
    Position,
    clip_id,
    open_given,
    print_session,
    session_command,
    session_line,
    session_row,
    store_options,
)
from foldaway.sessions import Retention, find_expired
from foldaway.stores import Erased, SessionInfo, Store

_MB = 1_000_000
SHOWN_SESSIONS = 10
"""Sessions to be deleted that are listed before the question."""


@session_command(
    ("--at N", Position(), "How many messages it shares; by default all."),
    ("--title TEXT", str, "Its title; by default that of the session with the next number.", ""),
)
def branch(session: str, at: int | None, title: str, as_json: bool, **given: Any) -> int:
    """Branch a session at a message.

    The new session shares the first N messages, which are not copied, and what the model saw of
    them. Neither session changes the other.

    \b
    foldaway sessions branch 20260131-1200 --at 40
    """
    with open_given(given, "write") as store:
        parent = store.find(session)
        info = store.create(parent.branch(title), parent_id=parent.id, descent="branch", at=at)
    print_session(info, f"a branch of {clip_id(parent.id)} at m{info.forked_at}", as_json=as_json)
    return 0


@session_command()
@click.argument("text")
def title(session: str, text: str, as_json: bool, **given: Any) -> int:
    """Rename a session.

    Children of a session are numbered after it: Title, Title #2, …

    \b
    foldaway sessions title 20260131-1200 "The parser, second try"
    """
    with open_given(given, "write") as store:
        info = store.change(store.find(session).id, title=text)
    print_session(info, "renamed", as_json=as_json)
    return 0


@session_command()
@click.argument("text")
def goal(session: str, text: str, as_json: bool, **given: Any) -> int:
    """Set the goal of a session.

    The goal stays with the session and is carried over to its children; "" removes it.

    \b
    foldaway sessions goal 20260131-1200 "all tests of the parser pass"
    """
    with open_given(given, "write") as store:
        info = store.change(store.find(session).id, goal=text)
    print_session(info, "goal set" if text else "goal removed", as_json=as_json)
    return 0


@session_command(("--note TEXT", str, "Why.", ""))
@click.argument("place", type=Position())
def pin(session: str, place: int, note: str, as_json: bool, **given: Any) -> int:
    """Keep a message as it is through every compaction.

    \b
    foldaway sessions pin 20260131-1200 m12 --note "the rules of the house"
    """
    with open_given(given, "write") as store:
        info = store.find(session)
        store.pin(info.id, place, note)
        _print_pins(store, info, as_json=as_json)
    return 0


@session_command()
@click.argument("place", type=Position())
def unpin(session: str, place: int, as_json: bool, **given: Any) -> int:
    """Let compactions fold a message again.

    \b
    foldaway sessions unpin 20260131-1200 m12
    """
    with open_given(given, "write") as store:
        info = store.find(session)
        store.unpin(info.id, place)
        _print_pins(store, info, as_json=as_json)
    return 0


def _print_pins(store: Store, info: SessionInfo, *, as_json: bool) -> None:
    pins = store.pins(info.id)
    if as_json:
        print_json({"session": info.id, "pins": pins})
        return
    places = ", ".join(f"m{one.position}" for one in pins)
    click.echo(
        f"{clip_id(info.id)}: pinned {places}" if pins else f"{clip_id(info.id)}: nothing is pinned"
    )


@click.command()
@click.argument("sessions", nargs=-1, metavar="[SESSION]...")
@options(
    ("--older-than DAYS", AMOUNT, "Lineages to which nothing was added for this many days."),
    ("--over-mb N", AMOUNT, "The oldest lineages, until the rest takes about N megabytes."),
    ("--expired", bool, "What exceeds the retention of the settings."),
    ("--project FOLDER", str, "Of these lineages only those that ran in this folder."),
    ("--dry-run", bool, "Show what would be deleted; nothing is."),
    ("--yes", bool, "Do not ask."),
)
@store_options
@json_option
def delete(sessions: Sequence[str], dry_run: bool, yes: bool, as_json: bool, **given: Any) -> int:
    """Delete sessions permanently.

    Their messages leave the file and its indexes, and the file is rewritten, so that nothing of
    them is left in it. What an existing branch shares with a deleted session stays with the branch.

    \b
    foldaway sessions delete 20260131-1200
    foldaway sessions delete --older-than 365 --dry-run
    """
    with open_given(given, "write") as store:
        expiring = find_expired(store, _policy_of(sessions, given))
        ids = [store.find(name).id for name in sessions]
        ids += [name for one in expiring for name in one.sessions]
        infos = [store.session(one) for one in dict.fromkeys(ids)]
        messages = store.owned_alone([info.id for info in infos])
        if (dry_run or not infos) and as_json:
            rows = [session_row(info) for info in infos]
            plan = {"messages": messages, "erased": None, "expiring": to_builtins(expiring)}
            print_json({"sessions": rows, **plan})
            return 0
        if dry_run or not infos:
            reasons = (f"{clip_id(one.sessions[0])}: {one.sentence}" for one in expiring)
            _print_plan(infos, messages, reasons)
            return 0
        question, remedy = f"Delete {_counts(infos, messages)} permanently?", "give --yes to delete"
        remedy = f"{remedy}, or --dry-run to see the list"
        if not yes and not confirm(question, remedy, lambda: _show_sessions(infos)):
            return say("nothing was deleted", 1)
        gone = store.erase([info.id for info in infos])
    if as_json:
        rows = [session_row(info) for info in infos]
        print_json({"sessions": rows, "erased": gone})
    else:
        _print_erased(gone)
    return 0


def _policy_of(names: Sequence[str], given: dict[str, Any]) -> Retention:
    """Return what the options keep, or raise if they say nothing."""
    days, megabytes = given["older_than"], given["over_mb"]
    policy = Retention()
    if given["expired"]:
        settings = settings_from(given)
        policy = Retention.of_limits(
            settings.retention_days, settings.retention_mb, settings.retention_projects
        )
    elif not names and days is None and megabytes is None:
        raise usage_error("name sessions, or give --older-than, --over-mb or --expired")
    return replace(
        policy,
        days=policy.days if days is None else days,
        megabytes=policy.megabytes if megabytes is None else megabytes,
        project=given["project"] or "",
    )


def _print_plan(infos: Sequence[SessionInfo], messages: int, reasons: Iterable[str]) -> None:
    if not infos:
        click.echo("there is nothing to delete")
        return
    _show_sessions(infos)
    for one in islice(reasons, SHOWN_SESSIONS):
        click.echo(one)
    click.echo(f"{_counts(infos, messages)} would be deleted; nothing was")


def _print_erased(gone: Erased) -> None:
    click.echo(
        f"deleted: {count_of(gone.sessions, 'session')}, "
        f"{count_of(gone.messages, 'message')}, {count_of(gone.bodies, 'text')}; the store takes "
        f"{gone.bytes_after / _MB:,.1f} MB instead of {gone.bytes_before / _MB:,.1f}"
    )
    if gone.kept_for:
        more = " and others" if len(gone.kept_for) > SHOWN_SESSIONS else ""
        names = ", ".join(map(clip_id, gone.kept_for[:SHOWN_SESSIONS]))
        click.echo(f"what they shared stays with {names}{more}")


def _show_sessions(infos: Sequence[SessionInfo]) -> None:
    picture = Picture(stderr=True)
    for info in infos[:SHOWN_SESSIONS]:
        picture.line(*session_line(info))
    picture.more(len(infos), SHOWN_SESSIONS)


def _counts(infos: Sequence[SessionInfo], messages: int) -> str:
    return f"{count_of(len(infos), 'session')} with {count_of(messages, 'message')}"
