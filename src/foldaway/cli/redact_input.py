"""The input of `foldaway redact`: bytes in pieces, in UTF-8, with a bar if one is wanted."""

from __future__ import annotations

import codecs
import gzip
import os
import re
import sys
from collections.abc import Generator, Iterator
from contextlib import ExitStack, contextmanager
from typing import BinaryIO, cast

from foldaway.cli.draw import progress_bar
from foldaway.cli.files import STANDARD, is_terminal, label, open_input
from foldaway.cli.inputs import input_limits
from foldaway.errors import NotReadable

PIECE = 1 << 20
LONG = 8 * PIECE
"""An input that is longer gets a bar."""


@contextmanager
def source_of(name: str, *, bar: bool) -> Generator[Iterator[bytes]]:
    """Give the pieces of an input, `-` being standard input; in UTF-8 if it is UTF-16 or UTF-32.

    With `bar`, a long input says on standard error how far it is, if that is a terminal. Raises
    `NotReadable` if there is no such input, if it is packed otherwise than by gzip, torn or not
    decodable.
    """
    with ExitStack() as stack:
        try:
            file = stack.enter_context(open_input(name))
        except NotReadable as error:
            raise error.at(label(name)) from None
        size = 0 if name == STANDARD else os.fstat(file.fileno()).st_size
        yield _pieces(name, _unpack(file), size, bar=bar)


def _pieces(name: str, file: BinaryIO, size: int, *, bar: bool) -> Iterator[bytes]:
    where = label(name)
    try:
        pieces = _decode(file)
        is_shown = bar and is_terminal(sys.stderr)
        yield from _show_progress(pieces, where, size) if is_shown else pieces
    except NotReadable as error:
        raise error.at(where) from None
    except gzip.BadGzipFile:
        raise NotReadable("is no whole gzip file", where=where) from None
    except EOFError:
        raise NotReadable("ends in the middle", where=where) from None
    except UnicodeDecodeError:
        raise NotReadable("is not the UTF-16 or UTF-32 that it begins as", where=where) from None
    except OSError as error:
        if isinstance(error, BrokenPipeError):
            raise
        raise NotReadable(f"cannot be read ({error.strerror})", where=where) from None


def _decode(file: BinaryIO) -> Iterator[bytes]:
    piece = file.read(PIECE)
    if packed := _PACKED.match(piece):
        raise NotReadable(f"is packed ({packed.lastgroup})", remedy="unpack it first")
    encoding = encoding_of(piece)
    decoder = codecs.getincrementaldecoder(encoding)("surrogatepass") if encoding else None
    limits, total = input_limits() if isinstance(file, gzip.GzipFile) else None, 0
    while piece:
        total += len(piece)
        if limits is not None:
            limits.check_unpacked(total)
        yield piece if decoder is None else decoder.decode(piece).encode("utf-8", "surrogatepass")
        piece = file.read(PIECE)
    if decoder is not None:
        decoder.decode(b"", final=True)


_GZIP = b"\x1f\x8b"
_PACKED = re.compile(
    rb"(?P<zip>PK\x03\x04)|(?P<xz>\xfd7zXZ\x00)|(?P<bzip2>BZh[1-9]1AY&SY)|(?P<zstd>\x28\xb5\x2f\xfd)"
    rb"|(?P<lz4>\x04\x22\x4d\x18)|(?P<sevenzip>7z\xbc\xaf\x27\x1c)"
)
"""What would be passed on with every secret in it, or broken."""
_SAMPLE = 4_096
_LEAST = 16
_MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_UNITS = (("utf-32-le", 4, 0), ("utf-32-be", 4, 3), ("utf-16-le", 2, 0), ("utf-16-be", 2, 1))
"""Encoding, bytes of a unit, and which of them is the character if that is ASCII."""


def encoding_of(start: bytes) -> str:
    """Return in which wide encoding a text begins, by its mark or its NULs; "" for none."""
    for mark, encoding in _MARKS:
        if start.startswith(mark):
            return encoding
    sample = start[:_SAMPLE]
    for encoding, unit, place in _UNITS:
        low = sample[place::unit]
        others = [sample[at::unit] for at in range(unit) if at != place]
        if len(sample) >= _LEAST and _is_words(low) and all(map(_is_nothing, others)):
            return encoding
    return ""


def _is_words(column: bytes) -> bool:
    return sum(32 <= byte < 127 or byte in b"\t\r\n" for byte in column) > 0.9 * len(column)


def _is_nothing(column: bytes) -> bool:
    return column.count(0) > 0.9 * len(column)


def _unpack(file: BinaryIO) -> BinaryIO:
    peek = getattr(file, "peek", None)
    packed = peek is not None and bytes(peek(2)[:2]) == _GZIP
    return cast("BinaryIO", gzip.GzipFile(fileobj=file)) if packed else file


def _show_progress(pieces: Iterator[bytes], name: str, size: int) -> Iterator[bytes]:
    """Pass the pieces on, with a bar on standard error where the input is long."""
    passed = 0
    while passed < LONG and not size > LONG:
        piece = next(pieces, None)
        if piece is None:
            return
        yield piece
        passed += len(piece)
    from rich.progress import DownloadColumn, TransferSpeedColumn

    columns = (DownloadColumn(), TransferSpeedColumn())
    with progress_bar(name, quiet=False, total=size or None, columns=columns) as update:
        update(advance=passed)
        for piece in pieces:
            yield piece
            update(advance=len(piece))
