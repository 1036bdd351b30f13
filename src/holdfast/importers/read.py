"""The sessions of one file, whatever agent wrote it."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from contextlib import contextmanager
from io import SEEK_END, BytesIO
from pathlib import Path
from typing import BinaryIO, cast

from holdfast.dialects.jsontext import too_deep
from holdfast.dialects.limits import (
    DEFAULT_LIMITS,
    GZIP,
    Limits,
    bounded_lines,
    broken_gzip,
    too_long,
    unpacked_size,
)
from holdfast.errors import NotReadable
from holdfast.importers import (
    aider,
    claude_code,
    codex,
    hermes,
    opencode_store,
    openhands,
    pi,
    plain,
)
from holdfast.importers.databases import MAGIC, opened
from holdfast.importers.detect import Detected, Kind, detect
from holdfast.importers.files import open_regular
from holdfast.importers.imported import ImportedSession, Note
from holdfast.importers.lines import FileEntry, entries
from holdfast.importers.values import read_records, read_value, with_notes

_HEAD = 4_096
_LINE_READERS: Mapping[Kind, Callable[[Iterable[FileEntry], str], Iterator[ImportedSession]]] = {
    "claude-code": claude_code.read,
    "codex": codex.read,
    "pi": pi.read,
    "messages": plain.read_lines,
}


def read_file(path: Path | str, limits: Limits = DEFAULT_LIMITS) -> Iterator[ImportedSession]:
    """Return the sessions of a file, told by its data; gzip is undone.

    Raises `NotReadable` with a remedy for what is no session at all, before anything is given.
    Lines are read one by one: what is held is the conversation and not the file. What was torn,
    doubled or unanswered is in the notes of the sessions; those on the file are with its first.
    A line beyond the limit is skipped and noted; a document or compressed file is refused.
    """
    path = Path(path)
    with _errors(str(path)), _stream(path) as stream:
        found = detect(stream, _size(stream, limits), limits)
        if found.kind == "database" and isinstance(stream, gzip.GzipFile):
            raise NotReadable("is a SQLite database in gzip", remedy="unpack it first")
    return _sessions(path, found, limits)


def is_history(path: Path) -> bool:
    """Return whether a page begins as a history of aider does; no where it cannot be read."""
    try:
        with _stream(path) as stream:
            head = stream.read(_HEAD).decode("utf-8", "replace")
    except (OSError, EOFError, zlib.error, NotReadable):
        return False
    return any(aider.is_history(line) for line in head.splitlines())


def read_bytes(
    data: bytes, name: str, limits: Limits = DEFAULT_LIMITS
) -> Iterator[ImportedSession]:
    """Return the sessions in `data`, as `read_file` does; `name` stands for the path."""
    if data.startswith(MAGIC):
        raise NotReadable("is a SQLite database", where=name, remedy="give the file itself")
    stream: BinaryIO = BytesIO(data)
    if data.startswith(GZIP):
        stream = cast("BinaryIO", gzip.GzipFile(fileobj=stream))
    with _errors(name):
        found = detect(stream, _size(stream, limits), limits)
    return _given(stream, found, name, limits)


def _size(stream: BinaryIO, limits: Limits) -> int:
    """Return how many bytes a stream holds, decompressed, and rewind it."""
    if isinstance(stream, gzip.GzipFile):
        return unpacked_size(stream, limits)
    size = stream.seek(0, SEEK_END)
    stream.seek(0)
    return size


def _given(
    stream: BinaryIO, detected: Detected, name: str, limits: Limits
) -> Iterator[ImportedSession]:
    with _errors(name):
        yield from _read(stream, detected, name, limits)


def _sessions(path: Path, detected: Detected, limits: Limits) -> Iterator[ImportedSession]:
    with _errors(str(path)):
        if detected.kind == "database":
            yield from _database(path, limits)
            return
        with _stream(path) as stream:
            yield from _read(stream, detected, str(path), limits)


def _read(
    stream: BinaryIO, detected: Detected, path: str, limits: Limits
) -> Iterator[ImportedSession]:
    stream.seek(0)
    notes: list[Note] = []

    def skip(number: int) -> None:
        notes.append(Note("left out", f"line {number}", too_long(limits)))

    lines = bounded_lines(stream, limits, skip)
    match detected.kind:
        case "value":
            yield from read_value(detected.value, path)
        case "aider":
            yield from with_notes(aider.read(lines, path), notes)
        case "records":
            placed = ((entry.place, entry.value) for entry in entries(lines, notes))
            yield from with_notes(read_records(placed, path, notes), notes)
        case "openhands":
            events = [entry.value for entry in entries(lines, notes)]
            yield from with_notes(openhands.read_events(events, path), notes)
        case kind:
            found = _LINE_READERS[kind](entries(lines, notes), path)
            yield from with_notes(found, notes)


def _database(path: Path, limits: Limits) -> Iterator[ImportedSession]:
    with opened(path, limits) as database:
        if database.has(hermes.TABLES):
            yield from hermes.read_database(database, str(path))
        elif database.has(opencode_store.TABLES):
            yield from opencode_store.read_database(database, str(path))
        else:
            raise NotReadable(
                "is a SQLite database of something else",
                remedy="of databases, the state.db of Hermes and OpenCode's opencode.db are read",
            )


@contextmanager
def _stream(path: Path) -> Generator[BinaryIO]:
    try:
        opened_file = open_regular(path)
    except ValueError:
        raise NotReadable("is no name of a file", remedy="check the name") from None
    with opened_file as plain_file:
        if plain_file.read(2) == GZIP:
            plain_file.seek(0)
            with gzip.open(plain_file) as unpacked:
                yield cast("BinaryIO", unpacked)
        else:
            plain_file.seek(0)
            yield plain_file


@contextmanager
def _errors(where: str) -> Generator[None]:
    """Turn what can go wrong with a file into `NotReadable` with its name."""
    try:
        yield
    except NotReadable as error:
        raise (error if error.where.startswith(where) else error.at(where)) from None
    except FileNotFoundError:
        raise NotReadable("does not exist", where=where, remedy="check the name") from None
    except IsADirectoryError:
        raise NotReadable(
            "is a directory", where=where, remedy="name a file, or import the whole folder"
        ) from None
    except PermissionError:
        raise NotReadable("may not be read", where=where, remedy="check its permissions") from None
    except RecursionError:
        raise too_deep().at(where) from None
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise broken_gzip(error).at(where) from None
    except OSError as error:
        raise NotReadable(
            f"cannot be read ({type(error).__name__})", where=where, remedy="check the file"
        ) from None
