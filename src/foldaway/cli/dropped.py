"""`foldaway dropped`: what the last compaction of a session left out, commitments first."""

from __future__ import annotations

import shlex
from itertools import groupby
from pathlib import Path
from typing import Any

import click
from msgspec import to_builtins

from foldaway.cli.conversation import is_newest_file, is_path, open_stored_session, read_input
from foldaway.cli.draw import Picture
from foldaway.cli.files import count_of, make_plain, shorten
from foldaway.cli.inputs import COUNT, FILE, json_option, options, print_json, reading
from foldaway.cli.settings import settings_from
from foldaway.cli.stores import clip_id, session_name, store_options
from foldaway.config import redaction_policy
from foldaway.engine import make_redactor
from foldaway.sessions import Dropped, Project, redactor_of

_COLUMNS = 80
_HEADINGS = {
    "rule": "Rules",
    "decision": "Decisions",
    "number": "Numbers",
    "open": "Open",
    "asked": "Asked",
    "file": "Files",
    "fact": "Facts",
}


@click.command()
@click.argument("session", type=FILE, default="")
@options(("--most N", COUNT, "How many of a kind to print; --json has all.", 5))
@store_options
@json_option
def dropped(session: str, most: int, as_json: bool, **given: Any) -> int:
    """Show what the last compaction left out: rules and decisions first.

    Then numbers, open questions, requests, files and other facts that the log has and that neither
    the summary nor the messages that stayed tell. The compaction may be ours or the agent's own.
    SESSION is a stored session (its id, title or `last`) or a file of any agent; without it, the
    newest session of this folder. m12 is the message at position 12, which `foldaway recall m12
    --session ID` prints. No model is asked, and secrets are hidden. The exit code is 1 if there
    was no compaction.

    \b
    foldaway dropped
    foldaway dropped 20260131-1200 --most 20
    foldaway recall m12 --session 20260131-1200
    """
    with reading(session, as_json=as_json):
        name, title, found = _find(session, given)
    if as_json:
        print_json({"session": name, **to_builtins(found)})
    elif found.by:
        _draw(name, title, found, most)
    else:
        click.echo("It was never compacted, so nothing was left out.", err=True)
    return 0 if found.by else 1


def _find(session: str, given: dict[str, Any]) -> tuple[str, str, Dropped]:
    """Return what a session is called, its title, and what it lost; of a file its first session."""
    name, policy = session or "last", redaction_policy(settings_from(given))
    if is_path(name) or is_newest_file(name):
        source = read_input(name, None, None)
        messages = source.transcripts[0].messages
        return name, Path(source.name).name, Dropped.of(messages, make_redactor(policy))
    with open_stored_session(name) as (store, info):
        here = Project.around(Path.cwd(), home=Path.home()).pick(store.folders())
        if here and not session:
            info = store.find(name, folders=here)
        info = store.newest_leaf(info.id)
        found = Dropped.of_session(store, info, redactor_of(store, policy=policy))
        return clip_id(info.id), session_name(info), found


def _draw(name: str, title: str, found: Dropped, most: int) -> None:
    picture = Picture()
    picture.console.width = min(picture.console.width, _COLUMNS)
    who = "Foldaway" if found.by == "foldaway" else "The agent"
    count = count_of(found.folded, "message")
    picture.paragraph((shorten(title), "bold"))
    picture.paragraph(f"{who} compacted at m{found.at}: {count} folded.")
    for kind, facts in groupby(found.facts, key=lambda fact: fact.kind):
        rows = [(f"m{fact.position}", _one_line(fact.text)) for fact in facts]
        left = f", {len(rows) - most:,} more with --most {len(rows)}" if len(rows) > most else ""
        picture.blank()
        picture.paragraph((_HEADINGS[kind], "bold cyan"), (f"  {len(rows):,}{left}", "dim"))
        picture.table("rf", rows[:most])
    picture.blank()
    if found.facts:
        said = f"read one: foldaway recall m{found.facts[0].position}"
        picture.line((f"{said} --session {shlex.quote(name)}", "dim"))
    else:
        picture.paragraph("The summary and what stayed tell all that is known of them.")


def _one_line(text: str) -> str:
    return shorten(make_plain(" ".join(text.split())))
