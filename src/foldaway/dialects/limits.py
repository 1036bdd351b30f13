"""How much of an input is read: a line, a file that is held whole, and what unpacks."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Callable, Iterator
from io import BytesIO
from typing import BinaryIO, Protocol

from msgspec import Struct

from foldaway.errors import NotReadable

GZIP = b"\x1f\x8b"
MEGABYTE = 1_000_000
_LARGEST = 2**62
"""Bytes that every reader can count to."""
_AT_ONCE = 1 << 20
"""Bytes that are counted or skipped at a time."""


class Limits(Struct, frozen=True, kw_only=True):
    """What an input may measure, in megabytes. What is larger is refused, or skipped and noted."""

    max_line_mb: int = 64
    """The longest line of a file that is read line by line. Providers take requests of 32 MB at
    most, and Claude Code writes a result twice into its line."""
    max_file_mb: int = 128
    """The largest input that is held whole, after decompression: a JSON document, one session of a
    database, or the input of a command other than `import`, `redact` and `trajectories`. A million
    tokens are 4 MB, and with images inline some tens; parsed, 128 MB take about a gigabyte at
    most."""
    max_stream_mb: int = 4_096
    """What a file may hold that is read line by line, after decompression; databases have no
    limit, and a text for `redact` only if it is compressed. An import that large takes half an
    hour; gzip can make a thousand times its size, and then it takes weeks."""

    @property
    def line_bytes(self) -> int:
        """The longest line."""
        return min(self.max_line_mb * MEGABYTE, _LARGEST)

    @property
    def file_bytes(self) -> int:
        """The largest input that is held whole."""
        return min(self.max_file_mb * MEGABYTE, _LARGEST)

    @property
    def stream_bytes(self) -> int:
        """What a compressed file may decompress to."""
        return min(self.max_stream_mb * MEGABYTE, _LARGEST)


DEFAULT_LIMITS = Limits()


class Reads(Protocol):
    """Whatever bytes can be read from, a piece at a time."""

    def read(self, size: int, /) -> bytes:
        """Return at most `size` bytes, none at the end."""
        ...


def size_error(limits: Limits) -> NotReadable:
    """Return the error for an input that is too large to be held whole."""
    return NotReadable(
        f"is larger than {limits.max_file_mb:,} MB",
        remedy="split it, write it as JSON lines, or raise input.max_file_mb",
    )


def skip_note(limits: Limits) -> str:
    """Return what is said about a line that is skipped."""
    return f"is longer than {limits.max_line_mb:,} MB and was skipped; raise input.max_line_mb"


def unpacks_too_large(limits: Limits) -> NotReadable:
    """Return the error for a compressed input that decompresses to too much."""
    return NotReadable(
        f"decompresses to more than {limits.max_stream_mb:,} MB",
        remedy="decompress it first if you trust it, or raise input.max_stream_mb",
    )


def gzip_error(error: Exception) -> NotReadable:
    """Return the error for gzip data that cannot be decompressed."""
    return NotReadable(f"the gzip data is broken ({error})", remedy="compress the file again")


def unpack(data: bytes, limits: Limits = DEFAULT_LIMITS) -> bytes:
    """Return `data` decompressed if it is gzip; raise `NotReadable` if it is broken or too large.

    Never more than the limit is decompressed.
    """
    if data[:2] != GZIP:
        return data
    try:
        with gzip.GzipFile(fileobj=BytesIO(data)) as packed:
            return read_whole(packed, limits)
    except (OSError, EOFError, zlib.error) as error:
        raise gzip_error(error) from None


def read_whole(stream: Reads, limits: Limits) -> bytes:
    """Return what a stream holds; raise `NotReadable` as soon as it is too large."""
    pieces: list[bytes] = []
    total = 0
    while piece := stream.read(_AT_ONCE):
        total += len(piece)
        if total > limits.file_bytes:
            raise size_error(limits)
        pieces.append(piece)
    return b"".join(pieces)


def measure_unpacked(packed: BinaryIO, limits: Limits) -> int:
    """Return how many bytes a compressed stream holds, and rewind it.

    Raises `NotReadable` if they are too many, before anything of it is held.
    """
    total = 0
    while piece := packed.read(_AT_ONCE):
        total += len(piece)
        if total > limits.stream_bytes:
            raise unpacks_too_large(limits)
    packed.seek(0)
    return total


def clip_lines(
    stream: BinaryIO, limits: Limits, skipped: Callable[[int], None] = lambda _: None
) -> Iterator[bytes]:
    """Yield the lines of a stream; one that is too long comes as an empty line.

    `skipped` is told its number, counted from 1.
    """
    number = 0
    while line := stream.readline(limits.line_bytes + 1):
        number += 1
        if len(line) > limits.line_bytes:
            while line and not line.endswith(b"\n"):
                line = stream.readline(_AT_ONCE)
            skipped(number)
            line = b"\n"
        yield line
