"""`foldaway lab play`: tasks played to their end under every strategy."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import click

from foldaway.cli.draw import SCORE_COLUMNS, Picture, Piece, progress_bar
from foldaway.cli.files import count_of, label
from foldaway.cli.inputs import COUNT, json_option, options, print_json
from foldaway.lab import PlaySettings

_MODEL = "Let a model play: openai:NAME or anthropic:NAME. Without it a scripted player does."
_KEY_VARIABLE = "The variable with the key for --url; no key is sent there without it."
_PRICES = "The model whose prices are counted."


@click.command()
@options(
    ("--tasks N", COUNT, "How many tasks; all families in turn.", PlaySettings().tasks),
    ("--seed N", int, "Which tasks: the same seed gives the same ones.", PlaySettings().seed),
    ("--strategies S,S…", str, "Only these, and normal; play.html says what each does.", ""),
    ("--window N", COUNT, "Tokens; a longer prompt ends a play.", PlaySettings().window),
    ("--prices-of priced MODEL", str, _PRICES, PlaySettings().priced),
    ("--model WHO", str, _MODEL, ""),
    ("--url URL", str, "Its address.", ""),
    ("--key-variable NAME", str, _KEY_VARIABLE, ""),
    ("--jobs N", COUNT, "Processes; by default one per core."),
    ("-o --output DIR", click.Path(file_okay=False), "The folder of the run.", "foldaway-play"),
)
@json_option
def play(output: str, jobs: int | None, as_json: bool, strategies: str, **given: Any) -> int:
    """Let an agent play tasks to their end, with what each strategy leaves it.

    Long tasks are drawn from a seed, and code checks how each ended. They need no network and no
    judge. The scripted player acts by rules on what is in its context, and on nothing else. DIR
    gets play.html, play.json and plays.jsonl; a second run with the same options goes on with it.

    \b
    foldaway lab play --tasks 60 --seed 1
    foldaway lab play --tasks 12 --model openai:qwen3 --url http://localhost:8000/v1
    """
    names = tuple(name.strip() for name in strategies.split(",") if name.strip())
    settings, folder = PlaySettings(strategies=names, **given), Path(output)
    settings.check()
    is_shown, told = sys.stderr.isatty(), set[int]()

    def tell(done: int, total: int) -> None:
        update(completed=done, total=total)
        if not is_shown and (tenth := done * 10 // total) not in told:
            told.add(tenth)
            click.echo(f"foldaway: {done:,} of {count_of(total, 'play')} done", err=True)

    with progress_bar("plays", quiet=not is_shown) as update:
        summary = settings.run(folder, jobs=jobs or os.cpu_count() or 1, tell=tell)
    if as_json:
        for line in summary.lines:
            print_json(line)
        return 0
    picture = Picture()
    rows: list[tuple[Piece, ...]] = [
        (
            (line.strategy, "bold green" if line.is_ours else ""),
            picture.meter(round(line.solved.mean * SCORE_COLUMNS), SCORE_COLUMNS),
            *line.cells,
        )
        for line in summary.lines
    ]
    picture.table("lbrrrrr", rows, names=("", "", "solved", "a task", "steps", "recalls", "wrong"))
    picture.blank()
    for sentence in (*summary.verdict, *summary.failures):
        picture.paragraph(sentence, indent=2)
    picture.line((f"  the page is {label(str(folder / 'play.html'))}", "dim"))
    return 0
