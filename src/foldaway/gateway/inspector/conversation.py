"""The messages of a session as a page draws them: all that was said, or what the model sees."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from markupsafe import Markup
from msgspec import Struct
from msgspec.structs import replace

from foldaway.compaction import message_tokens, system_shares
from foldaway.engine import unpack_view
from foldaway.gateway.inspector.message_fates import Fate, Fates
from foldaway.gateway.inspector.rendering import render_message
from foldaway.gateway.inspector.session_sources import OpenedSession
from foldaway.gateway.inspector.window_amounts import FIRST
from foldaway.memory import extract_user_words
from foldaway.sessions import decode_rows, transcript_of
from foldaway.stores import StoredMessage
from foldaway.transcript import (
    Estimator,
    Folded,
    Message,
    Rewritten,
    Text,
    ToolCall,
    ToolResult,
    texts,
)
from foldaway.usage import short

_LOOK_BACK = 12
"""Messages before those that are drawn, in which the calls are that their results answer; a model
rarely makes more calls at once."""
_ESTIMATE = Estimator()


class DrawnMessage(Struct, frozen=True, kw_only=True):
    """One message as the page draws it."""

    place: int
    """Among the messages that are shown: of the log, or of what the model sees."""
    position: int | None
    """In the log; None for a summary of folded messages."""
    role: str
    tools: tuple[str, ...] = ()
    time: float | None = None
    tokens: int
    fate: str
    """`kept`, `rewritten`, `folded` or `added`."""
    originals: tuple[tuple[int, int], ...] = ()
    """The messages that it replaces, as ranges: the first, and one past the last. A message with a
    merged summary replaces itself and the folded ones."""
    summary_at: int | None = None
    """Of a folded message, the place of its summary among what the model sees."""
    is_pinned: bool = False
    is_generated: bool = False
    sent: str = ""
    """In a request: `from the cache`, `sent again` or `new`."""
    html: Markup


def log_rows(opened: OpenedSession, fates: Fates, start: int, stop: int) -> Iterator[DrawnMessage]:
    """Yield messages of the log from `start` up to `stop`, each with what became of it."""
    pins = {pin.position for pin in opened.store.pins(opened.info.id)}
    for row, message, calls in read_messages(opened, start, stop):
        fate = fates.at(row.position)
        yield _draw(opened, row, message, calls, fate, row.position, pins)


def seen_rows(opened: OpenedSession, fates: Fates, start: int, stop: int) -> Iterator[DrawnMessage]:
    """Yield what the model sees from place `start` up to `stop`."""
    pins = {pin.position for pin in opened.store.pins(opened.info.id)}
    kept = opened.store.view(opened.info.id, fates.view) if fates.view else None
    items = unpack_view(kept.items, opened.info.dialect).items if kept else ()
    written = {item.start: item for item in items if isinstance(item, (Rewritten, Folded))}
    folds = _folds(fates)
    arrived: Sequence[Message] = ()
    for fate in fates.items:
        first, last = max(start, fate.shown_at), min(stop, fate.shown_at + fate.shown)
        if first >= last:
            continue
        item = written.get(fate.start)
        if isinstance(item, Folded):
            shown = item.messages[first - fate.shown_at : last - fate.shown_at]
            yield from _summary_rows(opened, shown, first, folds)
            continue
        shift = fate.start - fate.shown_at
        for row, message, calls in read_messages(opened, first + shift, last + shift):
            place = row.position - shift
            said = item.message if isinstance(item, Rewritten) else message
            if item is None and fate.kind == "rewritten" and fates.view == opened.info.view:
                arrived = arrived or transcript_of(opened.store, opened.info, what="view").messages
                said = arrived[place]
            drawn = _draw(opened, row, said, calls, fate, place, pins)
            own = ((row.position, row.position + 1),) if fate.kind == "rewritten" else ()
            tokens = message_tokens(said, _ESTIMATE) if own else row.tokens
            yield replace(drawn, originals=(*own, *folds.get(place, ())), tokens=tokens)


def prompt_rows(
    opened: OpenedSession, prompt: Fates, known: tuple[int, int], start: int, stop: int
) -> Iterator[DrawnMessage]:
    """Yield messages of a request; so many of the first came out of the cache, and so many were in
    the request before it.
    """
    cached, shared = known
    for row in seen_rows(opened, prompt, start, stop):
        said = "from the cache" if row.place < cached else "sent again"
        yield replace(row, sent=said if row.place < shared else "new")


def _folds(fates: Fates) -> dict[int, list[tuple[int, int]]]:
    """Return the folded ranges by the place of the message that has their summary."""
    found: dict[int, list[tuple[int, int]]] = {}
    for fate in fates.items:
        if fate.summary_at is not None:
            found.setdefault(fate.summary_at, []).append((fate.start, fate.stop))
    return found


def _summary_rows(
    opened: OpenedSession,
    messages: Sequence[Message],
    first: int,
    folds: Mapping[int, Sequence[tuple[int, int]]],
) -> Iterator[DrawnMessage]:
    """Yield the messages that replace a folded range; `first` is the place of the first one."""
    for place, message in enumerate(messages, first):
        yield DrawnMessage(
            place=place,
            position=None,
            role=message.role,
            fate="added",
            tokens=message_tokens(message, _ESTIMATE),
            originals=tuple(folds.get(place, ())),
            html=draw_body(opened, message, {}, ""),
        )


def _draw(
    opened: OpenedSession,
    row: StoredMessage,
    message: Message,
    calls: Mapping[str, ToolCall],
    fate: Fate,
    place: int,
    pins: set[int],
) -> DrawnMessage:
    html = draw_body(opened, message, calls, f"{opened.address}/message/{row.position}")
    return DrawnMessage(
        place=place,
        position=row.position,
        role=_speaker(message),
        tools=row.tools,
        time=row.time,
        tokens=row.tokens,
        fate=fate.kind,
        summary_at=fate.summary_at,
        is_pinned=row.position in pins,
        is_generated=row.generated,
        html=_fold_frame(opened, row, message, html),
    )


def _fold_frame(
    opened: OpenedSession, row: StoredMessage, message: Message, html: Markup
) -> Markup:
    """Return a system prompt or rules files closed, below what the user says beside them."""
    if message.role in ("system", "developer"):
        return _fold("System prompt", row.tokens, html)
    text = "\n".join(texts(message)) if row.position < FIRST and message.role == "user" else ""
    if not system_shares(text, row.tokens).get("rules files"):
        return html
    said = extract_user_words(text)
    words = draw_body(opened, Message("user", (Text(said),)), {}, "") if said else Markup()
    return words + _fold("Rules files", row.tokens, html)


def fold_system(opened: OpenedSession, message: Message) -> Markup:
    """Return a system prompt that is not among the messages, closed."""
    tokens = message_tokens(message, _ESTIMATE)
    return _fold("System prompt", tokens, draw_body(opened, message, {}, ""))


def _fold(name: str, tokens: int, html: Markup) -> Markup:
    made = Markup("<details><summary>{} <small>{} tokens</small></summary>{}</details>")
    return made.format(name, short(tokens), html)


def _speaker(message: Message) -> str:
    """Return whose message it is; one that holds results and nothing else is a tool's."""
    kinds = {type(part) for part in message.parts}
    return "tool" if kinds == {ToolResult} else message.role


def read_messages(
    opened: OpenedSession, start: int, stop: int
) -> Iterator[tuple[StoredMessage, Message, Mapping[str, ToolCall]]]:
    """Yield messages of the log with the calls that their results may answer."""
    rows = opened.store.read(opened.info.id, max(start - _LOOK_BACK, 0), stop)
    calls: dict[str, ToolCall] = {}
    for row, message in zip(rows, decode_rows(rows, opened.info.dialect), strict=True):
        if row.position >= start:
            yield row, message, calls
        calls |= {part.id: part for part in message.parts if isinstance(part, ToolCall)}


def draw_body(
    opened: OpenedSession, message: Message, calls: Mapping[str, ToolCall], more: str
) -> Markup:
    """Return what a message says; `more` is the address of its whole text."""
    return render_message(
        message, show=opened.api.show, calls=calls, more=more, address=opened.reference_address
    )
