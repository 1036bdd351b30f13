"""One shard from its records to its files; records that an earlier run finished are reused.

A record put in at the front of the input moves all others into other shards. What was made of them
is the same, since it depends on the record and the settings alone; so it is taken from the files of
the earlier run, which are kept by a second name while theirs are written again.
"""

from __future__ import annotations

import contextlib
import gzip
import json
import mmap
import os
import threading
from bisect import bisect_left
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from hashlib import blake2b
from pathlib import Path
from struct import Struct as Layout
from typing import Any, TypeAlias, TypeVar

import msgspec
import zstandard
from msgspec import Struct, to_builtins

from foldaway.dialects import dump, load_parsed, parse
from foldaway.dialects import dump_bytes as dump_json
from foldaway.errors import BatchStopped, FoldawayError, NotWritable
from foldaway.redaction import RedactionPolicy, Redactor
from foldaway.trajectories.compress import CompressionTools, compress_transcript
from foldaway.trajectories.counting import counter_for
from foldaway.trajectories.folder import (
    EARLIER,
    GO_ON,
    METRICS,
    STATE,
    FinishedShard,
    OnRecord,
    read_mark,
    write_synced,
)
from foldaway.trajectories.model_client import model_for
from foldaway.trajectories.policy import BatchSettings, Format, Metrics, tally_of
from foldaway.trajectories.reading import (
    RawRecord,
    Shard,
    find_sources,
    join_lines,
    pack_rows,
    read_records,
)
from foldaway.trajectories.summaries import Ask, model_writer, write_left_out

_SHOWN_CHARS = 100_000
"""The start of a quarantined record that is put into the quarantine file: enough to see what it
is, without copying records of 256 MB."""
_INDEX = "index"
_ID_BYTES = 16
_ROW = Layout(f">{_ID_BYTES}sII")
"""A row of the index: an id, which file has the record, and which record of it."""

T = TypeVar("T")
Compressed: TypeAlias = tuple[bytes, Metrics]
"""A record as it is written, b"" if it is excluded, and what was done."""


class RecordThreads:
    """Threads of which one works at a time, while the others wait for answers of a model.

    Python would not let two work at once anyway, and so it is known which record was being worked
    on when the process dies.
    """

    def __init__(self, number: int) -> None:
        """Take the number of threads."""
        self._number = number
        self._work = threading.Lock()
        self._own = threading.local()

    def map(self, do: Callable[[int], T], count: int, on_record: OnRecord) -> Iterator[T]:
        """Yield `do(0)`, `do(1)` … in order; the first error ends all."""

        def work(at: int) -> T:
            with self._work:
                self._own.begin = lambda: on_record(at)
                self._own.begin()
                return do(at)

        pool = ThreadPoolExecutor(min(self._number, max(count, 1)), "foldaway-record")
        try:
            yield from pool.map(work, range(count))
        finally:
            pool.shutdown(wait=False, cancel_futures=True)

    @contextlib.contextmanager
    def wait(self) -> Generator[None]:
        """Let others work while this thread waits."""
        self._work.release()
        try:
            yield
        finally:
            self._work.acquire()
        self._own.begin()


class ShardRun(Struct, frozen=True, kw_only=True):
    """What a shard is done with."""

    settings: BatchSettings
    tools: CompressionTools
    folder: Path
    poison: Mapping[int, str] = {}
    """Records that killed a process, with the reason: they are not looked at."""
    on_record: OnRecord = lambda _: None
    threads: RecordThreads | None = None
    """Given if records wait for a model side by side."""


ShardWork: TypeAlias = Callable[[Shard, ShardRun], T]
"""Does one shard: `do_shard`, or what an estimate or a test puts in its place."""


class Quarantined(Struct, frozen=True):
    """A record that was not written, where it was, and why."""

    source: str
    line: int
    reason: str
    text: str
    cut: bool = False
    """Whether the text is only the start of the record."""


def tools_for(settings: BatchSettings, ask: Ask | None = None) -> CompressionTools:
    """Return what a process works with; raises what names a missing package or file.

    `ask` answers what a model is asked, if one writes.
    """
    policy = RedactionPolicy(key=settings.redaction_key, personal=False)
    counter, redact = counter_for(settings.tokenizer), Redactor(policy)
    match settings.summaries:
        case "ledger":
            return CompressionTools(counter, redact)
        case "none":
            return CompressionTools(counter, redact, write_left_out)
        case "model":
            assert ask is not None
            model = model_for(settings, counter, redact)
            return CompressionTools(counter, redact, model_writer(model, ask))


def do_shard(shard: Shard, run: ShardRun) -> FinishedShard:
    """Write the files of a shard, the mark that says that it is done last.

    Raises `NotWritable` if the disk refuses or processes die while they write, and `BatchStopped`
    if the model cannot be asked: the shard is then as good as not begun.
    """
    folder, form, count = run.folder, run.settings.format, len(shard.records)
    if count in run.poison:
        raise NotWritable(str(folder / shard.name), run.poison[count], remedy=GO_ON)
    lines: list[bytes] = []
    measured: list[bytes] = []
    metrics: list[Metrics] = []
    refused: list[Quarantined] = []
    for record, made in zip(shard.records, _do_records(shard, run), strict=True):
        if isinstance(made, Quarantined):
            refused.append(made)
            continue
        line, figures = made
        metrics.append(figures)
        measured.append(dump_json(_metrics_row(record, figures)))
        if figures.outcome != "excluded":
            lines.append(line)
    run.on_record(count)
    done = FinishedShard(shard.number, shard.digest, tally_of(metrics, len(refused)))
    _write(folder / f"{shard.name}.{form}", lines, form)
    _write(folder / METRICS / f"{shard.name}.jsonl", measured)
    quarantined = [dump_json(to_builtins(one)) for one in refused]
    _write(folder / STATE / f"{shard.name}.quarantine.jsonl", quarantined)
    write_synced(_mark_path(folder, shard), dump_json(to_builtins(done)) + b"\n")
    return done


def _do_records(shard: Shard, run: ShardRun) -> Iterator[Compressed | Quarantined]:
    with open_earlier(run.folder, run.settings.format) as earlier:

        def do(at: int) -> Compressed | Quarantined:
            return _do_record(shard.records[at], run, run.poison.get(at, ""), earlier)

        if run.threads is not None:
            yield from run.threads.map(do, len(shard.records), run.on_record)
            return
        for at in range(len(shard.records)):
            run.on_record(at)
            yield do(at)


def _do_record(
    record: RawRecord, run: ShardRun, poison: str, earlier: EarlierRecords | None
) -> Compressed | Quarantined:
    """Return a record as it is written and what was done; or why it is not."""
    reason = record.problem or poison
    if reason:
        return _quarantine(record, reason)
    try:
        return (earlier and earlier.find(record.data)) or _compress(record, run)
    except BatchStopped:
        raise  # no other record would fare better
    except FoldawayError as error:
        return _quarantine(record, str(error))
    # the boundary of a record: whatever it brings to light, the others go on
    except Exception as error:  # noqa: BLE001
        what = f"unexpected {type(error).__name__}; this is a bug of Foldaway"
        return _quarantine(record, what)


def _compress(record: RawRecord, run: ShardRun) -> Compressed:
    """Return a record as a line, its own bytes if nothing changed, and what was done."""
    transcript = load_parsed(parse(record.data))
    made, metrics = compress_transcript(transcript, run.settings.policy, run.tools)
    return record.data if made is transcript else dump_json(dump(made)), metrics


def _metrics_row(record: RawRecord, metrics: Metrics) -> dict[str, Any]:
    found: dict[str, Any] = to_builtins(metrics)
    where = {"source": record.source, "line": record.line, "id": record_id(record.data)}
    return {**where, **found, "ratio": round(metrics.ratio, 4)}


def _quarantine(record: RawRecord, reason: str) -> Quarantined:
    text = record.data[: 4 * _SHOWN_CHARS].decode("utf-8", "replace")
    is_cut = len(text) > _SHOWN_CHARS or len(record.data) > 4 * _SHOWN_CHARS
    return Quarantined(record.source, record.line, reason, text[:_SHOWN_CHARS], is_cut)


def _write(path: Path, lines: Sequence[bytes], form: Format = "jsonl") -> None:
    """Write a file of records; none if there are no records."""
    if lines:
        write_synced(path, _pack(lines, form, path.name))
    else:
        path.unlink(missing_ok=True)


def _pack(lines: Sequence[bytes], form: Format, name: str) -> bytes:
    if form == "parquet":
        return pack_rows([parse(line) for line in lines], name)
    data = b"".join(join_lines(line) + b"\n" for line in lines)
    match form:
        case "jsonl":
            return data
        case "jsonl.gz":
            return gzip.compress(data, 6, mtime=0)
        case "jsonl.zst":
            return zstandard.ZstdCompressor(level=6).compress(data)


def find_finished(folder: Path, shard: Shard) -> FinishedShard | None:
    """Return the shard as an earlier run left it; None if it did not, or of other input."""
    found = read_mark(_mark_path(folder, shard))
    return found if found is not None and found.digest == shard.digest else None


def _mark_path(folder: Path, shard: Shard) -> Path:
    return folder / STATE / f"{shard.name}.json"


class Keeper:
    """Makes room for shards that are done again, and keeps what an earlier run made, once."""

    def __init__(self, folder: Path, form: Format) -> None:
        self._folder = folder
        self._form: Format = form
        self._kept = False

    def make_room(self, shard: Shard) -> None:
        """Remove the mark of a shard; if it is of other input, its records can still be found."""
        mark = _mark_path(self._folder, shard)
        if not self._kept and mark.exists():
            keep_earlier(self._folder, self._form)
            self._kept = True
        mark.unlink(missing_ok=True)


class MetricsRow(Metrics, frozen=True, kw_only=True):
    """A line of `metrics/`."""

    source: str
    line: int
    id: str = ""


def record_id(data: bytes) -> str:
    """Return the id of a record: it depends on its bytes alone, not on where it is."""
    return blake2b(data, digest_size=_ID_BYTES).hexdigest()


class EarlierRecords:
    """Finds finished records of an earlier run by id, in an index that is mapped into memory."""

    def __init__(self, folder: Path, form: Format, index: mmap.mmap | bytes) -> None:
        self._folder, self._index = folder, index
        self._form: Format = form
        self._start = index.find(b"\n") + 1
        self._names: list[str] = json.loads(index[: self._start])
        self._count = (len(index) - self._start) // _ROW.size
        self._read: dict[str, list[Compressed]] = {}

    def find(self, data: bytes) -> Compressed | None:
        """Return what was made of a record; None if it is not there."""
        wanted = bytes.fromhex(record_id(data))
        at = bisect_left(range(self._count), wanted, key=lambda number: self._row(number)[0])
        if at == self._count:
            return None
        found, name, number = self._row(at)
        if found != wanted:
            return None
        name = self._names[name]
        if name not in self._read:
            self._read[name] = _read_earlier(self._folder, name, self._form)
        rows = self._read[name]
        return rows[number] if number < len(rows) else None

    def _row(self, number: int) -> tuple[bytes, int, int]:
        return _ROW.unpack_from(self._index, self._start + number * _ROW.size)


@contextlib.contextmanager
def open_earlier(folder: Path, form: Format) -> Generator[EarlierRecords | None]:
    """Open what an earlier run finished; None if nothing of it is kept."""
    kept = folder / STATE / EARLIER
    try:
        file = (kept / _INDEX).open("rb")
    except FileNotFoundError:
        yield None
        return
    with file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as index:
        yield EarlierRecords(kept, form, index)


def keep_earlier(folder: Path, form: Format) -> None:
    """Keep all finished shards by a second name, so that their records are found by id.

    If that is not possible (Parquet gives no bytes back; a disk without hard links) nothing is
    kept, and records are done again.
    """
    if form == "parquet":
        return
    kept = folder / STATE / EARLIER
    kept.mkdir(exist_ok=True)
    for mark in (folder / STATE).glob("part-*.json"):
        with contextlib.suppress(OSError, ValueError, KeyError):
            digest = json.loads(mark.read_bytes())["digest"]
            _link(folder / f"{mark.stem}.{form}", kept / f"{digest}.{form}")
            _link(folder / METRICS / f"{mark.stem}.jsonl", kept / f"{digest}.metrics")
    names = sorted(path.stem for path in kept.glob("*.metrics"))
    rows = sorted(
        _ROW.pack(bytes.fromhex(row.id), at, number)
        for at, name in enumerate(names)
        for number, row in enumerate(read_metrics(kept / f"{name}.metrics"))
        if row.id
    )
    write_synced(kept / _INDEX, json.dumps(names).encode() + b"\n" + b"".join(rows))


def _link(path: Path, other: Path) -> None:
    if path.exists() and not other.exists():
        os.link(path, other)


def read_metrics(path: Path) -> list[MetricsRow]:
    """Return the lines of a file of metrics; none if there is no file."""
    if not path.exists():
        return []
    decoder: msgspec.json.Decoder[Any] = msgspec.json.Decoder(MetricsRow)
    return [decoder.decode(line) for line in path.read_bytes().splitlines()]


def _read_earlier(kept: Path, name: str, form: Format) -> list[Compressed]:
    """Return the records of a shard, in the order of its metrics; none if they do not agree."""
    rows, path = read_metrics(kept / f"{name}.metrics"), kept / f"{name}.{form}"
    found = list(read_records(find_sources([str(path)]))) if path.exists() else []
    written = sum(row.outcome != "excluded" for row in rows)
    if written != len(found) or any(record.problem for record in found):
        return []
    lines = iter(found)
    return [(b"" if row.outcome == "excluded" else next(lines).data, _metrics(row)) for row in rows]


def _metrics(row: MetricsRow) -> Metrics:
    return Metrics(**{name: getattr(row, name) for name in Metrics.__struct_fields__})
