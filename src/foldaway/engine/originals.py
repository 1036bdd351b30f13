"""The originals file: what was compacted, as it was, one line for each compaction.

Bytes and values in and out; the caller reads and writes the file. The newest generation comes
last. A generation holds the whole input text, so every reference comes back byte for byte and an
undo gives the very text that was there.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from typing import Any

import msgspec
from msgspec import Raw, Struct
from msgspec.structs import replace

from foldaway._core import ReferenceKind
from foldaway.dialects import Document, Record, split_list, split_object
from foldaway.engine.recall_tools import find
from foldaway.errors import CannotUndo, NotReadable, UnknownReference
from foldaway.transcript import Message, Transcript

VERSION = 1
_MARK = "originals"


class Placed(Struct, frozen=True):
    """A reference, and the messages of the source that it stands for.

    `record` is which transcript of the source (from 0); `start` up to `stop` (exclusive) are
    places in its message list.
    """

    ref: str
    record: int
    start: int
    stop: int
    kind: ReferenceKind = "other"


class Generation(Struct, frozen=True, kw_only=True):
    """One compaction: the text before it, what it wrote, and the references that it gave out."""

    foldaway: str = _MARK
    version: int = VERSION
    generation: int
    source: str
    """The whole input, decompressed."""
    dialect: str
    """The dialect of all transcripts; "" if they differ."""
    output_sha256: str
    """Of the output text, decompressed."""
    output_messages: tuple[tuple[str, ...], ...] = ()
    """For each transcript of the output the mark of its frame, then one for each message."""
    references: tuple[Placed, ...] = ()


class OriginalHit(Struct, frozen=True):
    """A place in what was dropped that holds a text."""

    generation: int
    record: int
    position: int
    ref: str
    snippet: str


class Undone(Struct, frozen=True):
    """The text before the newest compaction, and the generations that are left.

    `appended` counts the messages that were added after the compaction and are kept.
    """

    text: bytes
    generations: tuple[Generation, ...]
    appended: int = 0


_LINE = msgspec.json.Decoder(Generation)


def read_originals(data: bytes) -> tuple[Generation, ...]:
    """Return the generations, the newest last, or raise `NotReadable`."""
    found: list[Generation] = []
    for number, line in enumerate(data.split(b"\n"), 1):
        if not line.strip():
            continue
        try:
            one = _LINE.decode(line)
        except (msgspec.DecodeError, UnicodeDecodeError):
            raise _no_originals(number) from None
        if one.foldaway != _MARK:
            raise _no_originals(number)
        if one.version > VERSION:
            raise NotReadable(
                f"is of version {one.version}, and this Foldaway knows {VERSION}",
                where=f"line {number}",
                remedy="use a newer Foldaway",
            )
        found.append(one)
    if not found:
        raise NotReadable("holds no originals", remedy="name the file that compress wrote")
    return tuple(found)


def _no_originals(number: int) -> NotReadable:
    return NotReadable(
        "is no line of an originals file",
        where=f"line {number}",
        remedy="name the file that compress wrote",
    )


def write_originals(generations: Iterable[Generation]) -> bytes:
    """Return the file that holds the generations; reading it gives the same ones."""
    return b"".join(msgspec.json.encode(one) + b"\n" for one in generations)


def join_generations(*lineages: Sequence[Generation]) -> tuple[Generation, ...]:
    """Return the generations of several files, each once, numbered in their order."""
    found: dict[tuple[str, str], Generation] = {}
    for one in (one for lineage in lineages for one in lineage):
        known = found.get((one.source, one.output_sha256))
        found[one.source, one.output_sha256] = _with_references(one, known) if known else one
    return tuple(replace(one, generation=at) for at, one in enumerate(found.values(), 1))


def add_generation(
    earlier: Sequence[Generation],
    source: bytes,
    dialect: str,
    output: bytes,
    references: Iterable[Placed],
) -> tuple[Generation, ...]:
    """Return the earlier generations and a new one; what they gave out keeps resolving.

    An earlier compaction of the same text is not kept twice: the new one takes its references.
    """
    text = source.decode()
    document = Document.read(output, dialect=dialect or None)
    new = Generation(
        generation=0,
        source=text,
        dialect=dialect,
        output_sha256=hashlib.sha256(output).hexdigest(),
        output_messages=tuple(_marks(record.transcript) for record in document.records),
        references=tuple(references),
    )
    kept: list[Generation] = []
    for one in earlier:
        if one.source == text and one.dialect == dialect:
            new = _with_references(new, one)
        else:
            kept.append(one)
    return tuple(replace(one, generation=at) for at, one in enumerate((*kept, new), 1))


def _with_references(one: Generation, other: Generation) -> Generation:
    return replace(one, references=tuple(dict.fromkeys((*other.references, *one.references))))


def recall(reference: str, generations: Sequence[Generation]) -> list[bytes]:
    """Return the originals behind a reference, each byte for byte as it stood in its source.

    The newest generation that knows it answers; `UnknownReference` if none does.
    """
    for one in reversed(generations):
        places = [placed for placed in one.references if placed.ref == reference]
        if not places:
            continue
        records = _document(one).records
        found: list[list[bytes]] = []
        for place in places:
            slices = message_slices(records[place.record])[place.start : place.stop]
            if slices not in found:
                found.append(slices)
        return [piece for slices in found for piece in slices]
    known = {placed.ref for one in generations for placed in one.references}
    raise UnknownReference(reference, len(known))


def message_slices(record: Record) -> list[bytes]:
    """Return the bytes of every message of a transcript as they stand in its source."""
    frame = record.transcript.frame
    if frame.body is not None:
        held = bytes(split_object(record.source)[frame.key])
        pieces = split_list(held) if held[:1] == b"[" else [Raw(held)]
    elif record.source.lstrip()[:1] == b"{":
        pieces = [Raw(line.strip()) for line in record.source.split(b"\n") if line.strip()]
    else:
        pieces = split_list(record.source)
    return [bytes(piece) for piece in pieces]


def search(text: str, generations: Sequence[Generation], most: int) -> list[OriginalHit]:
    """Return where `text` stands in what was dropped, newest first, letter case aside."""
    found: list[OriginalHit] = []
    for one in reversed(generations):
        for number, record in reversed(list(enumerate(_document(one).records))):
            covering = _covering(one, number)
            dropped = [m for m in record.transcript.messages if m.position in covering]
            found.extend(
                OriginalHit(one.generation, number, position, covering[position], snippet)
                for position, snippet in find(text, dropped, most - len(found))
            )
            if len(found) >= most:
                return found
    return found


def _covering(one: Generation, record: int) -> dict[int, str]:
    """Return by place the narrowest reference that stands for it."""
    found: dict[int, str] = {}
    rows = [placed for placed in one.references if placed.record == record]
    for row in sorted(rows, key=lambda row: row.start - row.stop):
        found.update(dict.fromkeys(range(row.start, row.stop), row.ref))
    return found


def undo(generations: Sequence[Generation], output: bytes) -> Undone:
    """Return the text before the newest compaction, with what was appended since.

    `output` is the compressed file as it is now, decompressed. Raises `CannotUndo` if it is
    neither what was written nor that with messages appended.
    """
    newest, left = generations[-1], tuple(generations[:-1])
    source = newest.source.encode()
    if hashlib.sha256(output).hexdigest() == newest.output_sha256 or output == source:
        return Undone(source, left)
    before = _document(newest)
    after = Document.read(output, dialect=newest.dialect or None)
    if len(after.records) != len(newest.output_messages) or len(before.records) != len(
        after.records
    ):
        raise _refuse_edited("it no longer holds the same transcripts")
    restored: list[Transcript] = []
    count = 0
    for record, now, marks in zip(
        before.records, after.records, newest.output_messages, strict=True
    ):
        appended = _find_appended(now.transcript, marks)
        count += len(appended)
        messages = (*record.transcript.messages, *appended)
        restored.append(
            record.transcript.with_messages(messages) if appended else record.transcript
        )
    return Undone(before.write(restored), left, count)


def _find_appended(now: Transcript, marks: Sequence[str]) -> tuple[Message, ...]:
    """Return the messages after those that were written, to be encoded from their payloads."""
    was, found = tuple(marks), _marks(now)
    if found[: len(was)] != was:
        raise _refuse_edited("what the compaction wrote was changed")
    return tuple(replace(message, position=-1) for message in now.messages[len(was) - 1 :])


def _refuse_edited(what: str) -> CannotUndo:
    return CannotUndo(
        f"it was edited after the compaction: {what}",
        "nothing was written; single originals still come back with foldaway recall",
    )


def _document(one: Generation) -> Document:
    return Document.read(one.source.encode(), dialect=one.dialect or None)


def _marks(transcript: Transcript) -> tuple[str, ...]:
    """Return what tells a change: a mark for the frame, then one for each message."""
    frame = transcript.frame
    around = {key: value for key, value in (frame.body or {}).items() if key != frame.key}
    return (_mark(around), *(_mark(message.wire) for message in transcript.messages))


def _mark(value: Any) -> str:
    """Return the same mark for the same JSON value, however it is spaced and ordered."""
    try:
        data = msgspec.json.encode(value, order="sorted")
    except UnicodeEncodeError:
        data = json.dumps(value, sort_keys=True).encode("ascii")
    return hashlib.sha256(data).hexdigest()[:16]
