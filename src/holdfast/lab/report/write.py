"""Plots and report.html, in the folder of a run."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from holdfast.errors import MissingExtra
from holdfast.lab.output import Summary
from holdfast.lab.rows import Row
from holdfast.lab.run import write_whole

try:
    from holdfast.lab.report.page import page
    from holdfast.lab.report.plots.draw import draw
except ModuleNotFoundError as error:
    raise MissingExtra("lab", "the report of a run") from error

PLOTS, PAGE = "plots", "report.html"


def write_report(folder: Path, summary: Summary, rows: Sequence[Row]) -> None:
    """Write `plots/NAME.svg`, `plots/NAME.png` and `report.html`.

    The import of this file raises `MissingExtra` where matplotlib or jinja2 is not installed.
    """
    plots = draw(summary, rows)
    (folder / PLOTS).mkdir(exist_ok=True)
    for plot in plots:
        write_whole(folder / PLOTS / f"{plot.name}.svg", plot.svg.encode())
        write_whole(folder / PLOTS / f"{plot.name}.png", plot.png)
    write_whole(folder / PAGE, page(summary, rows, plots).encode(errors="replace"))
