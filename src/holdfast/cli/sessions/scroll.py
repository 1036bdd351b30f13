"""`holdfast sessions scroll`: the messages around a place."""

from __future__ import annotations

from typing import Any

import click

from holdfast.cli.inputs import json_option
from holdfast.cli.sessions.rows import Position, message_row, print_row, row_of, session_argument
from holdfast.cli.store import opened, store_options
from holdfast.sessions.finding import AROUND, scroll


@click.command("scroll")
@session_argument
@click.option(
    "--at",
    type=Position(),
    default=0,
    metavar="PLACE",
    help="The message in the middle: 12 or m12; the first where it is not said.",
)
@click.option(
    "--reach",
    type=click.IntRange(0, 200),
    default=AROUND,
    show_default=True,
    metavar="N",
    help="How many messages on either side.",
)
@store_options
@json_option
def command(session: str, at: int, reach: int, as_json: bool, **options: Any) -> int:
    """Print the messages around a place of a session.

    Where the session goes on under another id that holds the place, that one is shown. With --json
    `earlier` and `later` are places to go on from, null at an end.

    \b
    holdfast sessions scroll 20260131-1200 --at m120
    """
    with opened(options, "read") as store:
        found = scroll(store, store.find(session).id, at, reach=reach)
    if as_json:
        rows = [message_row(row) for row in found.rows]
        print_row({**row_of(found.session), "rows": rows, "earlier": found.earlier,
                   "later": found.later})  # fmt: skip
        return 0
    from rich.text import Text

    from holdfast.cli.draw import console_for, print_line
    from holdfast.cli.sessions.draw import line_of, show_messages

    console = console_for()
    print_line(console, line_of(found.session).append("\n"))
    show_messages(console, found.rows, marked=at)
    ways = [f"{name}: --at m{place}" for name, place in
            (("earlier", found.earlier), ("later", found.later)) if place is not None]  # fmt: skip
    print_line(console, Text("   ".join(ways), "dim"))
    return 0
