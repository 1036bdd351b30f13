"""`foldaway brief`: the record of a session, to read or for the next agent."""

from __future__ import annotations

import errno
import os
import re
import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import click
from msgspec import Struct, to_builtins
from msgspec.structs import replace

from foldaway.agents.installing import clients
from foldaway.agents.known import KnownAgent
from foldaway.cli import say
from foldaway.cli.conversation import is_newest_file, is_path, open_stored_session, read_input
from foldaway.cli.draw import Picture
from foldaway.cli.files import SHOWN_ENTRIES, STANDARD, count_of, label, make_plain, shorten
from foldaway.cli.inputs import (
    COUNT,
    FILE,
    RecordPlace,
    dialect_option,
    json_option,
    options,
    place_of,
    print_json,
    reading,
    usage_error,
)
from foldaway.cli.settings import settings_from
from foldaway.cli.stores import session_name, store_options
from foldaway.config import redaction_policy
from foldaway.engine import BRIEF_TOKENS, Brief, brief_of, handoff_prompt, make_redactor
from foldaway.sessions import brief_session, redactor_of

SHOWN_BRIEFS = 5
"""Sessions of a file that are printed; each takes a screen or two."""
_ENTRY = re.compile(r"(-|[0-9]+\.) (.*)")


def opening_clients() -> Mapping[str, KnownAgent]:
    """Return the clients that open a session with a prompt, by their command and by their name."""
    able = [client for client in clients().values() if client.install.prompt is not None]
    return {name: client for client in able for name in (client.program, client.name)}


@click.command()
@click.argument("session", type=FILE)
@options(
    ("--tokens N", COUNT, "How long it may be, by an estimate.", BRIEF_TOKENS),
    ("--focus TOPIC", str, "What it should tell first.", ""),
    (
        "--to AGENT",
        click.Choice(list(opening_clients())),
        "Open a new session of this agent with it: claude, codex, copilot, gemini, goose, opencode "
        "or qwen.",
    ),
)
@dialect_option
@store_options
@json_option
def brief(session: str, as_json: bool, **given: Any) -> int:
    """Print the record of a session, or open another agent with it.

    Its headings are Task, State, Done, Open, Files, Decisions and Facts; [m12] is the message at
    position 12. An agent (--to) gets more, with lines of results. SESSION is a stored session (its
    id, title or `last`), a file of any agent, a folder or `-`. No model is asked, nothing is
    stored, and secrets are hidden. On a terminal it is wrapped, elsewhere it is Markdown.

    \b
    foldaway brief last
    foldaway brief last --tokens 500 --focus "login tests"
    foldaway brief ~/.codex/sessions/2026/01/31/rollout.jsonl --to claude
    """
    to = given["to"]
    if to and as_json:
        raise usage_error("--to and --json contradict each other")
    if to and session == STANDARD:
        raise usage_error("--to: the agent needs standard input; give the name of a file")
    client = opening_clients()[to] if to else None
    program = "" if client is None else _program(client)
    with reading(session, as_json=as_json):
        found = list(_briefs(session, given, most=None if as_json or to else SHOWN_BRIEFS))
    if client is not None:
        return _open(client, program, found)
    if as_json:
        for one in found:
            print_json({"file": session, **to_builtins(one.place), **to_builtins(one.brief)})
    else:
        _show(session, found)
    return 0


class NamedBrief(Struct, frozen=True):
    """A brief, and which session of how many it is of."""

    name: str
    brief: Brief
    place: RecordPlace = RecordPlace()
    total: int = 1


def _briefs(session: str, given: dict[str, Any], most: int | None) -> Iterator[NamedBrief]:
    """Yield the records of a conversation, or of the first of several."""
    policy = redaction_policy(settings_from(given))
    size: dict[str, Any] = {
        "tokens": given["tokens"],
        "focus": given["focus"],
        "for_person": not given["to"],
    }
    if not is_path(session) and not is_newest_file(session):
        with open_stored_session(session) as (store, info):
            info = store.newest_leaf(info.id)
            made = brief_session(store, info, show=redactor_of(store, policy=policy), **size)
        yield NamedBrief(session_name(info), _plain(made))
        return
    source = read_input(session, None, given["dialect"])
    for warning in source.document.warnings[:SHOWN_ENTRIES]:
        say(f"warning: {warning}")
    redact = make_redactor(policy)
    for number, record in enumerate(source.records[:most]):
        made = _plain(brief_of(record.transcript, redact=redact, **size))
        name = source.place(number).removesuffix(": ")
        yield NamedBrief(name, made, place_of(source, number), len(source.records))


def _plain(made: Brief) -> Brief:
    """Return a brief without control codes: it goes to terminals and command lines."""
    return replace(made, text="\n".join(map(make_plain, made.text.splitlines())))


def _program(client: KnownAgent) -> str:
    found = shutil.which(client.program)
    if found is None:
        raise click.ClickException(
            f"{client.title} is not installed: no command {client.program!r} on the PATH"
        )
    return found


def _open(client: KnownAgent, program: str, found: Sequence[NamedBrief]) -> int:
    """Become the agent, with the record as its first prompt; returns only if that fails."""
    if len(found) > 1:
        return say(f"--to: there are {len(found):,} sessions; name the file of one")
    prompt = os.fsencode(handoff_prompt(found[0].brief.text).encode("utf-8", "replace").decode())
    sys.stdout.flush()
    try:
        os.execv(program, [program, *(client.install.prompt or ()), prompt])
    except OSError as error:
        remedy = "; give fewer --tokens" if error.errno == errno.E2BIG else ""
        return say(f"{program} cannot be started ({error.strerror}){remedy}")


def _show(session: str, found: Sequence[NamedBrief]) -> None:
    if not sys.stdout.isatty():
        headings = [f"# {one.name}\n\n" if one.total > 1 else "" for one in found]
        pages = [f"{head}{one.brief.text}" for head, one in zip(headings, found, strict=True)]
        click.echo("\n\n".join(pages))
    else:
        _draw(Picture(), session, found)
    total = found[0].total
    if total > len(found):
        say(f"{len(found)} of {total:,} sessions are shown; name one file, or see --json")


def _draw(picture: Picture, session: str, found: Sequence[NamedBrief]) -> None:
    """Print records for people: headings stand out, and entries are wrapped beside their marks."""
    for one in found:
        made = one.brief
        sizes = f"{count_of(made.messages, 'message')} in {made.tokens:,} tokens (estimate)"
        picture.line((shorten(one.name) or label(session), "bold"), f"  {sizes}")
        for section in made.text.split("\n## "):
            heading, _, body = section.removeprefix("## ").partition("\n")
            picture.blank()
            picture.paragraph((make_plain(heading), "bold cyan"))
            picture.table("rf", map(_row, body.strip("\n").split("\n")))
        picture.blank()


def _row(line: str) -> tuple[str, str]:
    """Return the mark of an entry and its text; a line that goes on has no mark."""
    entry = _ENTRY.match(line)
    return (entry[1], make_plain(entry[2])) if entry else ("", make_plain(line.strip()))
