"""The tables of a run: as Markdown, and as values for the page."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from shlex import quote

from msgspec import Struct

from foldaway.lab.figures import COST, FAULTS, OVER, RATES, SPEED, USED, glossary
from foldaway.lab.report.verdict import ScoreDifference, Standing, join_names, with_interval
from foldaway.lab.results import (
    MAIN_SHARE,
    OURS,
    OWN,
    MeanInterval,
    PooledShare,
    RunManifest,
    RunSummary,
    ScoreLine,
    ScoreRow,
    StatementLine,
    count_broken_rules,
)
from foldaway.lab.scoring.tally import STATEMENTS

COLUMNS = (*RATES, USED, COST)
LEGEND = (
    "Means over sessions, 95 % bootstrap intervals below. recall: facts that the agent used after "
    "the cut and that still stand in the view; far: those neither in the first message nor in the "
    "last tenth; bound: beside their own words; copy4: runs of four words that the agent wrote "
    "again; answers: questions about the past that the view answers, the answer beside its cue; "
    "files P, R: precision and recall of changed files; errors: error lines that nothing "
    "settled; commands: those run again later; constraints: the user's; reach: kept, or among the "
    "first five hits of a search for the words beside it; stale: changed values of which only an "
    "old one is shown; used: tokens as a share of the budget; cost: price of the rest of the "
    "session over that of going on with everything, cache counted."
)
_TITLES = {
    "cut": "at {budget:.0%}",
    "drift": "after {steps} compactions, {budget:.0%}",
    "own": "in as many tokens as the agent's own summary",
}
_SHOWN = (*COLUMNS, OVER, SPEED)
REASON_CHARS = 300
"""Of a failure; a traceback of a peer may be longer than the table."""
_MARKS: dict[Standing, str] = {"ahead": "▼", "behind": "▲", "even": "", "too few": ""}
"""Beside another's figure: Foldaway is ahead, so it is lower."""


def groups(lines: Sequence[ScoreLine]) -> dict[tuple[str, str, float, int], list[ScoreLine]]:
    """Return the lines that stand in one table, in order."""
    found: dict[tuple[str, str, float, int], list[ScoreLine]] = {}
    for line in lines:
        found.setdefault((line.part, line.family, line.budget, line.steps), []).append(line)
    return found


def title(line: ScoreLine) -> str:
    """Return what a table is about, by one of its lines."""
    what = _TITLES[line.part].format(budget=line.budget, steps=line.steps)
    return f"{line.family}, {what}"


def markdown(lines: Sequence[ScoreLine], main: float) -> str:
    """Return a table for each family: the main budget first, then other budgets, drift, own."""
    parts = ["# Results\n", LEGEND, ""]
    found = groups(lines)
    order = sorted(found, key=lambda key: (key[0] != "cut", key[0], key[2] != main, *key[1:]))
    for key in order:
        rows = found[key]
        most = max(line.sessions for line in rows)
        parts.append(f"## {title(rows[0])} ({most} sessions)\n")
        parts.append(f"| | {' | '.join(COLUMNS)} | faults | {SPEED} |")
        parts.append("| --- |" + " --- |" * (len(COLUMNS) + 2))
        parts.extend(map(_row, rows))
        parts.append("")
        parts.extend(_statements(rows))
    return "\n".join(parts)


def _statements(lines: Sequence[ScoreLine]) -> Iterator[str]:
    """Yield the table of what records claim; nothing if no strategy gives messages."""
    told = [line for line in lines if line.statements]
    kinds = [kind for kind in STATEMENTS if any(kind in line.statements for line in told)]
    if kinds:
        yield "Statements: precision of what is claimed / recall of what should be told.\n"
        yield f"| | {' | '.join(kinds)} |"
        yield "| --- |" + " --- |" * len(kinds)
        for line in told:
            cells = [_format_line(line.statements.get(kind)) for kind in kinds]
            yield f"| {line.strategy} | {' | '.join(cells)} |"
        yield ""


def _format_line(line: StatementLine | None) -> str:
    if line is None:
        return "–"
    shares = [line.precision, line.recall]
    return " / ".join("–" if one is None else _share(one) for one in shares)


def _share(found: PooledShare) -> str:
    low, high = format_short(found.low), format_short(found.high)
    return f"{format_short(found.share)} ({low}–{high}, {found.part:g} of {found.whole:g})"


def _row(line: ScoreLine) -> str:
    if not line.figures:
        return f"| {line.strategy} | {line.failed} |" + " |" * (len(COLUMNS) + 1)
    cells = [format_cell(line.figures.get(name)) for name in COLUMNS]
    speed = line.figures.get(SPEED)
    fast = "–" if speed is None else f"{speed.mean:,.0f}"
    return f"| {line.strategy} | {' | '.join(cells)} | {faults(line)} | {fast} |"


def format_cell(found: MeanInterval | None) -> str:
    """Return a mean with its interval."""
    return "–" if found is None else with_interval(found, format_short, "–")


def format_short(value: float) -> str:
    """Return a figure in as few signs as it needs."""
    return f"{value:.2f}".replace("0.", ".", 1) if abs(value) < 0.995 else f"{value:.1f}"


def faults(line: ScoreLine) -> str:
    """Return what must not be: counts that are not 0, broken rules, budgets not kept."""
    said = [f"{count} {name}" for name, count in line.counts.items() if count]
    broken = sum((line.violations or {}).values())
    if broken:
        said.append(f"{broken} broken rules")
    over = line.figures.get(OVER)
    if over is not None and over.mean > 0:
        said.append(f"over budget in {over.mean:.0%}")
    if line.failed:
        said.append(line.failed)
    return "; ".join(said) or "none"


class Table(Struct, frozen=True, kw_only=True):
    """All strategies in one family under the same conditions."""

    title: str
    sessions: int
    is_main: bool
    figures: list[str]
    lines: list[ScoreLine]
    marks: dict[tuple[str, str], str]
    """By strategy and figure, how it stands to Foldaway's."""


class FaultRow(Struct, frozen=True):
    """What a strategy did that must not be, over all cuts and budgets."""

    strategy: str
    is_ours: bool
    counts: list[int]
    violations: str
    over: str


def tables(summary: RunSummary, found: Sequence[ScoreDifference]) -> list[Table]:
    """Return the tables of the main budget first, then those of other budgets, drift, own."""
    main = summary.manifest.main
    made = groups(summary.lines)
    order = sorted(made, key=lambda key: (key[0] != "cut", key[0], key[2] != main))
    return [
        Table(
            title=_title(made[key][0]),
            sessions=max(line.sessions for line in made[key]),
            is_main=key[0] == "cut" and key[2] == main,
            lines=made[key],
            figures=[name for name in _SHOWN if any(name in line.figures for line in made[key])],
            marks={
                (one.other, one.figure): _MARKS[one.standing]
                for one in found
                if (one.part, one.family, one.budget, one.steps) == key
            },
        )
        for key in order
    ]


def _title(line: ScoreLine) -> str:
    share = f"{line.budget * 100:g} % of the tokens"
    what = {
        "cut": f"at {share}",
        "drift": f"after {line.steps} compaction{'s' * (line.steps > 1)}, {share}",
        "own": "in as many tokens as the agent's own summary",
    }
    return f"{line.family}, {what[line.part]}"


def fault_rows(rows: Sequence[ScoreRow]) -> Iterator[FaultRow]:
    """Yield what each strategy did wrong in these rows."""
    by: dict[str, list[ScoreRow]] = {}
    for row in rows:
        if not row.failed:
            by.setdefault(row.strategy, []).append(row)
    for strategy, mine in by.items():
        broken = count_broken_rules(mine)
        checked = sum(row.violations is not None for row in mine)
        wrong = [f"{count:,} for {name}" for name, count in (broken or {}).items() if count]
        over = sum(row.is_over for row in mine)
        yield FaultRow(
            strategy,
            strategy.startswith(OURS),
            [sum(row.counts.get(fault, 0) for row in mine) for fault in FAULTS],
            "no messages to check"
            if not checked
            else f"{join_names(wrong) or '0'} ({checked:,} views)",
            f"{over:,} of {len(mine):,} views",
        )


def failures(lines: Sequence[ScoreLine]) -> list[tuple[str, str, str]]:
    """Return who failed, why, and where; one reason once."""
    where: dict[tuple[str, str], list[str]] = {}
    for line in lines:
        if line.failed:
            where.setdefault((line.strategy, line.failed[:REASON_CHARS]), []).append(_title(line))
    return [(name, reason, "; ".join(places)) for (name, reason), places in where.items()]


def command_of(manifest: RunManifest) -> str:
    """Return the command, without peers; a manifest holds neither the files nor what changes no
    figure.
    """
    names = [name for name in manifest.strategies if name not in manifest.peers]
    budgets = ",".join(f"{budget * 100:g}" for budget in manifest.budgets)
    parts = [f"foldaway lab run FILES… --strategies {quote(','.join(names))} --budgets {budgets}"]
    for name, value in manifest.asked.items():
        if value:
            parts.append(f"--{name} {quote(value)}")
    if not manifest.drifting:
        parts.append("--no-drift")
    return " ".join(parts)


_IN_TERMINAL = (
    "bound",
    "far",
    "copy4",
    "answers",
    "files R",
    "errors",
    "constraints",
    "reach",
    USED,
    COST,
)
"""Scores that a terminal shows if not all are asked for."""


class TextRow(Struct, frozen=True):
    """A strategy in a table for a terminal."""

    strategy: str
    is_ours: bool
    bound: float | None
    cells: list[str]
    faults: str


class TextTable(Struct, frozen=True):
    """One family at one budget, for a terminal."""

    title: str
    rows: list[TextRow]
    said: str
    """What Foldaway kept, in a sentence; "" if it was not tried."""


class RunText(Struct, frozen=True):
    """What a terminal shows of a run."""

    columns: tuple[str, ...]
    tables: list[TextTable]
    legend: list[tuple[str, str]]
    """Names of columns, and what they say."""


def describe_run(lines: Sequence[ScoreLine], *, everything: bool = False) -> RunText:
    """Return the tables of the main budget, or all of them with all scores and intervals."""
    shown = lines if everything else _main_lines(lines)
    columns = COLUMNS if everything else _IN_TERMINAL
    legend = [(name, glossary()[name].says) for name in columns if name in glossary()]
    made = [_text_table(rows, columns, everything) for rows in groups(shown).values()]
    if any(row.faults for table in made for row in table.rows):
        faults = ". ".join(f"{name}: {what}" for name, what in FAULTS.items())
        legend.append(
            (
                "faults",
                "What must not be. over: the share of cuts at which more was taken than allowed. "
                f"rules: rules of the provider that were broken. {faults}.",
            )
        )
    return RunText(columns, made, legend)


def _main_lines(lines: Sequence[ScoreLine]) -> list[ScoreLine]:
    """Return the lines of the budget next to 20 %, and those of agents' own summaries."""
    budgets = {line.budget for line in lines if line.part == "cut"}
    nearest = min(budgets, key=lambda share: abs(share - MAIN_SHARE)) if budgets else 0.0
    return [
        line
        for line in lines
        if (line.part == "cut" and line.budget == nearest) or line.part == "own"
    ]


def _text_table(lines: Sequence[ScoreLine], columns: Sequence[str], everything: bool) -> TextTable:
    form = format_cell if everything else _format_mean
    most = max(line.sessions for line in lines)
    rows = [
        TextRow(
            line.strategy,
            line.strategy.startswith(OURS),
            line.figures["bound"].mean if "bound" in line.figures else None,
            [form(line.figures.get(name)) for name in columns],
            _few_faults(line),
        )
        for line in lines
    ]
    title_text = f"{title(lines[0])}, {most:,} session{'s' * (most != 1)}"
    return TextTable(title_text, rows, _compare_kept(lines))


def _format_mean(found: MeanInterval | None) -> str:
    return "–" if found is None else f"{found.mean:.2f}"


def _compare_kept(lines: Sequence[ScoreLine]) -> str:
    """Return in a sentence what Foldaway kept beside the end alone and beside the agent itself."""
    kept = {line.strategy: line.figures["bound"].mean for line in lines if "bound" in line.figures}
    if OURS not in kept:
        return ""
    others = {"keep-tail": "keeping the end alone kept", OWN: "the agent's own summary kept"}
    said = [f"{what} {kept[name]:.0%}" for name, what in others.items() if name in kept]
    size = f"At {lines[0].budget:.0%} of the tokens" if lines[0].budget else "In the same size"
    first = f"{size} Foldaway kept {kept[OURS]:.0%} of what the agent used later"
    return f"{'; '.join([first, *said])}."


def _few_faults(line: ScoreLine) -> str:
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
