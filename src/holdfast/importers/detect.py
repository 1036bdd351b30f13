"""What a file is, by its data: the kind of its lines, of its document, or why it is nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from itertools import islice
from typing import Any, BinaryIO, Literal, TypeAlias

from msgspec import Struct

from holdfast.dialects.jsontext import parse
from holdfast.dialects.limits import Limits, bounded_lines, too_large
from holdfast.errors import NotReadable
from holdfast.importers import aider, claude_code, codex, openhands, pi, plain, values
from holdfast.importers.databases import MAGIC
from holdfast.importers.imported import Note
from holdfast.importers.lines import FileEntry, entries
from holdfast.transcript import Payload

Kind: TypeAlias = Literal[
    "database", "value", "aider", "claude-code", "codex", "pi", "openhands", "records", "messages"
]
"""`value`: one JSON document; `records`: a conversation a line; `messages`: a message a line;
the names of agents: lines or headings that are theirs."""

_LINES: Mapping[Kind, Callable[[Payload], bool]] = {
    "claude-code": claude_code.is_line,
    "codex": codex.is_line,
    "pi": pi.is_line,
    "openhands": openhands.is_event,
    "records": values.is_record,
    "messages": plain.is_message,
}
"""In the order in which they are asked: the later ones know less."""
_LOOKED_AT = 64
_LINES_OF_TEXT = 20_000
_HEAD = 4_096
_AT_ONCE = 1 << 20
_AROUND = b"\xef\xbb\xbf \t\r\n"
"""A byte order mark and white space."""
_REMEDY = (
    "expected a session of Claude Code, Codex, OpenCode, Pi, Hermes, OpenHands, SWE-agent, "
    "tau-bench or aider, or messages as JSON or JSON lines"
)


class Detected(Struct, frozen=True):
    """What a file is; a document has been parsed to find out, and is its `value`."""

    kind: Kind
    value: Any = None


def detect(stream: BinaryIO, size: int, limits: Limits) -> Detected:
    """Return what a stream of `size` bytes holds; raises `NotReadable` if it is no session.

    Reads from the start; the position afterwards is anywhere. A document that is too large to be
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


def line_kind(found: Iterable[FileEntry]) -> Kind | None:
    """Return the kind of the first entry that is known."""
    for entry in found:
        for kind, is_one in _LINES.items():
            if is_one(entry.value):
                return kind
    return None


def _json(stream: BinaryIO, size: int, limits: Limits) -> Detected:
    """Tell a document from lines: the first line of the latter is whole, and more follow."""
    first = next((line for line in bounded_lines(stream, limits) if line.strip(_AROUND)), b"")
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
    if size > limits.file_bytes:
        raise too_large(limits)
    stream.seek(0)
    return parse(stream.read().strip(_AROUND))


def _has_more(stream: BinaryIO) -> bool:
    while piece := stream.read(_AT_ONCE):
        if piece.strip():
            return True
    return False


def _kind_of_lines(stream: BinaryIO, limits: Limits) -> Kind | None:
    stream.seek(0)
    notes: list[Note] = []
    return line_kind(islice(entries(bounded_lines(stream, limits), notes), _LOOKED_AT))


def _kind_of_text(stream: BinaryIO, limits: Limits) -> Kind:
    stream.seek(0)
    for line in islice(bounded_lines(stream, limits), _LINES_OF_TEXT):
        if aider.is_history(line.decode("utf-8", "replace")):
            return "aider"
    raise NotReadable("is text of an unknown kind", remedy=_REMEDY)


def _object(line: bytes) -> Payload | None:
    try:
        value = parse(line.strip(_AROUND))
    except NotReadable:
        return None
    return value if type(value) is dict else None  # pyright: ignore[reportUnknownVariableType]


def _is_text(head: bytes) -> bool:
    try:
        head.decode()
    except UnicodeDecodeError as error:
        return error.start >= len(head) - 3
    return True
