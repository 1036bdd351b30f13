"""All plots of a run: which there are, what each shows, and their bytes."""

# matplotlib leaves the types of its **kwargs open
# pyright: reportUnknownMemberType=false

from __future__ import annotations

import io
import tomllib
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path

import matplotlib
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from msgspec import Struct

from foldaway.lab.figures import COST, SPEED, USED, title_of
from foldaway.lab.report.panels import (
    BLUE,
    FAINT,
    GREY,
    INK,
    PAPER,
    SETTINGS,
    SKY,
    Grid,
    Layout,
    Look,
    assign_looks,
    counts,
    families,
    grid,
    is_ours,
    main_lines,
    mark_empty,
    room_for,
    shorten_name,
    strategies,
    svg_text,
)
from foldaway.lab.report.verdict import MAIN_SCORES, basis_of, drifts_of
from foldaway.lab.results import MeanInterval, RunSummary, ScoreLine, ScoreRow

_TICKS = (0.02, 0.05, 0.1, 0.2, 0.5, 1.0)
_ROW = 0.19
"""Inches of a strategy in a plot of rows, chosen by eye."""
_DPI = 100
"""Of the PNG files, at which the longest plot of docs/ stays under 100 KB; a run's page has SVG."""


def budget_plot(summary: RunSummary, _rows: Sequence[ScoreRow]) -> Figure | None:
    """Return bound recall and copy4 against the share of the tokens that was really taken."""
    lines = [line for line in summary.lines if line.part == "cut" and line.figures]
    return _curves(
        "Score against tokens taken",
        lines,
        counts(lines, MAIN_SCORES),
        partial(_points, lines),
        _token_axis,
    )


def drift_plot(summary: RunSummary, rows: Sequence[ScoreRow]) -> Figure | None:
    """Return bound recall and copy4 after 1, 2, 4 and 8 compactions."""
    lines = [line for line in summary.lines if line.part == "drift" and line.figures]
    by_score = {score: drifts_of(rows, score) for score in MAIN_SCORES}
    sessions = {
        (score, family): at.sessions
        for score, by in by_score.items()
        for (family, _), points in by.items()
        for at in points.values()
    }
    if not sessions:
        return None
    return _curves(
        "Score after compactions in a row",
        lines,
        sessions,
        lambda family, name, score: list(by_score[score].get((family, name), {}).items()),
        _step_axis,
    )


_Points = Sequence[tuple[float, MeanInterval]]
"""Places on the horizontal axis, and the figure at each."""


def _curves(
    title: str,
    lines: Sequence[ScoreLine],
    sessions: Mapping[tuple[str, str], int],
    points: Callable[[str, str, str], _Points],
    set_axis: Callable[[Axes], None],
) -> Figure | None:
    """Return a panel for each main score and family, with a curve for each strategy."""
    names = strategies(lines)
    if not names:
        return None
    styles = assign_looks(names)
    found = grid(title, families(lines), MAIN_SCORES, Layout(), sessions, styles)
    for (score, family), axes in found.panels.items():
        _score_axis(axes, score, labeled=(score, family) in found.first)
        set_axis(axes)
        drawn = [
            _line(axes, points(family, name, score), styles[name], shaded=is_ours(name))
            for name in names
        ]
        if not any(drawn):
            mark_empty(axes)
    return found.figure


def cost_plot(summary: RunSummary, _rows: Sequence[ScoreRow]) -> Figure | None:
    """Return net cost against bound recall, a mark for each strategy."""
    lines = {
        place: line
        for place, line in main_lines(summary).items()
        if COST in line.figures and "bound" in line.figures
    }
    names = strategies(list(lines.values()))
    if not names:
        return None
    styles = assign_looks(names)
    rows_of = list(lines.values())
    found = grid(
        "Bound recall against net cost",
        families(rows_of),
        ("bound",),
        Layout(height=2.4),
        counts(rows_of, ("bound",)),
        styles,
    )
    for (score, family), axes in found.panels.items():
        _score_axis(axes, score, labeled=(score, family) in found.first)
        axes.set_xlabel("cost (1 = going on with everything)")
        axes.axvline(1, color=GREY, linewidth=0.8, linestyle=":")
        for name in names:
            line = lines.get((family, name))
            if line is not None:
                _mark(
                    axes,
                    line.figures[COST],
                    line.figures["bound"],
                    styles[name],
                    hollow=basis_of(line) != "equal" and not is_ours(name),
                )
    return found.figure


def _points(lines: Sequence[ScoreLine], family: str, name: str, score: str) -> _Points:
    points = [
        (line.figures[USED].mean * line.budget, line.figures[score])
        for line in lines
        if line.family == family and line.strategy == name and score in line.figures
    ]
    return sorted(points, key=lambda point: point[0])


def _line(axes: Axes, points: _Points, look: Look, *, shaded: bool) -> bool:
    """Draw points and their intervals; return whether there were any."""
    if not points:
        return False
    xs = [at for at, _ in points]
    if shaded and len(points) > 1:
        axes.fill_between(
            xs,
            [one.low for _, one in points],
            [one.high for _, one in points],
            color=look.color,
            alpha=0.15,
            linewidth=0,
        )
    else:
        axes.vlines(
            xs,
            [one.low for _, one in points],
            [one.high for _, one in points],
            color=look.color,
            alpha=0.45,
            linewidth=0.9,
        )
    axes.plot(
        xs,
        [one.mean for _, one in points],
        color=look.color,
        marker=look.mark,
        linestyle=look.dashes,
        linewidth=look.width,
        markersize=look.size,
        zorder=look.front,
    )
    return True


def _mark(axes: Axes, x: MeanInterval, y: MeanInterval, look: Look, *, hollow: bool) -> None:
    axes.plot([x.low, x.high], [y.mean, y.mean], color=look.color, alpha=0.55, linewidth=1)
    axes.plot([x.mean, x.mean], [y.low, y.high], color=look.color, alpha=0.55, linewidth=1)
    axes.plot(
        [x.mean],
        [y.mean],
        color=look.color,
        marker=look.mark,
        markersize=look.size + 1,
        markerfacecolor=PAPER if hollow else look.color,
        zorder=look.front,
    )


def _score_axis(axes: Axes, score: str, *, labeled: bool) -> None:
    axes.set_ylim(-0.03, 1.03)
    axes.set_yticks(
        [0, 0.25, 0.5, 0.75, 1], ["0", ".25", ".5", ".75", "1"] if labeled else [""] * 5
    )
    if labeled:
        axes.set_ylabel(title_of(score))


def _token_axis(axes: Axes) -> None:
    axes.set_xscale("log")
    axes.minorticks_off()
    axes.set_xlim(0.017, 1.15)
    axes.set_xticks(_TICKS, [f"{tick:.0%}" for tick in _TICKS])
    axes.set_xlabel("tokens taken")


def _step_axis(axes: Axes) -> None:
    axes.set_xscale("log", base=2)
    axes.set_xlim(0.85, 9.4)
    axes.set_xticks([1, 2, 4, 8], ["1", "2", "4", "8"])
    axes.minorticks_off()
    axes.set_xlabel("compactions")


def reach_plot(summary: RunSummary, _rows: Sequence[ScoreRow]) -> Figure | None:
    """Return what of the needed facts is kept, found again and lost, as stacked bars."""
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
            for (_, color), share in zip(parts, (kept, reach - kept, 1 - reach), strict=True):
                axes.barh(at, share, left=begin, height=0.72, color=color, linewidth=0)
                begin += share
        axes.grid(visible=False, axis="y")
        _shares(axes)
    found.figure.legend(
        handles=[Patch(color=color, label=label) for label, color in parts],
        loc="lower left",
        ncols=3,
        frameon=False,
        borderaxespad=0.3,
    )
    return found.figure


def speed_plot(summary: RunSummary, _rows: Sequence[ScoreRow]) -> Figure | None:
    """Return the CPU time of each strategy as bars on a logarithmic scale."""
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
        axes.xaxis.set_major_formatter("{x:,g}")
        for at, name in enumerate(names):
            line = lines.get((family, name))
            figure = None if line is None else line.figures.get(SPEED)
            if figure is None:
                continue
            color = BLUE if is_ours(name) else GREY
            axes.barh(at, max(figure.mean - begin, 0), left=begin, height=0.66, color=color)
            low, high = max(figure.low, begin), max(figure.high, begin)
            axes.plot([low, high], [at, at], color=INK, linewidth=1.0)
    return found.figure


def dots_plot(
    scores: Sequence[str], what: str, summary: RunSummary, _rows: Sequence[ScoreRow]
) -> Figure | None:
    """Return scores of all strategies at the main budget, as dots with intervals."""
    lines = main_lines(summary)
    title = f"{what} at {summary.manifest.main * 100:.0f} % of the tokens"
    there = [score for score in scores if any(score in line.figures for line in lines.values())]
    made = _panels(summary, there, title) if there else None
    if made is None:
        return None
    found, lines, names = made
    styles = assign_looks(names)
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
            mark_empty(axes)
    return found.figure


def _dot(axes: Axes, at: int, figure: MeanInterval, look: Look, line: ScoreLine) -> None:
    hollow = basis_of(line) != "equal" and not is_ours(line.strategy)
    axes.plot(
        [figure.low, figure.high],
        [at, at],
        color=look.color,
        linewidth=look.width,
        solid_capstyle="butt",
        zorder=look.front,
    )
    axes.plot(
        [figure.mean],
        [at],
        marker=look.mark,
        color=look.color,
        markersize=look.size,
        markerfacecolor=PAPER if hollow else look.color,
        zorder=look.front,
    )


def _panels(
    summary: RunSummary, scores: Sequence[str], title: str, *, legend_rows: int = 0
) -> tuple[Grid, dict[tuple[str, str], ScoreLine], list[str]] | None:
    """Return panels with the strategies down the side, Foldaway on top."""
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
        axes.set_yticklabels([shorten_name(name) for name in names])
        for label, name in zip(axes.get_yticklabels(), names, strict=True):
            if is_ours(name):
                label.set_fontweight("bold")
                label.set_color(BLUE)
    return found, lines, names


def _shares(axes: Axes) -> None:
    axes.set_xlim(-0.03, 1.03)
    axes.set_xticks([0, 0.25, 0.5, 0.75, 1], ["0", ".25", ".5", ".75", "1"])


class Plot(Struct, frozen=True, kw_only=True):
    """A drawn plot."""

    name: str
    caption: str
    svg: str
    png: bytes


_Draw = Callable[[RunSummary, Sequence[ScoreRow]], Figure | None]

PLOTS: Mapping[str, _Draw] = {
    "scores": partial(dots_plot, MAIN_SCORES, "What is kept"),
    "budget": budget_plot,
    "signals": partial(
        dots_plot,
        ("far", "files R", "errors", "constraints"),
        "Far facts, files, errors and demands",
    ),
    "reach": reach_plot,
    "drift": drift_plot,
    "cost": cost_plot,
    "speed": speed_plot,
}
"""In the order of the page; `captions.toml` says what each shows."""


def draw(summary: RunSummary, rows: Sequence[ScoreRow]) -> list[Plot]:
    """Return the plots for which the run has figures."""
    captions = tomllib.loads(Path(__file__).with_name("captions.toml").read_text(encoding="utf-8"))
    found: list[Plot] = []
    with matplotlib.rc_context(SETTINGS):
        for name, make in PLOTS.items():
            figure = make(summary, rows)
            if figure is not None:
                svg, png = svg_text(figure, name), _png(figure)
                found.append(Plot(name=name, caption=captions[name], svg=svg, png=png))
    return found


def _png(figure: Figure) -> bytes:
    figure.set_dpi(_DPI)
    out = io.BytesIO()
    FigureCanvasAgg(figure).print_png(out, metadata={"Software": None})
    return out.getvalue()
