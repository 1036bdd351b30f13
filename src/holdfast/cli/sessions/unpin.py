"""`holdfast sessions unpin`: a message that compactions may fold again."""

from __future__ import annotations

from typing import Any

import click

from holdfast.cli.inputs import json_option
from holdfast.cli.sessions.pin import tell_pins
from holdfast.cli.sessions.rows import Position, session_argument
from holdfast.cli.store import opened, store_options


@click.command("unpin")
@session_argument
@click.argument("place", type=Position())
@store_options
@json_option
def command(session: str, place: int, as_json: bool, **options: Any) -> int:
    """Let a message go with the others again.

    \b
    holdfast sessions unpin 20260131-1200 m12
    """
    with opened(options, "write") as store:
        info = store.find(session)
        store.unpin(info.id, place)
        tell_pins(store, info, as_json=as_json)
    return 0
