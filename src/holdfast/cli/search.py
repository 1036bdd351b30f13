"""`holdfast search`: a text found in all past sessions, or in one file of originals."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

import click
from msgspec import to_builtins

from holdfast.cli.archive import load_originals
from holdfast.cli.inputs import json_option
from holdfast.cli.report import emit
from holdfast.cli.store import opened, store_options
from holdfast.cli.times import since_of, span_options, until_of
from holdfast.dialects.jsontext import dump
from holdfast.engine.originals import search as search_in
from holdfast.search.values import Filters, Sort
from holdfast.sessions.finding import AROUND, Hit, discover
from holdfast.stores.store import Store

_SHOWN_AROUND = 1
"""Messages on either side that the picture shows where nobody says how many."""


@click.command()
@click.argument("words", nargs=-1, required=True, metavar="QUERY")
@click.option(
    "--originals",
    type=click.Path(allow_dash=True),
    metavar="FILE",
    help="Search the file that compress wrote beside its output, and no sessions.",
)
@click.option(
    "--role",
    multiple=True,
    metavar="ROLE",
    help="Only messages of user, assistant, tool or system.",
)
@click.option("--source", multiple=True, metavar="AGENT", help="Only sessions of this agent.")
@click.option(
    "--tool",
    multiple=True,
    metavar="NAME",
    help="Only messages that call this tool or answer for it.",
)
@click.option("--session", multiple=True, metavar="ID", help="Only this session.")
@span_options
@click.option("--subagents", is_flag=True, help="Also sessions of subagents and tools.")
@click.option(
    "--sort",
    type=click.Choice(["relevance", "newest", "oldest"]),
    default="relevance",
    show_default=True,
    help="What comes first.",
)
@click.option(
    "--most",
    type=click.IntRange(min=1),
    default=10,
    show_default=True,
    metavar="N",
    help="How many places to print.",
)
@click.option(
    "--around",
    type=click.IntRange(0, 50),
    metavar="N",
    help="Messages on either side of a hit (5 with --json, 1 without).",
)
@store_options
@json_option
def search(words: Sequence[str], originals: str | None, most: int, as_json: bool,
           **options: Any) -> int:  # fmt: skip
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
        return _in_originals(text, originals, most, as_json=as_json)
    with opened(options, "search") as store:
        hits = _found(store, text, most, as_json=as_json, options=options)
    if as_json:
        for hit in hits:
            click.echo(dump(to_builtins(hit)))
    elif hits:
        from holdfast.cli.show_hits import show_hits

        show_hits(hits)
    else:
        click.echo("no message of a kept session fits that", err=True)
    return 0 if hits else 1


def _found(
    store: Store, text: str, most: int, *, as_json: bool, options: dict[str, Any]
) -> list[Hit]:
    since: datetime | None = options["since"]
    until: datetime | None = options["until"]
    around: int | None = options["around"]
    sort: Sort = options["sort"]
    filters = Filters(
        roles=options["role"], sources=options["source"], tools=options["tool"],
        sessions=tuple(store.find(name).id for name in options["session"]),
        since=since_of(since), until=until_of(until),
    )  # fmt: skip
    if around is None:
        around = AROUND if as_json else _SHOWN_AROUND
    return discover(
        store, text, filters=filters, kinds=() if options["subagents"] else ("main",),
        sort=sort, most=most, around=around,
    )  # fmt: skip


def _refuse_filters() -> None:
    context = click.get_current_context()
    for option in ("role", "source", "tool", "session", "since", "until", "subagents", "around"):
        if context.params.get(option):
            raise click.UsageError(f"--{option} is for sessions, not for --originals", context)


def _in_originals(text: str, originals: str, most: int, *, as_json: bool) -> int:
    hits = search_in(text, load_originals(originals), most)
    for hit in hits:
        if as_json:
            emit(hit)
        else:
            shown = "".join(char if char.isprintable() else " " for char in hit.snippet)
            click.echo(f"{hit.ref}  m{hit.position}  {' '.join(shown.split())}")
    if not hits and not as_json:
        click.echo("nothing that was folded or rewritten holds that text", err=True)
    return 0 if hits else 1
