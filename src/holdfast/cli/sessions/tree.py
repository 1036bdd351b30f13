"""`holdfast sessions tree`: which session comes from which."""

from __future__ import annotations

from typing import Any

import click

from holdfast.cli.inputs import json_option
from holdfast.cli.sessions.rows import print_row, row_of, session_argument
from holdfast.cli.store import opened, store_options


@click.command("tree")
@session_argument
@store_options
@json_option
def command(session: str, as_json: bool, **options: Any) -> int:
    """Draw the lineage of a session.

    Every session of the same root, below the one that it comes from: `compression` goes on after
    it was compacted, `branch` goes another way, `delegation` is a subagent's, `reset` begins anew.

    \b
    holdfast sessions tree 20260131-1200
    """
    with opened(options, "read") as store:
        named = store.find(session)
        lineage = store.lineage(named.id)
    if as_json:
        print_row({"root": named.root_id, "sessions": [row_of(info) for info in lineage]})
        return 0
    from holdfast.cli.sessions.draw import show_tree

    show_tree(lineage, named.id)
    return 0
