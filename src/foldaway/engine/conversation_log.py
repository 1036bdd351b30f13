"""The log of one conversation, what the model sees of it now, the way back, and both as bytes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, cast

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from foldaway._core import Reference
from foldaway.compaction import CompactionState, GrownView, ResultPolicy, arriving_by
from foldaway.dialects import detect, dialect_named, dump_bytes, load, parse
from foldaway.engine.live_log import GrowingLog
from foldaway.engine.recall_tools import (
    ANSWER_SHARE,
    MOST_ANSWER_TOKENS,
    AnswerPage,
    answer_tool,
    look_for,
    recall,
)
from foldaway.engine.requests import Requests
from foldaway.engine.shown import Standing
from foldaway.errors import InvalidView, NotReadable
from foldaway.summarizers import without_native
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
    render,
)


class ConversationLog:
    """The messages of a conversation and the state of its compactions, with what came before each.

    Every step is whole, or leaves all as it was.
    """

    def __init__(self, requests: Requests, arriving: ResultPolicy | None = None) -> None:
        """Start empty, with the settings that the requests have when the first message comes."""
        self._requests = requests
        self.arriving = arriving or arriving_by(requests.settings.policy)
        """How results are shown from their arrival on."""
        self.state = CompactionState()
        """What the next compaction starts from."""
        self.seen: list[Any] = []
        """What the model should see now, in the dialect that was given."""
        self._log: GrowingLog | None = None
        self._undone: list[tuple[Standing, CompactionState]] = []

    @property
    def log(self) -> GrowingLog:
        """The log; an empty one if nothing has arrived yet."""
        if self._log is None:
            self._log = self.peek()
        return self._log

    def peek(self) -> GrowingLog:
        """Return the log without settling its dialect if nothing has arrived yet."""
        return self._log or self._new_log(self._requests.settings.dialect or "openai-chat")

    def _new_log(self, dialect: str) -> GrowingLog:
        return GrowingLog(dialect, self._requests.settings.readings, self.arriving)

    def append(self, messages: Sequence[Any], *, arrives: bool) -> bool:
        """Take new messages; return whether the model answered in them."""
        log = self._log
        turns = 0 if log is None else log.turns
        shown = self._requests.settings.dialect or _dialect_shown_by(messages)
        if log is None or (shown and shown != log.dialect and not self.state.count):
            past = [] if log is None else [message.wire for message in log.messages]
            log = self._new_log(shown or load(list(messages)).dialect)
            seen = log.append([*past, *messages], arrives=arrives)
            self._log, self.seen = log, seen
        else:
            self.seen.extend(log.append(messages, arrives=arrives))
        return log.turns != turns

    def load(
        self, messages: Sequence[Any], view: View | None, tokens: Sequence[int] | None
    ) -> None:
        """Take a log that was kept and the view on it, as `GrowingLog.load` does."""
        log = self._new_log(self._requests.settings.dialect or load(list(messages)).dialect)
        log.load(messages, view, tokens)
        self._log, self.seen = log, self._encode_all(log, log.shown.render())

    # Compactions

    def grow(self, view: View) -> tuple[GrownView, list[Any]]:
        """Return a view grown to the whole log, and what the model sees of it; nothing changes."""
        log = self.log
        made = log.shown.grow(view)
        return made, self._encode_all(log, render(made.view, log.messages))

    def take(
        self,
        made: GrownView,
        seen: list[Any],
        shown: Mapping[str, int],
        newer: Iterable[int],
        state: CompactionState,
    ) -> None:
        """Show what a compaction made; `undo` comes back to what is shown now."""
        self._undone.append((self.log.shown.copy(), self.state))
        self.log.shown.take(made, shown, newer)
        self.seen, self.state = seen, state

    @property
    def can_undo(self) -> bool:
        """Whether there is a compaction to take back."""
        return bool(self._undone)

    def undo(self) -> None:
        """Take back the last compaction and keep what came since."""
        was, state = self._undone[-1]
        made, seen = self.grow(was.view)
        self._undone.pop()
        self.log.shown.take(made, was.shown, range(was.view.length, len(self.log.messages)))
        self.seen, self.state = seen, replace(state, references=self.state.references)

    def encode(self, message: Message) -> Any:
        """Return a message as it goes on the wire."""
        return dialect_named(self.log.dialect).encode(message)

    def _encode_all(self, log: GrowingLog, messages: Iterable[Message]) -> list[Any]:
        encode = dialect_named(log.dialect).encode
        return [encode(message) for message in messages]

    def with_arrivals(self, state: CompactionState) -> CompactionState:
        """Return the state with the references that were given out since."""
        new = self.log.shown.arrivals.references(state.references)
        return replace(state, references=(*state.references, *new)) if new else state

    # What the model sees, and the way back

    @property
    def portable_messages(self) -> list[Any]:
        """What the model should see now, with our own summary in the place of what only its
        provider can read.
        """
        return without_native(self.seen, self.state.native, self.log.dialect)

    def recall(self, reference: str) -> list[Any]:
        """Return the originals behind a reference; raises `UnknownReference`."""
        return recall(reference, self.references, self.log.messages)

    def search(self, text: str, most: int = 10) -> list[tuple[int, str]]:
        """Return positions and snippets of messages that hold `text` and are shown no more.

        Those that hold it letter for letter come first, the newest of them, then those with its
        words.
        """
        return look_for(text, self._list_dropped(), most)

    def answer_tool(
        self,
        name: str,
        arguments: Mapping[str, Any],
        recall: Callable[[str], list[Any]] | None = None,
        search: Callable[[str], Sequence[str]] | None = None,
    ) -> str:
        """Answer the recall and search tools; a wrong reference gets a sentence, never an error.

        `recall` finds originals in the place of our own, `search` places if we have none.
        """
        settings = self._requests.settings
        most = min(settings.context_length // ANSWER_SHARE, MOST_ANSWER_TOKENS)
        page = AnswerPage(most, settings.counter)
        return answer_tool(
            name, arguments, recall or self.recall, self._list_dropped(), page, search
        )

    @property
    def references(self) -> list[Reference]:
        """Every reference that was given out."""
        return list(self.with_arrivals(self.state).references)

    def _list_dropped(self) -> list[Message]:
        """Return what was folded or rewritten, in order."""
        log, folded_to = self.log, self.state.folded_to
        rewritten = [
            log.messages[item.start]
            for item in log.view.items
            if isinstance(item, Rewritten)
            and item.start >= folded_to
            and not log.shown.is_whole(item)
        ]
        return [*log.messages[:folded_to], *rewritten]

    def list_arrived(self, start: int) -> list[tuple[Message, int]]:
        """Return the messages of the log from a position on, each with its tokens as it came."""
        log = self.log
        return [(log.messages[at], log.given_tokens(at)) for at in range(start, len(log.tokens))]

    def list_given_out(self, start: int) -> Sequence[Reference]:
        """Return the references of results that are shown otherwise since their arrival, after the
        first `start` of them.
        """
        return self.log.shown.arrivals.references_from(start)


def _dialect_shown_by(messages: Sequence[Any]) -> str | None:
    """Return the dialect that messages show by marks of their own, None if they could be any."""
    found = detect(messages)
    return found.name if found.likeness(messages, {}) > 1 else None


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
