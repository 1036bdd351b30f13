"""The sessions of one file, whatever agent wrote it: what it is, by its data, and whose."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from io import SEEK_END, BytesIO
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO, TypeAlias, cast

from msgspec import Struct

from foldaway.agents.importers import (
    aider,
    benchmarks,
    claude_code,
    cline,
    codex,
    continue_dev,
    copilot,
    gemini_cli,
    goose,
    hermes,
    llm,
    opencode,
    openhands,
    pi,
    plain,
)
from foldaway.agents.importers.files import (
    MAGIC,
    AgentDatabase,
    FileEntry,
    elements,
    entries,
    fields,
    open_database,
    open_regular,
)
from foldaway.agents.importers.imported import ImportedSession, Note, record_name, with_notes
from foldaway.dialects import Limits, has_list, input_error, parse, unpack_stream
from foldaway.errors import NotReadable
from foldaway.transcript import Payload

_HEAD = 4_096
"""Bytes that tell text from other files, and a history of aider from other pages."""
_OF_LIST = 8
"""Elements of a list that tell what all of them are."""
_LOOKED_AT = 64
"""Lines of JSON of which one must be known."""
_LINES_OF_TEXT = 20_000
"""Lines of a text among which the heading of a chat must be."""
_AT_ONCE = 1 << 20
"""Bytes that are read at once to see whether more than white space follows."""
_AROUND = b"\xef\xbb\xbf \t\r\n"
"""A byte order mark and white space."""
_REMEDY = (
    "expected a session of an agent that `foldaway import` knows, or messages as JSON or JSON lines"
)
_DATABASES: Sequence[
    tuple[Mapping[str, set[str]], Callable[[AgentDatabase, str], Iterator[ImportedSession]]]
] = (
    (hermes.TABLES, hermes.read_database),
    (opencode.TABLES, opencode.read_database),
    (goose.TABLES, goose.read_database),
    (pi.TABLES, pi.read_database),
    (llm.TABLES, llm.read_database),
)


def read_file(path: Path | str, limits: Limits = Limits()) -> Iterator[ImportedSession]:
    """Return the sessions of a file, whose format is detected from its content; unpacks gzip.

    Raises `NotReadable` with a remedy if it is not a session, before it yields the first one.
    Lines are read one by one: the conversation is in memory, not the file. Torn, doubled and
    unanswered entries are in the notes of the sessions; notes on the file are with its first.
    A line beyond the limit is skipped and noted; a document or compressed file is refused.
    """
    path = Path(path)
    with _errors(str(path)), _stream(path) as stream:
        found = detect(stream, _size(stream, limits), limits)
        if found.kind == "database" and isinstance(stream, gzip.GzipFile):
            raise NotReadable("is a SQLite database in gzip", remedy="unpack it first")
    return _sessions(path, found, limits)


def is_history(path: Path) -> bool:
    """Return whether a page begins as a history of aider does; False if it cannot be read."""
    try:
        with _stream(path) as stream:
            head = stream.read(_HEAD).decode("utf-8", "replace")
    except (OSError, EOFError, zlib.error, NotReadable):
        return False
    return any(aider.is_history(line) for line in head.splitlines())


def read_bytes(data: bytes, name: str, limits: Limits = Limits()) -> Iterator[ImportedSession]:
    """Return the sessions in `data`, as `read_file` does; `name` stands for the path."""
    if data.startswith(MAGIC):
        raise NotReadable("is a SQLite database", where=name, remedy="give the file itself")
    stream = unpack_stream(BytesIO(data))
    with _errors(name):
        found = detect(stream, _size(stream, limits), limits)
    return _read_stream(stream, found, name, limits)


def read_native(
    data: bytes, name: str, limits: Limits = Limits()
) -> Iterator[ImportedSession] | None:
    """Return the sessions in `data` if an agent wrote it; None for a plain conversation.

    `name` is the path of a file, or stands for one. Raises `NotReadable` for an agent's file that
    cannot be read.
    """
    if data.startswith(MAGIC):
        return read_file(name, limits) if Path(name).exists() else read_bytes(data, name, limits)
    stream = unpack_stream(BytesIO(data))
    try:
        with _errors(name):
            found = detect(stream, _size(stream, limits), limits)
            is_native = _is_native(stream, found, limits)
    except NotReadable:  # the reader of plain messages says what is wrong with it
        return None
    return _read_stream(stream, found, name, limits) if is_native else None


def _is_native(stream: BinaryIO, found: Detected, limits: Limits) -> bool:
    """Return whether this is in a format of an agent, not plain messages."""
    if found.kind == "value":
        return _is_native_value(found.value)
    if found.kind != "records":
        return found.kind != "messages"
    stream.seek(0)
    return is_one_session(limits.read_lines(stream))


def is_one_session(lines: Iterable[bytes]) -> bool:
    """Return whether lines belong together: an agent wrote them, or each is a message."""
    for entry in islice(entries(lines, []), _LOOKED_AT):
        kind = line_kind([entry])
        if kind is not None:
            return kind != "records" or _is_native_value(entry.value)
    return False


def read_native_value(value: Any, path: str) -> Iterator[ImportedSession] | None:
    """Return the sessions in a document if an agent wrote it; None for a plain conversation."""
    return _read_value(value, path) if _is_native_value(value) else None


def _is_native_value(value: Any) -> bool:
    """Return whether a document, or a line of a file of them, is one that an agent wrote."""
    if type(value) is list:
        sample = [fields(element) for element in elements(value)[:_OF_LIST]]
        known = (cline.is_message, openhands.is_event, *(is_one for is_one, _ in _RECORDS))
        return bool(sample) and any(all(map(is_one, sample)) for is_one in known)
    body = fields(value)
    return plain.is_valued(body) or any(is_one(body) for is_one, _ in _DOCUMENTS)


def _size(stream: BinaryIO, limits: Limits) -> int:
    """Return how many bytes a stream holds, decompressed, and rewind it."""
    if isinstance(stream, gzip.GzipFile):
        return limits.measure(stream)
    size = stream.seek(0, SEEK_END)
    stream.seek(0)
    return size


def _read_stream(
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

    def skip(number: int, what: str) -> None:
        notes.append(Note("too long", f"line {number}", what))

    lines = limits.read_lines(stream, skip)
    match detected.kind:
        case "value":
            yield from _read_value(detected.value, path)
        case "aider":
            yield from with_notes(aider.read(lines, path), notes)
        case "records":
            placed = ((entry.place, entry.value) for entry in entries(lines, notes))
            yield from with_notes(read_records(placed, path, notes), notes)
        case kind:
            found = _LINES[kind][1](entries(lines, notes), path)
            yield from with_notes(found, notes)


def _database(path: Path, limits: Limits) -> Iterator[ImportedSession]:
    with open_database(path, limits) as database:
        for tables, read in _DATABASES:
            if database.has(tables):
                yield from read(database, str(path))
                return
        raise NotReadable(
            "is a SQLite database of something else",
            remedy="the databases of Hermes, OpenCode, goose, OpenClaw and llm are read",
        )


@contextmanager
def _stream(path: Path) -> Generator[BinaryIO]:
    try:
        opened_file = open_regular(path)
    except ValueError:
        raise NotReadable("is no name of a file", remedy="check the name") from None
    with opened_file as file:
        yield unpack_stream(file)


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
    except (RecursionError, EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise input_error(error).at(where) from None
    except OSError as error:
        raise NotReadable(
            f"cannot be read ({type(error).__name__})", where=where, remedy="check the file"
        ) from None


def _read_value(value: Any, path: str, source_id: str = "") -> Iterator[ImportedSession]:
    """Yield the sessions of a document; raises `NotReadable` if its format is unknown."""
    if type(value) is list:
        yield from _read_list(elements(value), path)
    elif type(value) is dict:
        yield from _read_object(fields(value), path, source_id)
    else:
        raise NotReadable(
            "holds no transcript", where=path, remedy="expected a JSON list or object of messages"
        )


def read_records(
    found: Iterable[tuple[str, Any]], path: str, notes: list[Note]
) -> Iterator[ImportedSession]:
    """Yield the conversation of each value with its place; one that holds none is noted."""
    for number, (place, value) in enumerate(found, 1):
        if not is_record(fields(value)):
            notes.append(Note("left out", place, "holds no conversation"))
            continue
        try:
            yield from _read_value(value, path, record_name(path, number))
        except NotReadable as error:
            notes.append(Note("left out", place, error.what))


def is_record(value: Payload) -> bool:
    """Return whether an object holds a conversation, and is not a message of one."""
    return any(is_one(value) for is_one, _ in _RECORDS) or ("role" not in value and has_list(value))


def _read_list(found: list[Any], path: str) -> Iterator[ImportedSession]:
    sample = [fields(element) for element in found[:_OF_LIST]]
    if sample and all(benchmarks.is_run(element) for element in sample):
        yield from benchmarks.read_runs(found, path)
    elif sample and all(cline.is_message(element) for element in sample):
        yield from cline.read_task(found, path)
    elif sample and all(openhands.is_event(element) for element in sample):
        yield from openhands.read_events(found, path)
    elif sample and all(is_record(element) for element in sample):
        notes: list[Note] = []
        placed = ((f"$[{index}]", element) for index, element in enumerate(found))
        yield from with_notes(read_records(placed, path, notes), notes)
    else:
        yield from _plain(found, path, "")


_Document: TypeAlias = tuple[
    Callable[[Payload], bool], Callable[[Payload, str], Iterator[ImportedSession]]
]
_RECORDS: Sequence[_Document] = (
    (opencode.is_export, opencode.read),
    (goose.is_export, goose.read_export),
    (gemini_cli.is_session, gemini_cli.read_document),
    (cline.is_session, cline.read_session),
    (continue_dev.is_session, continue_dev.read),
    (benchmarks.is_mini_run, benchmarks.read_mini_run),
    (benchmarks.is_simulations, benchmarks.read_simulations),
    (benchmarks.is_run, lambda value, path: benchmarks.read_runs([value], path)),
    (benchmarks.is_trajectory, benchmarks.read_trajectory),
)
"""Objects that are a session of an agent, also as one of many."""
_DOCUMENTS: Sequence[_Document] = (
    (openhands.is_log, openhands.read_log),
    (openhands.is_event, lambda value, path: openhands.read_events([value], path)),
    *_RECORDS,
    (hermes.is_export, hermes.read_export),
)
"""In the order in which they are asked: the later ones know less."""


def _read_object(value: Payload, path: str, source_id: str) -> Iterator[ImportedSession]:
    for is_one, read in _DOCUMENTS:
        if is_one(value):
            yield from read(value, path)
            return
    if plain.is_valued(value):
        yield from plain.read_valued(value, path, plain.record_id(value) or source_id)
    elif plain.is_message(value):
        yield from _plain([value], path, source_id)
    else:
        yield from _plain(value, path, source_id)


def _plain(value: Any, path: str, source_id: str) -> Iterator[ImportedSession]:
    try:
        yield from plain.read(value, path, source_id)
    except NotReadable as error:
        raise error.at(path) from None


class Detected(Struct, frozen=True):
    """What a file is; a document has been parsed to find out, and is its `value`."""

    kind: str
    """`database`, `value` for one JSON document, `aider` for text, or a key of `_LINES`."""
    value: Any = None


def detect(stream: BinaryIO, size: int, limits: Limits) -> Detected:
    """Return what a stream of `size` bytes holds; raises `NotReadable` if it is not a session.

    Reads from the start; the position afterwards is undefined. A document that is too large to be
    parsed at once is refused unread.
    """
    head = stream.read(_HEAD)
    if head.startswith(MAGIC):
        return Detected("database")
    if size > limits.stream_bytes:
        raise NotReadable(
            f"is larger than {limits.max_stream_mb:,} MB",
            remedy="split it, or raise input.max_stream_mb",
        )
    if not head:
        raise NotReadable("is empty", remedy="nothing was written to it yet")
    if b"\0" in head or not _is_text(head):
        raise NotReadable("is not text", remedy=_REMEDY)
    stream.seek(0)
    if head.lstrip(_AROUND)[:1] in (b"{", b"["):
        return _json(stream, size, limits)
    return Detected(_kind_of_lines(stream, limits) or _kind_of_text(stream, limits))


_LINES: Mapping[
    str,
    tuple[
        Callable[[Payload], bool], Callable[[Iterable[FileEntry], str], Iterator[ImportedSession]]
    ],
] = {
    "qwen-code": (claude_code.is_qwen_line, claude_code.read_qwen),
    "claude-code": (claude_code.is_line, claude_code.read),
    "codex": (codex.is_line, codex.read),
    "gemini-cli": (gemini_cli.is_line, gemini_cli.read),
    "copilot-cli": (copilot.is_line, copilot.read),
    "pi": (pi.is_line, pi.read),
    "openhands": (
        openhands.is_event,
        lambda lines, path: openhands.read_events([entry.value for entry in lines], path),
    ),
    "records": (is_record, plain.read_lines),  # read with their notes
    "messages": (plain.is_message, plain.read_lines),
}
"""How lines of an agent are known and read, in the order in which they are asked: the later ones
know less. `records` have a conversation in each line, `messages` a message."""


def line_kind(found: Iterable[FileEntry]) -> str | None:
    """Return the kind of the first entry that is known."""
    for entry in found:
        for kind, (is_one, _) in _LINES.items():
            if is_one(entry.value):
                return kind
    return None


def _json(stream: BinaryIO, size: int, limits: Limits) -> Detected:
    """Tell a document from lines: the first line of the latter is whole, and more follow."""
    first = next((line for line in limits.read_lines(stream) if line.strip(_AROUND)), b"")
    value = _object(first)
    if value is not None and not _has_more(stream):
        alone = line_kind([FileEntry(1, value)])
        return Detected("value" if alone in (None, "records") else alone, value)
    if value is None:
        is_line = bool(first)  # otherwise there is only one, and it is too long
        del first
        try:
            return Detected("value", _document(stream, size, limits))
        except NotReadable:
            if not is_line or _kind_of_lines(stream, limits) is None:
                raise
    found = _kind_of_lines(stream, limits)
    if found is None:
        raise NotReadable("holds no messages that are known", remedy=_REMEDY)
    return Detected(found)


def _document(stream: BinaryIO, size: int, limits: Limits) -> Any:
    limits.check_whole(size)
    stream.seek(0)
    return parse(stream.read().strip(_AROUND))


def _has_more(stream: BinaryIO) -> bool:
    while piece := stream.read(_AT_ONCE):
        if piece.strip():
            return True
    return False


def _kind_of_lines(stream: BinaryIO, limits: Limits) -> str | None:
    stream.seek(0)
    notes: list[Note] = []
    return line_kind(islice(entries(limits.read_lines(stream), notes), _LOOKED_AT))


def _kind_of_text(stream: BinaryIO, limits: Limits) -> str:
    stream.seek(0)
    for line in islice(limits.read_lines(stream), _LINES_OF_TEXT):
        if aider.is_history(line.decode("utf-8", "replace")):
            return "aider"
    raise NotReadable("is text of an unknown kind", remedy=_REMEDY)


def _object(line: bytes) -> Payload | None:
    try:
        value = parse(line.strip(_AROUND))
    except NotReadable:
        return None
    return cast("Payload", value) if type(value) is dict else None


def _is_text(head: bytes) -> bool:
    try:
        head.decode()
    except UnicodeDecodeError as error:
        return error.start >= len(head) - 3
    return True
