"""`holdfast sessions undo`: the last compaction of a session taken back."""

from __future__ import annotations

from typing import Any

import click

from holdfast.cli.inputs import json_option
from holdfast.cli.sessions.rows import print_session, session_argument
from holdfast.cli.store import opened, store_options


@click.command("undo")
@session_argument
@store_options
@json_option
def command(session: str, as_json: bool, **options: Any) -> int:
    """Take back the last compaction of a session.

    What the model saw before is what it sees again, with all that came since; the log never
    changed. Several can be taken back, one after the other.

    \b
    holdfast sessions undo 20260131-1200
    """
    with opened(options, "write") as store:
        was = store.find(session)
        info = store.undo(was.id, expect=was.view)
    told = "its log as it is" if not info.view else f"view {info.view}"
    print_session(info, f"compaction {was.view} is taken back; it shows {told}", as_json=as_json)
    return 0
