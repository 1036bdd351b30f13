"""A whole batch: sources in, a folder of shards out, in any number of runs; or its estimate."""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false

from __future__ import annotations

import io
import os
import shutil
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, nullcontext
from functools import reduce
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeAlias

from msgspec import Struct
from msgspec.structs import asdict, replace

from foldaway.dialects import load_parsed, parse
from foldaway.errors import FoldawayError
from foldaway.reduction import plural
from foldaway.trajectories.compress import compress_transcript
from foldaway.trajectories.counting import counter_for
from foldaway.trajectories.folder import (
    ANSWERS,
    EARLIER,
    METRICS,
    QUARANTINE,
    RATIOS,
    REPORT,
    STATE,
    BatchReport,
    FinishedShard,
    claim_folder,
    manifest_for,
    read_marks,
    write_json,
    write_synced,
)
from foldaway.trajectories.model_client import (
    ModelClient,
    Spent,
    answer_key,
    client_for,
    model_for,
    read_answer,
)
from foldaway.trajectories.policy import BatchSettings, RequestLimits, Tally, add_tallies
from foldaway.trajectories.ray_engine import do_on_ray, require_ray
from foldaway.trajectories.reading import RecordSource, Shard, import_parquet, read_shards
from foldaway.trajectories.region import Region
from foldaway.trajectories.shard import Keeper, ShardRun, do_shard, find_finished
from foldaway.trajectories.summaries import (
    ModelAnswer,
    PendingQuestion,
    SummaryModel,
    SummaryWriter,
    WrittenSummary,
    ask_model,
    region_material,
    write_left_out,
)
from foldaway.trajectories.workers import WorkerSetup, do_shards
from foldaway.transcript import Message

_NO_LIMITS = RequestLimits()


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

    @property
    def share(self) -> float:
        """How much of the files is read, up to 1."""
        return self.bytes_read / max(self.bytes_total, 1)

    @property
    def sentence(self) -> str:
        """How far it is, in words: records, rate, time left, quarantine."""
        rate = self.new / self.seconds if self.seconds else 0.0
        said = [plural(self.records, "record"), f"{rate:,.0f}/s"]
        if self.new and 0 < self.share < 1:
            left = round(self.seconds * (1 - self.share) / self.share)
            said.append(f"{left // 3600}:{left // 60 % 60:02d}:{left % 60:02d} left")
        if self.quarantined:
            said.append(f"{self.quarantined:,} quarantined")
        return ", ".join(said)


class BatchResult(Struct, frozen=True):
    """A finished batch."""

    report: BatchReport
    resumed: int
    """Shards that were taken over from an earlier run."""
    seconds: float
    drawn: bool
    """Whether there is a picture of the ratios."""
    spent: Spent | None = None
    """What this run asked of a model."""


OnProgress: TypeAlias = Callable[[Progress], None]


def compress_batch(
    sources: Sequence[RecordSource],
    folder: Path,
    settings: BatchSettings,
    *,
    workers: int | None = 1,
    resume: bool = True,
    limits: RequestLimits = _NO_LIMITS,
    tell: OnProgress = lambda _: None,
    ray: str | None = None,
) -> BatchResult:
    """Compress all records of the sources into the folder, and return what was done.

    Shards that the folder has already are not done again if their input is the same. The bytes
    that are written depend on the input and the settings alone, and on what a model answers; its
    answers are kept too. `workers` is how many shards are done at a time, as many as there are
    processors for None. Processes do the work, or Ray if `ray` is given: the address of a cluster,
    "" for this machine. Settings without a redaction key go on with the one that the folder was
    begun with. Raises `NotWritable` if the folder contains something else or the disk refuses, and
    `BatchStopped` if no model can be asked; what is finished then stays.
    """
    if ray is not None:
        require_ray(ray, settings)
    if settings.format == "parquet" or any(source.form == "parquet" for source in sources):
        import_parquet()
    counter = counter_for(settings.tokenizer)
    client = client_for(settings, folder / STATE / ANSWERS, limits)
    with (
        claim_folder(folder, settings, resume=resume) as claimed,
        closing(client) if client else nullcontext(),
    ):
        run = _Run(sources, folder, claimed, tell)
        if ray is None:
            _do_by_processes(run, workers or os.cpu_count() or 1, client, limits)
        else:
            _do_by_ray(run, workers, ray)
        run.tell()
        report = BatchReport(
            job=replace(claimed, redaction_key=""),
            counter=counter.name,
            estimated=counter.is_estimate,
            shards=run.sums.shards,
            total=run.sums.total,
        )
        _finish(folder, report)
        drawn = draw_ratios(report.total, folder / RATIOS)
        spent = client.spent if client else None
        return BatchResult(report, run.sums.resumed, run.seconds, drawn, spent)


def _do_by_processes(
    run: _Run, workers: int, client: ModelClient | None, limits: RequestLimits
) -> None:
    """Do the shards that are not done yet on this machine."""
    shards = read_shards(run.sources, run.settings, run.set_bytes_read)
    setup = WorkerSetup(
        settings=run.settings, folder=run.folder, work=do_shard, at_once=limits.requests
    )
    results = do_shards(
        run.skip_finished(shards), setup, workers=workers, client=client, on_begun=run.tell
    )
    with closing(results):
        for done in results:
            run.add(done)
            run.tell()


def _do_by_ray(run: _Run, workers: int | None, address: str) -> None:
    """Do them on a cluster, of which only the marks on the disk are seen."""
    before = read_marks(run.folder)

    def on_look(bytes_read: int, done: Mapping[int, FinishedShard]) -> None:
        run.recount(bytes_read, done, before)
        run.tell()

    shards = do_on_ray(
        run.sources, run.settings, run.folder, workers=workers, address=address, on_look=on_look
    )
    done = read_marks(run.folder)
    run.recount(run.bytes_total, {number: done[number] for number in range(shards)}, before)
    run.sums = replace(run.sums, shards=shards)


class _Sums(Struct, frozen=True):
    """The sums of a batch: its shards, and what is done of them."""

    shards: int = 0
    resumed: int = 0
    """Shards that were taken over from an earlier run."""
    new: int = 0
    """Records that were done in this run."""
    total: Tally = Tally()

    def with_shard(self, done: FinishedShard, *, is_new: bool) -> _Sums:
        """Return the sums with a shard that was done now, or taken over."""
        return replace(
            self,
            resumed=self.resumed + (not is_new),
            new=self.new + done.tally.records * is_new,
            total=add_tallies(self.total, done.tally),
        )


class _Run:
    """A batch while it runs."""

    def __init__(
        self,
        sources: Sequence[RecordSource],
        folder: Path,
        settings: BatchSettings,
        on_progress: OnProgress,
    ) -> None:
        self.sources, self.folder, self.settings = sources, folder, settings
        self._on_progress = on_progress
        self._began = time.monotonic()
        self._bytes_read = 0
        self.sums = _Sums()

    def skip_finished(self, shards: Iterator[Shard]) -> Iterator[Shard]:
        """Yield the shards that are not done yet."""
        keeper = Keeper(self.folder, self.settings.format)
        for shard in shards:
            self.sums = replace(self.sums, shards=self.sums.shards + 1)
            done = find_finished(self.folder, shard)
            if done is None:
                keeper.make_room(shard)
                yield shard
            else:
                self.sums = self.sums.with_shard(done, is_new=False)

    def add(self, done: FinishedShard) -> None:
        """Count a shard that was done now."""
        self.sums = self.sums.with_shard(done, is_new=True)

    def recount(
        self,
        bytes_read: int,
        done: Mapping[int, FinishedShard],
        before: Mapping[int, FinishedShard],
    ) -> None:
        """Count what is done by now; what was the same before this run was taken over."""
        self._bytes_read = bytes_read
        self.sums = _Sums()
        for number, one in done.items():
            self.sums = self.sums.with_shard(one, is_new=before.get(number) != one)

    @property
    def bytes_total(self) -> int:
        """The bytes of all sources."""
        return sum(source.size for source in self.sources)

    @property
    def seconds(self) -> float:
        """How long it has been running."""
        return time.monotonic() - self._began

    def set_bytes_read(self, size: int) -> None:
        """Note how many bytes of the sources are read."""
        self._bytes_read = size

    def tell(self, begun: int = 0) -> None:
        """Tell how far the batch is, records that are only begun included."""
        total, sizes = self.sums.total, (self._bytes_read, self.bytes_total)
        records, new = total.records + begun, self.sums.new + begun
        self._on_progress(Progress(records, new, total.quarantined, *sizes, self.seconds))


def _finish(folder: Path, report: BatchReport) -> None:
    """Write what follows from all shards, and remove what is of none."""
    names = {f"part-{number:05d}" for number in range(report.shards)}
    for place in (folder, folder / METRICS, folder / STATE):
        for path in place.glob("part-*"):
            if path.name.partition(".")[0] not in names:
                path.unlink()
    shutil.rmtree(folder / STATE / EARLIER, ignore_errors=True)
    _join_quarantines(folder, sorted(names))
    write_json(folder / REPORT, report)


def _join_quarantines(folder: Path, names: Sequence[str]) -> None:
    found = [folder / STATE / f"{name}.quarantine.jsonl" for name in names]
    data = b"".join(path.read_bytes() for path in found if path.exists())
    if data:
        write_synced(folder / QUARANTINE, data)
    else:
        (folder / QUARANTINE).unlink(missing_ok=True)


def draw_ratios(total: Tally, path: Path) -> bool:
    """Draw the histogram of ratios; return whether there is one.

    There is none if nothing was compressed, or if matplotlib is missing.
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
    edges, counts = zip(*total.histogram, strict=True)
    width = 1 / len(counts)
    axes.bar(edges, counts, width=width, align="edge", color="#5b7fb5", edgecolor="white")
    title = f"{sum(total.ratios):,} compressed records"
    axes.set(xlim=(0, 1), xlabel="tokens after / tokens before", ylabel="records", title=title)
    out = io.BytesIO()
    figure.savefig(out, format="png", dpi=120, metadata={"Software": None})
    write_synced(path, out.getvalue())
    return True


class CallEstimate(Struct, frozen=True, kw_only=True):
    """What is still to be asked; answers that are kept already are counted apart."""

    records: int = 0
    """Records about which something is to be asked."""
    calls: int = 0
    kept: int = 0
    """Answers that are there."""
    input_tokens: int = 0
    output_tokens: int = 0
    """At most: a model may write less than it is allowed."""


def estimate_batch(
    sources: Sequence[RecordSource],
    folder: Path,
    settings: BatchSettings,
    *,
    workers: int = 1,
    resume: bool = True,
) -> CallEstimate:
    """Return what a batch with these arguments would ask; nothing is asked, nothing written there.

    All that is not done yet is read and folded as it will be, which takes about twice the time of
    a run without a model. A question that must be put again is counted once, and one that two
    records share twice. Raises what the run would raise of its folder.
    """
    settings = manifest_for(folder, settings, resume=resume).job
    shards = read_shards(sources, settings)
    waiting = (one for one in shards if not resume or find_finished(folder, one) is None)
    total = CallEstimate()
    with TemporaryDirectory(prefix="foldaway-") as notes:
        setup = WorkerSetup(settings=settings, folder=folder, work=count_shard, notes=Path(notes))
        with closing(do_shards(waiting, setup, workers=workers)) as results:
            for one in results:
                total = _add_estimates(total, one)
    return total


def count_shard(shard: Shard, run: ShardRun) -> CallEstimate:
    """Return what the records of a shard would ask."""
    settings = run.settings
    model = model_for(settings, run.tools.counter, run.tools.redact)
    answers, total = run.folder / STATE / ANSWERS, CallEstimate()
    for at, record in enumerate(shard.records):
        run.on_record(at)
        if record.problem or at in run.poison:
            continue
        found: list[CallEstimate] = []
        write = _counting_writer(model, answers, settings.answers_of, found.append)
        tools = replace(run.tools, write=write)
        try:
            compress_transcript(load_parsed(parse(record.data)), settings.policy, tools)
        except FoldawayError:
            continue  # goes to quarantine in the run
        # the boundary of a record, as in the run itself
        except Exception:  # noqa: BLE001
            continue
        asked = reduce(_add_estimates, found, CallEstimate())
        total = _add_estimates(total, replace(asked, records=int(asked.calls > 0)))
    return total


def _counting_writer(
    model: SummaryModel, answers: Path, who: str, tell: Callable[[CallEstimate], None]
) -> SummaryWriter:
    """Return a writer that asks nobody and tells what would be asked."""

    def write(messages: Sequence[Message], region: Region, room: int) -> WrittenSummary:
        material, _ = region_material(messages, region, model, room)
        kept = 0

        def answer(pending: PendingQuestion) -> ModelAnswer:
            nonlocal kept
            found = read_answer(answers, answer_key(who, pending.question))
            if found is None:
                tell(_estimate_rest(pending))
                return ModelAnswer(None)
            kept += 1
            return found

        ask_model(material, model, answer)
        tell(CallEstimate(kept=kept))
        return write_left_out(messages, region, room)

    return write


def _estimate_rest(pending: PendingQuestion) -> CallEstimate:
    """Return what is left to ask."""
    asking = pending.asking
    calls, tokens = asking.count_rest()
    return CallEstimate(calls=calls, input_tokens=tokens, output_tokens=calls * asking.max_tokens)


def _add_estimates(one: CallEstimate, other: CallEstimate) -> CallEstimate:
    more: dict[str, int] = asdict(other)
    return CallEstimate(**{name: value + more[name] for name, value in asdict(one).items()})
