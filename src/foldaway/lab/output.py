"""The files of a run that people and programs read: summary.json, table.md, plots, report.html."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec

from foldaway._core import write_whole
from foldaway.errors import MissingExtra, NotReadable
from foldaway.lab.report.tables import markdown
from foldaway.lab.results import RunManifest, RunSummary, ScoreRow, WrittenRun, summarize

SUMMARY, TABLE, PLOTS, PAGE = "summary.json", "table.md", "plots", "report.html"


def write_results(
    folder: Path, manifest: RunManifest, rows: Sequence[ScoreRow], skipped: Sequence[str] = ()
) -> WrittenRun:
    """Write all that follows from the rows; without matplotlib and jinja2 no plots, no report."""
    summary = RunSummary(manifest=manifest, skipped=list(skipped), lines=summarize(rows))
    write_tables(folder, summary)
    notes: list[str] = []
    try:
        write_report(folder, summary, rows)
    except MissingExtra as error:
        notes.append(f"plots and report.html need foldaway[{error.extra}]; the rest is written")
    return WrittenRun(summary.lines, notes)


def write_tables(folder: Path, summary: RunSummary) -> None:
    """Write `summary.json` and `table.md`."""
    write_whole(folder / SUMMARY, msgspec.json.encode(summary) + b"\n")
    write_whole(folder / TABLE, markdown(summary.lines, summary.manifest.main).encode())


def write_report(folder: Path, summary: RunSummary, rows: Sequence[ScoreRow]) -> None:
    """Write `plots/NAME.svg`, `plots/NAME.png` and `report.html`.

    Raises `MissingExtra` if matplotlib or jinja2 is not installed.
    """
    from foldaway.lab.report.page import page
    from foldaway.lab.report.plots import draw

    plots = draw(summary, rows)
    (folder / PLOTS).mkdir(exist_ok=True)
    for plot in plots:
        write_whole(folder / PLOTS / f"{plot.name}.svg", plot.svg.encode())
        write_whole(folder / PLOTS / f"{plot.name}.png", plot.png)
    write_whole(folder / PAGE, page(summary, rows, plots).encode(errors="replace"))


def read_summary(path: Path) -> RunSummary:
    """Return a summary from its file, or from the folder of a run; raises `NotReadable`."""
    file = path / SUMMARY if path.is_dir() else path
    try:
        return msgspec.json.decode(file.read_bytes(), type=RunSummary)
    except FileNotFoundError:
        raise NotReadable(
            "does not exist", where=str(file), remedy="give a folder of `foldaway lab run -o`"
        ) from None
    except (OSError, msgspec.DecodeError) as error:
        raise NotReadable(
            f"is no summary of the lab ({type(error).__name__})",
            where=str(file),
            remedy="give the summary.json of `foldaway lab run`",
        ) from None
