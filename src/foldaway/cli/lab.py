"""`foldaway lab`: what compaction strategies keep, measured on real sessions."""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import msgspec

from foldaway._core import __version__
from foldaway.cli import CommandGroup, say
from foldaway.cli.draw import Picture, Piece, progress_bar, text_of
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
from foldaway.cli.settings import prices_for
from foldaway.config import home_folder
from foldaway.errors import NotReadable
from foldaway.lab import (
    COLUMNS,
    COST,
    DRIFTING,
    FAULTS,
    MODES,
    OURS,
    OVER,
    OWN,
    READ_STRATEGIES,
    USED,
    Fall,
    LabSession,
    MeanInterval,
    Peers,
    ReaderLosses,
    RunManifest,
    RunSettings,
    ScoreLine,
    Strategy,
    WrittenRun,
    ask,
    choose_strategies,
    digest_of,
    find_falls,
    format_cell,
    glossary,
    groups,
    list_strategies,
    open_reader,
    read_losses,
    read_sessions,
    read_summary,
    reader_cases,
    reader_lines,
    terms_for,
    title,
    write_results,
    write_texts,
)
from foldaway.lab import run as run_lab

if TYPE_CHECKING:
    from rich.table import Table

MAIN_SHARE = 0.2
"""The share of tokens that the tables show and drift is measured at: what a compaction leaves."""
LEAST_TOKENS = 1_500
"""Shorter sessions end before a compaction would come."""
READ_TOKENS = (8_000, 44_000)
"""Sessions that a reader gets: 60 % of them is a context that small models hold."""
SHOWN_PROBLEMS = 5
"""Files that could not be read that are listed."""
_FAULTS = (
    "What must not be. over: the share of cuts at which more was taken than allowed. rules: rules "
    f"of the provider that were broken. {'. '.join(f'{k}: {v}' for k, v in FAULTS.items())}."
)
BAR_COLUMNS = 8
"""The width of the bar of a score of 1; the table has ten more columns."""
WIDE_COLUMNS = 250
"""Columns that all scores with their intervals need; a narrower terminal wraps them."""
_SHOWN = ("bound", "far", "copy4", "answers", "files R", "errors", "constraints", "reach", USED,
          COST)  # fmt: skip


@click.group(cls=CommandGroup)
def lab() -> None:
    """Measure what compaction keeps, on your own sessions.

    Recorded sessions are cut at a point where they continued. Each strategy sees what was before
    and gets a share of its tokens; what the agent used afterwards is the ground truth. No model is
    called, and nothing is sent.

    \b
    foldaway lab run ~/.claude/projects -o lab
    foldaway lab show lab
    foldaway lab gate lab --baseline before/summary.json
    """


@lab.command()
@click.argument("files", nargs=-1, required=True, type=PATH, metavar="FILES...")
@options(
    ("-o --output", click.Path(file_okay=False), "DIR", "The folder of the run.", "foldaway-lab"),
    ("--strategies", str, "S,S…", "Only these; `foldaway lab strategies` lists them.", ""),
    ("--budgets", str, "P,P…",
     "Shares of the tokens before a cut, in per cent.", "5,10,20,30,50"),
    ("--peer-budgets", str, "P,P…", "The same for peers, which are slow.", "20"),
    ("--model", str, "M", "The model whose prices the net cost is computed with.", ""),
    ("--summarizer", str, "WHO",
     "Also try Foldaway with this summarizer: openai:MODEL, anthropic:MODEL …", ""),
    ("--summarizer-url", str, "URL", "Its address.", ""),
    ("--summarizer-key-variable", str, "NAME",
     "The variable with the key for that address; no key is sent without it.", ""),
    ("--peers with_peers", bool, "",
     "Also other tools from the package index, each in an environment of its own."),
    ("--peer-folder", PATH, "DIR",
     "Where their environments are; by default in the data folder.", ""),
    ("--only", click.Path(exists=True, dir_okay=False), "FILE",
     "Only the sessions whose ids this JSON list names."),
    ("--min-tokens", COUNT, "N", "Skip shorter sessions.", LEAST_TOKENS),
    ("--limit", COUNT, "N", "At most N sessions of each family, evenly spread."),
    ("--no-drift", bool, "", "Leave out the rows of 1, 2, 4 and 8 compactions."),
    ("--jobs", COUNT, "N", "Processes; by default one per core."),
)  # fmt: skip
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
    asked = _build_settings(given)
    strategies = choose_strategies(asked.strategies, list_strategies(asked))
    _install(asked, strategies)
    folder = Path(given["output"])
    is_shown = sys.stderr.isatty()
    with progress_bar("cuts of sessions", quiet=not is_shown) as update:
        known, problems = _read(files)
        sessions, too_short = _select(known, given)
        if not sessions:
            _report_problems(problems)
            return say(
                f"no session of at least {given['min_tokens']:,} tokens was found; "
                f"name other files, or lower --min-tokens"
            )
        manifest = RunManifest(
            version=__version__, strategies=tuple(strategies), budgets=asked.budgets,
            peer_budgets=asked.peer_budgets, main=asked.main, drifting=asked.drifting,
            asked={"model": asked.model, "summarizer": asked.summarizer},
            sessions=tuple(session.id for session in sessions), digest=digest_of(known),
        )  # fmt: skip
        rows = run_lab(
            folder, sessions, manifest, partial(terms_for, asked), known=known,
            jobs=given["jobs"] or os.cpu_count() or 1,
            tell=partial(_tell, update if is_shown else None),
        )  # fmt: skip
    written = write_results(folder, manifest, rows, [str(problem) for problem in problems])
    if given["as_json"]:
        for line in written.lines:
            print_json(line)
        return 0
    show_run(folder, written, problems=len(problems), too_short=too_short)
    _report_problems(problems)
    return 0


def _tell(update: Callable[..., None] | None, done: int, total: int) -> None:
    """Say how many cuts are done: by the bar, or without a terminal by a line each."""
    if update is not None:
        update(completed=done, total=total)
    else:
        click.echo(f"foldaway: {done:,} of {count_of(total, 'cut')} done", err=True)


def _build_settings(given: dict[str, Any]) -> RunSettings:
    budgets = _shares(given["budgets"], "--budgets")
    priced = prices_for(given["model"], ()) if given["model"] else None
    if priced is not None and priced.prices is None:
        raise usage_error(priced.note)
    names = tuple(name.strip() for name in given["strategies"].split(",") if name.strip())
    has_peers = given["with_peers"] or any(name in MODES for name in names)
    peer_folder = given["peer_folder"] or str(home_folder() / "lab-peers")
    return RunSettings(
        strategies=names, budgets=budgets,
        peer_budgets=_shares(given["peer_budgets"], "--peer-budgets"),
        main=min(budgets, key=lambda share: abs(share - MAIN_SHARE)),
        drifting=() if given["no_drift"] else DRIFTING,
        model=given["model"], prices=None if priced is None else priced.prices,
        summarizer=given["summarizer"], summarizer_url=given["summarizer_url"],
        summarizer_key_variable=given["summarizer_key_variable"],
        peer_folder=peer_folder if has_peers else "",
    )  # fmt: skip


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


def _shares(text: str, flag: str) -> tuple[float, ...]:
    found = numbers_in(text)
    if not found or not all(0 < share <= 100 for share in found):
        raise usage_error(
            f"{flag} {text!r}: give per cents from 1 to 100, with commas between them"
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


def _select(known: Sequence[LabSession], given: dict[str, Any]) -> tuple[list[LabSession], int]:
    """Return the sessions to be run, and how many of those asked for are too short."""
    names = None if given["only"] is None else _read_ids(given["only"])
    asked = [one for one in known if names is None or one.id in names]
    rows = [one for one in asked if one.tokens >= given["min_tokens"]]
    limited = _spread(rows, given["limit"]) if given["limit"] else rows
    return limited, len(asked) - len(rows)


def _read_ids(name: str) -> frozenset[str]:
    try:
        return frozenset(msgspec.json.decode(Path(name).read_bytes(), type=list[str]))
    except (OSError, msgspec.DecodeError):
        raise NotReadable("is not a JSON list of ids", where=label(name)) from None


def _spread(sessions: Sequence[LabSession], most: int) -> list[LabSession]:
    """Return at most `most` sessions of each family, evenly spread over their order."""
    totals = Counter(session.family for session in sessions)
    seen: Counter[str] = Counter()
    kept: list[LabSession] = []
    for session in sessions:
        total, at = totals[session.family], seen[session.family]
        seen[session.family] += 1
        if total <= most or at * most // total != (at - 1) * most // total or at == 0:
            kept.append(session)
    return kept


def _report_problems(problems: Sequence[NotReadable]) -> None:
    for problem in problems[:SHOWN_PROBLEMS]:
        say(f"skipped {problem}")
    if len(problems) > SHOWN_PROBLEMS:
        say(f"skipped {len(problems) - SHOWN_PROBLEMS:,} more files or lines")


@lab.command()
@click.argument("run", type=PATH, metavar="RUN")
@options(("--all everything", bool, "", "Every budget, drift, all scores with their intervals."))
@json_option
def show(run: str, everything: bool, as_json: bool) -> int:
    """Show the tables of a run again.

    RUN is the folder of `foldaway lab run -o`, or its summary.json.

    \b
    foldaway lab show lab --all
    """
    lines = read_summary(Path(run)).lines
    if not as_json:
        show_lines(lines if everything else _main_lines(lines), wide=everything)
        return 0
    for line in lines:
        print_json(line)
    return 0


@lab.command()
@click.argument("run", type=PATH, metavar="RUN")
@options(
    ("--baseline", PATH, "FILE", "The summary.json of the earlier run, or its folder.", ...),
    ("--strategy", str, "S", "Whose scores.", OURS),
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
    before, now = read_summary(Path(baseline)), read_summary(Path(run))
    if before.manifest.digest != now.manifest.digest:
        raise NotReadable(
            "is a run of other sessions than the baseline",
            remedy="run both on the same files, or make a new baseline",
        )
    if not any(line.strategy == strategy for line in before.lines):
        raise NotReadable(
            f"has no line of {strategy!r}", where=baseline, remedy="name a strategy of its run"
        )
    found = find_falls(before.lines, now.lines, strategy)
    for fall in found:
        if as_json:
            print_json(fall)
        else:
            click.echo(_fall_sentence(fall))
    if not as_json:
        verdict = f"{len(found)} figures fell" if found else "nothing fell"
        click.echo(f"{strategy}: {verdict} ({len(now.manifest.sessions)} sessions)")
    return 1 if found else 0


def _fall_sentence(fall: Fall) -> str:
    where = f"{fall.family} {fall.part} {fall.budget:.0%}"
    after = f" after {fall.steps} compactions" if fall.part == "drift" else ""
    return (
        f"{where}{after}: {fall.figure} {fall.was:.3f} -> {fall.now:.3f} "
        f"(allowed to {fall.bound:.3f})"
    )


@lab.command()
@click.argument("files", nargs=-1, type=PATH, metavar="[FILES...]")
@options(
    ("--model where", str, "WHERE", "A server at http://HOST:PORT, or a folder with a model.", ""),
    ("--model-name", str, "NAME", "Which model of that server.", ""),
    ("--texts", str, "FILE",
     "Ask nobody; write what is to be scored to NAME.jsonl, or its token ids to NAME.npz.", ""),
    ("--tokenizer", str, "FILE", "The tokenizer.json of the model, for NAME.npz.", ""),
    ("--losses", str, "FILE", "Ask nobody; show what a model said about such a file.", ""),
    ("--strategies", str, "S,S…", "Only these; Foldaway's size is what all get.", ""),
    ("--budget", str, "P", "The share of the tokens before the cut, in per cent.", "20"),
    ("--only", click.Path(exists=True, dir_okay=False), "FILE",
     "Only the sessions whose ids this JSON list names."),
    ("--min-tokens", COUNT, "N", "Skip shorter sessions.", READ_TOKENS[0]),
    ("--max-tokens", COUNT, "N", "Skip longer sessions.", READ_TOKENS[1]),
    ("--limit", COUNT, "N", "At most N sessions of each family, evenly spread."),
)  # fmt: skip
@json_option
def reader(files: tuple[str, ...], where: str, **given: Any) -> int:
    """Let a local model read what strategies leave.

    The model gives the probability of what the agent really did after the cut. Shown is the share
    of what the full context is worth that each strategy keeps. The model must give the
    probabilities of its prompt: a server with OpenAI's completions and `echo` (vLLM,
    llama-cpp-python), the server of llama.cpp, or a folder that transformers loads.

    \b
    foldaway lab reader ~/.claude/projects --model http://localhost:8000
    foldaway lab reader set.jsonl --texts texts.npz --tokenizer tokenizer.json
    foldaway lab reader --losses losses.npz
    """
    if given["losses"]:
        return _show_read(read_losses(Path(given["losses"])), as_json=given["as_json"])
    if not where and not given["texts"]:
        return say("skipped: no model is named; give --model, or write the texts with --texts", 0)
    known, problems = _read(files)
    _report_problems(problems)
    chosen = [row for row in _select(known, given)[0] if row.tokens <= given["max_tokens"]]
    names = [name for name in given["strategies"].split(",") if name] or READ_STRATEGIES
    tried = choose_strategies((OURS, *names), list_strategies(RunSettings(budgets=())))
    cases = reader_cases(chosen, tried, _shares(given["budget"], "--budget")[0])
    if given["texts"]:
        count = write_texts(Path(given["texts"]), cases, given["tokenizer"])
        return say(f"{count_of(count, 'session')} written to {label(given['texts'])}", 0)
    model = open_reader(where, given["model_name"])
    return _show_read([ask(model, case) for case in cases], as_json=given["as_json"])


def _show_read(rows: Sequence[ReaderLosses], *, as_json: bool) -> int:
    for line in reader_lines(rows):
        if as_json:
            print_json(line)
            continue
        kept = "–" if line.kept is None else f"{line.kept.share:.3f}"
        low_high = "" if line.kept is None else f"[{line.kept.low:.2f}, {line.kept.high:.2f}]"
        behind = "" if line.behind is None else f"{line.behind.mean:+.3f}"
        click.echo(
            f"{line.family:14}{line.system:16}{line.sessions:4}  used {line.used:.2f}  "
            f"loss {line.loss:.3f}  kept {kept} {low_high:14} {behind}"
        )
    return 0


@lab.command()
@json_option
def strategies(as_json: bool) -> int:
    """List the strategies that can be tried."""
    for strategy in list_strategies(RunSettings(budgets=(), peer_folder=".")):
        if as_json:
            print_json({"name": strategy.name, "kind": strategy.kind, "what": strategy.what})
        else:
            click.echo(f"{strategy.name:22}{strategy.kind:11}{strategy.what}")
    return 0


def show_run(folder: Path, written: WrittenRun, *, problems: int, too_short: int) -> None:
    """Print the tables of the main budget, and where everything is."""
    picture = Picture()
    show_lines(_main_lines(written.lines))
    notes = [f"everything is in {label(str(folder))}/: report.html, table.md, summary.json"]
    if too_short:
        notes.append(f"{count_of(too_short, 'session')} too short, left out")
    if problems:
        notes.append(f"{count_of(problems, 'file or line', 'files or lines')} not readable")
    for note in (*notes, *written.notes):
        picture.line((f"  {note}", "dim"))


def show_lines(lines: Sequence[ScoreLine], *, wide: bool = False) -> None:
    """Print a table for each family and budget; with `wide` all scores and their intervals."""
    picture = Picture()
    if wide:
        picture.console.width = max(picture.console.width, WIDE_COLUMNS)
    for rows in groups(lines).values():
        most = max(line.sessions for line in rows)
        picture.line((f"\n{title(rows[0])}, {count_of(most, 'session')}", "bold"))
        if wide:
            picture.show(_table(rows), 2)
            continue
        _show_scores(picture, rows)
        if said := _compare(rows):
            picture.paragraph(said, indent=2)
    picture.blank()
    names = COLUMNS if wide else _SHOWN
    for name in names:
        entry = glossary().get(name)
        if entry is not None:
            picture.paragraph((f"{name}: ", "bold dim"), (entry.says, "dim"), indent=2)
    if any(map(_faults, lines)):
        picture.paragraph(("faults: ", "bold dim"), (_FAULTS, "dim"), indent=2)


def _show_scores(picture: Picture, rows: Sequence[ScoreLine]) -> None:
    """Print a table of scores; those to the right go first if there is no room."""
    lines: list[tuple[Piece, ...]] = []
    for line in rows:
        lines.append((
            (line.strategy, "bold green" if line.strategy.startswith(OURS) else ""),
            _bar(picture, line.figures.get("bound")),
            *(_score(line.figures.get(column)) for column in _SHOWN), (_faults(line), "red"),
        ))  # fmt: skip
    kinds = "".join("r" if name in ("bound", COST) else "n" for name in _SHOWN)
    picture.table(f"lb{kinds}f", lines, names=("", "", *_SHOWN, "faults"))


def _compare(rows: Sequence[ScoreLine]) -> str:
    """Return in a sentence what Foldaway kept beside the end alone and beside the agent itself."""
    kept = {line.strategy: line.figures["bound"].mean for line in rows if "bound" in line.figures}
    if OURS not in kept:
        return ""
    others = {"keep-tail": "keeping the end alone kept", OWN: "the agent's own summary kept"}
    said = [f"{what} {kept[name]:.0%}" for name, what in others.items() if name in kept]
    size = f"At {rows[0].budget:.0%} of the tokens" if rows[0].budget else "In the same size"
    first = f"{size} Foldaway kept {kept[OURS]:.0%} of what the agent used later"
    return f"{'; '.join([first, *said])}."


def _main_lines(lines: Sequence[ScoreLine]) -> list[ScoreLine]:
    """Return the lines of the budget next to 20 %, and those of agents' own summaries."""
    budgets = {line.budget for line in lines if line.part == "cut"}
    nearest = min(budgets, key=lambda share: abs(share - MAIN_SHARE)) if budgets else 0.0
    return [
        line
        for line in lines
        if (line.part == "cut" and line.budget == nearest) or line.part == "own"
    ]


def _table(rows: Sequence[ScoreLine]) -> Table:
    """Return all scores with their intervals."""
    from rich.table import Table

    table = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0), header_style="dim")
    table.add_column("", no_wrap=True)
    for name in COLUMNS:
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("faults", style="red", overflow="fold")
    for line in rows:
        name = text_of((line.strategy, "bold green" if line.strategy.startswith(OURS) else ""))
        cells = [format_cell(line.figures.get(column)) for column in COLUMNS]
        table.add_row(name, *cells, text_of(_faults(line)))
    return table


def _faults(line: ScoreLine) -> str:
    """Return what must not be, in as few words as a terminal has room for."""
    said = [f"{count} {name}" for name, count in line.counts.items() if count]
    if broken := sum((line.violations or {}).values()):
        said.append(f"{broken} rules")
    over = line.figures.get(OVER)
    if over is not None and over.mean > 0:
        said.append(f"over {over.mean:.0%}")
    if line.failed:
        said.append("some failed" if line.figures else line.failed)
    return ", ".join(said)


def _score(found: MeanInterval | None) -> str:
    return "–" if found is None else f"{found.mean:.2f}"


def _bar(picture: Picture, found: MeanInterval | None) -> str:
    if found is None:
        return ""
    full = round(found.mean * BAR_COLUMNS)
    return picture.block * full + picture.shade * (BAR_COLUMNS - full)
