"""Plots with two scales: score against tokens, against compactions, against cost."""

# matplotlib leaves the types of its **kwargs open
# pyright: reportUnknownMemberType=false

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from holdfast.lab.output import Summary
from holdfast.lab.report.glossary import title_of
from holdfast.lab.report.plots.grid import Layout, grid, nothing
from holdfast.lab.report.plots.style import GREY, PAPER, Look, is_ours, looks
from holdfast.lab.report.plots.taken import counts, families, main_lines, strategies
from holdfast.lab.report.verdict import MAIN_SCORES, drifts, terms_of
from holdfast.lab.rows import Row
from holdfast.lab.scoring.stats import Estimate
from holdfast.lab.summary import COST, USED, Line

_TICKS = (0.02, 0.05, 0.1, 0.2, 0.5, 1.0)


def budget_plot(summary: Summary, rows: Sequence[Row]) -> Figure | None:
    """Return bound recall and copy4 against the share of the tokens that was really taken."""
    del rows
    lines = [line for line in summary.lines if line.part == "cut" and line.figures]
    names = strategies(lines)
    if not names:
        return None
    styles = looks(names)
    found = grid("Score against tokens taken", families(lines), MAIN_SCORES, Layout(),
                 counts(lines, MAIN_SCORES), styles)  # fmt: skip
    for (score, family), axes in found.panels.items():
        _score_axis(axes, score, labelled=(score, family) in found.first)
        _token_axis(axes)
        drawn = [
            _line(axes, _points(lines, family, name, score), styles[name],
                  shaded=is_ours(name)) for name in names
        ]  # fmt: skip
        if not any(drawn):
            nothing(axes)
    return found.figure


def drift_plot(summary: Summary, rows: Sequence[Row]) -> Figure | None:
    """Return bound recall and copy4 after 1, 2, 4 and 8 compactions."""
    lines = [line for line in summary.lines if line.part == "drift" and line.figures]
    names = strategies(lines)
    by_score = {score: drifts(rows, score) for score in MAIN_SCORES}
    if not names or not any(by_score.values()):
        return None
    styles = looks(names)
    sessions = {
        (score, family): at.sessions
        for score, by in by_score.items()
        for (family, _), points in by.items()
        for at in points.values()
    }
    found = grid("Score after compactions in a row", families(lines), MAIN_SCORES, Layout(),
                 sessions, styles)  # fmt: skip
    for (score, family), axes in found.panels.items():
        _score_axis(axes, score, labelled=(score, family) in found.first)
        steps = [1, 2, 4, 8]
        axes.set_xscale("log", base=2)
        axes.set_xlim(0.85, 9.4)
        axes.set_xticks(steps, [str(step) for step in steps])
        axes.minorticks_off()
        axes.set_xlabel("compactions")
        drawn = False
        for name in names:
            points = by_score[score].get((family, name), {})
            drawn |= _line(axes, list(points.items()), styles[name], shaded=is_ours(name))
        if not drawn:
            nothing(axes)
    return found.figure


def cost_plot(summary: Summary, rows: Sequence[Row]) -> Figure | None:
    """Return net cost against bound recall, a mark for each strategy."""
    del rows
    lines = {
        place: line
        for place, line in main_lines(summary).items()
        if COST in line.figures and "bound" in line.figures
    }
    names = strategies(list(lines.values()))
    if not names:
        return None
    styles = looks(names)
    rows_of = list(lines.values())
    found = grid("Bound recall against net cost", families(rows_of), ("bound",),
                 Layout(height=2.4), counts(rows_of, ("bound",)), styles)  # fmt: skip
    for (score, family), axes in found.panels.items():
        _score_axis(axes, score, labelled=(score, family) in found.first)
        axes.set_xlabel("cost (1 = going on with everything)")
        axes.axvline(1, color=GREY, linewidth=0.8, linestyle=":")
        for name in names:
            line = lines.get((family, name))
            if line is not None:
                _mark(axes, line.figures[COST], line.figures["bound"], styles[name],
                      hollow=terms_of(line) != "equal" and not is_ours(name))  # fmt: skip
    return found.figure


def _points(
    lines: Sequence[Line], family: str, name: str, score: str
) -> list[tuple[float, Estimate]]:
    points = [
        (line.figures[USED].mean * line.budget, line.figures[score])
        for line in lines
        if line.family == family and line.strategy == name and score in line.figures
    ]
    return sorted(points, key=lambda point: point[0])


def _line(
    axes: Axes, points: Sequence[tuple[float, Estimate]], look: Look, *, shaded: bool
) -> bool:
    """Draw points and their intervals; return whether there were any."""
    if not points:
        return False
    xs = [at for at, _ in points]
    if shaded and len(points) > 1:
        axes.fill_between(xs, [one.low for _, one in points], [one.high for _, one in points],
                          color=look.colour, alpha=0.15, linewidth=0)  # fmt: skip
    else:
        axes.vlines(xs, [one.low for _, one in points], [one.high for _, one in points],
                    color=look.colour, alpha=0.45, linewidth=0.9)  # fmt: skip
    axes.plot(xs, [one.mean for _, one in points], color=look.colour, marker=look.mark,
              linestyle=look.dashes, linewidth=look.width, markersize=look.size,
              zorder=look.front)  # fmt: skip
    return True


def _mark(axes: Axes, x: Estimate, y: Estimate, look: Look, *, hollow: bool) -> None:
    axes.plot([x.low, x.high], [y.mean, y.mean], color=look.colour, alpha=0.55, linewidth=1)
    axes.plot([x.mean, x.mean], [y.low, y.high], color=look.colour, alpha=0.55, linewidth=1)
    axes.plot([x.mean], [y.mean], color=look.colour, marker=look.mark, markersize=look.size + 1,
              markerfacecolor=PAPER if hollow else look.colour, zorder=look.front)  # fmt: skip


def _score_axis(axes: Axes, score: str, *, labelled: bool) -> None:
    axes.set_ylim(-0.03, 1.03)
    axes.set_yticks(
        [0, 0.25, 0.5, 0.75, 1], ["0", ".25", ".5", ".75", "1"] if labelled else [""] * 5
    )
    if labelled:
        axes.set_ylabel(title_of(score))


def _token_axis(axes: Axes) -> None:
    axes.set_xscale("log")
    axes.minorticks_off()
    axes.set_xlim(0.017, 1.15)
    axes.set_xticks(_TICKS, [f"{tick:.0%}" for tick in _TICKS])
    axes.set_xlabel("tokens taken")
