"""The page of a run: one file that opens by itself, for readers who have never heard of us."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from statistics import median

from msgspec import Struct

from foldaway.errors import MissingExtra
from foldaway.lab.figures import FAULTS, glossary, title_of
from foldaway.lab.report.panels import COLORS, MOST_FAMILIES
from foldaway.lab.report.plots import Plot
from foldaway.lab.report.tables import REASON_CHARS, command_of, failures, fault_rows, tables
from foldaway.lab.report.verdict import (
    LEAST_SESSIONS,
    MAIN_SCORES,
    OFTEN_OVER,
    ScoreFinding,
    compare_at_budget,
    compare_strategies,
    describe_over_budget,
    format_difference,
    format_number,
    list_drifts,
    list_losses,
    list_own,
    list_rivals,
    write_headline,
)
from foldaway.lab.results import (
    ADVERSARIES,
    LONG_LIVED,
    OURS,
    OWN,
    WITH_MODEL,
    RunSummary,
    ScoreRow,
)
from foldaway.lab.strategies import PLAIN

try:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined
    from markupsafe import Markup, escape
except ModuleNotFoundError as error:
    raise MissingExtra("lab", "the report of a run") from error

_BEFORE = re.compile(r"\A.*?(?=<svg\b)", re.DOTALL)
_LEFT_OUT = re.compile(r"\s*<metadata>.*?</metadata>|\s*<style\b.*?</style>", re.DOTALL)
_TAG = re.compile(r"<[^>]*>")
_SPACES = re.compile(r'\sxmlns(?::\w+)?="[^"]*"')
_ID = re.compile(r'(\bid="|url\(#|href="#)')
_COLOR = re.compile(r"#[0-9a-f]{6}\b")
_FONT = re.compile(r"font-family: [^;\"]*")
_SIZE = re.compile(r'\swidth="([\d.]+)pt"\sheight="[\d.]+pt"')
_LEAST_WIDTH = 640
"""Pixels; below it the labels of a plot cannot be read, so it scrolls instead."""
_HERE = Path(__file__).parent
_MOST_SKIPPED = 50
"""Skipped files that the page names; the rest is a count."""


def inline_svg(svg: str, name: str, label: str) -> str:
    """Return the SVG of a plot as it stands in HTML; `label` is read to those who cannot see it.

    `label` has to be escaped already. Colours become variables of the page's style.
    """
    bare = _TAG.sub(lambda tag: _tag(tag[0], name), _LEFT_OUT.sub("", _BEFORE.sub("", svg)))
    return _SIZE.sub(
        lambda size: f' role="img" aria-label="{label}" style="{_width(size[1])}"', bare, count=1
    ).strip()


def _tag(tag: str, name: str) -> str:
    """Return a tag as the page wants it; what stands between tags, as names do, is not touched."""
    bare = _SPACES.sub("", tag).replace("xlink:href", "href")
    bare = _FONT.sub("font-family: inherit", _ID.sub(lambda found: f"{found[1]}{name}-", bare))
    return _COLOR.sub(
        lambda color: f"var(--{COLORS[color[0]]})" if color[0] in COLORS else color[0], bare
    )


def _width(points: str) -> str:
    """Return the width as drawn, and the least at which its words can be read."""
    width = round(float(points) * 4 / 3)
    return f"width:{width}px;min-width:{min(width, _LEAST_WIDTH)}px"


class Family(Struct, frozen=True):
    """What a family's figures stand on."""

    name: str
    sessions: int
    cuts: int
    middle_tokens: int
    most_tokens: int


def page(summary: RunSummary, rows: Sequence[ScoreRow], plots: Sequence[Plot]) -> str:
    """Return the page; nothing that a session says is in it but names of sessions."""
    manifest = summary.manifest
    cuts = [row for row in rows if row.part == "cut"]
    found = compare_strategies(rows)
    at_main = compare_at_budget(summary.lines, found, manifest.main, MAIN_SCORES)
    over = compare_at_budget(summary.lines, found, manifest.main, MAIN_SCORES, "over")
    environment = Environment(
        loader=FileSystemLoader(_HERE),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    return environment.get_template("page.html.j2").render(
        number=format_number,
        signed=format_difference,
        title_of=title_of,
        manifest=manifest,
        share=f"{manifest.main * 100:g} %",
        families=_families(cuts),
        ours=any(line.strategy == OURS and line.figures for line in summary.lines),
        headlines=[
            (write_headline(at_main, score), describe_over_budget(over, score))
            for score in MAIN_SCORES
        ],
        main_scores=MAIN_SCORES,
        over={(one.family, one.figure): one for one in over},
        cards=_cards(at_main),
        own=list_own(found),
        drifting=list_drifts(rows, MAIN_SCORES),
        losses=list_losses(summary, found),
        outdone={
            terms: {
                family.name: list_rivals(summary, found, family.name, terms)
                for family in _families(cuts)
            }
            for terms in ("over", "adversary")
        },
        compared=sum(
            one.standing != "too few"
            for one in found
            if (one.part, one.budget) == ("cut", manifest.main)
        ),
        least=LEAST_SESSIONS,
        often=f"{OFTEN_OVER:.0%}",
        strategies=_strategies(summary),
        entries=glossary(),
        faults=FAULTS,
        plots=[
            (plot, Markup(inline_svg(plot.svg, plot.name, str(escape(plot.caption)))))
            for plot in plots
        ],
        most_families=MOST_FAMILIES,
        tables=tables(summary, found),
        reason_chars=REASON_CHARS,
        fault_rows=list(fault_rows(cuts)),
        failures=failures(summary.lines),
        skipped=summary.skipped[:_MOST_SKIPPED],
        more_skipped=max(len(summary.skipped) - _MOST_SKIPPED, 0),
        command=command_of(manifest),
    )


def _families(rows: Sequence[ScoreRow]) -> list[Family]:
    sizes: dict[str, dict[tuple[str, int], int]] = {}
    for row in rows:
        sizes.setdefault(row.family, {})[row.session, row.cut] = row.tokens_before
    return [
        Family(
            name,
            len({session for session, _ in at}),
            len(at),
            round(median(at.values())),
            max(at.values()),
        )
        for name, at in sorted(sizes.items())
    ]


def _cards(found: Sequence[ScoreFinding]) -> dict[str, list[ScoreFinding]]:
    cards: dict[str, list[ScoreFinding]] = {}
    for one in found:
        cards.setdefault(one.family, []).append(one)
    return cards


def _strategies(summary: RunSummary) -> list[tuple[str, str]]:
    """Return all strategies of the run and what each does."""
    known = {
        **{strategy.name: strategy.what for strategy in PLAIN},
        **summary.manifest.peers,
        WITH_MODEL: f"Foldaway with a summary by {summary.manifest.asked.get('summarizer', '')}",
        LONG_LIVED: "Foldaway as it runs in an agent: it keeps its state between compactions",
        OWN: "the summary that the agent of the session wrote itself",
    }
    names = dict.fromkeys((*summary.manifest.strategies, *(one.strategy for one in summary.lines)))
    said = [(name, known.get(name, "")) for name in names]
    return [
        (name, f"{what}; here to show that a score can be gamed" if name in ADVERSARIES else what)
        for name, what in said
    ]
