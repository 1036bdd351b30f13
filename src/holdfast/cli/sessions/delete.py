"""`holdfast sessions delete`: sessions deleted for good."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from typing import Any

import click
from msgspec import to_builtins

from holdfast.cli import say
from holdfast.cli.inputs import json_option
from holdfast.cli.sessions.rows import print_row, row_of
from holdfast.cli.settings import settings_from
from holdfast.cli.store import opened, store_options
from holdfast.stores.store import Store
from holdfast.stores.values import Erased, SessionInfo

_DAY_SECONDS = 86_400
_MB = 1_000_000
_SHOWN = 10


@click.command("delete")
@click.argument("sessions", nargs=-1, metavar="[SESSION]...")
@click.option("--older-than", type=click.FloatRange(min=0), metavar="DAYS",
              help="Lineages that nothing was added to for so long.")  # fmt: skip
@click.option("--over-mb", type=click.FloatRange(min=0), metavar="N",
              help="The oldest lineages, until the rest takes about N megabytes.")  # fmt: skip
@click.option("--expired", is_flag=True,
              help="What retention_days and retention_mb of the settings let go.")  # fmt: skip
@click.option("--dry-run", is_flag=True, help="Say what would go; nothing is deleted.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@store_options
@json_option
def command(
    sessions: Sequence[str], dry_run: bool, yes: bool, as_json: bool, **options: Any
) -> int:
    """Delete sessions for good.

    Their messages leave the file and its indexes, and the file is written anew, so that nothing of
    them is left in it. What a living branch shares with a deleted session stays with the branch.

    \b
    holdfast sessions delete 20260131-1200
    holdfast sessions delete --older-than 365 --dry-run
    """
    with opened(options, "write") as store:
        chosen = _chosen(store, sessions, options)
        messages = store.owned_alone([info.id for info in chosen])
        if dry_run or not chosen:
            return _tell_plan(chosen, messages, as_json=as_json)
        if not yes and not _agreed(chosen, messages):
            return say("nothing was deleted", 1)
        gone = store.erase([info.id for info in chosen])
    _tell(chosen, gone, as_json=as_json)
    return 0


def _chosen(store: Store, names: Sequence[str], options: dict[str, Any]) -> list[SessionInfo]:
    days, megabytes = options["older_than"], options["over_mb"]
    if options["expired"]:
        settings = settings_from(options)
        days = (settings.retention_days or None) if days is None else days
        megabytes = (settings.retention_mb or None) if megabytes is None else megabytes
    elif not names and days is None and megabytes is None:
        raise click.UsageError(
            "name sessions, or give --older-than, --over-mb or --expired",
            click.get_current_context(),
        )
    ids = [store.find(name).id for name in names]
    if days is not None or megabytes is not None:
        ids += store.expired(
            older_than=None if days is None else time.time() - days * _DAY_SECONDS,
            over_bytes=None if megabytes is None else round(megabytes * _MB),
        )
    return [store.session(one) for one in dict.fromkeys(ids)]


def _agreed(chosen: Sequence[SessionInfo], messages: int) -> bool:
    if not sys.stdin.isatty():
        raise click.UsageError(
            "nobody can be asked here; give --yes to delete, or --dry-run to see what would go",
            click.get_current_context(),
        )
    _show(chosen)
    return click.confirm(f"Delete {_counted(chosen, messages)} for good?", err=True)


def _tell_plan(chosen: Sequence[SessionInfo], messages: int, *, as_json: bool) -> int:
    if as_json:
        rows = [row_of(info) for info in chosen]
        print_row({"sessions": rows, "messages": messages, "erased": None})
    elif chosen:
        _show(chosen)
        click.echo(f"{_counted(chosen, messages)} would be deleted; nothing was")
    else:
        click.echo("there is nothing to delete")
    return 0


def _tell(chosen: Sequence[SessionInfo], gone: Erased, *, as_json: bool) -> None:
    if as_json:
        print_row({"sessions": [row_of(info) for info in chosen], "erased": to_builtins(gone)})
        return
    click.echo(
        f"gone for good: {_number(gone.sessions, 'session')}, "
        f"{_number(gone.messages, 'message')}, {_number(gone.bodies, 'text')}; the store takes "
        f"{gone.bytes_after / _MB:,.1f} MB instead of {gone.bytes_before / _MB:,.1f}"
    )
    if gone.kept_for:
        click.echo(
            f"what they shared stays with {', '.join(gone.kept_for[:_SHOWN])}"
            + (" and others" if len(gone.kept_for) > _SHOWN else "")
        )


def _show(chosen: Sequence[SessionInfo]) -> None:
    from holdfast.cli.draw import console_for, print_line, print_more
    from holdfast.cli.sessions.draw import line_of

    console = console_for(stderr=True)
    for info in chosen[:_SHOWN]:
        print_line(console, line_of(info))
    print_more(console, len(chosen), _SHOWN)


def _counted(chosen: Sequence[SessionInfo], messages: int) -> str:
    return f"{_number(len(chosen), 'session')} with {_number(messages, 'message')}"


def _number(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'' if count == 1 else 's'}"
