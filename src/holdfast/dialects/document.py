"""Bytes to transcripts and back: JSON, JSON lines and gzip; untouched messages keep their bytes."""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Sequence
from typing import Any, Literal, TypeAlias

from msgspec import Raw, Struct

from holdfast.dialects.jsontext import (
    dump as dump_json,
)
from holdfast.dialects.jsontext import (
    gaps,
    not_utf8,
    parse,
    split_list,
    split_object,
    too_deep,
)
from holdfast.dialects.load import load
from holdfast.dialects.registry import LIST_KEYS, dialect_named
from holdfast.errors import NotReadable
from holdfast.transcript import Transcript

Layout: TypeAlias = Literal["value", "message lines", "record lines", "record list"]
"""One transcript as a JSON value; a message a line; a transcript a line; a list of transcripts."""

_GZIP = b"\x1f\x8b"
_BOM = b"\xef\xbb\xbf"
_WIDE = (b"\xff\xfe", b"\xfe\xff")


class Record(Struct, frozen=True):
    """One transcript of a document, beside the bytes that it came from.

    `line` is its first line in the file (1-based); `source` is its own slice.
    """

    transcript: Transcript
    source: bytes
    line: int = 1


class Document(Struct, frozen=True):
    """The transcripts of one file. `warnings` name what was torn and how far it was recovered."""

    layout: Layout
    records: tuple[Record, ...]
    source: bytes
    """The whole text, decompressed."""
    warnings: tuple[str, ...] = ()
    compressed: bool = False


def read_document(data: bytes, *, dialect: str | None = None) -> Document:
    """Return the transcripts in `data`, or raise `NotReadable` with the line or path at fault.

    JSON (a message list, a request body, a list of either), JSON lines (a message or a transcript
    a line) and gzip of these are told apart by the data. A torn line is recovered as far as whole
    objects go.
    """
    compressed = data[:2] == _GZIP
    text = _gunzip(data) if compressed else data
    start = len(_BOM) if text[:3] == _BOM else 0
    head = text[start : start + 64].lstrip()
    if text[:2] in _WIDE:
        raise NotReadable("is encoded as UTF-16", remedy="convert the file to UTF-8")
    if not text[start:].strip():
        raise NotReadable("is empty", remedy="give a transcript with at least one message")
    if head[:1] not in (b"[", b"{"):
        raise NotReadable(
            "is not JSON", where="line 1",
            remedy="expected a JSON list or object, or one JSON object a line",
        )  # fmt: skip
    body = text[start:]
    found = _read_lines(body, dialect) if _is_lines(body) else _read_value(body, dialect)
    return Document(found.layout, found.records, text, found.warnings, compressed)


def write_document(document: Document, transcripts: Sequence[Transcript]) -> bytes:
    """Return `document` with its transcripts replaced, one for one, uncompressed.

    Where nothing changed the bytes are the ones that were read; where something did, every
    message that was not touched keeps its own bytes.
    """
    pairs = list(zip(document.records, transcripts, strict=True))
    if not document.warnings and all(
        record.transcript is transcript for record, transcript in pairs
    ):
        return document.source
    pieces = [
        record.source if record.transcript is transcript else _splice(record, transcript)
        for record, transcript in pairs
    ]
    match document.layout:
        case "value":
            return pieces[0]
        case "message lines" | "record lines":
            return b"\n".join(piece.rstrip(b"\r\n") for piece in pieces) + b"\n"
        case "record list":
            return b"[" + b",\n".join(pieces) + b"]\n"


class _Found(Struct):
    layout: Layout
    records: tuple[Record, ...]
    warnings: tuple[str, ...] = ()


def _is_lines(text: bytes) -> bool:
    """Return whether `text` is JSON lines: its first line is whole (or torn after a whole object)
    and it does not end there.
    """
    first, _, rest = text.lstrip().partition(b"\n")
    if first[:1] != b"{" or first.rstrip()[-1:] in (b"{", b",", b"["):
        return False
    whole, left = _objects_of(first)
    if not whole:
        return False
    lone_message = not _holds_list(whole[0][1]) and ("role" in whole[0][1] or "from" in whole[0][1])
    return left > 0 or len(whole) > 1 or bool(rest.strip()) or lone_message


def _read_value(text: bytes, dialect: str | None) -> _Found:
    """Return what `text` holds as one JSON value."""
    value = parse(text)
    if isinstance(value, list) and value and all(_holds_list(element) for element in value):  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
        pieces = split_list(text)
        records = [
            _record(element, bytes(pieces[at]), dialect, f"$[{at}]")
            for at, element in enumerate(value)  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
        ]
        return _Found("record list", tuple(records))
    return _Found("value", (Record(load(value, dialect=dialect), text),))


def _record(value: Any, text: bytes, dialect: str | None, where: str, line: int = 1) -> Record:
    try:
        return Record(load(value, dialect=dialect), text, line)
    except NotReadable as error:
        raise error.at(where) from None


def _holds_list(value: Any) -> bool:
    return isinstance(value, dict) and any(isinstance(value.get(key), list) for key in LIST_KEYS)  # pyright: ignore[reportUnknownMemberType]


def _read_lines(text: bytes, dialect: str | None) -> _Found:
    warnings: list[str] = []
    rows: list[tuple[int, bytes, Any]] = []
    for number, line in enumerate(text.split(b"\n"), 1):
        line = line.strip()
        if not line:
            continue
        if line[:1] != b"{":
            raise NotReadable(
                "is not a JSON object", where=f"line {number}",
                remedy="every line of a JSON lines file is one object",
            )  # fmt: skip
        whole, left = _objects_at(line, number)
        rows.extend((number, piece, value) for piece, value in whole)
        if left:
            kept = f"{len(whole)} whole object{'s' if len(whole) != 1 else ''} kept"
            warnings.append(f"line {number}: torn; {kept}, {left} bytes left out")
    if rows and all(_holds_list(value) for _, _, value in rows):
        records = [
            _record(value, piece, dialect, f"line {number}", number)
            for number, piece, value in rows
        ]
        return _Found("record lines", tuple(records), tuple(warnings))
    source = text if not warnings else b"\n".join(piece for _, piece, _ in rows) + b"\n"
    record = Record(load([value for _, _, value in rows], dialect=dialect), source)
    return _Found("message lines", (record,), tuple(warnings))


def _objects_at(line: bytes, number: int) -> tuple[list[tuple[bytes, Any]], int]:
    try:
        return _objects_of(line)
    except NotReadable as error:
        raise error.at(f"line {number}") from None


def _objects_of(line: bytes) -> tuple[list[tuple[bytes, Any]], int]:
    """Return the whole JSON objects that a line begins with, and how many bytes are left over."""
    try:
        return [(line, parse(line))], 0
    except NotReadable:
        return _recover(line)


def _recover(line: bytes) -> tuple[list[tuple[bytes, Any]], int]:
    try:
        text = line.decode()
    except UnicodeDecodeError as error:
        raise not_utf8(error) from None
    scanner = json.JSONDecoder()
    whole: list[tuple[bytes, Any]] = []
    at = 0
    while at < len(text):
        while at < len(text) and text[at].isspace():
            at += 1
        try:
            value, end = scanner.raw_decode(text, at)
        except ValueError:
            break
        except RecursionError:
            raise too_deep() from None
        whole.append((text[at:end].encode(), value))
        at = end
    return whole, len(text[at:].encode())


def _splice(record: Record, transcript: Transcript) -> bytes:
    """Return the record's bytes with the messages of `transcript` in place of its own.

    Everything that did not change keeps its bytes: messages, separators, other fields.
    """
    frame = transcript.frame
    if frame.body is None:
        if record.source.lstrip()[:1] == b"{":
            old = [Raw(line) for line in record.source.split(b"\n") if line.strip()]
            return b"\n".join(_pieces(record, transcript, old)) + b"\n"
        return _join(record.source, record, transcript)
    fields = split_object(record.source)
    held = bytes(fields[frame.key])
    joined = _join(held, record, transcript) if held[:1] == b"[" else b""
    if not joined:
        joined = b"[" + b",".join(_pieces(record, transcript, [])) + b"]"
    unchanged = record.transcript.frame.body or {}
    if frame.body is unchanged and record.source.count(held) == 1:
        return record.source.replace(held, joined)
    body: dict[str, Any] = {
        key: fields[key] if key in fields and unchanged.get(key) is value else value
        for key, value in frame.body.items()
    }
    body[frame.key] = Raw(joined)
    return dump_json(body)


def _join(source: bytes, record: Record, transcript: Transcript) -> bytes:
    old = split_list(source)
    pieces = _pieces(record, transcript, old)
    around = gaps(source, old)
    if around is None or not pieces:
        return b"[" + b",".join(pieces) + b"]"
    before, between, after = around
    return before + between.join(pieces) + after


def _pieces(record: Record, transcript: Transcript, old: Sequence[Raw]) -> list[bytes]:
    """Return the bytes of every message: its own slice of the source where it is the same one."""
    encode = dialect_named(transcript.dialect).encode
    was = record.transcript.messages
    pieces: list[bytes] = []
    for message in transcript.messages:
        at = message.position
        if message.intact and 0 <= at < min(len(old), len(was)) and was[at].wire is message.wire:
            pieces.append(bytes(old[at]))
        else:
            pieces.append(dump_json(encode(message)))
    return pieces


def _gunzip(data: bytes) -> bytes:
    try:
        return gzip.decompress(data)
    except (OSError, EOFError, zlib.error) as error:
        raise NotReadable(
            f"the gzip data is broken ({error})", remedy="compress the file again"
        ) from None
