"""What survives a restart, as bytes and back: views as ranges of the log, and snapshots."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, cast

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from foldaway.compaction import CompactionState
from foldaway.dialects import dialect_named, dump_bytes, parse
from foldaway.errors import InvalidView, NotReadable
from foldaway.transcript import (
    Calibration,
    Folded,
    Item,
    Kept,
    Message,
    Part,
    Rewritten,
    ToolCall,
    ToolResult,
    View,
)

Packed = list[Any]
"""Start and stop; for what was generated also its messages and the reference."""


def pack_view(view: View, dialect: str) -> bytes:
    """Return a view as JSON; what is kept is stored as ranges only, so it stays small."""
    encode = dialect_named(dialect).encode
    items = [_pack(item, encode) for item in view.items]
    return dump_bytes({"length": view.length, "items": items})


def unpack_view(data: bytes, dialect: str) -> View:
    """Return the view that was packed; it renders to the same bytes. Raises `InvalidView`."""
    decode = dialect_named(dialect).decode
    try:
        found = cast("dict[str, Any]", parse(data))
        items = tuple(_unpack(packed, decode) for packed in found["items"])
        return View(items, found["length"])
    except (KeyError, TypeError, ValueError, IndexError, NotReadable) as error:
        what = f"what was kept is no view ({type(error).__name__})"
        raise InvalidView(what, position=0) from None


def _pack(item: Item, encode: Callable[[Message], Any]) -> Packed:
    match item:
        case Kept(start=start, stop=stop):
            return [start, stop]
        case Rewritten(start=start, stop=stop, message=message, reference=reference):
            return [start, stop, "rewritten", [_pack_one(message, encode)], reference]
        case Folded(start=start, stop=stop, messages=messages, reference=reference):
            return [start, stop, "folded", [_pack_one(one, encode) for one in messages], reference]


def _pack_one(message: Message, encode: Callable[[Message], Any]) -> Packed:
    return [encode(message), message.position, message.origin, _ids(message)]


def _unpack(packed: Packed, decode: Callable[..., Sequence[Message]]) -> Item:
    start, stop, *rest = packed
    if not rest:
        return Kept(start, stop)
    kind, written, reference = rest
    messages = tuple(_unpack_one(one, decode) for one in written)
    if kind == "rewritten":
        return Rewritten(start, messages[0], reference)
    return Folded(start, stop, messages, reference)


def _unpack_one(written: Packed, decode: Callable[..., Sequence[Message]]) -> Message:
    payload, position, origin, ids = written
    (message,) = decode([payload], max(position, 0))
    if _ids(message) != ids:
        # the dialect has no ids, and the message was read without the calls that it answers
        left = iter(ids)
        message = replace(message, parts=tuple(_add_id(part, left) for part in message.parts))
    return replace(message, position=position, origin=origin)


def _ids(message: Message) -> list[str]:
    """Return the ids by which calls and results find each other, in order."""
    return [
        part.id if isinstance(part, ToolCall) else part.call_id
        for part in message.parts
        if isinstance(part, (ToolCall, ToolResult))
    ]


def _add_id(part: Part, ids: Iterator[str]) -> Part:
    if isinstance(part, ToolCall):
        return replace(part, id=next(ids))
    if isinstance(part, ToolResult):
        return replace(part, call_id=next(ids))
    return part


class Snapshot(Struct, frozen=True, kw_only=True):
    """What survives a restart beside the transcript."""

    state: CompactionState
    calibration: Calibration


_SNAPSHOT = msgspec.json.Decoder(Snapshot)
"""Made here and not at the first use: msgspec reads a class once, and a second thread that comes
while it does ends the process."""


def pack_snapshot(state: CompactionState, calibration: Calibration) -> bytes:
    """Return a snapshot as bytes."""
    return msgspec.json.encode(Snapshot(state=state, calibration=calibration))


def unpack_snapshot(data: bytes) -> Snapshot:
    """Return the snapshot that was packed; raises `NotReadable` for any other bytes."""
    try:
        return _SNAPSHOT.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        remedy = "give the bytes that snapshot() returned"
        raise NotReadable(f"is not a snapshot ({error})", remedy=remedy) from None
