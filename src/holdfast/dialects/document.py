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
)
from holdfast.dialects.load import load
from holdfast.dialects.registry import LIST_KEYS, dialect_named
from holdfast.errors import NotReadable
from holdfast.transcript import Message, Transcript

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
    found = _read_value(body, dialect) or _read_lines(body, dialect)
    return Document(found.layout, found.records, text, found.warnings, compressed)


def write_document(document: Document, transcripts: Sequence[Transcript]) -> bytes:
    """Return `document` with its transcripts replaced, one for one, uncompressed.

    Where nothing changed the bytes are the ones that were read; where something did, every
    message that was not touched keeps its own bytes.
    """
    pairs = list(zip(document.records, transcripts, strict=True))
    if all(record.transcript is transcript for record, transcript in pairs):
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


def _read_value(text: bytes, dialect: str | None) -> _Found | None:
    """Return what `text` holds as one JSON value; None where it is JSON lines instead."""
    if text.lstrip()[:1] == b"{":
        try:
            split_object(text)
        except NotReadable:
            if _begins_with_a_whole_line(text):
                return None
            raise
        return _Found("value", (_object_record(text, dialect),))
    pieces = split_list(text)
    values = [parse(piece) for piece in pieces]
    if pieces and all(_holds_list(value) for value in values):
        records = [_object_record(bytes(piece), dialect, f"$[{at}]")
                   for at, piece in enumerate(pieces)]  # fmt: skip
        return _Found("record list", tuple(records))
    return _Found("value", (Record(load(values, dialect=dialect, raws=pieces), text),))


def _object_record(text: bytes, dialect: str | None, where: str = "", line: int = 1) -> Record:
    """Return the record in the JSON object `text`; its messages keep their slices."""
    fields = split_object(text)
    body = {key: parse(piece) for key, piece in fields.items()}
    try:
        transcript = load(body, dialect=dialect)
        raws = split_list(fields[transcript.frame.key])
        return Record(load(body, dialect=transcript.dialect, raws=raws), text, line)
    except NotReadable as error:
        raise error.at(where) if where else error from None


def _holds_list(value: Any) -> bool:
    return isinstance(value, dict) and any(isinstance(value.get(key), list) for key in LIST_KEYS)  # pyright: ignore[reportUnknownMemberType]


def _begins_with_a_whole_line(text: bytes) -> bool:
    first, newline, rest = text.lstrip().partition(b"\n")
    if not newline or not rest.strip():
        return bool(_objects_of(first)[0])
    return bool(_objects_of(first)[0])


def _read_lines(text: bytes, dialect: str | None) -> _Found:
    warnings: list[str] = []
    rows: list[tuple[int, bytes]] = []
    for number, line in enumerate(text.split(b"\n"), 1):
        if not line.strip():
            continue
        if line.lstrip()[:1] != b"{":
            raise NotReadable(
                "is not a JSON object", where=f"line {number}",
                remedy="every line of a JSON lines file is one object",
            )  # fmt: skip
        whole, left = _objects_of(line)
        rows.extend((number, piece) for piece in whole)
        if left:
            kept = f"{len(whole)} whole object{'s' if len(whole) != 1 else ''} kept"
            warnings.append(f"line {number}: torn; {kept}, {left} bytes left out")
    values = [parse(piece) for _, piece in rows]
    if all(_holds_list(value) for value in values):
        records = [_object_record(piece, dialect, f"line {number}", number)
                   for number, piece in rows]  # fmt: skip
        return _Found("record lines", tuple(records), tuple(warnings))
    raws = [Raw(piece) for _, piece in rows]
    record = Record(load(values, dialect=dialect, raws=raws), text)
    return _Found("message lines", (record,), tuple(warnings))


def _objects_of(line: bytes) -> tuple[list[bytes], int]:
    """Return the whole JSON objects that a line begins with, and how many bytes are left over."""
    try:
        split_object(line)
    except NotReadable:
        return _recover(line)
    return [line.strip()], 0


def _recover(line: bytes) -> tuple[list[bytes], int]:
    try:
        text = line.decode()
    except UnicodeDecodeError as error:
        raise not_utf8(error) from None
    scanner = json.JSONDecoder()
    whole: list[bytes] = []
    at = 0
    while at < len(text):
        while at < len(text) and text[at].isspace():
            at += 1
        try:
            _, end = scanner.raw_decode(text, at)
        except (ValueError, RecursionError):
            break
        whole.append(text[at:end].encode())
        at = end
    return whole, len(text[at:].encode())


def _splice(record: Record, transcript: Transcript) -> bytes:
    """Return the record's bytes with the messages of `transcript` in place of its own."""
    encode = dialect_named(transcript.dialect).encode
    pieces = [_message_bytes(message, encode) for message in transcript.messages]
    frame = transcript.frame
    if frame.body is None and record.source.lstrip()[:1] == b"{":
        return b"\n".join(pieces) + b"\n"
    if frame.body is None:
        return _join(record.source, split_list(record.source), pieces)
    fields = split_object(record.source)
    unchanged = record.transcript.frame.body or {}
    body: dict[str, Any] = {
        key: fields[key] if key in fields and unchanged.get(key) is value else value
        for key, value in frame.body.items()
    }
    old = bytes(fields[frame.key])
    body[frame.key] = Raw(_join(old, split_list(old), pieces))
    return dump_json(body)


def _message_bytes(message: Message, encode: Any) -> bytes:
    if message.intact and message.raw is not None:
        return bytes(message.raw)
    return dump_json(encode(message))


def _join(source: bytes, old: list[Raw], pieces: list[bytes]) -> bytes:
    around = gaps(source, old)
    if around is None or not pieces:
        return b"[" + b",".join(pieces) + b"]"
    before, between, after = around
    return before + between.join(pieces) + after


def _gunzip(data: bytes) -> bytes:
    try:
        return gzip.decompress(data)
    except (OSError, EOFError, zlib.error) as error:
        raise NotReadable(
            f"the gzip data is broken ({error})", remedy="compress the file again"
        ) from None
