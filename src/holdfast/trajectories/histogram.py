"""A picture of how small records became, where matplotlib is there."""

# pyright: reportMissingImports=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false, reportMissingTypeStubs=false

from __future__ import annotations

import io
from importlib import import_module
from pathlib import Path
from typing import Any

from holdfast.trajectories.files import write_synced
from holdfast.trajectories.tally import BINS, Tally


def draw_ratios(total: Tally, path: Path) -> bool:
    """Draw the histogram of ratios; return whether there is one.

    There is none where nothing was compressed, or where matplotlib is missing.
    """
    path.unlink(missing_ok=True)
    if not any(total.ratios):
        return False
    try:
        backend: Any = import_module("matplotlib.backends.backend_agg")
        figures: Any = import_module("matplotlib.figure")
    except ImportError:
        return False
    figure = figures.Figure(figsize=(7, 3.5), layout="constrained")
    backend.FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    edges = [number / BINS for number in range(BINS)]
    axes.bar(edges, total.ratios, width=1 / BINS, align="edge", color="#5b7fb5", edgecolor="white")
    axes.set(xlim=(0, 1), xlabel="tokens after / tokens before", ylabel="records",
             title=f"{sum(total.ratios):,} compressed records")  # fmt: skip
    out = io.BytesIO()
    figure.savefig(out, format="png", dpi=120, metadata={"Software": None})
    write_synced(path, out.getvalue())
    return True
