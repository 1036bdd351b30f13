"""`holdfast diff`: what became of every message between two transcripts."""

from __future__ import annotations

import click
from msgspec import Struct

from holdfast.cli import say
from holdfast.cli.files import STANDARD, label
from holdfast.cli.inputs import FILE, Input, dialect_option, json_option, read_input
from holdfast.cli.report import Unreadable, emit
from holdfast.compaction.measure import Estimator
from holdfast.engine.difference import Difference, Fate, difference
from holdfast.engine.inspection import Share, shares_of
from holdfast.errors import NotReadable
from holdfast.facts.frame import recognise
from holdfast.report import Category
from holdfast.transcript import Transcript


class Compared(Struct, frozen=True, kw_only=True):
    """Two transcripts: counts and tokens by category on both sides, a fate for each message."""

    before: str
    after: str
    messages_before: int
    messages_after: int
    tokens_before: int
    tokens_after: int
    kept: int
    rewritten: int
    folded: int
    added: int
    categories: tuple[Category, ...]
    fates_before: tuple[Fate, ...]
    fates_after: tuple[Fate, ...]


@click.command()
@click.argument("before", type=FILE)
@click.argument("after", type=FILE)
@dialect_option
@json_option
def diff(before: str, after: str, dialect: str | None, as_json: bool) -> int:
    """Show what became of every message.

    BEFORE and AFTER each hold one transcript of the same dialect. Kept messages have the same
    payload, rewritten ones are told by their ids or last words; the other ones of BEFORE were
    folded, the other ones of AFTER added. Tokens are estimates.

    \b
    holdfast diff session.json small.json
    """
    if before == after == STANDARD:
        raise click.UsageError("Only one of the two can be standard input")
    sides: list[Input] = []
    for name in (before, after):
        try:
            sides.append(_one(read_input(name, None, dialect)))
        except NotReadable as error:
            if as_json:
                emit(Unreadable(file=name, error=str(error)))
                return 2
            return say(f"{label(name)}: {error}")
    old, new = (side.transcripts[0] for side in sides)
    if old.dialect != new.dialect:
        return say(
            f"{label(before)} is {old.dialect} and {label(after)} is {new.dialect}; convert one of "
            "them first, or name both with --dialect"
        )
    made = difference(recognise(old.messages), recognise(new.messages))
    told = compared((before, after), (old, new), made)
    if as_json:
        emit(told)
    else:
        from holdfast.cli.show_context import show_comparison

        show_comparison(sides[1], told, made)
    return 0


def compared(
    names: tuple[str, str], sides: tuple[Transcript, Transcript], made: Difference
) -> Compared:
    """Return two transcripts beside each other, in numbers."""
    was, now = (shares_of(side, Estimator()) for side in sides)
    return Compared(
        before=names[0],
        after=names[1],
        messages_before=len(made.before),
        messages_after=len(made.after),
        tokens_before=sum(share.tokens for share in was),
        tokens_after=sum(share.tokens for share in now),
        kept=made.count("kept"),
        rewritten=made.count("rewritten"),
        folded=made.count("folded"),
        added=made.count("added"),
        categories=_categories(was, now),
        fates_before=made.before,
        fates_after=made.after,
    )


def _one(given: Input) -> Input:
    if len(given.records) > 1:
        raise NotReadable(
            f"holds {len(given.records):,} transcripts", remedy="give files with one each"
        )
    return given


def _categories(was: tuple[Share, ...], now: tuple[Share, ...]) -> tuple[Category, ...]:
    before = {share.name: share.tokens for share in was}
    after = {share.name: share.tokens for share in now}
    return tuple(
        Category(name, before.get(name, 0), after.get(name, 0)) for name in {**before, **after}
    )
