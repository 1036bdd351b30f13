"""How much of an input is read: a line, a file that is held whole, and what unpacks."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Callable, Iterator
from io import BytesIO
from typing import BinaryIO, Protocol, cast

from msgspec import Struct

from foldaway.dialects.jsontext import depth_error
from foldaway.errors import NotReadable

GZIP = b"\x1f\x8b"
MEGABYTE = 1_000_000
_LARGEST = 2**62
"""Bytes that every reader can count to."""
_AT_ONCE = 1 << 20
"""Bytes that are counted or skipped at a time."""


class Reads(Protocol):
    """Whatever bytes can be read from, a piece at a time."""

    def read(self, size: int, /) -> bytes:
        """Return at most `size` bytes, none at the end."""
        ...


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

    def check_whole(self, size: int) -> None:
        """Raise `NotReadable` for an input that is too large to be held whole."""
        if size > self.file_bytes:
            raise NotReadable(
                f"is larger than {self.max_file_mb:,} MB",
                remedy="split it, write it as JSON lines, or raise input.max_file_mb",
            )

    def check_unpacked(self, size: int) -> None:
        """Raise `NotReadable` for a compressed input that decompresses to too much."""
        if size > self.stream_bytes:
            raise NotReadable(
                f"decompresses to more than {self.max_stream_mb:,} MB",
                remedy="decompress it first if you trust it, or raise input.max_stream_mb",
            )

    def read_whole(self, stream: Reads) -> bytes:
        """Return what a stream holds; raise `NotReadable` as soon as it is too large."""
        pieces: list[bytes] = []
        total = 0
        while piece := stream.read(_AT_ONCE):
            total += len(piece)
            self.check_whole(total)
            pieces.append(piece)
        return b"".join(pieces)

    def unpack(self, data: bytes) -> bytes:
        """Return `data` decompressed if it is gzip, never more of it than the limit.

        Raises `NotReadable` if it is broken or too large.
        """
        if data[:2] != GZIP:
            return data
        try:
            with gzip.GzipFile(fileobj=BytesIO(data)) as packed:
                return self.read_whole(packed)
        except (OSError, EOFError, zlib.error) as error:
            raise input_error(error) from None

    def measure(self, packed: BinaryIO) -> int:
        """Return how many bytes a compressed stream holds, and rewind it.

        Raises `NotReadable` if they are too many, before anything of it is held.
        """
        total = 0
        while piece := packed.read(_AT_ONCE):
            total += len(piece)
            self.check_unpacked(total)
        packed.seek(0)
        return total

    def read_lines(
        self, stream: BinaryIO, skipped: Callable[[int, str], object] = lambda _, __: None
    ) -> Iterator[bytes]:
        """Yield the lines of a stream; one that is too long comes as an empty line.

        `skipped` is told its number, counted from 1, and what to say about it.
        """
        number = 0
        while line := stream.readline(self.line_bytes + 1):
            number += 1
            if len(line) > self.line_bytes:
                while line and not line.endswith(b"\n"):
                    line = stream.readline(_AT_ONCE)
                what = f"is longer than {self.max_line_mb:,} MB and was skipped"
                skipped(number, f"{what}; raise input.max_line_mb")
                line = b"\n"
            yield line


def unpack_stream(stream: BinaryIO) -> BinaryIO:
    """Return what a stream holds from its start, decompressed if it is gzip."""
    stream.seek(0)
    packed = stream.read(2) == GZIP
    stream.seek(0)
    return cast("BinaryIO", gzip.GzipFile(fileobj=stream)) if packed else stream


def input_error(error: Exception) -> NotReadable:
    """Return the error for what nested too deeply, or could not be decompressed."""
    if isinstance(error, RecursionError):
        return depth_error()
    return NotReadable(f"the gzip data is broken ({error})", remedy="compress the file again")
