"""Panels side by side: a column for each family, a row for each score, sizes in inches."""

# matplotlib leaves the types of its **kwargs open
# pyright: reportUnknownMemberType=false

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import ceil

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from msgspec import Struct

from holdfast.lab.report.plots.style import INK, Look, drawable

_GAP_X, _GAP_Y, _TOP, _BOTTOM, _RIGHT = 0.3, 0.76, 0.66, 0.55, 0.15
_LEGEND_ROW, _LEGEND_COLUMN = 0.2, 1.75
_CHAR = 0.075


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
    title: str, families: Sequence[str], rows: Sequence[str], layout: Layout,
    counts: Mapping[tuple[str, str], int], legend: Mapping[str, Look] | None = None,
) -> Grid:  # fmt: skip
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
            axes.set_title(f"{drawable(family)} ({sessions})", loc="left", color=INK)
            axes.tick_params(length=0, pad=4)
            panels[row, family] = axes
            if column == 0:
                first.add((row, family))
    if legend:
        _legend(figure, legend, legend_columns)
    return Grid(figure, panels, frozenset(first))


def room_for(names: Sequence[str]) -> float:
    """Return the inches that the longest name takes."""
    return max((len(drawable(name)) for name in names), default=0) * _CHAR + 0.25


def nothing(axes: Axes) -> None:
    """Say in a panel that there was nothing to score."""
    axes.text(0.5, 0.5, "nothing to score", transform=axes.transAxes, ha="center", va="center",
              fontstyle="italic")  # fmt: skip


def _legend(figure: Figure, looks: Mapping[str, Look], columns: int) -> None:
    handles = [
        Line2D([], [], color=look.colour, marker=look.mark, linestyle=look.dashes,
               linewidth=look.width, markersize=look.size)
        for look in looks.values()
    ]  # fmt: skip
    figure.legend(
        handles, [drawable(name) for name in looks], loc="lower left",
        ncols=min(columns, len(handles)), frameon=False, fontsize=9, borderaxespad=0.3,
        columnspacing=1.4, handlelength=2.4,
    )  # fmt: skip
