"""A whole batch: sources in, a folder of shards out, in any number of runs.

manifest.json       what was asked; only the same may go on here
part-00000.jsonl    records, in the order of the input; 00001 …
metrics/            what was done with each of them, a line a record
quarantine.jsonl    records that were not written, where they stood, and why
report.json         sums; ratios.png where matplotlib is there
.holdfast/          which shards are done
"""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, nullcontext
from pathlib import Path
from typing import TypeAlias

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from holdfast.errors import NotReadable
from holdfast.trajectories.before import BEFORE
from holdfast.trajectories.claim import claimed
from holdfast.trajectories.counters import counter_for
from holdfast.trajectories.desk import Desk, Spent
from holdfast.trajectories.files import write_synced
from holdfast.trajectories.histogram import draw_ratios
from holdfast.trajectories.job import Job, desk_for
from holdfast.trajectories.on_ray import Marks, do_on_ray, require_ray
from holdfast.trajectories.pace import UNLIMITED, Limits
from holdfast.trajectories.parquet import require_parquet
from holdfast.trajectories.pool import do_shards
from holdfast.trajectories.reading import read_entries
from holdfast.trajectories.shards import Shard, cut
from holdfast.trajectories.sources import Source
from holdfast.trajectories.tally import Tally, added
from holdfast.trajectories.work import ANSWERS, METRICS, STATE, Done, Keeper, do_shard, finished

QUARANTINE, REPORT, RATIOS = "quarantine.jsonl", "report.json", "ratios.png"


class Progress(Struct, frozen=True):
    """How far a batch is; bytes are those of the files, packed as they are."""

    records: int
    """Done in this run, and taken over from runs before."""
    new: int
    """Of these, done in this run."""
    quarantined: int
    bytes_read: int
    bytes_total: int
    seconds: float


class Report(Struct, frozen=True, kw_only=True):
    """What `report.json` holds: the same for the same input and job, however it was run."""

    job: Job
    counter: str
    estimated: bool
    """Whether tokens are estimates."""
    shards: int
    total: Tally


class Outcome(Struct, frozen=True):
    """A finished batch."""

    report: Report
    resumed: int
    """Shards that were taken over from an earlier run."""
    seconds: float
    drawn: bool
    """Whether there is a picture of the ratios."""
    spent: Spent | None = None
    """What this run asked of a model."""


Tell: TypeAlias = Callable[[Progress], None]


def compress_batch(
    sources: Sequence[Source],
    folder: Path,
    job: Job,
    *,
    workers: int | None = 1,
    resume: bool = True,
    limits: Limits = UNLIMITED,
    tell: Tell = lambda _: None,
    ray: str | None = None,
) -> Outcome:
    """Compress all records of the sources into the folder, and return what was done.

    Shards that the folder holds already are not done again where their input is the same. The
    bytes that are written depend on the input and the job alone, and on what a model answers; its
    answers are kept too. `workers` is how many shards are done at a time, as many as there are
    processors for None. Processes do the work, or Ray where `ray` is given: the address of a
    cluster, "" for this machine. A job without a redaction key goes on with the one that its
    folder was begun with. Raises `NotWritable` where the folder holds something else or the
    disk refuses, and `BatchStopped` where no model can be asked; what is finished then stays.
    """
    if ray is not None:
        require_ray(ray, job)
    if job.format == "parquet" or any(source.form == "parquet" for source in sources):
        require_parquet()
    counter = counter_for(job.tokenizer)
    desk = desk_for(job, folder / STATE / ANSWERS, limits)
    with claimed(folder, job, resume=resume) as asked, closing(desk) if desk else nullcontext():
        run = _Run(_Asked(sources, folder, asked), tell)
        if ray is None:
            _do_by_processes(run, workers or os.cpu_count() or 1, desk, limits)
        else:
            _do_by_ray(run, workers, ray)
        run.told()
        report = Report(
            job=replace(asked, redaction_key=""), counter=counter.name,
            estimated=counter.is_estimate, shards=run.shards, total=run.total,
        )  # fmt: skip
        _finish(folder, report)
        drawn = draw_ratios(run.total, folder / RATIOS)
        return Outcome(report, run.resumed, run.seconds, drawn, desk.spent if desk else None)


def _do_by_processes(run: _Run, workers: int, desk: Desk | None, limits: Limits) -> None:
    """Do the shards that are not done yet on this machine."""
    asked, job = run.asked, run.asked.job
    entries = read_entries(asked.sources, run.have_read)
    shards = cut(entries, most_records=job.shard_records, most_bytes=job.shard_bytes)
    working = do_shards(
        run.waiting(shards), job, asked.folder, workers=workers, work=do_shard, tell=run.told,
        desk=desk, at_once=limits.requests,
    )  # fmt: skip
    with closing(working):
        for done in working:
            run.take(done)
            run.told()


def _do_by_ray(run: _Run, workers: int | None, address: str) -> None:
    """Do them on a cluster, of which only the marks on the disk are seen."""
    asked = run.asked
    marks = Marks(asked.folder / STATE)
    before = marks.done()

    def seen(size: int, done: Mapping[int, Done]) -> None:
        run.see(size, done, before)
        run.told()

    run.shards = do_on_ray(
        asked.sources, asked.job, asked.folder, workers=workers, address=address, tell=seen
    )
    done = marks.done()
    run.see(asked.bytes_total, {number: done[number] for number in range(run.shards)}, before)


class _Asked(Struct, frozen=True):
    """What is done with what, and where it goes."""

    sources: Sequence[Source]
    folder: Path
    job: Job

    @property
    def bytes_total(self) -> int:
        return sum(source.size for source in self.sources)


class _Run:
    """The sums of a batch while it runs."""

    def __init__(self, asked: _Asked, tell: Tell) -> None:
        self.asked = asked
        self._keeper, self._tell = Keeper(asked.folder, asked.job.format), tell
        self._began = time.monotonic()
        self._bytes_read = 0
        self.shards = 0
        self.resumed = 0
        self._new = 0
        self.total = Tally()

    def waiting(self, shards: Iterator[Shard]) -> Iterator[Shard]:
        """Yield the shards that are not done yet."""
        for shard in shards:
            self.shards += 1
            done = finished(self.asked.folder, shard)
            if done is None:
                self._keeper.make_room(shard)
                yield shard
            else:
                self.resumed += 1
                self.total = added(self.total, done.tally)

    def take(self, done: Done) -> None:
        """Count a shard that was done now."""
        self._new += done.tally.records
        self.total = added(self.total, done.tally)

    def see(self, bytes_read: int, done: Mapping[int, Done], before: Mapping[int, Done]) -> None:
        """Count what is done by now; what was as it is before this run was taken over."""
        self._bytes_read = bytes_read
        self.total, self._new, self.resumed = Tally(), 0, 0
        for number, one in done.items():
            self.total = added(self.total, one.tally)
            is_old = before.get(number) == one
            self._new += 0 if is_old else one.tally.records
            self.resumed += is_old

    @property
    def seconds(self) -> float:
        """How long it has been running."""
        return time.monotonic() - self._began

    def have_read(self, size: int) -> None:
        """Note how many bytes of the sources are read."""
        self._bytes_read = size

    def told(self, begun: int = 0) -> None:
        """Tell how far the batch is, with so many records that are begun."""
        self._tell(Progress(
            self.total.records + begun, self._new + begun, self.total.quarantined,
            self._bytes_read, self.asked.bytes_total, self.seconds,
        ))  # fmt: skip


def _finish(folder: Path, report: Report) -> None:
    """Write what follows from all shards, and take away what is of none."""
    names = {f"part-{number:05d}" for number in range(report.shards)}
    for path in (*folder.glob("part-*"), *(folder / METRICS).glob("part-*"),
                 *(folder / STATE).glob("part-*")):  # fmt: skip
        if path.name.partition(".")[0] not in names:
            path.unlink()
    shutil.rmtree(folder / STATE / BEFORE, ignore_errors=True)
    _join_quarantines(folder, sorted(names))
    encoded = msgspec.json.format(msgspec.json.encode(report), indent=1)
    write_synced(folder / REPORT, encoded + b"\n")


def _join_quarantines(folder: Path, names: Sequence[str]) -> None:
    found = [folder / STATE / f"{name}.quarantine.jsonl" for name in names]
    data = b"".join(path.read_bytes() for path in found if path.exists())
    if data:
        write_synced(folder / QUARANTINE, data)
    else:
        (folder / QUARANTINE).unlink(missing_ok=True)


def read_report(folder: Path) -> Report:
    """Return the report of a finished batch; raises `NotReadable` where there is none."""
    try:
        return msgspec.json.decode((folder / REPORT).read_bytes(), type=Report)
    except (OSError, msgspec.DecodeError) as error:
        raise NotReadable(
            f"holds no finished batch ({type(error).__name__})", where=str(folder),
            remedy="finish it with `holdfast trajectories compress`",
        ) from None  # fmt: skip
