"""The files of a run that people and programs read: summary.json, table.md, plots, report.html."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec
from msgspec import Struct

from holdfast.errors import MissingExtra, NotReadable
from holdfast.lab.rows import Row
from holdfast.lab.run import Manifest, write_whole
from holdfast.lab.summary import Line, summarise
from holdfast.lab.table import markdown

SUMMARY, TABLE = "summary.json", "table.md"


class Summary(Struct, frozen=True, kw_only=True):
    """What `summary.json` holds."""

    manifest: Manifest
    skipped: list[str]
    """Files and lines that could not be read."""
    lines: list[Line]


class Written(Struct, frozen=True):
    """A run's table, and what could not be written."""

    lines: list[Line]
    notes: list[str]


def write_results(
    folder: Path, manifest: Manifest, rows: Sequence[Row], skipped: Sequence[str] = ()
) -> Written:
    """Write all that follows from the rows; without holdfast[lab] no plots and no report."""
    summary = Summary(manifest=manifest, skipped=list(skipped), lines=summarise(rows))
    write_whole(folder / SUMMARY, msgspec.json.encode(summary) + b"\n")
    write_whole(folder / TABLE, markdown(summary.lines, manifest.main).encode())
    notes: list[str] = []
    try:
        from holdfast.lab.report.write import write_report
    except MissingExtra as error:
        notes.append(f"plots and report.html need holdfast[{error.extra}]; the rest is written")
    else:
        write_report(folder, summary, rows)
    return Written(summary.lines, notes)


def read_summary(path: Path) -> Summary:
    """Return a summary from its file, or from the folder of a run; raises `NotReadable`."""
    file = path / SUMMARY if path.is_dir() else path
    try:
        return msgspec.json.decode(file.read_bytes(), type=Summary)
    except FileNotFoundError:
        raise NotReadable(
            "does not exist", where=str(file), remedy="give a folder of `holdfast lab run -o`"
        ) from None
    except (OSError, msgspec.DecodeError) as error:
        raise NotReadable(
            f"is no summary of the lab ({type(error).__name__})", where=str(file),
            remedy="give the summary.json of `holdfast lab run`",
        ) from None  # fmt: skip
