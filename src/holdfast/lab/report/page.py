"""The page of a run: one file that opens by itself, for readers who have never heard of us."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from statistics import median

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape
from msgspec import Struct

from holdfast.lab.output import Summary
from holdfast.lab.report.command import command_of
from holdfast.lab.report.glossary import ENTRIES, FAULTS, title_of
from holdfast.lab.report.inline import inline
from holdfast.lab.report.losses import behind, losses
from holdfast.lab.report.plots.draw import Plot
from holdfast.lab.report.plots.taken import MOST_FAMILIES
from holdfast.lab.report.tables import failures, fault_rows, tables
from holdfast.lab.report.verdict import (
    ADVERSARIES,
    LEAST_SESSIONS,
    MAIN_SCORES,
    OFTEN_OVER,
    Difference,
    Finding,
    differences,
    findings,
)
from holdfast.lab.report.words import drifting, headline, number, own, signed, with_more
from holdfast.lab.rows import Row
from holdfast.lab.session_rows import LONG_LIVED, OWN
from holdfast.lab.terms import Asked, all_ways
from holdfast.lab.ways.registry import OURS, WITH_MODEL

_HERE = Path(__file__).parent
_MOST_SKIPPED = 50
_ANY = "peers"
"""Any folder, for no peer is started."""


class Family(Struct, frozen=True):
    """What a family's figures stand on."""

    name: str
    sessions: int
    cuts: int
    middle_tokens: int
    most_tokens: int


def page(summary: Summary, rows: Sequence[Row], plots: Sequence[Plot]) -> str:
    """Return the page; nothing that a session says is in it but names of sessions."""
    manifest = summary.manifest
    cuts = [row for row in rows if row.part == "cut"]
    found = differences(rows)
    at_main = findings(summary.lines, found, manifest.main, MAIN_SCORES)
    over = findings(summary.lines, found, manifest.main, MAIN_SCORES, "over")
    environment = Environment(
        loader=FileSystemLoader(_HERE), autoescape=True, undefined=StrictUndefined,
        trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True,
    )  # fmt: skip
    return environment.get_template("page.html.j2").render(
        number=number, signed=signed, title_of=title_of, manifest=manifest,
        share=f"{manifest.main * 100:g} %", families=_families(cuts),
        ours=any(line.strategy == OURS and line.figures for line in summary.lines),
        headlines=[(headline(at_main, score), with_more(over, score)) for score in MAIN_SCORES],
        main_scores=MAIN_SCORES, over={(one.family, one.figure): one for one in over},
        cards=_cards(at_main), own=own(found), drifting=drifting(rows, MAIN_SCORES),
        losses=losses(summary, found),
        outdone={
            terms: {
                family.name: behind(summary, found, family.name, terms)
                for family in _families(cuts)
            }
            for terms in ("over", "adversary")
        },
        compared=_compared(found, manifest.main), least=LEAST_SESSIONS, often=f"{OFTEN_OVER:.0%}",
        strategies=_strategies(summary), entries=ENTRIES, faults=FAULTS,
        plots=[(plot, Markup(inline(plot.svg, plot.name, str(escape(plot.caption)))))
               for plot in plots],
        most_families=MOST_FAMILIES, tables=tables(summary, found),
        fault_rows=list(fault_rows(cuts)),
        failures=failures(summary.lines), skipped=summary.skipped[:_MOST_SKIPPED],
        more_skipped=max(len(summary.skipped) - _MOST_SKIPPED, 0), command=command_of(manifest),
    )  # fmt: skip


def _families(rows: Sequence[Row]) -> list[Family]:
    sizes: dict[str, dict[tuple[str, int], int]] = {}
    for row in rows:
        sizes.setdefault(row.family, {})[row.session, row.cut] = row.tokens_before
    return [
        Family(name, len({session for session, _ in at}), len(at), round(median(at.values())),
               max(at.values()))
        for name, at in sorted(sizes.items())
    ]  # fmt: skip


def _cards(found: Sequence[Finding]) -> dict[str, list[Finding]]:
    cards: dict[str, list[Finding]] = {}
    for one in found:
        cards.setdefault(one.family, []).append(one)
    return cards


def _compared(found: Sequence[Difference], budget: float) -> int:
    return sum(one.part == "cut" and one.budget == budget and one.standing != "too few"
               for one in found)  # fmt: skip


def _strategies(summary: Summary) -> list[tuple[str, str]]:
    """Return all strategies of the run and what each does."""
    known = {way.name: way.what for way in all_ways(Asked(budgets=(), peer_folder=_ANY))}
    known |= {
        WITH_MODEL: f"Holdfast with a summary by {summary.manifest.asked.get('summarizer', '')}",
        LONG_LIVED: "Holdfast as it runs in an agent: it keeps its state between compactions",
        OWN: "the summary that the agent of the session wrote itself",
    }
    names = dict.fromkeys((*summary.manifest.strategies, *(one.strategy for one in summary.lines)))
    said = [(name, known.get(name, "")) for name in names]
    return [
        (name, f"{what}; here to show that a score can be gamed" if name in ADVERSARIES else what)
        for name, what in said
    ]
