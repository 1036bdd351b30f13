"""`holdfast sessions title`: another title for a session."""

from __future__ import annotations

from typing import Any

import click

from holdfast.cli.inputs import json_option
from holdfast.cli.sessions.rows import print_session, session_argument
from holdfast.cli.store import opened, store_options


@click.command("title")
@session_argument
@click.argument("text")
@store_options
@json_option
def command(session: str, text: str, as_json: bool, **options: Any) -> int:
    """Give a session another title.

    Children of a session are numbered after it: Title, Title #2, …

    \b
    holdfast sessions title 20260131-1200 "The parser, second try"
    """
    with opened(options, "write") as store:
        info = store.change(store.find(session).id, title=text)
    print_session(info, "has another title", as_json=as_json)
    return 0
