"""Plots and report.html."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from holdfast.lab.rows import Row


def write_report(folder: Path, summary: object, rows: Sequence[Row]) -> None:
    """Nothing yet."""
    del folder, summary, rows
