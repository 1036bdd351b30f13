"""`foldaway sessions show`: what a session is, its compactions, cache misses and cost."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import to_builtins

from foldaway.caching import usd
from foldaway.cli.dates import short_date
from foldaway.cli.draw import Picture, Piece, saving, text_of
from foldaway.cli.files import count_of, format_time, shorten
from foldaway.cli.inputs import COUNT, print_json
from foldaway.cli.stores import clip_id, open_given, session_command, session_line, session_row
from foldaway.stores import SessionInfo
from foldaway.usage import SessionDetails, session_details

BAR_COLUMNS = 30
"""The width of the bar of the largest request; the table has four more columns."""
SHOWN_NAMES = 6
"""Roles or tools that fit on a line."""


@session_command(("--most N", COUNT, "How many requests the picture shows, the newest ones.", 20))
def show(session: str, most: int, as_json: bool, **given: Any) -> int:
    """Show a session: what it is, its compactions, cache misses and cost.

    A request misses the cache if it reads less from it than the one before; the picture shows
    compactions next to misses. For an imported session the figures are those that the agent
    recorded. `foldaway sessions read` prints what was said.

    \b
    foldaway sessions show 20260131-1200
    """
    with open_given(given, "read") as store:
        info = store.find(session)
        details = session_details(store, info)
    if as_json:
        print_json({**session_row(info), **to_builtins(details)})
    else:
        show_session(info, details, most)
    return 0


def show_session(info: SessionInfo, details: SessionDetails, most: int) -> None:
    """Print a session; of its requests the newest `most`."""
    picture = Picture()
    picture.line(*session_line(info))
    parent = ""
    if info.parent_id:
        parent = f"{clip_id(info.parent_id)} ({info.descent}, m{info.forked_at})"
    rows = (
        ("id", info.id),
        ("from", f"{info.source} {info.source_id}".strip()),
        ("model", info.model),
        ("goal", info.goal),
        ("folder", info.cwd),
        ("messages", f"{info.length:,} ({_name_counts(details.roles)})"),
        ("tokens", f"{info.tokens:,}"),
        ("tools", _name_counts(details.tools)),
        ("began", format_time(info.started)),
        ("ended", f"{format_time(info.ended)} {info.end_reason}".strip()),
        ("comes from", parent),
        ("pinned", ", ".join(f"m{pin.position}" for pin in details.pins)),
    )
    picture.table("lf", [((name, "dim"), shorten(value)) for name, value in rows if value])
    _show_views(picture, details)
    _show_requests(picture, details, most)


def _show_views(picture: Picture, details: SessionDetails) -> None:
    if not details.steps:
        picture.line(("\n  no compactions: the model sees the log as it is", "dim"))
        return
    picture.paragraph(("\n  views", "bold"))
    rows: list[tuple[Piece, ...]] = []
    for view in details.steps:
        state = "shown now" if view.current else "undone" if view.undone else view.reason
        change = saving(view.tokens_before, view.tokens_after)
        rows.append(
            (
                (f"{view.number}", "bold green" if view.current else "dim"),
                short_date(view.created),
                f"{view.tokens_before:,}",
                f"{picture.arrow} {view.tokens_after:,}",
                change,
                view.summary,
                (state, "dim"),
            )
        )
    names = ("", "made", "tokens", "", "", "summary", "state")
    picture.table("rorrrol", rows, names=names, indent=4)


def _show_requests(picture: Picture, details: SessionDetails, most: int) -> None:
    if not details.turns:
        picture.line(("\n  no usage was recorded", "dim"))
        return
    earlier = len(details.turns) - most
    said = f"  the newest {most:,}; --most {len(details.turns):,} shows all" if earlier > 0 else ""
    picture.paragraph(("\n  requests", "bold"), (said, "dim"))
    full = max(request.input_tokens for request in details.turns) or 1
    rows: list[tuple[Piece, ...]] = []
    for request in details.turns[-most:]:
        wide = len(picture.bar(request.input_tokens, full, BAR_COLUMNS))
        read = min(wide, round(BAR_COLUMNS * request.cache_read_tokens / full))
        cost = "" if request.cost is None else usd(request.cost)
        marks = [("compacted", "magenta")] if request.compacted else []
        if request.cache_miss:
            marks += [("  ", "")] * request.compacted + [("cache miss", "bold red")]
        rows.append(
            (
                (f"m{request.position}", "dim"),
                f"{request.input_tokens:,}",
                picture.meter(read, wide),
                cost,
                text_of(*marks),
            )
        )
    names = ("message", "input", "", "cost", "")
    picture.table("rrbrl", rows, names=names, indent=4)
    picture.line((f"    {picture.block} read from the cache   {picture.shade} not in it", "dim"))
    totals = details.totals
    picture.blank()
    picture.paragraph(
        f"{count_of(totals.requests, 'request')}, {totals.cache_hit_rate:.0%} of the input from "
        f"the cache, {count_of(totals.cache_misses, 'cache miss', 'cache misses')} "
        f"({totals.misses_after_compaction:,} after a compaction)"
        f"{'' if totals.cost is None else f', {usd(totals.cost)}'}",
        indent=2,
    )


def _name_counts(counts: Mapping[str, int]) -> str:
    shown = [f"{number:,} {name}" for name, number in list(counts.items())[:SHOWN_NAMES]]
    more = len(counts) - SHOWN_NAMES
    return ", ".join(shown) + (f" and {more} more" if more > 0 else "")
