"""`holdfast sessions pin`: a message that no compaction folds."""

from __future__ import annotations

from typing import Any

import click

from holdfast.cli.inputs import json_option
from holdfast.cli.sessions.rows import Position, print_row, session_argument
from holdfast.cli.store import opened, store_options
from holdfast.stores.store import Store
from holdfast.stores.values import SessionInfo


@click.command("pin")
@session_argument
@click.argument("place", type=Position())
@click.option("--note", default="", metavar="TEXT", help="Why.")
@store_options
@json_option
def command(session: str, place: int, note: str, as_json: bool, **options: Any) -> int:
    """Keep a message as it is through every compaction.

    \b
    holdfast sessions pin 20260131-1200 m12 --note "the rules of the house"
    """
    with opened(options, "write") as store:
        info = store.find(session)
        store.pin(info.id, place, note)
        tell_pins(store, info, as_json=as_json)
    return 0


def tell_pins(store: Store, info: SessionInfo, *, as_json: bool) -> None:
    """Print the pins of a session."""
    pins = store.pins(info.id)
    if as_json:
        rows = [{"position": pin.position, "note": pin.note} for pin in pins]
        print_row({"session": info.id, "pins": rows})
        return
    places = ", ".join(f"m{pin.position}" for pin in pins)
    click.echo(f"{info.id}: pinned {places}" if pins else f"{info.id}: nothing is pinned")
