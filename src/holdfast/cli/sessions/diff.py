"""`holdfast sessions diff`: what a compaction did to every message."""

from __future__ import annotations

from typing import Any

import click
from msgspec import to_builtins

from holdfast.cli import say
from holdfast.cli.diff import Compared, compared
from holdfast.cli.inputs import json_option
from holdfast.cli.sessions.rows import print_row, session_argument
from holdfast.cli.store import opened, store_options
from holdfast.engine.difference import Difference, difference
from holdfast.sessions.exporting import transcript_of
from holdfast.stores.store import Store
from holdfast.stores.values import SessionInfo


@click.command("diff")
@session_argument
@click.option("--views", type=(click.IntRange(min=0), click.IntRange(min=0)), metavar="A B",
              help="Two views by their numbers; 0 is the log as it is.")  # fmt: skip
@store_options
@json_option
def command(session: str, views: tuple[int, int] | None, as_json: bool, **options: Any) -> int:
    """Show what a compaction did to every message.

    The last compaction, or the step from one view to another: what was kept, rewritten, folded and
    added. `holdfast sessions show` lists the views. Exit code 1 where there was no compaction.

    \b
    holdfast sessions diff 20260131-1200
    holdfast sessions diff 20260131-1200 --views 0 2
    """
    with opened(options, "read") as store:
        info = store.find(session)
        if views is None:
            current = store.view(info.id)
            if current is None:
                return say(f"session {info.id} shows its log as it is: no compaction to show", 1)
            views = (current.previous, current.number)
        _refuse_unknown(store, info, views)
        told, made = between(store, info, views)
    if as_json:
        print_row({"session": info.id, **to_builtins(told)})
    else:
        show_between(info, told, made)
    return 0


def between(store: Store, info: SessionInfo, views: tuple[int, int]) -> tuple[Compared, Difference]:
    """Return what became of every message from one view of a session to another."""
    old, new = (transcript_of(store, info, what="view", number=number) for number in views)
    made = difference(old.messages, new.messages)
    return compared((f"view {views[0]}", f"view {views[1]}"), (old, new), made), made


def show_between(info: SessionInfo, told: Compared, made: Difference) -> None:
    """Print it as a picture."""
    from rich.text import Text

    from holdfast.cli.draw import console_for
    from holdfast.cli.show_context import print_compared

    head = Text(info.id, "bold").append(f"  {told.before} to {told.after}: ")
    print_compared(console_for(), head, told, made)


def _refuse_unknown(store: Store, info: SessionInfo, views: tuple[int, int]) -> None:
    known = {0, *(view.number for view in store.views(info.id))}
    for number in views:
        if number not in known:
            raise click.UsageError(
                f"session {info.id} has no view {number}; there are "
                f"{', '.join(str(one) for one in sorted(known))}",
                click.get_current_context(),
            )
