"""`foldaway lab`: what compaction strategies keep, measured on real sessions."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import click
import msgspec

from foldaway.cli import CommandGroup, say
from foldaway.cli.draw import SCORE_COLUMNS, Picture, Piece, progress_bar
from foldaway.cli.files import count_of, label
from foldaway.cli.inputs import (
    COUNT,
    JSON_ROW,
    PATH,
    json_option,
    numbers_in,
    options,
    print_json,
    usage_error,
)
from foldaway.cli.lab_play import play
from foldaway.cli.settings import prices_for
from foldaway.errors import NotReadable
from foldaway.lab import RunSettings, RunText, compare_to_baseline, describe_run, read_summary

LEAST_TOKENS = 1_500
"""Shorter sessions end before a compaction would come."""
SHOWN_PROBLEMS = 5
"""Files that could not be read that are listed."""
WIDE_COLUMNS = 270
"""Columns that all scores with their intervals need; a narrower terminal wraps them."""
_SUMMARIZER = "Also try Foldaway with this summarizer: openai:MODEL, anthropic:MODEL …"
_KEY_VARIABLE = "The variable with the key for that address; no key is sent without it."
_LIST = click.Path(exists=True, dir_okay=False)


@click.group(cls=CommandGroup)
def lab() -> None:
    """Measure what compaction keeps, on your own sessions.

    Recorded sessions are cut at a point where they continued. Each strategy sees what was before
    and gets a share of its tokens; what the agent used afterwards is the ground truth. No model is
    called, and nothing is sent. `play` lets an agent solve tasks with what each strategy leaves.

    \b
    foldaway lab run ~/.claude/projects -o lab
    foldaway lab show lab
    foldaway lab gate lab --baseline before/summary.json
    foldaway lab play
    """


lab.add_command(play)


@lab.command()
@click.argument("files", nargs=-1, required=True, type=PATH, metavar="FILES...")
@options(
    ("-o --output DIR", click.Path(file_okay=False), "The folder of the run.", "foldaway-lab"),
    ("--strategies S,S…", str, "Only these; `foldaway lab strategies` lists them.", ""),
    ("--budgets P,P…", str, "Shares of the tokens before a cut, in per cent.", "5,10,20,30,50"),
    ("--model M", str, "The model whose prices the net cost is computed with.", ""),
    ("--summarizer WHO", str, _SUMMARIZER, ""),
    ("--summarizer-url URL", str, "Its address.", ""),
    ("--summarizer-key-variable NAME", str, _KEY_VARIABLE, ""),
    ("--only FILE", _LIST, "Only the sessions whose ids this JSON list names."),
    ("--min-tokens N", COUNT, "Skip shorter sessions.", LEAST_TOKENS),
    ("--limit N", COUNT, "At most N sessions of each family, evenly spread."),
    ("--no-drift", bool, "Leave out the rows of 1, 2, 4 and 8 compactions."),
    ("--jobs N", COUNT, "Processes; by default one per core."),
)
@json_option
def run(files: tuple[str, ...], **given: Any) -> int:
    """Compare strategies on real sessions.

    FILES are sessions of agents (Claude Code, Codex, OpenCode, Pi and what else `foldaway import`
    reads), folders of them, or collections of sessions as JSON lines. Each session is cut at
    40, 60 and 80 %, before an agent message. DIR gets rows.jsonl, summary.json, table.md, plots and
    report.html; if it is run again, it resumes where it stopped.

    \b
    foldaway lab run ~/.claude/projects -o lab
    foldaway lab run sessions/*.jsonl --budgets 10,20 --strategies foldaway,keep-tail
    """
    missing = [name for name in files if not os.path.lexists(name)]
    if missing:
        return say(f"{label(missing[0])}: does not exist; nothing was run")
    folder, is_shown = Path(given["output"]), sys.stderr.isatty()
    settings = _build_settings(given)
    with progress_bar("cuts of sessions", quiet=not is_shown) as update:
        sample = settings.read_sample([Path(name) for name in files])
        if not sample.sessions:
            _report_problems(sample.problems)
            return say(
                f"no session of at least {given['min_tokens']:,} tokens was found; "
                f"name other files, or lower --min-tokens"
            )
        tell = partial(_tell, update if is_shown else None)
        written = sample.measure(folder, jobs=given["jobs"] or os.cpu_count() or 1, tell=tell)
    if given["as_json"]:
        for line in written.lines:
            print_json(line)
        return 0
    show_run(describe_run(written.lines))
    notes = [f"everything is in {label(str(folder))}/: report.html, table.md, summary.json"]
    if sample.too_short:
        notes.append(f"{count_of(sample.too_short, 'session')} too short, left out")
    if unread := len(sample.problems):
        notes.append(f"{count_of(unread, 'file or line', 'files or lines')} not readable")
    picture = Picture()
    for note in (*notes, *written.notes):
        picture.line((f"  {note}", "dim"))
    _report_problems(sample.problems)
    return 0


def _tell(update: Callable[..., None] | None, done: int, total: int) -> None:
    """Say how many cuts are done: by the bar, or without a terminal by a line each."""
    if update is not None:
        update(completed=done, total=total)
    else:
        click.echo(f"foldaway: {done:,} of {count_of(total, 'cut')} done", err=True)


def _build_settings(given: dict[str, Any]) -> RunSettings:
    priced = prices_for(given["model"], ()) if given["model"] else None
    if priced is not None and priced.prices is None:
        raise usage_error(priced.note)
    budgets = numbers_in(given["budgets"])
    if not budgets or not all(0 < share <= 100 for share in budgets):
        raise usage_error(
            f"--budgets {given['budgets']!r}: give per cents from 1 to 100, with commas between "
            "them"
        )
    return RunSettings(
        budgets=tuple(share / 100 for share in budgets),
        strategies=tuple(filter(None, map(str.strip, given["strategies"].split(",")))),
        only=None if given["only"] is None else _read_ids(given["only"]),
        min_tokens=given["min_tokens"],
        limit=given["limit"],
        has_drift=not given["no_drift"],
        model=given["model"],
        prices=None if priced is None else priced.prices,
        summarizer=given["summarizer"],
        summarizer_url=given["summarizer_url"],
        summarizer_key_variable=given["summarizer_key_variable"],
    )


def _read_ids(name: str) -> frozenset[str]:
    try:
        return frozenset(msgspec.json.decode(Path(name).read_bytes(), type=list[str]))
    except (OSError, msgspec.DecodeError):
        raise NotReadable("is not a JSON list of ids", where=label(name)) from None


def _report_problems(problems: Sequence[str]) -> None:
    for problem in problems[:SHOWN_PROBLEMS]:
        say(f"skipped {problem}")
    if len(problems) > SHOWN_PROBLEMS:
        say(f"skipped {len(problems) - SHOWN_PROBLEMS:,} more files or lines")


@lab.command()
@click.argument("run", type=PATH, metavar="RUN")
@options(("--all everything", bool, "Every budget, drift, all scores with their intervals."))
@json_option
def show(run: str, everything: bool, as_json: bool) -> int:
    """Show the tables of a run again.

    RUN is the folder of `foldaway lab run -o`, or its summary.json.

    \b
    foldaway lab show lab --all
    """
    lines = read_summary(Path(run)).lines
    if not as_json:
        show_run(describe_run(lines, everything=everything), wide=everything)
        return 0
    for line in lines:
        print_json(line)
    return 0


@lab.command()
@click.argument("run", type=PATH, metavar="RUN")
@options(
    ("--baseline FILE", PATH, "The summary.json of the earlier run, or its folder.", ...),
    ("--strategy S", str, "Whose scores.", "foldaway"),
    JSON_ROW,
)
def gate(run: str, baseline: str, strategy: str, as_json: bool) -> int:
    """Say whether a run is worse than an earlier one.

    RUN is the folder of `foldaway lab run -o`, or its summary.json. The exit code is 1 if a
    score is below the earlier one's 95 % interval, or if there are more inventions, broken
    references, leaks or broken rules than before. Both runs must be of the same sessions.

    \b
    foldaway lab gate lab --baseline before/summary.json
    """
    found = compare_to_baseline(Path(run), Path(baseline), strategy)
    for fall in found.falls:
        if as_json:
            print_json(fall)
        else:
            click.echo(fall.sentence)
    if not as_json:
        verdict = f"{len(found.falls)} figures fell" if found.falls else "nothing fell"
        click.echo(f"{strategy}: {verdict} ({found.sessions} sessions)")
    return 1 if found.falls else 0


@lab.command()
@json_option
def strategies(as_json: bool) -> int:
    """List the strategies that can be tried."""
    for strategy in RunSettings(budgets=()).list_strategies():
        if as_json:
            print_json({"name": strategy.name, "kind": strategy.kind, "what": strategy.what})
        else:
            click.echo(f"{strategy.name:22}{strategy.kind:11}{strategy.what}")
    return 0


def show_run(found: RunText, *, wide: bool = False) -> None:
    """Print a table for each family and budget; with `wide` there are scores with intervals.

    If there is no room, scores to the right go first.
    """
    picture = Picture()
    if wide:
        picture.console.width = max(picture.console.width, WIDE_COLUMNS)
    kinds = "".join("r" if wide or name in ("bound", "cost") else "n" for name in found.columns)
    for table in found.tables:
        picture.line((f"\n{table.title}", "bold"))
        rows: list[tuple[Piece, ...]] = []
        for row in table.rows:
            name = (row.strategy, "bold green" if row.is_ours else "")
            bar = () if wide else (_bar(picture, row.bound),)
            rows.append((name, *bar, *row.cells, (row.faults, "red")))
        names = ("", *(() if wide else ("",)), *found.columns, "faults")
        picture.table(f"{'l' if wide else 'lb'}{kinds}f", rows, names=names)
        if table.said and not wide:
            picture.paragraph(table.said, indent=2)
    picture.blank()
    for name, says in found.legend:
        picture.paragraph((f"{name}: ", "bold dim"), (says, "dim"), indent=2)


def _bar(picture: Picture, bound: float | None) -> Piece:
    return "" if bound is None else picture.meter(round(bound * SCORE_COLUMNS), SCORE_COLUMNS)
