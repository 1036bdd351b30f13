"""`holdfast sessions branch`: another way from a message of a session."""

from __future__ import annotations

from typing import Any

import click

from holdfast.cli.inputs import json_option
from holdfast.cli.sessions.rows import Position, print_session, session_argument
from holdfast.cli.store import opened, store_options
from holdfast.stores.values import NewSession


@click.command("branch")
@session_argument
@click.option("--at", type=Position(), metavar="N",
              help="How many messages it shares; all of them where it is not said.")  # fmt: skip
@click.option("--title", default="", metavar="TEXT",
              help="Its title; that of the session with the next number otherwise.")  # fmt: skip
@store_options
@json_option
def command(session: str, at: int | None, title: str, as_json: bool, **options: Any) -> int:
    """Go another way from a message of a session.

    The new session shares the first N messages, which are not copied, and what the model saw of
    them. Neither session changes the other.

    \b
    holdfast sessions branch 20260131-1200 --at 40
    """
    with opened(options, "write") as store:
        parent = store.find(session)
        new = NewSession(
            dialect=parent.dialect, title=title, source=parent.source, kind=parent.kind,
            mode=parent.mode,
        )  # fmt: skip
        info = store.create(new, parent_id=parent.id, descent="branch", at=at)
    told = f"a branch of {parent.id} at m{info.forked_at}"
    print_session(info, told, as_json=as_json)
    return 0
