"""How plots look: colors, marks, panels side by side; and the plot of what strategies cost."""

# matplotlib leaves the types of its **kwargs open
# pyright: reportUnknownMemberType=false

from __future__ import annotations

from collections.abc import Mapping, Sequence
from io import StringIO
from math import ceil
from pathlib import Path
from typing import Literal

from msgspec import Struct

from foldaway.errors import MissingExtra
from foldaway.lab.results import (
    ADVERSARIES,
    LONG_LIVED,
    OURS,
    OWN,
    WITH_MODEL,
    RunSummary,
    ScoreLine,
)
from foldaway.lab.simulation import StrategyCost

try:
    import matplotlib
    from matplotlib.axes import Axes
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D
except ModuleNotFoundError as error:
    raise MissingExtra("lab", "drawing a plot") from error

INK, FAINT, PAPER, GREY = "#1f2329", "#d7dce2", "#ffffff", "#7d858f"
BLUE, ORANGE, GREEN, SKY, RED, PINK = (
    "#0072b2",
    "#e69f00",
    "#009e73",
    "#56b4e9",
    "#d55e00",
    "#cc79a7",
)
"""After Okabe and Ito; yellow is left out, which is lost on white."""
COLORS: Mapping[str, str] = {
    INK: "ink",
    FAINT: "faint",
    PAPER: "paper",
    GREY: "grey",
    BLUE: "blue",
    ORANGE: "orange",
    GREEN: "green",
    SKY: "sky",
    RED: "red",
    PINK: "pink",
}
"""The names by which a page may give them other values, as on a dark ground."""
_OTHERS = (ORANGE, GREEN, RED, PINK, SKY)
_MARKS = ("s", "^", "D", "v", "P", "X", "<", ">", "p", "h")
_LONGEST = 26
"""Characters of a name; a longer one would run into its neighbor in a legend."""
_UNKNOWN = "□"

_FONT = "font-family: 'DejaVu Sans'"

SETTINGS = matplotlib.rc_params_from_file(
    Path(__file__).with_name("plots.mplstyle"), use_default_template=False
)
_FONT_ENDS = 0x0530
"""Latin, Greek and Cyrillic: beyond them the font that comes with matplotlib has gaps."""
MOST_FAMILIES = 12
"""More would not fit on a page; those with the most sessions are drawn."""
# inches, chosen by eye
_GAP_X, _GAP_Y, _TOP, _BOTTOM, _RIGHT = 0.3, 0.76, 0.66, 0.55, 0.15
_LEGEND_ROW, _LEGEND_COLUMN = 0.2, 1.75
_CHAR = 0.075


class Look(Struct, frozen=True):
    """How one strategy is drawn."""

    color: str
    mark: str
    width: float = 1.3
    dashes: Literal["-", "--", ":"] = "-"
    size: float = 5.0
    front: int = 3
    """What is drawn later, and so over others."""


def assign_looks(strategies: Sequence[str]) -> dict[str, Look]:
    """Return a look for each strategy; Foldaway's stands out, and no two others are alike."""
    found: dict[str, Look] = {}
    at = 0
    for name in strategies:
        if (given := _GIVEN.get(name)) is not None:
            found[name] = given
        elif name in ADVERSARIES:
            found[name] = Look(GREY, "x", dashes=":")
        else:
            found[name] = Look(
                _OTHERS[(at + at // len(_MARKS)) % len(_OTHERS)], _MARKS[at % len(_MARKS)]
            )
            at += 1
    return found


_GIVEN = {
    OURS: Look(BLUE, "o", 2.8, size=7.5, front=6),
    WITH_MODEL: Look(BLUE, "D", 2.2, "--", 6.5, 5),
    LONG_LIVED: Look(BLUE, "D", 2.2, "--", 6.5, 5),
    OWN: Look(INK, "*", 1.6, size=7.0, front=5),
}


def is_ours(strategy: str) -> bool:
    """Return whether a strategy is one of Foldaway's."""
    return strategy in (OURS, WITH_MODEL, LONG_LIVED)


def shorten_name(name: str) -> str:
    """Return a name as a plot can show it: short, on one line, in signs that its font has."""
    shown = "".join(
        sign if sign == "…" or (sign.isprintable() and ord(sign) < _FONT_ENDS) else _UNKNOWN
        for sign in name.removeprefix("\u200a")
    )
    shown = shown if len(shown) <= _LONGEST else f"{shown[: _LONGEST - 1]}…"
    # a label that begins with a low line is none to matplotlib
    return f"\u200a{shown}" if shown.startswith("_") else shown


def main_lines(summary: RunSummary) -> dict[tuple[str, str], ScoreLine]:
    """Return the lines of the main budget that have figures, by family and strategy."""
    return {
        (line.family, line.strategy): line
        for line in summary.lines
        if line.part == "cut" and line.budget == summary.manifest.main and line.figures
    }


def families(lines: Sequence[ScoreLine]) -> list[str]:
    """Return the families in the order of the lines; of too many those with the most sessions."""
    found: dict[str, int] = {}
    for line in lines:
        found[line.family] = max(line.sessions, found.get(line.family, 0))
    most = sorted(found, key=lambda name: -found[name])[:MOST_FAMILIES]
    return [name for name in found if name in most]


def counts(lines: Sequence[ScoreLine], figures: Sequence[str]) -> dict[tuple[str, str], int]:
    """Return by figure and family how many sessions have it."""
    found: dict[tuple[str, str], int] = {}
    for line in lines:
        for name in figures:
            if name in line.figures:
                place = name, line.family
                found[place] = max(line.figures[name].sessions, found.get(place, 0))
    return found


def strategies(lines: Sequence[ScoreLine]) -> list[str]:
    """Return the strategies that have figures, each once, in their order."""
    return list(dict.fromkeys(line.strategy for line in lines if line.figures))


class Layout(Struct, frozen=True, kw_only=True):
    """How panels are laid out; `left` is the room for the labels of the first column."""

    width: float = 2.6
    height: float = 2.1
    left: float = 0.75
    columns: int = 4
    legend_rows: int = 0
    """Room below for a legend that is drawn by others."""


class Grid(Struct, frozen=True):
    """A figure and its panels, by row and family."""

    figure: Figure
    panels: Mapping[tuple[str, str], Axes]
    first: frozenset[tuple[str, str]]
    """Panels at the left, which have the labels."""


def grid(
    title: str,
    families: Sequence[str],
    rows: Sequence[str],
    layout: Layout,
    counts: Mapping[tuple[str, str], int],
    legend: Mapping[str, Look] | None = None,
) -> Grid:
    """Return empty panels; families that do not fit side by side go below.

    `counts` says on how many sessions a panel stands, by row and family.
    """
    blocks = max(ceil(len(families) / layout.columns), 1)
    columns = max(ceil(len(families) / blocks), 1)
    bands = blocks * len(rows)
    width = layout.left + columns * layout.width + (columns - 1) * _GAP_X + _RIGHT
    width = max(width, len(title) * 0.1 + 0.3, 5.0)
    legend_columns = max(int((width - 0.2) / _LEGEND_COLUMN), 1)
    legend_rows = ceil(len(legend or {}) / legend_columns) + layout.legend_rows
    legend_height = legend_rows * _LEGEND_ROW
    height = _TOP + bands * layout.height + (bands - 1) * _GAP_Y + _BOTTOM + legend_height
    figure = Figure(figsize=(width, height))
    figure.text(0.1 / width, 1 - 0.22 / height, title, fontsize=12, fontweight="bold", va="center")
    panels: dict[tuple[str, str], Axes] = {}
    first: set[tuple[str, str]] = set()
    for number, family in enumerate(families):
        block, column = divmod(number, columns)
        for at, row in enumerate(rows):
            band = block * len(rows) + at
            x = layout.left + column * (layout.width + _GAP_X)
            y = height - _TOP - (band + 1) * layout.height - band * _GAP_Y
            axes = figure.add_axes(
                (x / width, y / height, layout.width / width, layout.height / height)
            )
            sessions = counts.get((row, family), 0)
            axes.set_title(f"{shorten_name(family)} ({sessions})", loc="left", color=INK)
            axes.tick_params(length=0, pad=4)
            panels[row, family] = axes
            if column == 0:
                first.add((row, family))
    if legend:
        _legend(figure, legend, legend_columns)
    return Grid(figure, panels, frozenset(first))


def room_for(names: Sequence[str]) -> float:
    """Return the inches that the longest name takes."""
    return max((len(shorten_name(name)) for name in names), default=0) * _CHAR + 0.25


def mark_empty(axes: Axes) -> None:
    """Say in a panel that there was nothing to score."""
    axes.text(
        0.5,
        0.5,
        "nothing to score",
        transform=axes.transAxes,
        ha="center",
        va="center",
        fontstyle="italic",
    )


def _legend(figure: Figure, looks: Mapping[str, Look], columns: int) -> None:
    handles = [
        Line2D(
            [],
            [],
            color=look.color,
            marker=look.mark,
            linestyle=look.dashes,
            linewidth=look.width,
            markersize=look.size,
        )
        for look in looks.values()
    ]
    figure.legend(
        handles,
        [shorten_name(name) for name in looks],
        loc="lower left",
        ncols=min(columns, len(handles)),
        frameon=False,
        fontsize=9,
        borderaxespad=0.3,
        columnspacing=1.4,
        handlelength=2.4,
    )


def svg_text(figure: Figure, name: str) -> str:
    """Return a figure as SVG, the same bytes for the same figure and name."""
    out = StringIO()
    with matplotlib.rc_context({"svg.hashsalt": name}):
        FigureCanvasSVG(figure).print_svg(out, metadata={"Date": None, "Creator": None})
    made = out.getvalue().replace(_FONT, f"{_FONT}, Verdana, sans-serif")
    return "\n".join(line.rstrip() for line in made.splitlines()) + "\n"


_KINDS = {
    "cache reads": GREEN,
    "cache writes": ORANGE,
    "other input": GREY,
    "summaries": PINK,
    "output": SKY,
}


def cost_plot(title: str, costs: Sequence[StrategyCost]) -> str:
    """Return as SVG bars of what each strategy cost, parted by what was paid for."""
    with matplotlib.rc_context(SETTINGS):
        figure, axes = strategy_rows(title, costs)
        begins = [0.0] * len(costs)
        for at, (kind, color) in enumerate(_KINDS.items()):
            amounts = [_amounts(one)[at] for one in costs]
            axes.barh(range(len(costs)), amounts, left=begins, height=0.6, color=color, label=kind)
            begins = [begin + amount for begin, amount in zip(begins, amounts, strict=True)]
        for at, one in enumerate(costs):
            axes.text(begins[at], at, f"  ${one.usd:,.2f}  ×{one.ratio:.2f}", va="center")
        axes.set_xlim(0, (max(begins, default=0.0) or 1.0) * 1.25)
        axes.set_xlabel("USD")
        figure.legend(loc="lower center", ncols=len(_KINDS), frameon=False)
        return svg_text(figure, title)


def strategy_rows(title: str, costs: Sequence[StrategyCost]) -> tuple[Figure, Axes]:
    """Return a figure with a row for each strategy, the first on top."""
    height = 1.3 + 0.3 * len(costs)
    figure = Figure(figsize=(9.0, height))
    figure.text(0.02, 1 - 0.22 / height, title, fontsize=12, fontweight="bold", va="center")
    axes = figure.add_axes((0.2, 0.8 / height, 0.68, 1 - 1.25 / height))
    axes.set_yticks(range(len(costs)), [one.strategy for one in costs])
    axes.set_ylim(len(costs) - 0.4, -0.6)
    axes.grid(visible=False, axis="y")
    return figure, axes


def _amounts(cost: StrategyCost) -> tuple[float, ...]:
    """Return what was paid, in the order of `_KINDS`."""
    bill = cost.bill
    return bill.read_usd, bill.written_usd, bill.plain_usd, cost.summaries.usd, bill.output_usd
