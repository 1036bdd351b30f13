"""Records as bytes, one after the other, whatever the file is packed in; memory stays bounded."""

from __future__ import annotations

import gzip
import io
import zlib
from collections.abc import Callable, Iterable, Iterator
from typing import Any, BinaryIO, TypeAlias, cast

import zstandard
from msgspec import Struct

from holdfast.dialects.jsontext import dump, parse, split_list
from holdfast.dialects.registry import LIST_KEYS
from holdfast.errors import NotReadable
from holdfast.trajectories.sources import Source

MOST_BYTES = 256 * 1024 * 1024
"""A longer record is refused unread."""
_SKIPPED_AT_ONCE = 1024 * 1024
_PACKED_AT_ONCE = 4 * 1024
"""A block of zstd can be four bytes for 128 kB, so a piece unpacks to 128 MB at most."""
_BOM = b"\xef\xbb\xbf"
_GZIP, _ZSTD = b"\x1f\x8b", b"\x28\xb5\x2f\xfd"
_BROKEN = (EOFError, zlib.error, gzip.BadGzipFile, zstandard.ZstdError)


class Entry(Struct, frozen=True):
    """One record as it was found; with a `problem` it could not even be read."""

    source: str
    line: int
    """Its line, row or place in a list; counted from 1."""
    data: bytes
    problem: str = ""


Tell: TypeAlias = Callable[[int], None]
"""Told how many bytes of the files were read."""


def read_entries(
    sources: Iterable[Source], tell: Tell = lambda _: None, *, most_bytes: int = MOST_BYTES
) -> Iterator[Entry]:
    """Yield the records of the sources in order; one over `most_bytes` with that problem.

    A file that breaks off yields an entry with the problem in the place of the rest. Raises
    `NotReadable` where a file cannot be opened, and `MissingExtra` for Parquet without pyarrow.
    """
    before = 0
    for source in sources:
        if source.form == "parquet":
            yield from _rows(source)
        else:
            yield from _of_file(source, lambda at, before=before: tell(before + at), most_bytes)
        before += source.size
        tell(before)


def _of_file(source: Source, tell: Tell, most: int) -> Iterator[Entry]:
    number = 0
    try:
        with open(source.path, "rb") as raw:
            stream = _unpacked(raw)
            of = _lines if source.form == "lines" else _values
            for entry in of(stream, source, most):
                number = entry.line
                yield entry
                tell(raw.tell())
    except _BROKEN as error:
        what = f"the rest of the file cannot be unpacked ({error or type(error).__name__})"
        yield Entry(source.name, number + 1, b"", what)
    except OSError as error:
        what = f"cannot be read ({error.strerror or error})"
        raise NotReadable(what, where=source.path, remedy="check the file") from None


def _unpacked(raw: BinaryIO) -> BinaryIO:
    """Return the stream without its packing, which its first bytes tell."""
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


def _lines(stream: BinaryIO, source: Source, most: int) -> Iterator[Entry]:
    number = 0
    while line := stream.readline(most + 1):
        number += 1
        if len(line) > most:
            while line and not line.endswith(b"\n"):
                line = stream.readline(_SKIPPED_AT_ONCE)
            yield Entry(source.name, number, b"", f"is longer than {most:,} bytes")
            continue
        text = line.removeprefix(_BOM) if number == 1 else line
        text = text.strip()
        if text:
            yield Entry(source.name, number, text)


def _values(stream: BinaryIO, source: Source, most: int) -> Iterator[Entry]:
    """Yield the records of a JSON file: those of a list of them, or the one that it is."""
    data = stream.read(most + 1).removeprefix(_BOM)
    if len(data) > most:
        what = f"is longer than {most:,} bytes; write a record a line"
        yield Entry(source.name, 1, b"", what)
        return
    try:
        value = parse(data)
        many = isinstance(value, list) and all(map(_holds_turns, cast("list[Any]", value)))
        pieces = [bytes(piece) for piece in split_list(data)] if many else [data.strip()]
    except NotReadable as error:
        yield Entry(source.name, 1, b"", str(error))
        return
    for number, piece in enumerate(pieces, 1):
        yield Entry(source.name, number, piece)


def _holds_turns(value: Any) -> bool:
    if not isinstance(value, dict):
        return False
    body = cast("dict[str, Any]", value)
    return any(isinstance(body.get(key), list) for key in LIST_KEYS)


def _rows(source: Source) -> Iterator[Entry]:
    from holdfast.trajectories.parquet import read_rows

    for number, row in enumerate(read_rows(source.path), 1):
        try:
            yield Entry(source.name, number, dump(row))
        except (NotReadable, TypeError) as error:
            yield Entry(source.name, number, b"", f"cannot be written as JSON ({error})")
