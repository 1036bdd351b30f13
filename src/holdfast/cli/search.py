"""`holdfast search`: a text found in all past sessions, or in one file of originals."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import click
from msgspec import to_builtins

from holdfast.cli.draw import Picture, text_of
from holdfast.cli.files import counted, format_time, printable, shortened
from holdfast.cli.inputs import COUNT, FILE, json_option, options, print_json, usage_error
from holdfast.cli.originals import load_originals
from holdfast.cli.stores import opened, since_of, span_options, store_options, until_of
from holdfast.engine.originals import search as search_in
from holdfast.search.values import Filters
from holdfast.sessions.finding import AROUND, Hit, discover
from holdfast.stores.store import Store

SHOWN_AROUND = 1
"""Messages on either side that the picture shows if nobody says how many."""
_SORTS = click.Choice(["relevance", "newest", "oldest"])


@click.command()
@click.argument("words", nargs=-1, required=True, metavar="QUERY")
@options(
    ("--originals", FILE, "FILE",
     "Search the file that compress wrote beside its output, and no sessions."),
    ("--role", [str], "ROLE", "Only messages of user, assistant, tool or system."),
    ("--source", [str], "AGENT", "Only sessions of this agent."),
    ("--tool", [str], "NAME", "Only messages that call this tool or answer for it."),
    ("--session", [str], "ID", "Only this session."),
)  # fmt: skip
@span_options
@options(
    ("--subagents", bool, "", "Also sessions of subagents and tools."),
    ("--sort", _SORTS, "", "What comes first.", "relevance"),
    ("--most", COUNT, "N", "How many places to print.", 10),
    ("--around", click.IntRange(0, 50), "N",
     "Messages on either side of a hit (5 with --json, 1 without)."),
)  # fmt: skip
@store_options
@json_option
def search(
    words: Sequence[str], originals: str | None, most: int, as_json: bool, **given: Any
) -> int:
    """Find a text in all past sessions, or in a file of originals.

    Words, "phrases", prefix*, file names and codes as they stand, -without; any text is a query.
    What compactions folded is found too. The best place of each lineage is printed, with what
    stands around it. With --originals it looks in what was folded or rewritten by `holdfast
    compress`, the newest places first, letter case aside. Exit code 1 where nothing is found.

    \b
    holdfast search connection refused
    holdfast search '"exit code 137" deploy*' --source claude-code --since 2026-01-01
    holdfast search "connection refused" --originals small.json.originals.jsonl
    """
    text = " ".join(words)
    if originals is not None:
        _refuse_filters()
        return _search_originals(text, originals, most, as_json=as_json)
    if given["around"] is None:
        given["around"] = AROUND if as_json else SHOWN_AROUND
    with opened(given, "search") as store:
        hits = _search_store(store, text, most, given)
    if as_json:
        for hit in hits:
            print_json(to_builtins(hit))
    elif hits:
        show_hits(hits)
    else:
        click.echo("no message of a kept session fits that", err=True)
    return 0 if hits else 1


def _search_store(store: Store, text: str, most: int, given: dict[str, Any]) -> list[Hit]:
    filters = Filters(
        roles=given["role"], sources=given["source"], tools=given["tool"],
        sessions=tuple(store.find(name).id for name in given["session"]),
        since=since_of(given["since"]), until=until_of(given["until"]),
    )  # fmt: skip
    return discover(
        store, text, filters=filters, kinds=() if given["subagents"] else ("main",),
        sort=given["sort"], most=most, around=given["around"],
    )  # fmt: skip


def _refuse_filters() -> None:
    context = click.get_current_context()
    for option in ("role", "source", "tool", "session", "since", "until", "subagents", "around"):
        if context.params.get(option):
            raise usage_error(f"--{option} is for sessions, not for --originals")


def _search_originals(text: str, originals: str, most: int, *, as_json: bool) -> int:
    hits = search_in(text, load_originals(originals), most)
    for hit in hits:
        if as_json:
            print_json(hit)
        else:
            shown = "".join(char if char.isprintable() else " " for char in hit.snippet)
            click.echo(f"{hit.ref}  m{hit.position}  {' '.join(shown.split())}")
    if not hits and not as_json:
        click.echo("nothing that was folded or rewritten holds that text", err=True)
    return 0 if hits else 1


def show_hits(hits: Sequence[Hit]) -> None:
    """Print hits, the best first, with the messages around them."""
    picture = Picture()
    for hit in hits:
        facts = (hit.source, format_time(hit.time), " ".join(hit.title.split()))
        more = f"  and {counted(hit.more, 'place')} more" if hit.more else ""
        picture.line(
            (hit.session, "bold"), (f" m{hit.position}", "bold"),
            *((f"  {shortened(fact)}", "dim") for fact in facts if fact), (more, "dim"),
        )  # fmt: skip
        for row in hit.window:
            if row.position == hit.position:
                _show_snippet(picture, hit)
                continue
            width = picture.console.width
            words = printable(" ".join(row.text.split())[:width])
            line = text_of("    ", (f"m{row.position} {row.role}: {words}", "dim"))
            line.truncate(width, overflow="ellipsis")
            picture.line(line)
        picture.blank()


def _show_snippet(picture: Picture, hit: Hit) -> None:
    words = text_of(printable(hit.snippet))
    for start, stop in hit.spans:
        words.stylize("bold green", start, stop)
    picture.line((f"  {hit.role}: ", "cyan"), words)
