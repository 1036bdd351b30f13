"""`foldaway sessions list`, `tree`, `read`, `scroll`, `export` and `backup`: nothing is changed."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import Any, Literal

import click
from msgspec.structs import replace

from foldaway._core import PRIVATE
from foldaway.cli import say
from foldaway.cli.dates import short_date
from foldaway.cli.draw import Picture, Piece, text_of
from foldaway.cli.files import (
    SHOWN_ENTRIES,
    STANDARD,
    check_writable,
    count_of,
    format_time,
    label,
    make_plain,
    shorten,
    write_output,
)
from foldaway.cli.inputs import PATH, json_option, options, output_option, print_json
from foldaway.cli.stores import (
    Position,
    clip_id,
    open_given,
    read_narrowing,
    session_command,
    session_line,
    session_name,
    session_row,
    span_options,
    store_options,
)
from foldaway.dialects import DIALECTS
from foldaway.sessions import AROUND, ShownMessage
from foldaway.sessions import read as read_session
from foldaway.sessions import scroll as scroll_session
from foldaway.stores import Page, SessionFilter, SessionInfo

BAR_COLUMNS = 10
"""The width of the bar of the longest session; a list has six more columns."""
_ROLE_STYLES = {"user": "cyan", "assistant": "bright_blue", "tool": "yellow"}
_FORMATS = click.Choice(["jsonl", "markdown", *DIALECTS])


@click.command("list")
@click.argument("words", nargs=-1)
@options(("--source AGENT", str, "Only sessions of this agent.", ""))
@span_options
@options(
    ("--all --subagents everything", bool, "Also sessions of subagents and tools."),
    ("--newest", bool, "Only the newest of each lineage."),
    ("--most N", click.IntRange(1, 1000), "How many to print.", 20),
    ("--after MARK", str, "Continue after the previous page.", ""),
)
@store_options
@json_option
def list_sessions(words: Sequence[str], as_json: bool, **given: Any) -> int:
    """List stored sessions, the last used first.

    WORDS narrow the list to sessions whose title or first request contains them literally. With
    --json there is one object: `sessions`, and `next`, the value for --after ("" at the end).

    \b
    foldaway sessions list
    foldaway sessions list parser --source claude-code --since "last month"
    foldaway sessions list --project . --since 7d
    """
    with open_given(given, "read") as store:
        asked = read_narrowing(store, given)
        wanted = SessionFilter(
            source=given["source"],
            kind="any" if given["everything"] else "main",
            since=asked.since,
            until=asked.until,
            folders=asked.folders,
            text=" ".join(words),
            only_leaves=given["newest"],
        )
        page = store.sessions(wanted, most=given["most"], after=given["after"])
        total = store.count(wanted)
        hidden = store.count(replace(wanted, kind="any")) - total
    if as_json:
        print_json({"sessions": [session_row(info) for info in page.sessions], "next": page.next})
    else:
        show_page(page, total, hidden)
    return 0


def show_page(page: Page, total: int, hidden: int) -> None:
    """Print a list of sessions with their sizes, and how to see those that are not in it."""
    picture = Picture()
    if not page.sessions:
        picture.line("no such sessions")
    else:
        _show_rows(picture, page)
    if len(page.sessions) < total:
        rest = f"; the next page: --after {clip_id(page.sessions[-1].id)}" if page.next else ""
        shown = f"{len(page.sessions):,} of {count_of(total, 'session')} shown"
        picture.paragraph((f"{shown}; --most {total} shows all{rest}", "dim"), indent=2)
    if hidden:
        what = count_of(hidden, "session of a subagent or tool", "sessions of subagents or tools")
        picture.paragraph((f"{what} hidden; --all shows them", "dim"), indent=2)


def _show_rows(picture: Picture, page: Page) -> None:
    most = max(info.tokens for info in page.sessions) or 1
    rows: list[tuple[Piece, ...]] = []
    for info in page.sessions:
        source = info.source if info.kind == "main" else f"{info.source} {info.kind}".strip()
        rows.append(
            (
                (clip_id(info.id), "bold"),
                short_date(info.updated),
                shorten(source),
                shorten(os.path.basename(info.cwd)),
                f"{info.length:,}",
                f"{info.tokens:,}",
                (picture.bar(info.tokens, most, BAR_COLUMNS), "cyan"),
                session_name(info),
            )
        )
    names = ("session", "last used", "from", "project", "messages", "tokens", "", "title")
    picture.table("lloonrbt", rows, names=names, indent=0)
    first = clip_id(page.sessions[0].id)
    said = f"tokens are estimates; look at one: foldaway sessions show {first}"
    picture.paragraph((said, "dim"), indent=2)


@session_command()
def tree(session: str, as_json: bool, **given: Any) -> int:
    """Draw the lineage of a session.

    Every session of the same root, below the one that it comes from: `compression` continues
    it after a compaction, `branch` goes another way, `delegation` is a subagent's, `reset` starts
    again.

    \b
    foldaway sessions tree 20260131-1200
    """
    with open_given(given, "read") as store:
        named = store.find(session)
        lineage = store.lineage(named.id)
    if as_json:
        print_json({"root": named.root_id, "sessions": [session_row(info) for info in lineage]})
    else:
        show_tree(lineage, named.id)
    return 0


def show_tree(lineage: Sequence[SessionInfo], named: str) -> None:
    """Draw sessions of one root, each below the one that it comes from."""
    from rich.tree import Tree

    picture = Picture()
    drawn: dict[str, Tree] = {}
    depth: dict[str, int] = {}
    roots: list[Tree] = []
    for info in lineage:
        at = f" at m{info.forked_at}" if info.descent == "branch" else ""
        descent = f"{info.descent}{at}  " if info.descent else ""
        *facts, name = session_line(info)
        if info.compactions:
            facts.append((f"  {count_of(info.compactions, 'compaction')}", "yellow"))
        if info.id == named:
            facts.append(("  ◀" if picture.unicode else "  <", "bold green"))
        line = text_of((descent, "magenta"), *facts, name)
        depth[info.id] = depth.get(info.parent_id, -1) + 1
        line.truncate(picture.console.width - 4 * depth[info.id], overflow="ellipsis")
        above = drawn.get(info.parent_id)
        drawn[info.id] = above.add(line) if above is not None else Tree(line)
        if above is None:
            roots.append(drawn[info.id])
    for root in roots:
        picture.console.print(root)


@session_command(("--whole", bool, "All messages, each in full."))
def read(session: str, whole: bool, as_json: bool, **given: Any) -> int:
    """Print a session: its first and last messages, or all of it.

    The first 20 and the last 10 messages, each up to 600 characters; the log as it was said,
    whatever a compaction folded. `foldaway sessions export` gives the payloads.

    \b
    foldaway sessions read 20260131-1200
    foldaway sessions read 20260131-1200 --whole | less
    """
    with open_given(given, "read") as store:
        found = read_session(store, store.find(session).id, whole=whole)
    if as_json:
        print_json(
            {
                **session_row(found.session),
                "first": found.first,
                "left_out": found.left_out,
                "last": found.last,
            }
        )
        return 0
    picture = Picture()
    picture.line(*session_line(found.session), "\n")
    _show_messages(picture, found.first)
    if found.left_out:
        picture.paragraph((f"… {count_of(found.left_out, 'message')} left out …\n", "dim"))
    _show_messages(picture, found.last)
    return 0


@session_command(
    ("--at PLACE", Position(), "The message in the middle (m0); it can also follow SESSION."),
    ("--reach N", click.IntRange(0, 200), "How many messages on either side.", AROUND),
)
@click.argument("place", type=Position(), required=False)
def scroll(
    session: str, place: int | None, at: int | None, reach: int, as_json: bool, **given: Any
) -> int:
    """Print the messages around a place of a session.

    If the session continues under another id that contains the place, that one is shown. With
    --json `earlier` and `later` are the next places for --at, null at an end.

    \b
    foldaway sessions scroll 20260131-1200 m120
    """
    at = next((one for one in (at, place) if one is not None), 0)
    with open_given(given, "read") as store:
        found = scroll_session(store, store.find(session).id, at, reach=reach)
    if as_json:
        print_json(
            {
                **session_row(found.session),
                "rows": found.rows,
                "earlier": found.earlier,
                "later": found.later,
            }
        )
        return 0
    picture = Picture()
    picture.line(*session_line(found.session), "\n")
    _show_messages(picture, found.rows, marked=at)
    places = (("earlier", found.earlier), ("later", found.later))
    ways = [f"{name}: --at m{place}" for name, place in places if place is not None]
    picture.line(("   ".join(ways), "dim"))
    return 0


def _show_messages(
    picture: Picture, rows: Iterable[ShownMessage], *, marked: int | None = None
) -> None:
    """Print messages with their places and roles."""
    for row in rows:
        facts = (", ".join(row.tools), format_time(row.time))
        picture.line(
            (f"m{row.position}", "bold" if row.position == marked else "dim"),
            (f" {row.role}", _ROLE_STYLES.get(row.role, "")),
            *((f"  {shorten(fact)}", "dim") for fact in facts if fact),
            ("  written by a compaction" if row.generated else "", "magenta"),
        )
        lines = ("\t".join(map(make_plain, line.split("\t"))) for line in row.text.splitlines())
        picture.line("\n".join(lines) or ("(no text: sealed reasoning or media)", "dim"))
        if row.cut:
            picture.paragraph((f"… {row.cut:,} more characters", "dim"))
        picture.blank()


@click.command()
@click.argument("session")
@options(
    (
        "--to",
        _FORMATS,
        "A message a line in its own dialect (jsonl, the default), Markdown (also if OUT ends in "
        ".md), or a dialect.",
    )
)
@click.option("--log", "what", flag_value="log", default="log", help="All that was said (default).")
@click.option("--view", "what", flag_value="view", help="What the model sees now.")
@options(
    ("--without-generated", bool, "Leave out summaries; digests replace what was said and stay.")
)
@output_option
@store_options
@json_option
def export(
    session: str,
    to: str | None,
    what: Literal["log", "view"],
    output: str,
    as_json: bool,
    **given: Any,
) -> int:
    """Write a session to a file.

    With jsonl, messages are written byte for byte as they came. With a dialect, the session is
    repaired so that its provider accepts it, without inventing content. Repairs and losses are
    reported on standard error; the store is not changed. With --json the report is one object, on
    standard error if the session goes to standard output.

    \b
    foldaway sessions export 20260131-1200 -o session.jsonl
    foldaway sessions export 20260131-1200 --to markdown -o session.md
    foldaway sessions export 20260131-1200 --view --to openai-chat -o view.json
    """
    from foldaway.sessions import export as export_session

    check_writable(output)
    if to is None:
        to = "markdown" if output.removesuffix(".gz").endswith(".md") else "jsonl"
    with open_given(given, "read") as store:
        info = store.find(session)
        made = export_session(store, info, to, what=what, generated=not given["without_generated"])
    write_output(output, made.data, mode=PRIVATE)
    if as_json:
        print_json(
            {
                "session": info.id,
                "to": to,
                "output": output,
                "messages": made.messages,
                "losses": made.losses,
                "mended": made.mended,
            },
            err=output == STANDARD,
        )
        return 0
    if output != STANDARD:
        click.echo(f"{clip_id(info.id)}: {made.messages:,} messages written to {label(output)}")
    if made.mended:
        click.echo(f"foldaway: mended: {', '.join(made.mended)}", err=True)
    for loss in made.losses[:SHOWN_ENTRIES]:
        click.echo(f"foldaway: left out of message {loss.index}: {shorten(loss.what)}", err=True)
    if len(made.losses) > SHOWN_ENTRIES:
        click.echo(f"foldaway: and {len(made.losses) - SHOWN_ENTRIES:,} more", err=True)
    return 0


@click.command()
@click.argument("out", type=PATH)
@store_options
@json_option
def backup(out: str, as_json: bool, **given: Any) -> int:
    """Write a copy of the whole store to a file.

    It is consistent even if others write at the same time. OUT is an SQLite file that --store
    opens; for a server it contains the sessions of the profile.

    \b
    foldaway sessions backup sessions-2026-01-31.db
    """
    check_writable(out)
    with open_given(given, "read") as store:
        if out == store.where:
            return say(f"{label(out)} is the store itself; name another file")
        store.backup(out)
        kept = {"store": store.where, "profile": store.profile}
    if as_json:
        print_json({"file": out, "bytes": os.path.getsize(out), **kept})
    else:
        click.echo(f"written to {label(out)}")
    return 0
