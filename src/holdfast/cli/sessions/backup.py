"""`holdfast sessions backup`: a copy of the whole store."""

from __future__ import annotations

import os
from typing import Any

import click

from holdfast.cli import say
from holdfast.cli.files import check_writable, label
from holdfast.cli.inputs import json_option
from holdfast.cli.sessions.rows import print_row
from holdfast.cli.store import opened, store_options


@click.command("backup")
@click.argument("out", type=click.Path())
@store_options
@json_option
def command(out: str, as_json: bool, **options: Any) -> int:
    """Write a copy of the whole store to a file.

    One state of it, while others may go on writing. OUT is an SQLite file that --store opens; of
    a server it holds the sessions of the profile.

    \b
    holdfast sessions backup sessions-2026-01-31.db
    """
    check_writable(out)
    with opened(options, "read") as store:
        if out == store.where:
            return say(f"{label(out)} is the store itself; name another file")
        store.backup(out)
        kept = {"store": store.where, "profile": store.profile}
    if as_json:
        print_row({"file": out, "bytes": os.path.getsize(out), **kept})
    else:
        click.echo(f"written to {label(out)}")
    return 0
