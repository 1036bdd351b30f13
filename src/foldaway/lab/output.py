"""The files of a run that people and programs read, and whether a run is worse than another."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from functools import cache, partial
from pathlib import Path

import msgspec
from msgspec import Struct

from foldaway._core import write_whole
from foldaway.errors import MissingExtra, NotReadable
from foldaway.lab.figures import FAULTS, LESS_IS_BETTER, RATES
from foldaway.lab.report.tables import markdown
from foldaway.lab.results import RunManifest, RunSummary, ScoreLine, ScoreRow, WrittenRun, summarize

SUMMARY, TABLE, PLOTS, PAGE = "summary.json", "table.md", "plots", "report.html"
_MOST_RUNS = 50
"""That are listed; a folder rarely has more than a few."""
_MOST_BYTES = 64 << 20
"""Of a report; with plots of forty families it takes a tenth of it."""
_DIGITS = 16
"""Of the mark of a run in addresses: 64 bits tell any number of folders apart."""


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


class ListedRun(Struct, frozen=True, kw_only=True):
    """One run that can be opened."""

    name: str
    """In addresses."""
    folder: str
    time: float
    sessions: int
    strategies: int
    has_page: bool


def list_runs(places: Sequence[Path]) -> list[ListedRun]:
    """Return the runs in these folders and directly below them, the newest first."""
    found: list[ListedRun] = []
    for folder in _folders(places):
        try:
            manifest = read_summary(folder).manifest
            changed = (folder / SUMMARY).stat().st_mtime
        except (NotReadable, OSError):
            continue
        found.append(
            ListedRun(
                name=_name(folder),
                folder=str(folder),
                time=changed,
                sessions=len(manifest.sessions),
                strategies=len(manifest.strategies),
                has_page=(folder / PAGE).is_file(),
            )
        )
    return sorted(found, key=lambda one: -one.time)


def find_report(places: Sequence[Path], name: str) -> bytes | None:
    """Return the report of a run by its name in addresses; None if it is not in these folders."""
    for folder in _folders(places):
        page = folder / PAGE
        if _name(folder) == name and page.is_file() and page.stat().st_size <= _MOST_BYTES:
            return page.read_bytes()
    return None


@cache
def report_script() -> bytes:
    """Return the script that a report of this version has."""
    return (Path(__file__).parent / "report" / "page.js").read_bytes().strip()


def _folders(places: Sequence[Path]) -> list[Path]:
    """Return the folders in which a summary is; no link is followed out of a place."""
    found: dict[Path, None] = {}
    for place in places:
        try:
            inside = sorted(one for one in place.iterdir() if one.is_dir() and not one.is_symlink())
        except OSError:
            continue
        found |= {one: None for one in (place, *inside) if (one / SUMMARY).is_file()}
    return list(found)[:_MOST_RUNS]


def _name(folder: Path) -> str:
    said = str(folder.absolute()).encode("utf-8", "replace")
    return hashlib.blake2b(said, digest_size=_DIGITS // 2).hexdigest()


_LEAST = 1e-9
"""Below this a difference is rounding."""


class Fall(Struct, frozen=True, kw_only=True):
    """A figure that got worse; `bound` is the end of the earlier interval that it passed."""

    part: str
    family: str
    strategy: str
    budget: float
    steps: int
    figure: str
    was: float
    bound: float
    now: float

    @property
    def sentence(self) -> str:
        """What fell, for people."""
        where = f"{self.family} {self.part} {self.budget:.0%}"
        after = f" after {self.steps} compactions" if self.part == "drift" else ""
        return (
            f"{where}{after}: {self.figure} {self.was:.3f} -> {self.now:.3f} "
            f"(allowed to {self.bound:.3f})"
        )


class GateResult(Struct, frozen=True):
    """What fell since the baseline, and on how many sessions that rests."""

    falls: list[Fall]
    sessions: int


def compare_to_baseline(run: Path, baseline: Path, strategy: str) -> GateResult:
    """Return what got worse for a strategy between two runs, by their folders or summaries.

    Raises `NotReadable` if they cannot be compared.
    """
    before, now = read_summary(baseline), read_summary(run)
    if before.manifest.digest != now.manifest.digest:
        raise NotReadable(
            "is a run of other sessions than the baseline",
            remedy="run both on the same files, or make a new baseline",
        )
    if not any(line.strategy == strategy for line in before.lines):
        raise NotReadable(
            f"has no line of {strategy!r}", where=str(baseline), remedy="name a strategy of its run"
        )
    return GateResult(find_falls(before.lines, now.lines, strategy), len(now.manifest.sessions))


def find_falls(before: Sequence[ScoreLine], now: Sequence[ScoreLine], strategy: str) -> list[Fall]:
    """Return what got worse for a strategy: scores beyond their interval, and any new fault.

    Inventions, broken references, leaks and broken rules have no interval: one more is one too
    many. A line that is missing now has fallen whole.
    """
    there = {_key(line): line for line in now}
    found: list[Fall] = []
    for line in before:
        if line.strategy == strategy:
            found.extend(_find_falls(line, there.get(_key(line))))
    return found


def _key(line: ScoreLine) -> tuple[str, str, float, int, str]:
    return line.part, line.family, line.budget, line.steps, line.strategy


def _find_falls(was: ScoreLine, now: ScoreLine | None) -> list[Fall]:
    found: list[Fall] = []
    shared = {
        name: getattr(was, name) for name in ("part", "family", "strategy", "budget", "steps")
    }
    fall = partial(Fall, **shared)
    for name in RATES:
        figure = was.figures.get(name)
        if figure is None:
            continue
        new = None if now is None else now.figures.get(name)
        sign = -1 if name in LESS_IS_BETTER else 1
        bound = figure.high if sign < 0 else figure.low
        if new is None or sign * (bound - new.mean) > _LEAST:
            new_mean = 0.0 if new is None else new.mean
            found.append(fall(figure=name, was=figure.mean, bound=bound, now=new_mean))
    for name in FAULTS:
        old, new_count = was.counts.get(name, 0), 0 if now is None else now.counts.get(name, 0)
        if new_count > old:
            found.append(fall(figure=name, was=old, bound=old, now=new_count))
    broken = sum((was.violations or {}).values())
    broken_now = 0 if now is None else sum((now.violations or {}).values())
    if broken_now > broken:
        found.append(fall(figure="violations", was=broken, bound=broken, now=broken_now))
    return found
