"""Plots with a row for each strategy: dots with intervals, stacked bars, bars of time."""

# matplotlib leaves the types of its **kwargs open
# pyright: reportUnknownMemberType=false

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from matplotlib.ticker import FuncFormatter

from holdfast.lab.output import Summary
from holdfast.lab.report.glossary import title_of
from holdfast.lab.report.plots.grid import Grid, Layout, grid, nothing, room_for
from holdfast.lab.report.plots.style import (
    BLUE,
    FAINT,
    GREY,
    INK,
    PAPER,
    SKY,
    Look,
    drawable,
    is_ours,
    looks,
)
from holdfast.lab.report.plots.taken import counts, families, main_lines, strategies
from holdfast.lab.report.verdict import MAIN_SCORES, terms_of
from holdfast.lab.rows import Row
from holdfast.lab.scoring.stats import Estimate
from holdfast.lab.summary import SPEED, Line

_ROW = 0.19


def scores_plot(summary: Summary, rows: Sequence[Row]) -> Figure | None:
    """Return bound recall and copy4 of all strategies, as dots with intervals."""
    del rows
    share = f"{summary.manifest.main:.0%}".replace("%", " %")
    return _dots(summary, MAIN_SCORES, f"What is kept at {share} of the tokens")


def signals_plot(summary: Summary, rows: Sequence[Row]) -> Figure | None:
    """Return far recall, files, error lines and constraints, as dots with intervals."""
    del rows
    share = f"{summary.manifest.main:.0%}".replace("%", " %")
    scores = ("far", "files R", "errors", "constraints")
    return _dots(summary, scores, f"Far facts, files, errors and demands at {share} of the tokens")


def reach_plot(summary: Summary, rows: Sequence[Row]) -> Figure | None:
    """Return what of the needed facts is kept, found again and lost, as stacked bars."""
    del rows
    made = _panels(
        summary, ("recall",), "Needed facts: kept, found again by search, lost", legend_rows=1
    )
    if made is None:
        return None
    found, lines, names = made
    parts = (("kept in view", BLUE), ("found again by search", SKY), ("lost", FAINT))
    for (_, family), axes in found.panels.items():
        for at, name in enumerate(names):
            line = lines.get((family, name))
            figures = {} if line is None else line.figures
            if "recall" not in figures or "reach" not in figures:
                continue
            kept, reach = figures["recall"].mean, max(figures["reach"].mean, figures["recall"].mean)
            begin = 0.0
            for (_, colour), share in zip(parts, (kept, reach - kept, 1 - reach), strict=True):
                axes.barh(at, share, left=begin, height=0.72, color=colour, linewidth=0)
                begin += share
        axes.grid(visible=False, axis="y")
        _shares(axes)
    found.figure.legend(
        handles=[Patch(color=colour, label=label) for label, colour in parts], loc="lower left",
        ncols=3, frameon=False, borderaxespad=0.3,
    )  # fmt: skip
    return found.figure


def speed_plot(summary: Summary, rows: Sequence[Row]) -> Figure | None:
    """Return the CPU time of each strategy as bars on a logarithmic scale."""
    del rows
    made = _panels(summary, (SPEED,), "CPU milliseconds per 100,000 tokens (a time)")
    if made is None:
        return None
    found, lines, names = made
    times = [line.figures[SPEED] for line in lines.values() if SPEED in line.figures]
    begin = max(min((time.low for time in times), default=1.0) / 2, 0.001)
    end = max((time.high for time in times), default=1.0) * 1.5
    for (_, family), axes in found.panels.items():
        axes.set_xscale("log")
        axes.set_xlim(begin, max(end, begin * 10))
        axes.minorticks_off()
        axes.grid(visible=False, axis="y")
        axes.xaxis.set_major_formatter(FuncFormatter(_plain))
        for at, name in enumerate(names):
            line = lines.get((family, name))
            figure = None if line is None else line.figures.get(SPEED)
            if figure is None:
                continue
            colour = BLUE if is_ours(name) else GREY
            axes.barh(at, max(figure.mean - begin, 0), left=begin, height=0.66, color=colour)
            low, high = max(figure.low, begin), max(figure.high, begin)
            axes.plot([low, high], [at, at], color=INK, linewidth=1.0)
    return found.figure


def _dots(summary: Summary, scores: Sequence[str], title: str) -> Figure | None:
    lines = main_lines(summary)
    there = [score for score in scores if any(score in line.figures for line in lines.values())]
    made = _panels(summary, there, title) if there else None
    if made is None:
        return None
    found, lines, names = made
    styles = looks(names)
    for (score, family), axes in found.panels.items():
        axes.set_xlabel(title_of(score))
        _shares(axes)
        drawn = False
        for at, name in enumerate(names):
            line = lines.get((family, name))
            if line is None or score not in line.figures:
                continue
            drawn = True
            _dot(axes, at, line.figures[score], styles[name], line)
        if not drawn:
            nothing(axes)
    return found.figure


def _dot(axes: Axes, at: int, figure: Estimate, look: Look, line: Line) -> None:
    hollow = terms_of(line) != "equal" and not is_ours(line.strategy)
    axes.plot([figure.low, figure.high], [at, at], color=look.colour, linewidth=look.width,
              solid_capstyle="butt", zorder=look.front)  # fmt: skip
    axes.plot([figure.mean], [at], marker=look.mark, color=look.colour, markersize=look.size,
              markerfacecolor=PAPER if hollow else look.colour, zorder=look.front)  # fmt: skip


def _panels(
    summary: Summary, scores: Sequence[str], title: str, *, legend_rows: int = 0
) -> tuple[Grid, dict[tuple[str, str], Line], list[str]] | None:
    """Return panels with the strategies down the side, Holdfast on top."""
    lines = main_lines(summary)
    names = strategies(list(lines.values()))
    if not names:
        return None
    shown = families(list(lines.values()))
    layout = Layout(
        width=1.9,
        height=len(names) * _ROW + 0.1,
        left=room_for(names),
        columns=5,
        legend_rows=legend_rows,
    )
    found = grid(title, shown, scores, layout, counts(list(lines.values()), scores))
    for place, axes in found.panels.items():
        axes.set_ylim(len(names) - 0.4, -0.6)
        axes.set_yticks(range(len(names)))
        axes.grid(visible=False, axis="y")
        if place not in found.first:
            axes.set_yticklabels([])
            continue
        axes.set_yticklabels([drawable(name) for name in names])
        for label, name in zip(axes.get_yticklabels(), names, strict=True):
            if is_ours(name):
                label.set_fontweight("bold")
                label.set_color(BLUE)
    return found, lines, names


def _shares(axes: Axes) -> None:
    axes.set_xlim(-0.03, 1.03)
    axes.set_xticks([0, 0.25, 0.5, 0.75, 1], ["0", ".25", ".5", ".75", "1"])


def _plain(value: float, at: int | None) -> str:
    """Return a tick without powers of ten; `at`, its place, is what matplotlib hands over."""
    del at
    return f"{value:,g}"
