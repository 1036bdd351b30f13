"""`foldaway diff`: what became of every message between two transcripts."""

from __future__ import annotations

import click

from foldaway.cli import say
from foldaway.cli.conversation import read_input
from foldaway.cli.draw import Picture, Piece, saving, size
from foldaway.cli.files import STANDARD, label
from foldaway.cli.inputs import FILE, Input, dialect_option, json_option, print_json, reading
from foldaway.engine import Comparison, ViewDifference, compare, difference
from foldaway.errors import NotReadable
from foldaway.facts import recognize


@click.command()
@click.argument("before", type=FILE)
@click.argument("after", type=FILE)
@dialect_option
@json_option
def diff(before: str, after: str, dialect: str | None, as_json: bool) -> int:
    """Show what became of every message.

    BEFORE and AFTER each contain one transcript of the same dialect. Kept messages have the same
    payload; rewritten ones are recognized by their ids or last words. The other messages of
    BEFORE were folded, the other messages of AFTER were added. Tokens are estimates.

    \b
    foldaway diff session.json small.json
    """
    if before == after == STANDARD:
        raise click.UsageError("Only one of the two can be standard input")
    sides: list[Input] = []
    for name in (before, after):
        with reading(name, as_json=as_json):
            sides.append(_read_one(name, dialect))
    old, new = (side.transcripts[0] for side in sides)
    if old.dialect != new.dialect:
        return say(
            f"{label(before)} is {old.dialect} and {label(after)} is {new.dialect}; convert one of "
            "them first, or name both with --dialect"
        )
    made = difference(recognize(old.messages), recognize(new.messages))
    comparison = compare((before, after), (old, new), made)
    if as_json:
        print_json(comparison)
    else:
        picture = Picture()
        show_comparison(picture, [picture.heading(sides[1], "ok")], comparison, made)
    return 0


def _read_one(name: str, dialect: str | None) -> Input:
    given = read_input(name, None, dialect)
    if len(given.records) > 1:
        raise NotReadable(
            f"holds {len(given.records):,} transcripts", remedy="give files with one each"
        )
    return given


def show_comparison(
    picture: Picture, heading: list[Piece], compared: Comparison, made: ViewDifference
) -> None:
    """Print two transcripts beside each other, below a heading that names them."""
    was = size(compared.messages_before, compared.tokens_before)
    now = size(compared.messages_after, compared.tokens_after)
    change = saving(compared.tokens_before, compared.tokens_after)
    picture.line(*heading, f"{was} {picture.arrow} {now} ({change})")
    picture.difference(made)
    rows = sorted(compared.categories, key=lambda one: -one.tokens_before)
    picture.category_bars([(one.name, one.tokens_before, one.tokens_after) for one in rows])
    picture.blank()
    picture.note("token figures are estimates")
