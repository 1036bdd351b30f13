"""The report of a run as Markdown, part by part: what docs/benchmarks.md is made of."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from msgspec import Struct

from holdfast.lab.output import Summary, read_summary
from holdfast.lab.report.glossary import ENTRIES, FAULTS, title_of
from holdfast.lab.report.losses import behind, losses
from holdfast.lab.report.tables import failures, fault_rows
from holdfast.lab.report.verdict import (
    LEAST_SESSIONS,
    MAIN_SCORES,
    Difference,
    differences,
    findings,
)
from holdfast.lab.report.words import drifting, headline, interval, number, own, signed, with_more
from holdfast.lab.rows import Row
from holdfast.lab.run import read_run
from holdfast.lab.summary import SPEED, Line
from holdfast.lab.table import COLUMNS, cell, title
from holdfast.lab.ways.registry import OURS


class Run(Struct, frozen=True):
    """A run of the lab as read from its folder."""

    summary: Summary
    rows: list[Row]
    found: list[Difference]

    @property
    def main(self) -> list[Line]:
        """The lines of the main budget."""
        main = self.summary.manifest.main
        return [line for line in self.summary.lines if (line.part, line.budget) == ("cut", main)]

    @property
    def share(self) -> str:
        """The main budget in words."""
        return f"{self.summary.manifest.main * 100:g} %"


def read(folder: Path) -> Run:
    """Return a run; raises `NotReadable`."""
    rows = read_run(folder)[1]
    return Run(read_summary(folder), rows, differences(rows))


def verdict(run: Run) -> Iterator[str]:
    """Yield the verdict in words, and the differences that it stands on."""
    found = findings(run.summary.lines, run.found, run.summary.manifest.main, MAIN_SCORES)
    over = findings(run.summary.lines, run.found, run.summary.manifest.main, MAIN_SCORES, "over")
    for score in MAIN_SCORES:
        yield f"- {headline(found, score)} {with_more(over, score)}".rstrip()
    yield ""
    yield (
        "“Ahead” and “behind” are said only where the 95 % interval of the difference, session by "
        f"session, lies wholly on one side of zero, and at least {LEAST_SESSIONS} sessions have "
        "both. Holdfast is the one without a model. A strategy that takes more than it was allowed "
        "in more than one of ten cuts, or that keeps no usable text, is no equal and stands apart."
    )
    yield ""
    others = dict.fromkeys(one.other for finding in (*found, *over) for one in finding.against)
    for score in MAIN_SCORES:
        mine = {one.family: one for one in found if one.figure == score}
        more = {one.family: one for one in over if one.figure == score}
        if not mine:
            continue
        yield (
            f"Holdfast minus the others, {title_of(score)} (bold: beyond chance; †: took more "
            "tokens than allowed):"
        )
        yield ""
        yield f"| | {' | '.join(map(_flat, mine))} |"
        yield "| --- |" + " --- |" * len(mine)
        yield f"| holdfast | {' | '.join(interval(one.ours) for one in mine.values())} |"
        for other in others:
            cells = [
                _difference(one.against, other, "")
                or _difference(more[one.family].against, other, " †")
                or "–"
                for one in mine.values()
            ]
            yield f"| {_flat(other)} | {' | '.join(cells)} |"
        yield ""


def _difference(against: Sequence[Difference], other: str, mark: str) -> str:
    for one in against:
        if one.other == other:
            said = signed(one.by)
            bold = "**" if one.standing in ("ahead", "behind") else ""
            return f"{bold}{said}{bold}{mark}"
    return ""


def where_it_loses(run: Run) -> Iterator[str]:
    """Yield what speaks against Holdfast."""
    for family, sentences in losses(run.summary, run.found).items():
        yield f"- **{family}**" + ("" if sentences else ": nowhere beyond chance, among equals.")
        for sentence in sentences:
            yield f"  - {sentence}"
    yield ""
    yield "With more tokens than allowed, or without usable text:"
    yield ""
    for family in dict.fromkeys(line.family for line in run.main):
        rows = [*behind(run.summary, run.found, family, "over"),
                *behind(run.summary, run.found, family, "adversary")]  # fmt: skip
        yield f"- **{family}**" + ("" if rows else ": nobody is ahead.")
        for sentence in rows:
            yield f"  - {sentence}"
    yield ""


def legend() -> Iterator[str]:
    """Yield what the columns say."""
    for name in (*COLUMNS, SPEED):
        one = ENTRIES[name]
        yield f"- **{name}**: {one.says} *{one.example}*"
    yield ""


def table(lines: Sequence[Line]) -> Iterator[str]:
    """Yield a table of one family, with intervals."""
    most = max(line.sessions for line in lines)
    there = [name for name in COLUMNS if any(name in line.figures for line in lines)]
    yield f"### {title(lines[0])} ({most} session{'s' * (most != 1)})"
    yield ""
    yield f"| | {' | '.join(there)} | {SPEED} (a time) |"
    yield "| --- |" + " --- |" * (len(there) + 1)
    for line in lines:
        name = f"**{line.strategy}**" if line.strategy.startswith(OURS) else _flat(line.strategy)
        if not line.figures:
            yield f"| {name} | {_flat(line.failed)} |" + " |" * len(there)
            continue
        speed = line.figures.get(SPEED)
        cells = [cell(line.figures.get(one)) for one in there]
        yield f"| {name} | {' | '.join(cells)} | {'–' if speed is None else number(speed.mean)} |"
    yield ""


def faults(run: Run) -> Iterator[str]:
    """Yield what must not be, who failed, and what was skipped."""
    meant = "; ".join(f"{name}: {what}" for name, what in FAULTS.items())
    yield f"Over all cuts and budgets. {meant}."
    yield ""
    yield f"| | {' | '.join(FAULTS)} | broken rules of providers | over budget |"
    yield "| --- |" + " --- |" * (len(FAULTS) + 2)
    for row in fault_rows([row for row in run.rows if row.part == "cut"]):
        counts = " | ".join(map(str, row.counts))
        yield f"| {_flat(row.strategy)} | {counts} | {row.violations} | {row.over} |"
    yield ""
    said = [f"- {name} failed: {_flat(reason)} ({_flat(places)})"
            for name, reason, places in failures(run.summary.lines)]  # fmt: skip
    if run.summary.skipped:
        said.append(f"- {len(run.summary.skipped)} files or lines were not readable and skipped.")
    yield from [*said, ""] if said else ["Nothing failed, and nothing was skipped.", ""]


def again_and_again(run: Run) -> Iterator[str]:
    """Yield what compactions in a row change."""
    yield (
        "What the most compactions change beside a single one, over the sessions that are long "
        "enough. `holdfast-long-lived` keeps its state, as in an agent; `holdfast` knows only "
        "the transcript that the last compaction left."
    )
    yield ""
    scores = " | ".join(title_of(score) for score in MAIN_SCORES)
    yield f"| family | strategy | compactions | sessions | {scores} |"
    yield "| --- |" + " --- |" * (3 + len(MAIN_SCORES))
    for row in drifting(run.rows, MAIN_SCORES):
        yield f"| {' | '.join(map(_flat, row))} |"
    yield ""


def beside_own(run: Run) -> Iterator[str]:
    """Yield how Holdfast stands to summaries that agents wrote themselves."""
    yield "In as many tokens as the summary that the agent of the session wrote itself:"
    yield ""
    for sentence in own(run.found):
        yield f"- {sentence}"
    yield ""


def _flat(text: str) -> str:
    return " ".join(text.replace("|", "/").split())
