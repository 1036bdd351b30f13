"""`foldaway search` and `foldaway recall`: in all past sessions, or in one file of originals."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from typing import Any

import click

from foldaway.cli.conversation import is_newest_file, is_path, open_stored_session, read_input
from foldaway.cli.dates import short_date
from foldaway.cli.draw import Picture, text_of
from foldaway.cli.files import STANDARD, count_of, make_plain, shorten, write_bytes
from foldaway.cli.inputs import COUNT, FILE, json_option, options, print_json, reading, usage_error
from foldaway.cli.originals import load_originals
from foldaway.cli.stores import clip_id, open_given, read_narrowing, span_options, store_options
from foldaway.dialects import dump_bytes, parse
from foldaway.engine import recall as recall_from
from foldaway.engine import search as search_in
from foldaway.errors import UnknownPosition, UnknownReference
from foldaway.search import Filters
from foldaway.sessions import AROUND, Hit, discover
from foldaway.stores import Store

SHOWN_AROUND = 1
"""Messages on either side that the picture shows if nobody says how many."""
_OPERATOR = re.compile(r"""["“„«*]|(?:^|\s)-\S|(?:^|\s)\w+:\S""")
_PLACE = re.compile(r"m([0-9]{1,12})")
_SORTS = click.Choice(["relevance", "newest", "oldest"])


@click.command()
@click.argument("words", nargs=-1, required=True, metavar="QUERY")
@options(
    ("--originals FILE", FILE, "Search the originals that compact wrote, instead of sessions."),
    ("--role ROLE", [str], "Only messages of user, assistant, tool or system."),
    ("--source AGENT", [str], "Only sessions of this agent."),
    ("--tool NAME", [str], "Only messages that call this tool or answer for it."),
    ("--session ID", [str], "Only this session."),
)
@span_options
@options(
    ("--all --subagents everything", bool, "Also sessions of subagents and tools."),
    ("--sort", _SORTS, "What comes first.", "relevance"),
    ("--most N", COUNT, "How many places to print.", 10),
    ("--around N", click.IntRange(0, 50), "Messages around a hit (1; 5 with --json)."),
)
@store_options
@json_option
def search(
    words: Sequence[str], originals: str | None, most: int, as_json: bool, **given: Any
) -> int:
    """Find a text in all past sessions, or in a file of originals.

    Words, "phrases", prefix*, literal file names and codes, -without; any text is a query. If it
    begins with -, put -- before it. Quoted words are searched as a phrase, then as single words;
    each hit names those it lacks; with quotes inside the quotes only as a phrase. Messages that
    compactions folded are found too. The best place of each lineage is printed, with the messages
    around it. With --originals the search is in what `foldaway compact` folded or rewrote, the
    newest places first, ignoring case. The exit code is 1 if nothing is found.

    \b
    foldaway search timeout
    foldaway search "cannot use" --project . --since "last month"
    foldaway search '"exit code 137" deploy*' --source claude-code --since 2026-01-01
    foldaway search "cannot use" --originals small.json.originals.jsonl
    """
    text = " ".join(words)
    if originals is not None:
        _refuse_filters()
        return _search_originals(text, originals, most, as_json=as_json)
    if given["around"] is None:
        given["around"] = AROUND if as_json else SHOWN_AROUND
    with open_given(given, "search") as store:
        phrase = text if len(words) == 1 and is_phrase(text) else ""
        hits = _search_store(store, f'"{phrase}"', most, given) if phrase else []
        is_exact = bool(hits)
        found = hits or _search_store(store, text, most, given)
        hits = _best(text, found)
    if as_json:
        for hit in hits:
            print_json(hit)
    elif hits:
        if phrase and not is_exact:
            click.echo(f'No exact match for "{shorten(phrase)}". Partial matches:\n')
        show_hits(hits, most)
    elif found:
        there = [word for word in text.split() if word not in found[0].missing]
        said = shorten(f"foldaway search {shlex.join(there)}")
        click.echo(f"No message has more than half of these words; try: {said}", err=True)
    else:
        click.echo("No matches.", err=True)
    return 0 if hits else 1


def _best(text: str, hits: list[Hit]) -> list[Hit]:
    """Return the hits with more than half of plain words."""
    if not is_phrase(text):
        return hits
    asked = len(text.split())
    return [hit for hit in hits if 2 * len(hit.missing) < asked]


def _search_store(store: Store, text: str, most: int, given: dict[str, Any]) -> list[Hit]:
    asked = read_narrowing(store, given)
    filters = Filters(
        roles=given["role"],
        sources=given["source"],
        tools=given["tool"],
        sessions=tuple(store.find(name).id for name in given["session"]),
        since=asked.since,
        until=asked.until,
        folders=asked.folders,
    )
    return discover(
        store,
        text,
        filters=filters,
        kinds=() if given["everything"] else ("main",),
        sort=given["sort"],
        most=most,
        around=given["around"],
    )


def _refuse_filters() -> None:
    context = click.get_current_context()
    for option in (
        "role",
        "source",
        "tool",
        "session",
        "since",
        "until",
        "project",
        "everything",
        "around",
    ):
        if context.params.get(option):
            flag = "all" if option == "everything" else option
            raise usage_error(f"--{flag} is for sessions, not for --originals")


def _search_originals(text: str, originals: str, most: int, *, as_json: bool) -> int:
    hits = search_in(text, load_originals(originals), most)
    for hit in hits:
        if as_json:
            print_json(hit)
        else:
            shown = "".join(char if char.isprintable() else " " for char in hit.snippet)
            click.echo(f"{hit.ref}  m{hit.position}  {' '.join(shown.split())}")
    if not hits and not as_json:
        click.echo("no folded or rewritten message contains that text", err=True)
    return 0 if hits else 1


def is_phrase(text: str) -> bool:
    """Return whether a text is several words without anything that a query gives a meaning."""
    return len(text.split()) > 1 and _OPERATOR.search(text) is None


def show_hits(hits: Sequence[Hit], most: int) -> None:
    """Print hits, the best first, with the messages around them."""
    picture = Picture()
    for hit in hits:
        facts = (hit.source, short_date(hit.time), " ".join(hit.title.split()))
        more = f"  and {count_of(hit.more, 'place')} more" if hit.more else ""
        part = f"  without {', '.join(map(shorten, hit.missing))}" if hit.missing else ""
        heading = text_of(
            (f"{clip_id(hit.session)} m{hit.position}", "bold"),
            (part, "yellow"),
            (more, "dim"),
            *((f"  {shorten(fact)}", "dim") for fact in facts if fact),
        )
        heading.truncate(picture.console.width, overflow="ellipsis")
        picture.line(heading)
        for row in hit.window:
            if row.position == hit.position:
                _show_snippet(picture, hit)
                continue
            width = picture.console.width
            words = make_plain(" ".join(row.text.split())[:width])
            line = text_of("    ", (f"m{row.position} {row.role}: {words}", "dim"))
            line.truncate(width, overflow="ellipsis")
            picture.line(line)
        picture.blank()
    first = hits[0]
    place = f"{clip_id(first.session)} m{first.position}"
    said = f"read on: foldaway sessions scroll {place}"
    if len(hits) == most:
        said = f"the best {most:,} sessions; --most {2 * most} shows more. {said}"
    picture.paragraph((said, "dim"))


def _show_snippet(picture: Picture, hit: Hit) -> None:
    words = text_of(make_plain(hit.snippet))
    for start, stop in hit.spans:
        words.stylize("bold green", start, stop)
    picture.paragraph((f"{hit.role}: ", "cyan"), words, indent=2)


@click.command()
@click.argument("reference", metavar="REF")
@options(
    ("--originals FILE", FILE, "Look in the originals that compact wrote, instead of sessions."),
    ("--session NAME", str, "Only references of this session; for m12, also a file.", ""),
)
@store_options
@json_option
def recall(reference: str, originals: str | None, session: str, as_json: bool, **given: Any) -> int:
    """Print the originals behind a reference.

    REF is a reference such as fa-0123456789 that a mark or summary names, or with --session the
    place of a message, such as m12. Every message is printed byte for byte as it is stored, or with
    --originals as it was in the file that was compressed, followed by a line break. With --json it
    is one object: the reference, its session and positions, and `messages`. The exit code is 2 if
    the reference is unknown.

    \b
    foldaway recall fa-0123456789
    foldaway recall fa-0123456789 --originals small.json.originals.jsonl
    foldaway recall m12 --session last
    """
    where: dict[str, object] = {}
    if session and (place := _PLACE.fullmatch(reference)):
        where, found = _at_place(session, int(place[1]))
    elif originals is None:
        where, found = _from_store(reference, session, given)
    else:
        found = recall_from(reference, load_originals(originals))
    if as_json:
        print_json({"reference": reference, **where, "messages": [parse(one) for one in found]})
    else:
        write_bytes(STANDARD, b"".join(piece + b"\n" for piece in found))
    return 0


def _at_place(session: str, at: int) -> tuple[dict[str, object], list[bytes]]:
    """Return the message at a position of the log of a stored session or of a file."""
    with reading(session, as_json=False):
        if is_path(session) or is_newest_file(session):
            found = read_input(session, None, None).transcripts[0].messages
            if at >= len(found):
                raise UnknownPosition(session, at, len(found) - 1)
            return {"positions": [at, at + 1]}, [dump_bytes(found[at].wire)]
        with open_stored_session(session) as (store, info):
            info = store.newest_leaf(info.id)
            rows = [row.body for row in store.read(info.id, at, at + 1)]
            if not rows:
                raise UnknownPosition(info.id, at, info.length - 1)
            return {"session": info.id, "positions": [at, at + 1]}, rows


def _from_store(
    reference: str, session: str, given: dict[str, Any]
) -> tuple[dict[str, object], list[bytes]]:
    with open_given(given, "read") as store:
        session_id = store.find(session).id if session else ""
        place = next(iter(store.places(reference, session_id=session_id)), None)
        if place is None:
            raise UnknownReference(reference)
        start, stop = place.reference.positions
        found = [row.body for row in store.read(place.session_id, start, stop)]
    return {"session": place.session_id, "positions": [start, stop]}, found
