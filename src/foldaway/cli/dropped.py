"""`foldaway dropped`: what the last compaction of a session left out, commitments first."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

import click
from msgspec import to_builtins

from foldaway.cli.conversation import is_newest_file, is_path, open_stored_session, read_input
from foldaway.cli.draw import Picture
from foldaway.cli.files import count_of, make_plain, shorten
from foldaway.cli.inputs import COUNT, FILE, json_option, options, print_json, reading
from foldaway.cli.originals import SUFFIX, load_originals, undo_newest_of
from foldaway.cli.settings import settings_from
from foldaway.cli.stores import clip_id, session_name, store_options
from foldaway.config import redaction_policy
from foldaway.dialects import Document
from foldaway.engine import difference, make_redactor
from foldaway.facts import recognize
from foldaway.sessions import Dropped, Project, redactor_of
from foldaway.transcript import Folded, Item, Kept, Message, View

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
    SESSION is a stored session (its id, title or `last`), a file of any agent, or one that
    `foldaway compact` wrote; without it, the newest session of this folder. m12 is the message at
    position 12, which `foldaway recall m12 --session ID` prints. No model is asked, and secrets are
    hidden. The exit code is 1 if there was no compaction.

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
        log, view = source.transcripts[0].messages, None
        if Path(f"{name}{SUFFIX}").exists():
            log, view = _before(name, log)
        return name, Path(source.name).name, Dropped.of(log, make_redactor(policy), view)
    with open_stored_session(name) as (store, info):
        here = Project.around(Path.cwd(), home=Path.home()).pick(store.folders())
        if here and not session:
            info = store.find(name, folders=here)
        info = store.newest_leaf(info.id)
        found = Dropped.of_session(store, info, redactor_of(store, policy=policy))
        return clip_id(info.id), session_name(info), found


def _before(file: str, shown: Sequence[Message]) -> tuple[Sequence[Message], View]:
    """Return a file as it was before its last compaction, and what the model sees of that."""
    text, _left, appended = undo_newest_of(file)
    log = Document.read(text).records[0].transcript.messages
    log = log[: len(log) - appended]
    places = load_originals(f"{file}{SUFFIX}")[-1].references
    items: list[Item] = []
    messages = tuple(shown)  # the first item that is not kept gets the whole view
    for at, fate in enumerate(difference(recognize(log), recognize(shown)).before):
        around = [one for one in places if one.record == 0 and one.start <= at < one.stop]
        closest = min(around, key=lambda one: one.stop - one.start, default=None)
        if fate == "kept":
            items.append(Kept(at, at + 1))
        else:
            items.append(Folded(at, at + 1, messages, closest.ref if closest else ""))
            messages = ()
    return log, View(tuple(items), len(log))


def _draw(name: str, title: str, found: Dropped, most: int) -> None:
    picture = Picture()
    picture.console.width = min(picture.console.width, _COLUMNS)
    who = "Foldaway" if found.by == "foldaway" else "The agent"
    count = count_of(found.folded, "message")
    picture.paragraph((shorten(title), "bold"))
    picture.paragraph(f"{who} compacted at m{found.at}: {count} folded or shortened.")
    for kind, facts in groupby(found.facts, key=lambda fact: fact.kind):
        rows = [(f"m{fact.position}", _one_line(fact.text)) for fact in facts]
        left = f", {len(rows) - most:,} more with --most {len(rows)}" if len(rows) > most else ""
        picture.blank()
        picture.paragraph((_HEADINGS[kind], "bold cyan"), (f"  {len(rows):,}{left}", "dim"))
        picture.table("rf", rows[:most])
    picture.blank()
    if found.facts:
        first = found.facts[0]
        said = f"m{first.position} --session {shlex.quote(name)}"
        if is_path(name) and first.reference:
            said = f"{first.reference} --originals {shlex.quote(name + SUFFIX)}"
        picture.line((f"read one: foldaway recall {said}", "dim"))
    else:
        picture.paragraph("Every fact that Foldaway found in them is still in view.")


def _one_line(text: str) -> str:
    return shorten(make_plain(" ".join(text.split())))
