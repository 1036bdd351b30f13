"""`holdfast sessions export`: a session as a file."""

from __future__ import annotations

from typing import Any, Literal

import click
from msgspec import to_builtins

from holdfast.cli.files import PRIVATE, STANDARD, check_writable, label, packed, write_bytes
from holdfast.cli.inputs import json_option, output_option
from holdfast.cli.sessions.rows import session_argument
from holdfast.cli.store import opened, store_options
from holdfast.dialects.jsontext import dump
from holdfast.dialects.registry import DIALECTS
from holdfast.sessions.exporting import Exported, export
from holdfast.stores.values import SessionInfo

FORMS = click.Choice(["jsonl", "markdown", *DIALECTS])
_SHOWN_LOSSES = 5


@click.command("export")
@session_argument
@click.option("--to", type=FORMS, default="jsonl", show_default=True,
              help="A message a line in its own dialect, Markdown, or a dialect.")  # fmt: skip
@click.option("--log", "what", flag_value="log", default="log", help="All that was said (default).")
@click.option("--view", "what", flag_value="view", help="What the model sees now.")
@click.option("--without-generated", is_flag=True,
              help="Leave out summaries; digests stand for what was said and stay.")  # fmt: skip
@output_option
@store_options
@json_option
def command(
    session: str, to: str, what: Literal["log", "view"], output: str, as_json: bool, **options: Any
) -> int:
    """Write a session to a file.

    As jsonl messages are written byte for byte as they came. In a dialect the session is mended so
    that its provider takes it, as far as that invents nothing. What was mended, and what the
    dialect cannot hold, is said on standard error; the store keeps all as it was. With --json that
    is one object, on standard error where the session goes to standard output.

    \b
    holdfast sessions export 20260131-1200 -o session.jsonl
    holdfast sessions export 20260131-1200 --to markdown -o session.md
    holdfast sessions export 20260131-1200 --view --to openai-chat -o view.json
    """
    check_writable(output)
    with opened(options, "read") as store:
        info = store.find(session)
        made = export(store, info, to, what=what, generated=not options["without_generated"])
    write_bytes(output, packed(output, made.data), mode=PRIVATE)
    _tell(info, to, output, made, as_json=as_json)
    return 0


def _tell(info: SessionInfo, to: str, output: str, made: Exported, *, as_json: bool) -> None:
    to_stderr = output == STANDARD
    if as_json:
        losses = [to_builtins(loss) for loss in made.losses]
        row = {"session": info.id, "to": to, "output": output, "messages": made.messages,
               "losses": losses, "mended": made.mended}  # fmt: skip
        click.echo(dump(row), err=to_stderr)
        return
    from holdfast.cli.draw import shortened

    if not to_stderr:
        click.echo(f"{shortened(info.id)}: {made.messages:,} messages written to {label(output)}")
    if made.mended:
        click.echo(f"holdfast: mended: {', '.join(made.mended)}", err=True)
    for loss in made.losses[:_SHOWN_LOSSES]:
        click.echo(f"holdfast: left out of message {loss.index}: {shortened(loss.what)}", err=True)
    if len(made.losses) > _SHOWN_LOSSES:
        click.echo(f"holdfast: and {len(made.losses) - _SHOWN_LOSSES:,} more", err=True)
