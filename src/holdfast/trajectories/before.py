"""Records that are finished, by id, where the input was changed and shards are cut elsewhere.

A record put in at the front moves all others into other shards. What was made of them is the same,
since it depends on the record and the job alone; so it is taken from the files of the earlier run,
which are kept by a second name while theirs are written anew. The id is the digest of the record.
"""

from __future__ import annotations

import contextlib
import json
import mmap
import os
from bisect import bisect_left
from collections.abc import Generator, Iterator
from hashlib import blake2b
from pathlib import Path
from struct import Struct as Layout
from typing import Any

import msgspec

from holdfast.trajectories.files import METRICS, STATE, write_synced
from holdfast.trajectories.job import Format
from holdfast.trajectories.policy import Metrics
from holdfast.trajectories.reading import read_entries
from holdfast.trajectories.sources import find_sources

BEFORE, INDEX = "before", "index"
_ID_BYTES = 16
_ROW = Layout(f">{_ID_BYTES}sII")
"""Of the index: an id, which file holds the record, and which record of it."""


class Row(Metrics, frozen=True, kw_only=True):
    """A line of `metrics/`."""

    source: str
    line: int
    id: str = ""


def id_of(data: bytes) -> str:
    """Return the id of a record: it depends on its bytes alone, not on where it stands."""
    return blake2b(data, digest_size=_ID_BYTES).hexdigest()


class Finished:
    """Finds finished records by id."""

    def __init__(self, folder: Path, form: Format, index: mmap.mmap | bytes) -> None:
        self._folder, self._index = folder, index
        self._form: Format = form
        self._start = index.find(b"\n") + 1
        self._names: list[str] = json.loads(index[: self._start])
        self._count = (len(index) - self._start) // _ROW.size
        self._read: dict[str, list[tuple[bytes, Metrics]]] = {}

    def find(self, data: bytes) -> tuple[bytes, Metrics] | None:
        """Return what was made of a record, "" where it was excluded; None if it is not there."""
        wanted = bytes.fromhex(id_of(data))
        at = bisect_left(range(self._count), wanted, key=lambda number: self._row(number)[0])
        if at == self._count:
            return None
        found, name, number = self._row(at)
        if found != wanted:
            return None
        name = self._names[name]
        if name not in self._read:
            self._read[name] = _records(self._folder, name, self._form)
        rows = self._read[name]
        return rows[number] if number < len(rows) else None

    def _row(self, number: int) -> tuple[bytes, int, int]:
        return _ROW.unpack_from(self._index, self._start + number * _ROW.size)


@contextlib.contextmanager
def finished_before(folder: Path, form: Format) -> Generator[Finished | None]:
    """Open what an earlier run finished, where something of it is kept."""
    kept = folder / STATE / BEFORE
    try:
        file = (kept / INDEX).open("rb")
    except FileNotFoundError:
        yield None
        return
    with file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as index:
        yield Finished(kept, form, index)


def keep_before(folder: Path, form: Format) -> None:
    """Keep all finished shards by a second name, so that their records are found by id.

    Where that cannot be had (Parquet gives no bytes back; a disk without second names) nothing is
    kept, and records are done again.
    """
    if form == "parquet":
        return
    kept = folder / STATE / BEFORE
    kept.mkdir(exist_ok=True)
    for mark in (folder / STATE).glob("part-*.json"):
        with contextlib.suppress(OSError, ValueError, KeyError):
            digest = json.loads(mark.read_bytes())["digest"]
            _link(folder / f"{mark.stem}.{form}", kept / f"{digest}.{form}")
            _link(folder / METRICS / f"{mark.stem}.jsonl", kept / f"{digest}.metrics")
    names = sorted(path.stem for path in kept.glob("*.metrics"))
    rows = sorted(row for at, name in enumerate(names) for row in _indexed(kept, name, at))
    write_synced(kept / INDEX, json.dumps(names).encode() + b"\n" + b"".join(rows))


def _link(path: Path, other: Path) -> None:
    if path.exists() and not other.exists():
        os.link(path, other)


def _indexed(kept: Path, name: str, at: int) -> Iterator[bytes]:
    for number, row in enumerate(read_rows(kept / f"{name}.metrics")):
        if row.id:
            yield _ROW.pack(bytes.fromhex(row.id), at, number)


def read_rows(path: Path) -> list[Row]:
    """Return the lines of a file of metrics; none where there is no file."""
    if not path.exists():
        return []
    decoder: msgspec.json.Decoder[Any] = msgspec.json.Decoder(Row)
    return [decoder.decode(line) for line in path.read_bytes().splitlines()]


def _records(kept: Path, name: str, form: Format) -> list[tuple[bytes, Metrics]]:
    """Return the records of a shard, in the order of its metrics; none where they do not agree."""
    rows, path = read_rows(kept / f"{name}.metrics"), kept / f"{name}.{form}"
    found = list(read_entries(find_sources([str(path)]))) if path.exists() else []
    lines = iter(found)
    if sum(row.outcome != "excluded" for row in rows) != len(found) or any(
        entry.problem for entry in found
    ):
        return []
    return [(b"" if row.outcome == "excluded" else next(lines).data, _metrics(row)) for row in rows]


def _metrics(row: Row) -> Metrics:
    return Metrics(**{name: getattr(row, name) for name in Metrics.__struct_fields__})
