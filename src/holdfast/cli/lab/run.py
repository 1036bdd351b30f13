"""`holdfast lab run`: strategies side by side on real sessions."""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import click
from msgspec import to_builtins

from holdfast.cli import say
from holdfast.cli.draw import progress_bar
from holdfast.cli.files import label
from holdfast.cli.inputs import json_option
from holdfast.cli.prices import prices_for
from holdfast.config import home_folder
from holdfast.dialects.jsontext import dump
from holdfast.errors import NotReadable
from holdfast.lab.output import write_results
from holdfast.lab.peers import MODES, Peers
from holdfast.lab.reading import read_sessions
from holdfast.lab.results import RunManifest
from holdfast.lab.run import Tell, digest_of, run, terms_for
from holdfast.lab.scoring.session import LabSession
from holdfast.lab.strategies import (
    DRIFTING,
    RunSettings,
    Strategy,
    all_strategies,
    choose_strategies,
)

_BUDGETS = "5,10,20,30,50"
_MAIN = 0.2
_LEAST_TOKENS = 1_500
_SHOWN_PROBLEMS = 5


@click.command()
@click.argument("files", nargs=-1, required=True, type=click.Path(), metavar="FILES...")
@click.option("-o", "--output", default="holdfast-lab", show_default=True, metavar="DIR",
              type=click.Path(file_okay=False), help="The folder of the run.")  # fmt: skip
@click.option("--strategies", metavar="S,S…", default="",
              help="Only these; `holdfast lab strategies` lists them.")  # fmt: skip
@click.option("--budgets", metavar="P,P…", default=_BUDGETS, show_default=True,
              help="Shares of the tokens before a cut, in per cent.")  # fmt: skip
@click.option("--peer-budgets", metavar="P,P…", default="20", show_default=True,
              help="The same for peers, which are slow.")  # fmt: skip
@click.option("--model", default="", metavar="M", help="Whose prices the net cost goes by.")
@click.option("--summarizer", default="", metavar="WHO",
              help="Also try Holdfast with this summariser: openai:MODEL, anthropic:MODEL …"
              )  # fmt: skip
@click.option("--summarizer-url", default="", metavar="URL", help="Its address.")
@click.option("--summarizer-key-variable", default="", metavar="NAME",
              help="The variable with the key for that address; no key is sent without it."
              )  # fmt: skip
@click.option("--peers", "with_peers", is_flag=True,
              help="Also other tools from the package index, each in an environment of its own."
              )  # fmt: skip
@click.option("--peer-folder", default="", metavar="DIR", type=click.Path(),
              help="Where those are or are made; by default in the data folder.")  # fmt: skip
@click.option("--only", metavar="FILE", type=click.Path(exists=True, dir_okay=False),
              help="Only the sessions whose ids this JSON list names.")  # fmt: skip
@click.option("--min-tokens", type=click.IntRange(min=1), default=_LEAST_TOKENS,
              show_default=True, metavar="N", help="Shorter sessions say little.")  # fmt: skip
@click.option("--limit", type=click.IntRange(min=1), metavar="N",
              help="At most N sessions of each family, evenly spread.")  # fmt: skip
@click.option("--no-drift", is_flag=True, help="Without the rows of 1, 2, 4, 8 compactions.")
@click.option("--jobs", type=click.IntRange(min=1), default=None, metavar="N",
              help="Processes; as many as there are cores where it is not said.")  # fmt: skip
@json_option
def command(files: tuple[str, ...], **options: Any) -> int:
    """Hold strategies against each other on real sessions.

    FILES are sessions of agents (Claude Code, Codex, OpenCode, Pi and what else `holdfast import`
    reads), folders of them, or sets of sessions as JSON lines. Each session is cut at 40, 60 and
    80 %, before an agent message. DIR gets rows.jsonl, summary.json, table.md, plots and
    report.html; run again, it goes on where it stopped.

    \b
    holdfast lab run ~/.claude/projects -o lab
    holdfast lab run sessions/*.jsonl --budgets 10,20 --strategies holdfast,keep-tail
    """
    missing = [name for name in files if not os.path.lexists(name)]
    if missing:
        return say(f"{label(missing[0])}: does not exist; nothing was run")
    asked = _asked(options)
    strategies = choose_strategies(asked.strategies, all_strategies(asked))
    _install(asked, strategies)
    folder = Path(options["output"])
    with _progress() as tell:
        known, problems = _read(files)
        sessions, short = _wanted(known, options)
        if not sessions:
            _tell_problems(problems)
            return say(
                f"no session of at least {options['min_tokens']:,} tokens was found; "
                f"name other files, or lower --min-tokens"
            )
        manifest = RunManifest(
            version=_version(), strategies=tuple(strategies), budgets=asked.budgets,
            peer_budgets=asked.peer_budgets, main=asked.main, drifting=asked.drifting,
            asked={"model": asked.model, "summarizer": asked.summarizer},
            sessions=tuple(session.id for session in sessions), digest=digest_of(known),
        )  # fmt: skip
        rows = run(
            folder, sessions, manifest, partial(terms_for, asked),
            known=known, jobs=options["jobs"] or os.cpu_count() or 1, tell=tell,
        )  # fmt: skip
    written = write_results(folder, manifest, rows, [str(problem) for problem in problems])
    if options["as_json"]:
        for line in written.lines:
            click.echo(dump(to_builtins(line)))
        return 0
    from holdfast.cli.show_lab import show_run

    show_run(folder, written, problems=len(problems), short=short)
    _tell_problems(problems)
    return 0


def _asked(options: dict[str, Any]) -> RunSettings:
    budgets = _shares(options["budgets"], "--budgets")
    priced = prices_for(options["model"], ()) if options["model"] else None
    if priced is not None and priced.prices is None:
        raise click.UsageError(priced.note, click.get_current_context())
    names = tuple(name.strip() for name in options["strategies"].split(",") if name.strip())
    return RunSettings(
        strategies=names, budgets=budgets,
        peer_budgets=_shares(options["peer_budgets"], "--peer-budgets"),
        main=min(budgets, key=lambda share: abs(share - _MAIN)),
        drifting=() if options["no_drift"] else DRIFTING,
        model=options["model"], prices=None if priced is None else priced.prices,
        summarizer=options["summarizer"], summarizer_url=options["summarizer_url"],
        summarizer_key_variable=options["summarizer_key_variable"],
        peer_folder=_peer_folder(options, names),
    )  # fmt: skip


def _peer_folder(options: dict[str, Any], names: Sequence[str]) -> str:
    """Return where the peers live; nothing where none is asked for."""
    if not (options["with_peers"] or any(name in MODES for name in names)):
        return ""
    return options["peer_folder"] or str(home_folder() / "lab-peers")


def _install(asked: RunSettings, strategies: Mapping[str, Strategy]) -> None:
    """Make the environments of the peers once, before several processes want them."""
    if not asked.peer_folder:
        return
    peers = Peers(Path(asked.peer_folder))
    for name in strategies:
        if name in MODES:
            failure = peers.install(name, lambda said: click.echo(said, err=True))
            if failure is not None:
                say(f"{name}: {failure.error}; the table will say so")


def _shares(given: str, flag: str) -> tuple[float, ...]:
    try:
        found = sorted({float(part) for part in given.split(",")})
    except ValueError:
        found = []
    if not found or not all(0 < share <= 100 for share in found):
        raise click.UsageError(
            f"{flag} {given!r}: give per cents from 1 to 100, with commas between them",
            click.get_current_context(),
        )
    return tuple(share / 100 for share in found)


def _read(files: Sequence[str]) -> tuple[list[LabSession], list[NotReadable]]:
    """Return all sessions, each id once, and what could not be read."""
    found: dict[str, LabSession] = {}
    problems: list[NotReadable] = []
    for one in read_sessions([Path(name) for name in files]):
        if isinstance(one, NotReadable):
            problems.append(one)
        else:
            found.setdefault(one.id, one)
    return list(found.values()), problems


def _wanted(known: Sequence[LabSession], options: dict[str, Any]) -> tuple[list[LabSession], int]:
    """Return the sessions to be run, and how many of those asked for are too short."""
    names, least = _only(options["only"]), options["min_tokens"]
    asked = [one for one in known if names is None or one.id in names]
    rows = [one for one in asked if one.tokens >= least]
    limited = _spread(rows, options["limit"]) if options["limit"] else rows
    return limited, len(asked) - len(rows)


def _only(name: str | None) -> frozenset[str] | None:
    if name is None:
        return None
    import msgspec

    try:
        return frozenset(msgspec.json.decode(Path(name).read_bytes(), type=list[str]))
    except (OSError, msgspec.DecodeError):
        raise NotReadable("is no JSON list of ids", where=label(name)) from None


def _spread(sessions: Sequence[LabSession], most: int) -> list[LabSession]:
    """Return at most so many sessions of each family, evenly spread over their order."""
    totals = Counter(session.family for session in sessions)
    seen: Counter[str] = Counter()
    kept: list[LabSession] = []
    for session in sessions:
        total, at = totals[session.family], seen[session.family]
        seen[session.family] += 1
        if total <= most or at * most // total != (at - 1) * most // total or at == 0:
            kept.append(session)
    return kept


def _progress() -> AbstractContextManager[Tell]:
    return progress_bar("sessions", quiet=not sys.stderr.isatty())


def _tell_problems(problems: Sequence[NotReadable]) -> None:
    for problem in problems[:_SHOWN_PROBLEMS]:
        say(f"skipped {problem}")
    if len(problems) > _SHOWN_PROBLEMS:
        say(f"skipped {len(problems) - _SHOWN_PROBLEMS:,} more files or lines")


def _version() -> str:
    try:
        return version("holdfast")
    except PackageNotFoundError:
        return ""
