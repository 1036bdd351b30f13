"""Records as bytes, in an order that never changes, cut into shards; memory stays bounded."""

# pyright: reportMissingImports=false
# pyright: reportUnknownArgumentType=false
# pyright: reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false

from __future__ import annotations

import gzip
import io
import os
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from hashlib import blake2b
from pathlib import Path
from typing import Any, BinaryIO, Literal, TypeAlias, cast

import zstandard
from msgspec import Struct

from foldaway.agents.importers import ImportedSession, is_one_session, read_file, read_native_value
from foldaway.dialects import convert_transcript, dump_bytes, has_list, parse, split_list
from foldaway.errors import FoldawayError, MissingExtra, NotReadable, NotWritable
from foldaway.trajectories.folder import MANIFEST, STATE
from foldaway.trajectories.policy import BatchSettings

Form: TypeAlias = Literal["lines", "value", "parquet", "session"]
"""A record a line; one JSON value; a table; sessions that an agent wrote."""
_FORMS: dict[str, Form] = {
    ".jsonl": "lines",
    ".ndjson": "lines",
    ".json": "value",
    ".parquet": "parquet",
    ".traj": "session",
    ".db": "session",
    ".sqlite": "session",
}
_HISTORY = "aider.chat.history.md"
_PACKED = (".gz", ".zst", ".zstd")
_KNOWN = ".jsonl, .ndjson, .json (each also .gz or .zst), .parquet, or a session of an agent"
MOST_BYTES = 256 * 1024 * 1024
"""A longer record is refused unread: reading it takes several times its size in memory."""
_SKIPPED_AT_ONCE = 1024 * 1024
"""The buffer in which unpacked bytes are read, and a record that is too long is skipped."""
_PACKED_AT_ONCE = 4 * 1024
"""A block of zstd can be four bytes for 128 kB, so a piece unpacks to 128 MB at most."""
_LOOKED_AT = 64
"""Lines of a file that tell a record a line from a conversation of many lines."""
_ROWS_AT_ONCE = 256
"""Rows of a Parquet file in memory at a time, a few MB of usual records."""
_BOM = b"\xef\xbb\xbf"
_GZIP, _ZSTD = b"\x1f\x8b", b"\x28\xb5\x2f\xfd"
_BROKEN = (EOFError, zlib.error, gzip.BadGzipFile, zstandard.ZstdError)

OnBytes: TypeAlias = Callable[[int], None]
"""Called with the bytes of the files that are read so far."""


class RecordSource(Struct, frozen=True):
    """A file of records. `name` is how reports call it, whatever folder it lies in today."""

    path: str
    name: str
    form: Form
    size: int


def find_sources(
    names: Sequence[str], on_skip: Callable[[str], None] = lambda _: None
) -> list[RecordSource]:
    """Return the files that are named and those in the folders that are, by path in each.

    Hidden files are skipped, and so is what is next to the records in the folder of a batch.
    `on_skip` gets each other file of a folder that is not read. Raises `NotReadable` for what does
    not exist, contains no such file, or has a name of no known format.
    """
    found: list[RecordSource] = []
    for name in names:
        path = Path(name)
        inside = list(_read_folder(path, on_skip)) if path.is_dir() else [_file(path)]
        if not inside:
            raise NotReadable("holds no records", where=name, remedy=f"expected {_KNOWN}")
        found.extend(inside)
    return found


def _file(path: Path) -> RecordSource:
    if not path.exists():
        raise NotReadable("does not exist", where=str(path), remedy="check the name")
    form = _form_of(path.name)
    if form is None:
        remedy = f"expected {_KNOWN}"
        raise NotReadable("has a name that says no format", where=str(path), remedy=remedy)
    return RecordSource(str(path), path.name, form, path.stat().st_size)


def _read_folder(folder: Path, on_skip: Callable[[str], None]) -> Iterator[RecordSource]:
    for where, folders, files in os.walk(folder):
        if STATE in folders and MANIFEST in files:
            folders[:], files = [], [name for name in files if name.startswith("part-")]
        folders[:] = sorted(one for one in folders if not one.startswith("."))
        for name in sorted(files):
            path = Path(where) / name
            shown, form = path.relative_to(folder).as_posix(), _form_of(name)
            if form is not None and path.is_file():  # a pipe would be waited for
                yield RecordSource(str(path), shown, form, path.stat().st_size)
            elif not name.startswith("."):
                on_skip(shown)


def _form_of(name: str) -> Form | None:
    bare = name.lower()
    for ending in _PACKED:
        bare = bare.removesuffix(ending)
    if bare.endswith(_HISTORY):
        return "session"
    return None if bare.startswith(".") else _FORMS.get(os.path.splitext(bare)[1])


class RawRecord(Struct, frozen=True):
    """One record as it was found; with a `problem` it could not even be read."""

    source: str
    line: int
    """Its line, row or place in a list; counted from 1."""
    data: bytes
    problem: str = ""


def read_records(
    sources: Iterable[RecordSource],
    on_bytes: OnBytes = lambda _: None,
    *,
    most_bytes: int = MOST_BYTES,
) -> Iterator[RawRecord]:
    """Yield the records of the sources in order; one over `most_bytes` with that problem.

    A file that breaks off yields a record with that problem in the place of the rest. Raises
    `NotReadable` if a file cannot be opened, and `MissingExtra` for Parquet without pyarrow.
    """
    before = 0
    for source in sources:
        if source.form == "parquet":
            yield from _rows(source)
        else:
            yield from _file_records(
                source, lambda at, before=before: on_bytes(before + at), most_bytes
            )
        before += source.size
        on_bytes(before)


def _file_records(source: RecordSource, on_bytes: OnBytes, most: int) -> Iterator[RawRecord]:
    number = 0
    try:
        with open(source.path, "rb") as raw:
            stream = _unpack(raw)
            if source.form == "session" or (source.form == "lines" and _is_session(stream, most)):
                yield from _sessions(read_file(source.path), source)
                return
            raw.seek(0)
            stream = _unpack(raw)
            read = _lines if source.form == "lines" else _values
            for record in read(stream, source, most):
                number = record.line
                yield record
                on_bytes(raw.tell())
    except _BROKEN as error:
        what = f"the rest of the file cannot be unpacked ({error or type(error).__name__})"
        yield RawRecord(source.name, number + 1, b"", what)
    except OSError as error:
        what = f"cannot be read ({error.strerror or error})"
        raise NotReadable(what, where=source.path, remedy="check the file") from None


def _unpack(raw: BinaryIO) -> BinaryIO:
    """Return the stream decompressed; its first bytes say how it is packed."""
    start = raw.read(4)
    raw.seek(0)
    if start[:2] == _GZIP:
        return cast("BinaryIO", gzip.GzipFile(fileobj=raw))
    if start == _ZSTD:
        return cast("BinaryIO", io.BufferedReader(_Zstd(raw), _SKIPPED_AT_ONCE))
    return raw


class _Zstd(io.RawIOBase):
    """Frames of zstd as one stream; one that breaks off is an error, not an end."""

    def __init__(self, packed: BinaryIO) -> None:
        self._packed = packed
        self._frame = zstandard.ZstdDecompressor().decompressobj()
        self._begun = False
        self._left = b""
        self._out = memoryview(b"")

    def readable(self) -> bool:
        """It is."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Fill a part of the buffer; 0 at the end of the last frame."""
        while not self._out:
            given = self._left or self._packed.read(_PACKED_AT_ONCE)
            self._left = b""
            if not given:
                if self._begun:
                    raise EOFError("the last frame is not whole")
                return 0
            self._out = memoryview(self._frame.decompress(given))
            self._begun = not self._frame.eof
            if self._frame.eof:
                self._left = self._frame.unused_data
                self._frame = zstandard.ZstdDecompressor().decompressobj()
        size = min(len(buffer), len(self._out))
        buffer[:size] = self._out[:size]
        self._out = self._out[size:]
        return size


def _lines(stream: BinaryIO, source: RecordSource, most: int) -> Iterator[RawRecord]:
    number = 0
    while line := stream.readline(most + 1):
        number += 1
        if len(line) > most:
            while line and not line.endswith(b"\n"):
                line = stream.readline(_SKIPPED_AT_ONCE)
            yield RawRecord(source.name, number, b"", f"is longer than {most:,} bytes")
            continue
        text = line.removeprefix(_BOM) if number == 1 else line
        text = text.strip()
        if text:
            yield RawRecord(source.name, number, text)


def _is_session(stream: BinaryIO, most: int) -> bool:
    """Return whether the lines of a file are one conversation, and not one each."""
    lines = (stream.readline(most + 1) for _ in range(_LOOKED_AT))
    return is_one_session(line for line in lines if 0 < len(line) <= most)


def _sessions(found: Iterable[ImportedSession], source: RecordSource) -> Iterator[RawRecord]:
    """Yield sessions as chat messages; a branch, which holds only its end, with that problem."""
    number = 0
    try:
        for number, one in enumerate(found, 1):
            if one.is_partial:
                what = f"is a branch of {one.parent_id}, without what came before it"
                yield RawRecord(source.name, number, b"", what)
                continue
            made: Any = convert_transcript(one.transcript, "openai-chat").messages
            held = made if isinstance(made, dict) else {"messages": made}
            data = dump_bytes({"id": f"{one.agent}/{one.source_id}", **held})
            yield RawRecord(source.name, number, data)
    except FoldawayError as error:
        yield RawRecord(source.name, number + 1, b"", str(error))


def _values(stream: BinaryIO, source: RecordSource, most: int) -> Iterator[RawRecord]:
    """Yield the records of a JSON file: those of a list of them, or the one that it is."""
    data = stream.read(most + 1).removeprefix(_BOM)
    if len(data) > most:
        what = f"is longer than {most:,} bytes; write a record a line"
        yield RawRecord(source.name, 1, b"", what)
        return
    try:
        value = parse(data)
        native = read_native_value(value, source.path)
        if native is not None:
            yield from _sessions(native, source)
            return
        many = isinstance(value, list) and all(map(has_list, cast("list[Any]", value)))
        pieces = [bytes(piece) for piece in split_list(data)] if many else [data.strip()]
    except NotReadable as error:
        yield RawRecord(source.name, 1, b"", str(error))
        return
    for number, piece in enumerate(pieces, 1):
        yield RawRecord(source.name, number, piece)


def _rows(source: RecordSource) -> Iterator[RawRecord]:
    for number, row in enumerate(_read_parquet(source.path), 1):
        try:
            yield RawRecord(source.name, number, dump_bytes(row))
        except (NotReadable, TypeError) as error:
            yield RawRecord(source.name, number, b"", f"cannot be written as JSON ({error})")


def _read_parquet(path: str) -> Iterator[dict[str, Any]]:
    """Yield the rows of a file as objects, a few hundred in memory at a time."""
    pyarrow, parquet = import_parquet()
    try:
        with parquet.ParquetFile(path) as file:
            for batch in file.iter_batches(batch_size=_ROWS_AT_ONCE):
                yield from batch.to_pylist()
    except (OSError, pyarrow.ArrowException) as error:
        what = f"cannot be read as Parquet ({first_line(error)})"
        raise NotReadable(what, where=path, remedy="check the file") from None


def pack_rows(rows: Sequence[Any], name: str) -> bytes:
    """Return a Parquet file of objects; the types of its columns depend on these rows alone."""
    pyarrow, parquet = import_parquet()
    out = io.BytesIO()
    try:
        parquet.write_table(pyarrow.Table.from_pylist(list(rows)), out, compression="zstd")
    except (pyarrow.ArrowException, TypeError, AttributeError) as error:
        what = f"these records have no common columns ({first_line(error)})"
        raise NotWritable(name, what, remedy="write JSON lines instead (--format jsonl)") from None
    return out.getvalue()


def first_line(error: BaseException) -> str:
    """Return the first line of an error of another package, which may go on for pages."""
    return str(error).strip().partition("\n")[0][:200]


def import_parquet() -> tuple[Any, Any]:
    """Return pyarrow and its Parquet module; raise `MissingExtra` without them."""
    try:
        import pyarrow  # pyright: ignore[reportMissingTypeStubs]
        from pyarrow import parquet  # pyright: ignore[reportMissingTypeStubs]
    except ImportError:
        raise MissingExtra("trajectories", "reading and writing Parquet") from None
    return pyarrow, parquet


def join_lines(record: bytes) -> bytes:
    """Return a record without line breaks: one from a JSON file may be on many lines."""
    return dump_bytes(parse(record)) if b"\n" in record or b"\r" in record else record


class Shard(Struct, frozen=True):
    """Neighboring records; `digest` is of their bytes and their places in the input."""

    number: int
    records: tuple[RawRecord, ...]
    digest: str

    @property
    def name(self) -> str:
        """How its files are called."""
        return f"part-{self.number:05d}"


def read_shards(
    sources: Iterable[RecordSource], settings: BatchSettings, on_bytes: OnBytes = lambda _: None
) -> Iterator[Shard]:
    """Yield the shards of a batch: the same input is always cut in the same places."""
    records = read_records(sources, on_bytes)
    return cut_shards(records, most_records=settings.shard_records, most_bytes=settings.shard_bytes)


def cut_shards(
    records: Iterable[RawRecord], *, most_records: int, most_bytes: int
) -> Iterator[Shard]:
    """Yield the shards; each ends at `most_records` records, or when it has `most_bytes` bytes."""
    held: list[RawRecord] = []
    size = number = 0
    for record in records:
        held.append(record)
        size += len(record.data)
        if len(held) >= most_records or size >= most_bytes:
            yield _shard(number, held)
            held, size, number = [], 0, number + 1
    if held:
        yield _shard(number, held)


def _shard(number: int, records: list[RawRecord]) -> Shard:
    digest = blake2b(digest_size=16)
    for record in records:
        place = f"{len(record.data)} {record.line} {record.source} {record.problem}\0"
        digest.update(place.encode("utf-8", "surrogatepass"))
        digest.update(record.data)
    return Shard(number, tuple(records), digest.hexdigest())
