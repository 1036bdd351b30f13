"""Bytes to transcripts and back: JSON, JSON lines and gzip; untouched messages keep their bytes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, TypeAlias

from msgspec import Raw, Struct
from msgspec.structs import replace

from foldaway.dialects.jsontext import (
    depth_error,
    gaps,
    not_utf8,
    parse,
    refuse_dense,
    scan,
    split_list,
    split_object,
)
from foldaway.dialects.jsontext import dump_bytes as dump_json
from foldaway.dialects.limits import GZIP, Limits
from foldaway.dialects.loading import dialect_named, has_list, load_parsed
from foldaway.dialects.loading import dump as dump_value
from foldaway.dialects.shape import kind_of
from foldaway.errors import NotReadable
from foldaway.transcript import Transcript

Layout: TypeAlias = Literal["value", "message lines", "record lines", "record list"]
"""One transcript as a JSON value; a message a line; a transcript a line; a list of transcripts."""

_BOM = b"\xef\xbb\xbf"
_WIDE = (b"\xff\xfe", b"\xfe\xff")
_LOOKED_AT = 64


class Record(Struct, frozen=True):
    """One transcript of a document, beside the bytes that it came from.

    `line` is its line in a file of JSON lines, from 1, otherwise 0; `source` is its own slice.
    """

    transcript: Transcript
    source: bytes
    line: int = 0
    name: str = ""
    """What it is called if it has no line: a session has an agent and an id."""
    model: str = ""
    """The model that an agent noted with it."""


class Document(Struct, frozen=True):
    """The transcripts of one file. `warnings` name what was torn and how far it was recovered."""

    layout: Layout
    records: tuple[Record, ...]
    source: bytes
    """The whole text, decompressed."""
    warnings: tuple[str, ...] = ()
    compressed: bool = False

    @classmethod
    def read(
        cls, data: bytes, *, dialect: str | None = None, limits: Limits = Limits()
    ) -> Document:
        """Return the transcripts in `data`, or raise `NotReadable` with the line or path at fault.

        JSON (a message list, an object that holds one, a list of such objects), JSON lines (a
        message or such an object a line) and gzip of these are detected from the data. A torn line
        is recovered as far as whole objects go. What decompresses to more than the limit is
        refused.
        """
        compressed = data[:2] == GZIP
        text = limits.unpack(data)
        body = text[len(_BOM) :] if text[:3] == _BOM else text
        _refuse_other_encodings(text)
        if not body.strip():
            raise NotReadable("is empty", remedy="give a transcript with at least one message")
        if body.lstrip()[:1] not in (b"[", b"{") and not _has_whole_line(body):
            raise _no_transcript(body)
        try:
            found = (
                _read_lines(body, dialect)
                if _is_lines(body, dialect)
                else _read_value(body, dialect)
            )
        except RecursionError:
            raise depth_error() from None
        return replace(found, source=text, compressed=compressed)

    @classmethod
    def of(
        cls, sessions: Sequence[tuple[Transcript, str, str]], warnings: Sequence[str] = ()
    ) -> Document:
        """Return transcripts that did not come from such a file, as if they had: one as a JSON
        value, several as an object a line. Each comes with its name and its model; what a
        compaction wrote is known to be that still.
        """
        is_one = len(sessions) == 1
        records: list[Record] = []
        for transcript, name, model in sessions:
            value: Any = dump_value(transcript)
            if not is_one and transcript.frame.body is None:
                value = {dialect_named(transcript.dialect).list_key: value}
            loaded = load_parsed(value, dialect=transcript.dialect)
            origins = [one.origin for one in transcript.messages]
            if len(loaded.messages) == len(origins):
                messages = [
                    replace(one, origin=origins[at]) for at, one in enumerate(loaded.messages)
                ]
                loaded = replace(loaded, messages=tuple(messages))
            records.append(Record(loaded, dump_json(value), 0, "" if is_one else name, model))
        source = b"\n".join(record.source for record in records) + b"\n"
        return cls("value" if is_one else "record lines", tuple(records), source, tuple(warnings))

    def write(self, transcripts: Sequence[Transcript]) -> bytes:
        """Return the document with its transcripts replaced, one for one, uncompressed.

        If nothing changed the bytes are the ones that were read; where something did, every
        message that was not touched keeps its own bytes.
        """
        pairs = list(zip(self.records, transcripts, strict=True))
        if not self.warnings and all(
            record.transcript is transcript for record, transcript in pairs
        ):
            return self.source
        pieces = [
            record.source if record.transcript is transcript else _splice(record, transcript)
            for record, transcript in pairs
        ]
        mark = _BOM if self.source[:3] == _BOM else b""
        match self.layout:
            case "value":
                return mark + pieces[0]
            case "message lines" | "record lines":
                return mark + b"\n".join(piece.rstrip(b"\r\n") for piece in pieces) + b"\n"
            case "record list":
                return mark + b"[" + b",\n".join(pieces) + b"]\n"


def _refuse_other_encodings(text: bytes) -> None:
    if text[:4] in (b"\xff\xfe\0\0", b"\0\0\xfe\xff"):
        raise NotReadable("is encoded as UTF-32", remedy="convert the file to UTF-8")
    zeros = [byte == 0 for byte in text[:4]]
    if zeros in ([True, True, True, False], [False, True, True, True]):
        raise NotReadable("is encoded as UTF-32", remedy="convert the file to UTF-8")
    if text[:2] in _WIDE or zeros[:2] in ([True, False], [False, True]):
        raise NotReadable("is encoded as UTF-16", remedy="convert the file to UTF-8")


def _no_transcript(body: bytes) -> NotReadable:
    try:
        value = parse(body)
    except NotReadable:
        what = "is not JSON"
    else:
        what = f"is {kind_of(value)}, not a transcript"
    return NotReadable(
        what, where="line 1", remedy="expected a JSON list or object, or one JSON object a line"
    )


def _is_lines(text: bytes, dialect: str | None) -> bool:
    """Return whether `text` is JSON lines.

    Its first line is a whole object and something follows, or it is not JSON value as a whole and
    a later line is a whole object: then the first one is torn.
    """
    start = text.lstrip()
    first, _, rest = start.partition(b"\n")
    if first[:1] == b"[":
        return False
    before = text[: len(text) - len(start)]
    whole, left = _objects_at(first.strip(), before.count(b"\n") + 1)
    if whole:
        alone = whole[0][1]
        is_item = dialect == "openai-responses" and type(alone.get("type")) is str
        is_message = not has_list(alone) and ("role" in alone or "from" in alone or is_item)
        return left > 0 or len(whole) > 1 or bool(rest.strip()) or is_message
    if not _has_whole_line(rest):
        return False
    try:
        parse(text)
    except NotReadable:
        return True
    return False


def _has_whole_line(text: bytes) -> bool:
    """Return whether one of the first lines is an object that is a message or holds some."""
    for line in text.split(b"\n", _LOOKED_AT)[:_LOOKED_AT]:
        line = line.strip()
        if line[:1] == b"{" and line[-1:] == b"}":
            try:
                value = parse(line)
            except NotReadable:
                continue
            if has_list(value) or "role" in value or "from" in value or "type" in value:
                return True
    return False


def _read_value(text: bytes, dialect: str | None) -> Document:
    """Return what `text` holds as one JSON value."""
    try:
        value = parse(text)
    except NotReadable:
        _refuse_lists_a_line(text)
        raise
    if isinstance(value, list) and value and all(has_list(element) for element in value):  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
        pieces = split_list(text)
        records = [
            _record(element, bytes(pieces[at]), dialect, f"$[{at}]")
            for at, element in enumerate(value)  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
        ]
        return Document("record list", tuple(records), text)
    return Document("value", (Record(load_parsed(value, dialect=dialect), text),), text)


def _refuse_lists_a_line(text: bytes) -> None:
    """Raise where `text` is JSON lines whose first one is a list."""
    start = text.lstrip()
    first, _, rest = start.partition(b"\n")
    if not rest.strip():
        return
    try:
        value = parse(first)
    except NotReadable:
        return
    line = text.count(b"\n", 0, len(text) - len(start)) + 1
    raise _not_an_object(value, line)


def _not_an_object(value: Any, line: int) -> NotReadable:
    return NotReadable(
        f"is {kind_of(value)}, not a JSON object",
        where=f"line {line}",
        remedy="every line of a JSON lines file is one object: a message, or a transcript under "
        "'messages'",
    )


def _record(value: Any, text: bytes, dialect: str | None, where: str, line: int = 0) -> Record:
    try:
        return Record(load_parsed(value, dialect=dialect), text, line)
    except NotReadable as error:
        raise error.at(where) from None


def _read_lines(text: bytes, dialect: str | None) -> Document:
    warnings: list[str] = []
    rows: list[tuple[int, bytes, Any]] = []
    one_each = True
    for number, line in enumerate(text.split(b"\n"), 1):
        line = line.strip()
        if not line:
            continue
        whole, left = _objects_at(line, number)
        rows.extend((number, piece, value) for piece, value in whole)
        one_each = one_each and len(whole) == 1 and not left
        if left:
            kept = f"{len(whole)} whole object{'s' if len(whole) != 1 else ''} kept"
            warnings.append(f"line {number}: torn; {kept}, {left} bytes left out")
    if len(warnings) > max(len(rows), 1):
        raise NotReadable(
            "is not a JSON object",
            where=warnings[0].partition(":")[0],
            remedy="every line of a JSON lines file is one object",
        )
    if rows and all(has_list(value) for _, _, value in rows):
        records = [
            _record(value, piece, dialect, f"line {number}", number)
            for number, piece, value in rows
        ]
        return Document("record lines", tuple(records), text, tuple(warnings))
    source = text if one_each else b"\n".join(piece for _, piece, _ in rows) + b"\n"
    record = Record(load_parsed([value for _, _, value in rows], dialect=dialect), source)
    return Document("message lines", (record,), text, tuple(warnings))


def _objects_at(line: bytes, number: int) -> tuple[list[tuple[bytes, Any]], int]:
    """Return the whole JSON objects that a line begins with, and how many bytes are left over.

    A line that is a list is not torn: it raises `NotReadable`.
    """
    try:
        value = parse(line)
    except NotReadable:
        try:
            return _recover(line)
        except NotReadable as error:
            raise NotReadable(error.what, where=f"line {number}", remedy=error.remedy) from None
    if isinstance(value, list):
        raise _not_an_object(value, number)
    return ([(line, value)], 0) if isinstance(value, dict) else ([], len(line))


def _recover(line: bytes) -> tuple[list[tuple[bytes, Any]], int]:
    refuse_dense(line)
    try:
        text = line.decode()
    except UnicodeDecodeError as error:
        raise not_utf8(line, error) from None
    whole: list[tuple[bytes, Any]] = []
    at = 0
    while at < len(text):
        while at < len(text) and text[at].isspace():
            at += 1
        if text[at : at + 1] != "{":
            break
        try:
            value, end = scan(text, at)
        except ValueError:
            break
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
    """Return the bytes of every message: its own slice of the source if it is the same one."""
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
