"""One shard from its records to its files."""

from __future__ import annotations

import gzip
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import msgspec
import zstandard
from msgspec import Struct, to_builtins

from holdfast.dialects.jsontext import dump as dump_json
from holdfast.dialects.jsontext import parse
from holdfast.dialects.load import dump, load_parsed
from holdfast.errors import BatchStopped, HoldfastError
from holdfast.trajectories.before import Finished, finished_before, id_of, keep_before
from holdfast.trajectories.compress import Means, compress_transcript
from holdfast.trajectories.files import DRAFT, METRICS, STATE, write_synced
from holdfast.trajectories.job import Format, Job
from holdfast.trajectories.lanes import Lanes
from holdfast.trajectories.policy import Metrics
from holdfast.trajectories.reading import Entry
from holdfast.trajectories.shards import Shard
from holdfast.trajectories.tally import Tally, tally_of

ANSWERS = "answers"
READ = f".read{DRAFT}"
"""In the state folder: how many bytes are read, where another process than the parent reads."""
_SHOWN_CHARS = 100_000
"""So much of a quarantined record stands in the quarantine file."""

Tell: TypeAlias = Callable[[int], None]
"""Told which record of the shard is begun."""


class Quarantined(Struct, frozen=True):
    """A record that was not written, where it stood, and why."""

    source: str
    line: int
    reason: str
    text: str
    cut: bool = False
    """Whether the text is only the start of the record."""


class Done(Struct, frozen=True):
    """A shard whose files are on the disk."""

    number: int
    digest: str
    tally: Tally


def do_shard(
    shard: Shard, job: Job, means: Means, folder: Path, poison: Mapping[int, str], tell: Tell,
    lanes: Lanes | None = None,
) -> Done:  # fmt: skip
    """Write the files of a shard, the one that says that it is done last.

    `poison` are records that killed a process, with what is known of it: they are not looked at.
    With `lanes` records wait for a model side by side. Raises `NotWritable` where the disk
    refuses and `BatchStopped` where nobody can be asked: the shard is then as good as not begun.
    """
    lines: list[bytes] = []
    measured: list[bytes] = []
    metrics: list[Metrics] = []
    refused: list[Quarantined] = []
    count = len(shard.entries)
    with finished_before(folder, job.format) as before:

        def looked_at(at: int) -> tuple[bytes, Metrics] | Quarantined:
            tell(at)
            return _looked_at(shard.entries[at], job, means, poison.get(at, ""), before)

        found = map(looked_at, range(count)) if lanes is None else lanes.in_order(looked_at, count)
        for entry, made in zip(shard.entries, found, strict=True):
            if isinstance(made, Quarantined):
                refused.append(made)
                continue
            line, figures = made
            metrics.append(figures)
            measured.append(dump_json(_row(entry, figures)))
            if figures.outcome != "excluded":
                lines.append(line)
    done = Done(shard.number, shard.digest, tally_of(metrics, len(refused)))
    _write(folder / f"{shard.name}.{job.format}", lines, job.format)
    _write(folder / METRICS / f"{shard.name}.jsonl", measured)
    _write(folder / STATE / f"{shard.name}.quarantine.jsonl",
           [dump_json(to_builtins(one)) for one in refused])  # fmt: skip
    write_synced(done_path(folder, shard), dump_json(to_builtins(done)) + b"\n")
    return done


def done_path(folder: Path, shard: Shard) -> Path:
    """Return the file that says that a shard is done."""
    return folder / STATE / f"{shard.name}.json"


def read_done(path: Path) -> Done | None:
    """Return what a file says that a shard is done; None where it does not."""
    try:
        return msgspec.json.decode(path.read_bytes(), type=Done)
    except (OSError, msgspec.DecodeError):
        return None


def finished(folder: Path, shard: Shard) -> Done | None:
    """Return the shard as an earlier run left it; None where it did not, or of other input."""
    found = read_done(done_path(folder, shard))
    return found if found is not None and found.digest == shard.digest else None


class Keeper:
    """Makes room for shards that are done anew, and keeps what an earlier run made, once."""

    def __init__(self, folder: Path, form: Format) -> None:
        self._folder = folder
        self._form: Format = form
        self._kept = False

    def make_room(self, shard: Shard) -> None:
        """Take the mark of a shard away; where it is of other input, its records stay findable."""
        mark = done_path(self._folder, shard)
        if not self._kept and mark.exists():
            keep_before(self._folder, self._form)
            self._kept = True
        mark.unlink(missing_ok=True)


def _looked_at(
    entry: Entry, job: Job, means: Means, poison: str, before: Finished | None
) -> tuple[bytes, Metrics] | Quarantined:
    """Return a record as it is written and what was done; or why it is not."""
    reason = entry.problem or poison
    if reason:
        return _quarantined(entry, reason)
    try:
        return (before and before.find(entry.data)) or _compressed(entry, job, means)
    except BatchStopped:
        raise  # no other record would fare better
    except HoldfastError as error:
        return _quarantined(entry, str(error))
    # the boundary of a record: whatever it brings to light, the others go on
    except Exception as error:  # noqa: BLE001
        what = f"unexpected {type(error).__name__}; this is a bug of Holdfast"
        return _quarantined(entry, what)


def _compressed(entry: Entry, job: Job, means: Means) -> tuple[bytes, Metrics]:
    """Return a record as a line, its own bytes where nothing changed, and what was done."""
    transcript = load_parsed(parse(entry.data))
    made, metrics = compress_transcript(transcript, job.policy, means)
    return entry.data if made is transcript else dump_json(dump(made)), metrics


def _row(entry: Entry, metrics: Metrics) -> dict[str, Any]:
    found: dict[str, Any] = to_builtins(metrics)
    where = {"source": entry.source, "line": entry.line, "id": id_of(entry.data)}
    return {**where, **found, "ratio": round(metrics.ratio, 4)}


def _quarantined(entry: Entry, reason: str) -> Quarantined:
    text = entry.data[: 4 * _SHOWN_CHARS].decode("utf-8", "replace")
    is_cut = len(text) > _SHOWN_CHARS or len(entry.data) > 4 * _SHOWN_CHARS
    return Quarantined(entry.source, entry.line, reason, text[:_SHOWN_CHARS], is_cut)


def _write(path: Path, lines: Sequence[bytes], form: Format = "jsonl") -> None:
    """Write a file of records; none where there are no records."""
    if not lines:
        path.unlink(missing_ok=True)
        return
    write_synced(path, _packed(lines, form, path.name))


def _packed(lines: Sequence[bytes], form: Format, name: str) -> bytes:
    if form == "parquet":
        from holdfast.trajectories.parquet import packed_rows

        return packed_rows([parse(line) for line in lines], name)
    data = b"".join(one_line(line) + b"\n" for line in lines)
    match form:
        case "jsonl":
            return data
        case "jsonl.gz":
            return gzip.compress(data, 6, mtime=0)
        case "jsonl.zst":
            return zstandard.ZstdCompressor(level=6).compress(data)


def one_line(record: bytes) -> bytes:
    """Return a record without line breaks: one from a JSON file may stand on many lines."""
    return dump_json(parse(record)) if b"\n" in record or b"\r" in record else record
