"""`foldaway usage`: what the agents of this machine used, by day and by any key."""

from __future__ import annotations

import csv
import io
import sys
import time
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, Literal, NamedTuple

import click
from msgspec import Struct, to_builtins
from msgspec.structs import replace

from foldaway._core import __version__
from foldaway.agents.known import find_agent
from foldaway.caching import PriceList
from foldaway.cli.draw import Picture, Piece, progress_bar
from foldaway.cli.files import (
    count_of,
    duration,
    format_time,
    is_terminal,
    join_on_one_line,
    make_plain,
)
from foldaway.cli.inputs import JSON_ROW, options, print_json, usage_error
from foldaway.cli.settings import home_of, settings_from
from foldaway.cli.stores import (
    NO_WORDS,
    clip_id,
    folders_of,
    is_missing,
    span_options,
    store_options,
    store_place,
)
from foldaway.config import agent_places, open_store
from foldaway.errors import StoreUnavailable
from foldaway.sessions import name_in_words, short_title
from foldaway.stores import SessionInfo
from foldaway.usage import (
    AnswerTable,
    Key,
    Overview,
    OwnCompaction,
    Period,
    SpentSession,
    UsageBlock,
    UsageReader,
    UsageRow,
    add_up_each,
    count_once,
    full,
    money,
    overview,
    short,
    short_paths,
)

SHOWN_ROWS = 30
"""Rows that are shown without `--all`: a screen."""
QUIET_SECONDS = 2.0
"""A bar appears if reading takes longer."""
BAR_COLUMNS = 20
WIDE_COLUMNS = 100
"""From this width on numbers are written in full."""
_SHORT_ID = 8
"""Characters of the id of a session that are shown."""
NO_PRICES = "some models have no price: get more with pip install 'foldaway[prices]'"


class Gathered(Struct, frozen=True):
    """Everything that was read on this machine."""

    native: list[SpentSession]
    answers: AnswerTable
    prices: PriceList
    reader: UsageReader
    notes: list[str]
    is_stored: bool
    """Whether there is a store of sessions."""
    known: dict[tuple[str, str], SessionInfo]
    """The sessions in the store, by agent and the id that the agent gave."""
    own: list[OwnCompaction]
    """The compactions of Foldaway in it."""


class _Wanted(NamedTuple):
    """What a command asks for."""

    period: Period
    by: Key | None
    start: float | None
    stop: float | None
    details: bool


class UsageReport(Struct, frozen=True, kw_only=True):
    """What a command shows."""

    rows: list[UsageRow]
    whole: UsageRow
    saved: dict[str, float]
    saved_words: str
    """The same in a sentence, "" if nothing is known."""
    details: Overview | None
    notes: list[str]
    newest: float
    """When the newest answer of all was written, if there are no rows; 0 if nobody knows."""


@contextmanager
def gather(given: Mapping[str, Any], reader: UsageReader | None = None) -> Generator[Gathered]:
    """Read the agents' files and the store, and keep what was read for the next time.

    Stopped by Ctrl-C, what was read so far is kept, too.
    """
    notes, is_whole = list[str](), False
    reader = reader or UsageReader(home_of(given), __version__)
    try:
        with late_bar("reading") as tell:
            native = reader.read_files([path for _, path in agent_places()], tell)
        prices, known = PriceList(), dict[tuple[str, str], SessionInfo]()
        seen, compacted = dict.fromkeys(one.agent for one in native), list[SessionInfo]()

        def look(info: SessionInfo) -> None:
            agent = info.source or "foldaway"
            seen[agent] = None
            for name in (info.source_id or info.id, info.source_id.partition("@")[0]):
                known.setdefault((agent, name), info)
            if info.compactions:
                compacted.append(info)

        is_stored, answers, own = False, AnswerTable(), list[OwnCompaction]()
        settings = settings_from(given)
        try:
            place = store_place(given, settings)
            with open_store(place, profile=settings.profile, read_only=True) as store:
                is_stored = True
                answers = count_once(native, reader.read_store(store, native, look=look), prices)
                own = OwnCompaction.of(store, compacted, prices)
        except StoreUnavailable as error:
            if not is_missing(error):
                notes.append(f"kept sessions are left out: {error}")
            answers = count_once(native, (), prices)
        if prices.is_missing:
            notes.append(NO_PRICES)
        notes += [
            f"{agent.title} leaves its history in each project: its tokens are those of the "
            "folders in which `foldaway usage` or `import` was run"
            for agent in map(find_agent, seen)
            if agent.files.in_project
        ]
        yield Gathered(native, answers, prices, reader, notes, is_stored, known, own)
        is_whole = True
    finally:
        reader.save(is_whole=is_whole)


@contextmanager
def late_bar(what: str, *, is_bytes: bool = True) -> Generator[Callable[[int, int], None]]:
    """Give a function that takes how much is done of how much; a bar appears after a while."""
    begun, update = time.monotonic(), list[Callable[..., None]]()
    with ExitStack() as stack:

        def tell(done: int, total: int) -> None:
            if not update and time.monotonic() - begun > QUIET_SECONDS:
                from rich.progress import DownloadColumn, MofNCompleteColumn, TimeRemainingColumn

                bar = progress_bar(
                    what,
                    quiet=not is_terminal(sys.stderr),
                    total=total,
                    columns=(
                        DownloadColumn() if is_bytes else MofNCompleteColumn(),
                        TimeRemainingColumn(),
                    ),
                )
                update.append(stack.enter_context(bar))
            for one in update:
                one(completed=done)

        yield tell


@click.command()
@options(
    ("--daily", bool, "A row per day; the default."),
    ("--weekly", bool, "A row per week, named by its Monday."),
    ("--monthly", bool, "A row per month."),
    (
        "--by KEY",
        click.Choice(["project", "session", "model", "agent"]),
        "Add up by project, session, model or agent; without a period over the whole time.",
    ),
    ("--blocks", bool, "A row per block of five hours, as limits of subscriptions count them."),
    (
        "--limit TOKENS",
        str,
        "With --blocks: the limit of a block, or max for the largest one that is over.",
    ),
    ("--all everything", bool, "Show all rows."),
    ("--csv as_csv", bool, "Print CSV."),
)
@span_options
@store_options
@options(JSON_ROW)
def usage(
    by: Key | None, blocks: bool, everything: bool, as_csv: bool, as_json: bool, **given: Any
) -> int:
    """Show what your agents used: tokens, cache and cost.

    Reads the files of the agents on this machine and the stored sessions. Nothing is imported,
    and nothing is sent. Tokens are as the agents recorded them. The cost is at today's list
    prices; if a model has none, it is what the agent recorded. Without --by and a span it also
    shows where the tokens went, cache misses and compactions.

    \b
    foldaway usage                           by day
    foldaway usage --monthly --by model
    foldaway usage --by project --since 7d
    foldaway usage --blocks --limit max
    foldaway usage --weekly --csv > weeks.csv
    """
    if as_csv and as_json:
        raise usage_error("--csv and --json exclude each other")
    period, limit = _period(given, by), _limit(given["limit"])
    if blocks and (by or any(given[one] for one in ("daily", "weekly", "monthly"))):
        raise usage_error("--blocks has rows of its own; leave out --by and the periods")
    if limit and not blocks:
        raise usage_error("--limit needs --blocks")
    start, stop = _span(given)
    if blocks:
        with gather(given) as gathered:
            _show_blocks(gathered, given, limit, as_json=as_json, as_csv=as_csv, full=everything)
        return 0
    is_whole = not (start or stop or given["project"])
    wanted = _Wanted(period, by, start, stop, is_whole and not (by or as_json or as_csv))
    reader, question, mark = UsageReader(home_of(given), __version__), "", ""
    settings = settings_from(given)
    place = str(store_place(given, settings))
    if is_whole and by != "session" and "://" not in place:
        question = repr((wanted, settings.profile))
        mark = reader.mark([path for _, path in agent_places()], Path(place))
    found = reader.recall(question, mark, UsageReport) if mark else None
    if found is None:
        with gather(given, reader) as gathered:
            found = _report(gathered, wanted, given["project"])
            if mark:
                reader.remember(question, mark, found)
    if as_json:
        print_json(
            {
                "period": None if period == "all" else period,
                "by": by,
                "since": start,
                "until": stop,
                "rows": found.rows,
                "total": found.whole,
                "saved": found.saved,
                "notes": found.notes,
            }
        )
    elif as_csv:
        _csv([to_builtins(row) for row in found.rows], to_builtins(UsageRow()))
    else:
        show_usage(found, period, by, everything=everything)
        if found.rows and found.saved_words:
            Picture().paragraph(found.saved_words, indent=2)
        if found.rows and found.details:
            show_details(found.details)
    return 0


def _show_blocks(
    found: Gathered,
    given: Mapping[str, Any],
    limit: int | Literal["max"] | None,
    *,
    as_json: bool,
    as_csv: bool,
    full: bool,
) -> None:
    answers, _ = _within(found, given["project"])
    start, stop = _span(given)
    now, made = time.time(), UsageBlock.of(answers)  # a span would begin one of its own
    limits = UsageBlock.limits(made, limit, now)
    made = [one for one in made if _is_within(one.period.start, start, stop)]
    rows = [one.fields(now, limits.get(one.agent)) for one in made]
    if as_json:
        print_json({"blocks": rows, "notes": found.notes})
    elif as_csv:
        _csv(rows, ("agent", "start", "stop"))
    else:
        _draw_blocks(made, limits, now, found.notes, everything=full)


def _within(found: Gathered, project: str) -> tuple[AnswerTable, list[OwnCompaction]]:
    """Return the answers and compactions in a project, all if none is named."""
    if not project:
        return found.answers, found.own
    known = {row.root.project for row in found.answers} | {one.project for one in found.own}
    folders = folders_of(project, sorted(known))
    return (
        found.answers.where(lambda row: row.root.project in folders),
        [one for one in found.own if one.project in folders],
    )


def _report(found: Gathered, wanted: _Wanted, project: str) -> UsageReport:
    """Return what a command shows."""
    (answers, own), (start, stop) = _within(found, project), (wanted.start, wanted.stop)
    if start or stop:
        answers = answers.where(lambda row: _is_within(row.time, start, stop))
    rows, total = add_up_each(answers, [(wanted.period, wanted.by), ("all", None)])
    if wanted.by == "session":
        rows = [_as_stored(row, found) for row in rows]
    shown = found.answers.sessions(silent=True)
    saved = OwnCompaction.add_up(one for one in own if _is_within(one.time, start, stop))
    many = count_of(saved.known, "compaction")
    return UsageReport(
        rows=rows,
        whole=next(iter(total), UsageRow()),
        saved=to_builtins(saved),
        saved_words=f"Foldaway {saved.said} with {many}, by estimate." if saved.said else "",
        details=overview(shown, found.answers, (), found.prices) if wanted.details else None,
        notes=found.notes,
        newest=max((row.time or 0.0 for row in found.answers), default=0.0) if not rows else 0.0,
    )


def _as_stored(row: UsageRow, found: Gathered) -> UsageRow:
    """Return the row of a session with its id in the store, and the title there if it has none."""
    info = found.known.get((str(row.agent), str(row.session)))
    title = row.title or (short_title(name_in_words(info)) if info else "")
    return replace(row, stored=info.id if info else "", title=title)


def _period(given: Mapping[str, Any], by: Key | None) -> Period:
    chosen: dict[str, Period] = {"daily": "day", "weekly": "week", "monthly": "month"}
    named: list[Period] = [period for flag, period in chosen.items() if given[flag]]
    if len(named) > 1:
        raise usage_error("choose one of --daily, --weekly and --monthly")
    if named:
        return named[0]
    return "all" if by else "day"


def _span(given: Mapping[str, Any]) -> tuple[float | None, float | None]:
    since, until = given["since"], given["until"]
    return since and since.start, until and until.end


def _is_within(time: float | None, start: float | None, stop: float | None) -> bool:
    """Return whether a moment is in a span; an unknown one is if there are no bounds."""
    if time is None:
        return start is None and stop is None
    return (start is None or time >= start) and (stop is None or time < stop)


def _csv(rows: Sequence[dict[str, Any]], empty: Iterable[str] = ()) -> None:
    """Print the fields that `--json` has as CSV with a heading; `empty` is that of no rows."""
    out = io.StringIO()
    writer = csv.DictWriter(out, list(rows[0] if rows else empty), lineterminator="\n")
    writer.writeheader()
    for row in rows:
        writer.writerow({**row, "models": " ".join(row["models"])})
    click.echo(out.getvalue(), nl=False)


def _limit(text: str | None) -> int | Literal["max"] | None:
    if text is None or text == "max":
        return "max" if text else None
    if not text.isdecimal() or not int(text):
        raise usage_error(f"--limit: {text!r} is neither a number of tokens nor max")
    return int(text)


def _draw_blocks(
    blocks: Sequence[UsageBlock],
    limits: Mapping[str, int],
    now: float,
    notes: Iterable[str],
    *,
    everything: bool,
) -> None:
    picture = Picture()
    if not blocks:
        picture.line("No usage was found. Agents that Foldaway reads: foldaway import --help")
        return
    numbers = full if picture.console.width >= WIDE_COLUMNS else short
    hidden = 0 if everything else max(len(blocks) - SHOWN_ROWS, 0)
    lines: list[list[Piece]] = []
    for one in blocks[hidden:]:
        limit = limits.get(one.agent)
        used = [f"{one.period.tokens / limit:.0%}" if limit else ""] if limits else []
        cells = _cells(one.row, "all", None, {}, numbers)[:-1]
        lines.append([format_time(one.period.start), one.agent, *cells, *used])
    names = ("from", "agent", *_HEADINGS[:-1], "limit")[: len(lines[0])]
    picture.table("ltnnnnrrr"[: len(names)], lines, names=names)
    if hidden:
        picture.paragraph((f"{count_of(hidden, 'earlier row')} hidden; see --all", "dim"), indent=2)
    for one in blocks:
        if one.period.is_running(now):
            picture.paragraph(_describe(one, now, limits.get(one.agent)), indent=2)
    for note in notes:
        picture.note(note)


def _describe(block: UsageBlock, now: float, limit: int | None) -> str:
    """Return how a running block goes on, in sentences."""
    figures = block.figures(now, limit)
    an_hour, by_then = money(figures.cost_per_hour), money(figures.projected_cost)
    has_price = block.row.requests > block.row.unpriced_requests
    said = (
        f"{block.agent}: the block ends in {duration(figures.seconds_left)}. "
        f"{short(figures.tokens_per_minute)} tokens a minute"
        f"{f' and {an_hour} an hour' if has_price else ''}; at this rate "
        f"{short(figures.projected_tokens)} tokens{f' and {by_then}' if has_price else ''} by then."
    )
    if limit:
        left = figures.limit_seconds
        said += f" {figures.limit_share:.0%} of {short(limit)} tokens are used; "
        said += (
            "the limit is not reached before."
            if left is None
            else f"the limit is reached in {duration(left)}."
        )
    return said


_HEADINGS = ("input", "output", "written", "read", "total", "cost", "compactions")


def show_usage(found: UsageReport, period: Period, by: Key | None, *, everything: bool) -> None:
    """Print the rows as a table with its legend."""
    picture, rows, whole = Picture(), found.rows, found.whole
    if not rows:
        newest = format_time(found.newest)[:10]
        said = f"found for that; the newest is of {newest}" if found.newest else "found"
        picture.line(f"No usage was {said}. Agents that Foldaway reads: foldaway import --help")
        return
    hidden = 0 if everything else max(len(rows) - SHOWN_ROWS, 0)
    shown = rows[hidden:] if period != "all" else rows[: len(rows) - hidden]
    names = label_of(rows, by)
    numbers = full if picture.console.width >= WIDE_COLUMNS else short
    lines = [_cells(row, period, by, names, numbers) for row in (*shown, whole)]
    head = [*([period] if period != "all" else []), *([by] if by else [])]
    lines[-1] = [("all", "bold"), *([""] * (len(head) - 1)), *lines[-1][len(head) :]]
    columns = "l" * (period != "all") + "t" * bool(by) + "nnnnrr" + "n" * bool(whole.compactions)
    names_of = (*head, *_HEADINGS)[: len(columns)]
    picture.table(columns, [line[: len(columns)] for line in lines], names=names_of)
    if hidden:
        where = "earlier" if period != "all" else "smaller"
        picture.paragraph(
            (f"{count_of(hidden, f'{where} row')} hidden; see --all", "dim"), indent=2
        )
    legend = (
        "tokens: as the agents recorded them; input: neither read from the provider's cache nor "
        "written to it; cost: today's list prices, or as recorded if there is none"
    )
    if whole.unpriced_requests:
        legend += f"; +, ?: {count_of(whole.unpriced_requests, 'request')} of unknown price"
    picture.paragraph((legend, "dim"), indent=2)
    for note in found.notes:
        picture.note(note)


def show_details(made: Overview) -> None:
    """Print where the tokens went, the cache, and the compactions."""
    picture = Picture()
    _prompts(picture, made)
    _cache(picture, made)
    _compactions(picture, made)


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
    if made.read_after_compaction:
        said += (
            f" {count_of(made.read_after_compaction, 'time')} a file from before was read again "
            f"afterwards: {short(made.read_after_compaction_tokens)} tokens."
        )
    picture.paragraph(said, indent=2)


def _cells(
    row: UsageRow,
    period: Period,
    by: Key | None,
    names: Mapping[str, str],
    numbers: Callable[[int], str],
) -> list[Piece]:
    figures = (row.input_tokens, row.output_tokens, row.cache_write_tokens, row.cache_read_tokens)
    return [
        *([str(row.period) or "undated"] if period != "all" else []),
        *([names.get(row.key(by), "")] if by else []),
        *map(numbers, figures),
        numbers(row.total_tokens),
        (row.dollars, "bold"),
        f"{row.compactions:,}" if row.compactions else "",
    ]


def label_of(rows: Iterable[UsageRow], by: Key | None) -> dict[str, str]:
    """Return the keys of rows as people see them: folders by their last parts, titles."""
    keys = {row.key(by): row for row in rows}
    if by == "project":
        return {key: make_plain(name) for key, name in short_paths(keys).items()}
    if by == "session":
        return {key: " ".join(filter(None, _id_and_title(key, row))) for key, row in keys.items()}
    return {key: make_plain(key) or "unknown" for key in keys}


def _id_and_title(key: str, row: UsageRow) -> tuple[str, str]:
    """Return the id in the store, or if it is not there the agent's, and the title of a session."""
    short_key = key[:_SHORT_ID] if key[:_SHORT_ID].isalnum() else ""
    shown_id = clip_id(row.stored) if row.stored else short_key
    untitled = NO_WORDS if shown_id else key
    return shown_id, join_on_one_line(str(row.title) or untitled)
