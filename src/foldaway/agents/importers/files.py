"""Files of other agents: opened safely, and read as lines, databases and values.

Only regular files within the folder that are not too large are opened. A line may be torn, and a
value may be anything: reading never raises for that.
"""

from __future__ import annotations

import math
import os
import sqlite3
import stat
from collections.abc import Generator, Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, BinaryIO, cast
from urllib.parse import quote

from msgspec import Struct

from foldaway.agents.importers.imported import Note
from foldaway.dialects import Limits, parse, refuse_dense, scan
from foldaway.errors import NotReadable
from foldaway.transcript import Payload

_FLAGS = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
"""Opening a pipe does not wait for its writer."""
_BOM = b"\xef\xbb\xbf"
_TRIES = 8
_LONGEST_OPENING = 64
"""Of a torn line: places that are tried for the whole object at its end, and the characters of its
first key by which these are found."""
MAGIC = b"SQLite format 3\0"
_AS_IT_LIES = "&immutable=1"
_WITH_LOG = b"\2\2"
"""In the header of a SQLite database that has a write-ahead log."""
_LONGEST = 1_000_000_000
"""The longest value that SQLite takes unless it was built for longer ones."""
_DAMAGED = "copy the file again while the agent is not running, or restore it from a backup"
_BESIDE_BYTES = 1 << 24
"""Of a file with facts about sessions: titles and folders of tens of thousands of them."""
_LATEST_SECONDS = 1e11
"""The year 5138; a larger number counts milliseconds."""


def open_regular(path: Path) -> BinaryIO:
    """Open a file; raise `NotReadable` for a pipe, a socket or a device, at once."""
    refuse_special(path, path.stat())
    handle = os.open(path, _FLAGS)
    try:
        refuse_special(path, os.fstat(handle))  # it may have been replaced since
        return os.fdopen(handle, "rb")
    except BaseException:
        os.close(handle)
        raise


def refuse_special(path: Path, found: os.stat_result) -> None:
    """Raise `NotReadable` for a pipe, a socket or a device."""
    if stat.S_ISDIR(found.st_mode):
        raise IsADirectoryError(path)
    if stat.S_ISREG(found.st_mode):
        return
    kinds = {stat.S_IFIFO: "a pipe", stat.S_IFSOCK: "a socket"}
    raise NotReadable(
        f"is {kinds.get(stat.S_IFMT(found.st_mode), 'a device')}, not a file; it was skipped",
        where=str(path),
        remedy="save its content to a file and import that",
    )


def is_outside(path: Path, folder: str) -> bool:
    """Return whether links lead from a path to a place outside the folder, a real path."""
    real = os.path.realpath(path)
    return real != folder and not real.startswith(folder.rstrip(os.sep) + os.sep)


def read_object(path: Path, folder: str, limits: Limits, notes: list[Note]) -> Payload:
    """Return the JSON object in a small file of a folder, an empty one for anything else.

    A file that a link or a name puts outside the folder is not read; "" for any folder.
    """
    try:
        if folder and is_outside(path, folder):
            notes.append(Note("left out", path.name, "leads out of the folder"))
            return {}
        with open_regular(path) as file:
            return fields(parse(limits.read_whole(file)))
    except (OSError, ValueError, NotReadable):
        return {}


def read_beside(path: Path) -> bytes:
    """Return what a small file beside a session says; nothing if it is a link or not there."""
    try:
        if path.is_symlink():
            return b""
        with open_regular(path) as file:
            return file.read(_BESIDE_BYTES)
    except (OSError, ValueError, NotReadable):
        return b""


class FileEntry(Struct, frozen=True, gc=False):
    """One object and the line that it stands on (1-based)."""

    line: int
    value: Payload

    @property
    def place(self) -> str:
        """The line, in words."""
        return f"line {self.line}"


def entries(lines: Iterable[bytes], notes: list[Note]) -> Iterator[FileEntry]:
    """Yield the whole objects of each line, in order; what is not one goes into `notes`.

    A torn line keeps the objects that it begins with, and the one that it ends with: a writer
    that was killed leaves half an object, and the next one writes its line behind it. The last
    line may still grow while it has no newline, so of it only what it begins with is taken: a
    longer file never takes back what a shorter one gave.
    """
    for number, line in enumerate(lines, 1):
        body = line.removeprefix(_BOM).strip() if number == 1 else line.strip()
        if not body:
            continue
        try:
            value = parse(body)
        except NotReadable:
            yield from _rescue(body, number, notes, finished=line.endswith(b"\n"))
            continue
        if type(value) is dict:
            yield FileEntry(number, cast("Payload", value))
        else:
            notes.append(Note("left out", f"line {number}", "is not a JSON object"))


def _rescue(body: bytes, number: int, notes: list[Note], *, finished: bool) -> Iterator[FileEntry]:
    try:
        refuse_dense(body)
    except NotReadable as error:
        notes.append(Note("left out", f"line {number}", error.what))
        return
    words = body.decode("utf-8", "replace")
    whole, at = _from_the_start(words)
    if finished and at < len(words):
        last, at_last = _at_the_end(words, at)
    else:
        last, at_last = None, len(words)
    kept = len(whole) + (last is not None)
    if at < at_last:
        said = f"{kept} whole object{'' if kept == 1 else 's'} kept, {at_last - at} characters not"
        notes.append(Note("torn", f"line {number}", said))
    elif "\ufffd" in words:
        notes.append(Note("torn", f"line {number}", "bytes that are not UTF-8 were replaced"))
    for value in whole:
        yield FileEntry(number, value)
    if last is not None:
        yield FileEntry(number, last)


def _from_the_start(words: str) -> tuple[list[Payload], int]:
    whole: list[Payload] = []
    at = 0
    while words[at : at + 1] == "{":
        found = _object_at(words, at)
        if found is None:
            break
        value, at = found
        whole.append(value)
        while words[at : at + 1].isspace():
            at += 1
    return whole, at


def _at_the_end(words: str, start: int) -> tuple[Payload | None, int]:
    """Return the object that reaches to the end of the line and opens as the torn one does."""
    key = words.find(":", start, start + _LONGEST_OPENING)
    opening = words[start : key + 1] if key > 0 else ""
    if not opening.startswith('{"'):
        return None, len(words)
    at = start
    for _ in range(_TRIES):
        at = words.find(opening, at + 1)
        if at < 0:
            break
        found = _object_at(words, at)
        if found is not None and found[1] == len(words):
            return found[0], at
    return None, len(words)


def _object_at(words: str, at: int) -> tuple[Payload, int] | None:
    try:
        value, end = scan(words, at)
    except (ValueError, NotReadable):
        return None
    return (cast("Payload", value), end) if type(value) is dict else None


class AgentDatabase:
    """A read-only connection that gives rows as objects."""

    __slots__ = ("_connection", "_limits", "columns")

    def __init__(self, connection: sqlite3.Connection, limits: Limits) -> None:
        """Look at which tables there are."""
        self._connection, self._limits = connection, limits
        names = [
            row[0]
            for row in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
        ]
        self.columns: dict[str, set[str]] = {name: self._columns(name) for name in names}

    def has(self, tables: Mapping[str, set[str]]) -> bool:
        """Return whether these tables are there, with at least these columns."""
        return all(wanted <= self.columns.get(name, set()) for name, wanted in tables.items())

    def rows(
        self, table: str, *, order: str, where: str = "", value: Any = None
    ) -> Iterator[Payload]:
        """Yield the rows of a table, those whose column `where` is `value` if one is named.

        Columns that are computed are left out: a small file can compute any number of gigabytes.
        Rows of one session are held whole, so all of them together have a limit.
        """
        stored = ", ".join(map(_quote, sorted(self.columns[table])))
        wanted = f" WHERE {_quote(where)} = ?" if where else ""
        order = order if order == "rowid" else _quote(order)
        found = self._connection.execute(
            f"SELECT {stored} FROM {_quote(table)}{wanted} ORDER BY {order}",
            (value,) if where else (),
        )
        names = [column[0] for column in found.description]
        total = 0
        for row in found:
            total += sum(len(value) for value in row if isinstance(value, (str, bytes)))
            if where and total > self._limits.file_bytes:
                raise NotReadable(
                    f"has a session of more than {self._limits.max_file_mb:,} MB",
                    remedy="raise input.max_file_mb if you trust the file",
                )
            yield dict(zip(names, row, strict=True))

    def _columns(self, table: str) -> set[str]:
        try:
            found = self._connection.execute(f"PRAGMA table_info({_quote(table)})").fetchall()
        except sqlite3.OperationalError:  # a virtual table whose module is not there
            return set()
        return {row[1] for row in found}


@contextmanager
def open_database(path: Path, limits: Limits) -> Generator[AgentDatabase]:
    """Give the database; what is wrong with the file is a `NotReadable`.

    Nothing is written, neither to the file nor beside it. Where the folder cannot be written to,
    SQLite cannot follow a writer; the file is then read as if nobody wrote to it.
    """
    connection: sqlite3.Connection | None = None
    try:
        connection, database = _connect(path, limits)
        yield database
    except sqlite3.Error as error:
        raise NotReadable(
            f"is a SQLite database that cannot be read ({error})", where=str(path), remedy=_DAMAGED
        ) from None
    finally:
        if connection is not None:
            connection.close()


def _connect(path: Path, limits: Limits) -> tuple[sqlite3.Connection, AgentDatabase]:
    address = f"file:{quote(str(path.resolve()))}?mode=ro"
    failure: sqlite3.Error | None = None
    for options in (_AS_IT_LIES,) if _is_at_rest(path) else ("", _AS_IT_LIES):
        connection = sqlite3.connect(address + options, uri=True)
        connection.text_factory = _decode_utf8
        connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, min(limits.file_bytes, _LONGEST))
        try:
            return connection, AgentDatabase(connection, limits)
        except sqlite3.OperationalError as error:
            connection.close()
            failure = error
        except sqlite3.Error:
            connection.close()
            raise
    assert failure is not None
    raise failure


def _is_at_rest(path: Path) -> bool:
    """Return whether this is a database with a write-ahead log that nobody has open.

    Even a reader would put the files of the log beside it.
    """
    with path.open("rb") as file:
        header = file.read(len(MAGIC) + 4)
    return header[18:20] == _WITH_LOG and not path.with_name(f"{path.name}-wal").exists()


def _decode_utf8(data: bytes) -> str:
    return data.decode("utf-8", "replace")


def _quote(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def text(value: Any) -> str:
    """Return a text, "" for anything else."""
    return value if type(value) is str else ""


def identifier(value: Any) -> str:
    """Return an id: a text, or a whole number as text."""
    return str(value) if type(value) is int else text(value)


def fields(value: Any) -> Payload:
    """Return an object, an empty one for anything else."""
    return cast("Payload", value) if type(value) is dict else {}


def elements(value: Any) -> list[Any]:
    """Return a list, an empty one for anything else."""
    return cast("list[Any]", value) if type(value) is list else []


def decode(value: Any) -> Any:
    """Return the value of a JSON text; None if it is not text or not JSON."""
    if type(value) is str:
        value = value.encode("utf-8", "surrogatepass")
    if type(value) is not bytes:
        return None
    try:
        return parse(value)
    except NotReadable:
        return None


def seconds(value: Any, *, is_local: bool = False) -> float | None:
    """Return seconds since 1970 from a number (seconds or milliseconds) or an ISO time.

    A time without a zone is taken for UTC, or for the time of this machine if the agent writes
    that, `is_local`.
    """
    if type(value) in (int, float):
        found = float(value) if abs(value) < 1e300 else math.nan
        found = found / 1000 if found > _LATEST_SECONDS else found
        return found if 0 < found < _LATEST_SECONDS else None
    if type(value) is not str or not 10 <= len(value) <= 40:
        return None
    try:
        when = datetime.fromisoformat(value)
        if when.tzinfo is None and not is_local:
            when = when.replace(tzinfo=UTC)
        return when.timestamp()
    except (ValueError, OverflowError, OSError):
        return None
