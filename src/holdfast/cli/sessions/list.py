"""`holdfast sessions list`: kept sessions, the last used first."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

import click

from holdfast.cli.inputs import json_option
from holdfast.cli.sessions.rows import print_row, row_of
from holdfast.cli.store import opened, store_options
from holdfast.cli.times import since_of, span_options, until_of
from holdfast.stores.values import SessionFilter


@click.command("list")
@click.argument("words", nargs=-1)
@click.option("--source", default="", metavar="AGENT", help="Only sessions of this agent.")
@span_options
@click.option("--subagents", is_flag=True, help="Also sessions of subagents and tools.")
@click.option("--newest", is_flag=True, help="Only the newest of each lineage.")
@click.option("--most", type=click.IntRange(1, 1000), default=20, show_default=True, metavar="N",
              help="How many to print.")  # fmt: skip
@click.option("--after", default="", metavar="MARK", help="Go on after the page before.")
@store_options
@json_option
def command(
    words: Sequence[str],
    since: datetime | None,
    until: datetime | None,
    subagents: bool,
    as_json: bool,
    **options: Any,
) -> int:
    """List kept sessions, the last used first.

    WORDS narrow the list to sessions whose title or first ask holds them as they stand. With
    --json there is one object: `sessions`, and `next`, which --after goes on from ("" at the end).

    \b
    holdfast sessions list
    holdfast sessions list parser --source claude-code --since 2026-01-01
    """
    wanted = SessionFilter(
        source=options["source"], kind="any" if subagents else "main", since=since_of(since),
        until=until_of(until), text=" ".join(words), only_leaves=options["newest"],
    )  # fmt: skip
    with opened(options, "read") as store:
        page = store.sessions(wanted, most=options["most"], after=options["after"])
    if as_json:
        print_row({"sessions": [row_of(info) for info in page.sessions], "next": page.next})
        return 0
    from holdfast.cli.sessions.draw import show_page

    show_page(page)
    return 0
