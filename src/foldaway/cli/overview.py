"""`foldaway` without arguments: what your agents used, where it went, and what could be saved."""

from __future__ import annotations

from collections.abc import Sequence

import click
from msgspec import to_builtins

from foldaway.cli.draw import Picture, Piece
from foldaway.cli.files import count_of, format_time
from foldaway.cli.inputs import print_json
from foldaway.cli.usage import Gathered, gather, label_of, late_bar, show_legend
from foldaway.usage import Key, Overview, UsageRow, judge, money, overview, short

JUDGING_SECONDS = 8.0
"""How long sessions are replayed; the first look at one's data should take less than a minute."""
SHOWN_ROWS = 5
"""Rows of each table; `foldaway usage` has all of them."""
SHOWN_WEEKS = 8
BAR_COLUMNS = 20
LEAST_SHARE = 0.01
"""A smaller saving counts as none."""
_NOWHERE = {"config": None, "profile": None, "home": None, "store": None}
_WHY = {
    "usage": "what each session cost",
    "inspect": "where the context of the dearest goes",
    "sessions": "what is stored",
    "import": "make all sessions searchable",
    "search": "find words in stored sessions",
}
"""What the commands that are proposed do."""


def show_overview(*, as_json: bool) -> int:
    """Read everything on this machine and print one look at it."""
    with gather(_NOWHERE) as found:
        with late_bar("replaying the largest sessions", is_bytes=False) as tell:
            judged = judge(found.sessions, found.reader, found.prices, JUDGING_SECONDS, tell)
        made = overview(
            found.sessions,
            found.answers,
            judged,
            found.prices,
            problems=len(found.reader.problems),
            is_stored=found.is_stored,
        )
    if as_json:
        print_json({**to_builtins(made), "notes": found.notes})
    elif not found.sessions:
        click.echo("No sessions of agents were found on this machine.\n")
        click.echo(click.get_current_context().get_help())
    else:
        draw_overview(made, found)
    return 0


def draw_overview(made: Overview, found: Gathered) -> None:
    """Print the overview: sums, where the tokens went, the cache, compactions, and what is next."""
    picture, whole = Picture(), made.total
    span = f"{format_time(made.first)[:10]} to {format_time(made.last)[:10]}" if made.last else ""
    picture.paragraph(
        (
            f"{count_of(len(made.agents), 'agent')}, {count_of(whole.sessions, 'session')}, "
            f"{count_of(whole.requests, 'request')}, {short(whole.total_tokens)} tokens, "
            f"{whole.dollars or 'no usage recorded'}",
            "bold",
        )
    )
    picture.paragraph((span, "dim"))
    _rows(picture, made.agents, "agent", len(made.agents))
    _weeks(picture, made.weeks)
    _rows(picture, made.projects, "project")
    _rows(picture, made.models, "model")
    picture.blank()
    show_legend(picture, whole, found.notes)
    _prompts(picture, made)
    _cache(picture, made)
    _compactions(picture, made)
    _saving(picture, made)
    picture.paragraph(("\nTry next", "bold"))
    for command in made.commands:
        picture.line((f"  # {_WHY[command.split()[1]]}", "dim"))
        picture.line("  ", command)
    if made.not_read:
        picture.note(
            f"{count_of(made.not_read, 'file')} could not be read; `foldaway import "
            "--dry-run` names them"
        )


def _rows(picture: Picture, rows: Sequence[UsageRow], by: Key, most: int = SHOWN_ROWS) -> None:
    names = label_of(rows, by)
    lines = [(names[row.key(by)], row) for row in rows]
    _bars(picture, by, lines[:most])
    if len(rows) > most:
        picture.paragraph(
            (f"and {len(rows) - most:,} more: foldaway usage --by {by}", "dim"), indent=2
        )


def _weeks(picture: Picture, rows: Sequence[UsageRow]) -> None:
    _bars(picture, "week of", [(str(row.period) or "undated", row) for row in rows[-SHOWN_WEEKS:]])
    if len(rows) > SHOWN_WEEKS:
        hidden = count_of(len(rows) - SHOWN_WEEKS, "earlier week")
        picture.paragraph((f"{hidden} hidden: foldaway usage --weekly", "dim"), indent=2)


def _bars(picture: Picture, name: str, rows: Sequence[tuple[str, UsageRow]]) -> None:
    """Print names with sessions, tokens, cost, and bars by cost, or by tokens without one."""
    by_cost = any(row.cost for _, row in rows)
    sizes = [row.cost if by_cost else row.total_tokens for _, row in rows]
    lines: list[tuple[Piece, ...]] = [
        (
            label,
            f"{row.sessions:,}",
            short(row.total_tokens) if row.requests else "",
            (row.dollars, "bold"),
            (picture.bar(size, max(sizes), BAR_COLUMNS), "cyan"),
        )
        for (label, row), size in zip(rows, sizes, strict=True)
    ]
    if lines:
        picture.blank()
        picture.table("tnrrb", lines, names=(name, "sessions", "tokens", "cost", ""), min_width=20)


def _prompts(picture: Picture, made: Overview) -> None:
    if not made.prompts:
        return
    picture.paragraph(("\nWhere the tokens went", "bold"))
    most = max(one.share for one in made.prompts)
    lines: list[tuple[Piece, ...]] = [
        (
            one.name,
            f"{one.share:.0%}",
            short(one.tokens),
            (picture.bar(one.share, most, BAR_COLUMNS), "cyan"),
        )
        for one in made.prompts
    ]
    picture.table("trrb", lines, names=("in the prompts", "share", "tokens", ""), min_width=24)
    picture.paragraph(
        ("estimated; a message counts with every request that sent it", "dim"), indent=2
    )
    if made.read_again:
        picture.paragraph(
            f"{count_of(made.read_again, 'time')} a file was read again although it was unchanged "
            f"and still in the prompt: {short(made.read_again_tokens)} tokens.",
            indent=2,
        )


def _cache(picture: Picture, made: Overview) -> None:
    cache = made.cache
    if not cache.prompt_tokens:
        return
    picture.paragraph(("\nCache", "bold"))
    said = f"{cache.hit_rate:.0%} of the prompts came out of the provider's cache."
    if cache.misses:
        said += (
            f" {count_of(cache.misses, 'miss', 'misses')} sent {short(cache.missed_tokens)} tokens "
            f"again ({money(cache.missed_cost)})"
        )
        rest = cache.misses - cache.after_pause - cache.after_compaction
        why = (
            (cache.after_pause, "after a pause of 5 minutes or more"),
            (cache.after_compaction, "after a compaction"),
            (rest, "for other reasons"),
        )
        said += ": " + ", ".join(f"{count:,} {when}" for count, when in why if count) + "."
    picture.paragraph(said, indent=2)


def _compactions(picture: Picture, made: Overview) -> None:
    if not made.total.compactions:
        return
    picture.paragraph(("\nCompactions", "bold"))
    said = f"{count_of(made.total.compactions, 'compaction')}."
    if made.files_used_later:
        lost = made.files_used_later - made.files_named
        said += (
            f" The summaries of {made.judged_compactions:,} do not name {lost:,} of "
            f"{count_of(made.files_used_later, 'file')} that the agents used later "
            f"({lost / made.files_used_later:.0%})."
        )
    if made.read_after_compaction:
        said += (
            f" {count_of(made.read_after_compaction, 'time')} a file from before was read again "
            f"afterwards: {short(made.read_after_compaction_tokens)} tokens."
        )
    picture.paragraph(said, indent=2)


def _saving(picture: Picture, made: Overview) -> None:
    if not made.replayed:
        return
    picture.paragraph(("\nWith Foldaway", "bold"))
    share = 1 - made.expected / made.paid
    sessions = count_of(len(made.replayed), "session")
    if share < LEAST_SHARE:
        said = f"It would have saved nothing: your largest {sessions} did not grow enough."
    else:
        said = (
            f"{share:.0%} less for your largest {sessions}: "
            f"{money(made.paid)} {picture.arrow} {money(made.expected)}."
        )
    picture.paragraph(said, indent=2)
    picture.paragraph(
        (
            "the first is the recorded cost; the second is that times what two replays of each "
            "session cost, with Foldaway and as it was, with estimated tokens, list prices and a "
            "cache that never expires. It counts money, not what a compaction loses.",
            "dim",
        ),
        indent=2,
    )
