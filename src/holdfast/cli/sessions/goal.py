"""`holdfast sessions goal`: what a session is for."""

from __future__ import annotations

from typing import Any

import click

from holdfast.cli.inputs import json_option
from holdfast.cli.sessions.rows import print_session, session_argument
from holdfast.cli.store import opened, store_options


@click.command("goal")
@session_argument
@click.argument("text")
@store_options
@json_option
def command(session: str, text: str, as_json: bool, **options: Any) -> int:
    """Say what a session is for.

    The goal stays with the session and is carried over to its children; "" takes it away.

    \b
    holdfast sessions goal 20260131-1200 "all tests of the parser pass"
    """
    with opened(options, "write") as store:
        info = store.change(store.find(session).id, goal=text)
    print_session(info, "has another goal" if text else "has no goal", as_json=as_json)
    return 0
