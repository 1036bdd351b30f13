"""All plots of a run: which there are, what each says, and their bytes."""

# matplotlib leaves the types of its **kwargs open
# pyright: reportUnknownMemberType=false

from __future__ import annotations

import io
from collections.abc import Callable, Mapping, Sequence

import matplotlib
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure
from msgspec import Struct

from holdfast.lab.output import Summary
from holdfast.lab.report.plots.lines import budget_plot, cost_plot, drift_plot
from holdfast.lab.report.plots.rows import reach_plot, scores_plot, signals_plot, speed_plot
from holdfast.lab.report.plots.style import SETTINGS
from holdfast.lab.rows import Row

_DPI = 110
_FONT = "font-family: 'DejaVu Sans'"


class Plot(Struct, frozen=True, kw_only=True):
    """A drawn plot."""

    name: str
    caption: str
    svg: str
    png: bytes


_Draw = Callable[[Summary, Sequence[Row]], Figure | None]

_PLOTS: Mapping[str, tuple[_Draw, str]] = {
    "scores": (scores_plot, (
        "All strategies at the main budget, with 95 % intervals. Hollow marks: took more tokens "
        "than allowed in more than one of ten cuts, so they are no equals. Where Holdfast itself "
        "goes over, all others may take as much as it took."
    )),
    "budget": (budget_plot, (
        "Score against the tokens that were really taken, as a share of what was said before the "
        "cut (mean; shaded: 95 % interval of the score). Each mark on a line is one budget; a "
        "strategy that takes no budget is a single mark."
    )),
    "signals": (signals_plot, (
        "Far facts, files, open error lines and the user's demands at the main budget, with 95 % "
        "intervals."
    )),
    "reach": (reach_plot, (
        "Needed facts at the main budget: kept in view, found again by a search (only Holdfast "
        "keeps originals to search in), lost."
    )),
    "drift": (drift_plot, (
        "The same history brought to the same size in 1, 2, 4 and 8 compactions: what is lost on "
        "the way. Only sessions that are long enough for the most compactions of their family."
    )),
    "cost": (cost_plot, (
        "Price of the rest of the session, cache counted, over that of going on with everything "
        "(left is cheaper), against bound recall (up is better). Hollow: more tokens than allowed."
    )),
    "speed": (speed_plot, (
        "CPU milliseconds per 100,000 tokens of history, on a logarithmic scale. Times: they "
        "differ from run to run and from machine to machine."
    )),
}  # fmt: skip
"""In the order of the page."""


def draw(summary: Summary, rows: Sequence[Row]) -> list[Plot]:
    """Return the plots for which the run has figures."""
    found: list[Plot] = []
    with matplotlib.rc_context(SETTINGS):
        for name, (make, caption) in _PLOTS.items():
            figure = make(summary, rows)
            if figure is not None:
                found.append(
                    Plot(name=name, caption=caption, svg=_svg(figure, name), png=_png(figure))
                )
    return found


def _svg(figure: Figure, name: str) -> str:
    out = io.StringIO()
    with matplotlib.rc_context({"svg.hashsalt": name}):
        FigureCanvasSVG(figure).print_svg(out, metadata={"Date": None, "Creator": None})
    made = out.getvalue().replace(_FONT, f"{_FONT}, Verdana, sans-serif")
    return "\n".join(line.rstrip() for line in made.splitlines()) + "\n"


def _png(figure: Figure) -> bytes:
    figure.set_dpi(_DPI)
    out = io.BytesIO()
    FigureCanvasAgg(figure).print_png(out, metadata={"Software": None})
    return out.getvalue()
