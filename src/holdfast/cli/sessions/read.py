"""`holdfast sessions read`: a session from its beginning to its end."""

from __future__ import annotations

from typing import Any

import click

from holdfast.cli.inputs import json_option
from holdfast.cli.sessions.rows import message_row, print_row, row_of, session_argument
from holdfast.cli.store import opened, store_options
from holdfast.sessions.finding import Reading, read


@click.command("read")
@session_argument
@click.option("--whole", is_flag=True, help="All messages, each in full.")
@store_options
@json_option
def command(session: str, whole: bool, as_json: bool, **options: Any) -> int:
    """Print a session: its first and last messages, or all of it.

    The first 20 and the last 10 messages, each up to 600 characters; the log as it was said,
    whatever a compaction folded. `holdfast sessions export` gives the payloads.

    \b
    holdfast sessions read 20260131-1200
    holdfast sessions read 20260131-1200 --whole | less
    """
    with opened(options, "read") as store:
        found = read(store, store.find(session).id, whole=whole)
    if as_json:
        print_row(_row(found))
        return 0
    from rich.text import Text

    from holdfast.cli.draw import console_for, counted, print_line
    from holdfast.cli.sessions.draw import line_of, show_messages

    console = console_for()
    print_line(console, line_of(found.session).append("\n"))
    show_messages(console, found.first)
    if found.left_out:
        console.print(Text(f"… {counted(found.left_out, 'message')} left out …\n", "dim"))
    show_messages(console, found.last)
    return 0


def _row(found: Reading) -> dict[str, Any]:
    return {
        **row_of(found.session), "first": [message_row(row) for row in found.first],
        "left_out": found.left_out, "last": [message_row(row) for row in found.last],
    }  # fmt: skip
