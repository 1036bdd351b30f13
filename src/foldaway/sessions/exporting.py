"""A session as a file: its log or what the model sees, in any dialect, as lines or for people; and
in few words: its record, and what a compaction would leave of it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any, Literal, TypeAlias, cast

from msgspec import Struct, convert
from msgspec.structs import replace

from foldaway._core import Policy
from foldaway.compaction import CompactionState, ResultPolicy, Skipped
from foldaway.dialects import (
    Loss,
    convert_transcript,
    dialect_named,
    dump_bytes,
    profile_for,
    repair_transcript,
)
from foldaway.dialects import dump as dump_value
from foldaway.engine import (
    BRIEF_TOKENS,
    Brief,
    GrowingLog,
    brief_of,
    trial_compaction,
    unpack_snapshot,
    unpack_view,
)
from foldaway.errors import CannotRepair
from foldaway.facts import (
    LogReading,
    merged_summaries,
    read_arguments,
    recognize,
    split_summary,
    without_summary,
)
from foldaway.reduction import fenced, render_result
from foldaway.sessions.delegations import delegations, pick_sentences
from foldaway.sessions.finding import ShownMessage, message_at, messages_in
from foldaway.sessions.hiding import Show, reveal_text
from foldaway.sessions.rows import decode_rows, frame_of, payloads, snapshot_of
from foldaway.stores import SessionInfo, Store, StoredMessage
from foldaway.transcript import (
    Estimator,
    Folded,
    Frame,
    Item,
    Kept,
    Media,
    Message,
    Opaque,
    Part,
    Rewritten,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    Transcript,
    View,
    extend,
    render,
)

What: TypeAlias = Literal["log", "view"]


class Exported(Struct, frozen=True):
    """A session as text, what the form could not hold, and what had to be repaired."""

    data: bytes
    messages: int
    losses: tuple[Loss, ...] = ()
    mended: tuple[str, ...] = ()
    """Rules of the provider that the session itself broke, and the file does not."""


def export(
    store: Store, info: SessionInfo, form: str, *, what: What = "log", generated: bool = True
) -> Exported:
    """Return a session as `jsonl` (a message a line, in its own dialect, as it is), `markdown`, or
    in a dialect, repaired so that its provider takes it as far as that invents nothing; without
    `generated` what a compaction wrote is left out.
    """
    transcript = transcript_of(store, info, what=what)
    if not generated:
        transcript = replace(transcript, messages=tuple(_skip_generated(transcript.messages)))
    if form == "markdown":
        page = as_markdown(info, transcript).encode("utf-8", "replace")
        return Exported(page, len(transcript.messages))
    if form == "jsonl":
        encode = dialect_named(transcript.dialect).encode
        lines = [dump_bytes(encode(one)) + b"\n" for one in transcript.messages]
        return Exported(b"".join(lines), len(lines))
    made = convert_transcript(transcript, dialect_named(form).name)
    sound, mended = _repair(made.transcript)
    value = made.messages if sound is made.transcript else dump_value(sound)
    return Exported(dump_bytes(value) + b"\n", len(sound.messages), made.losses, mended)


def _skip_generated(messages: Sequence[Message]) -> Iterator[Message]:
    """Yield messages without summaries and what points at them; a digest stays, because it stands
    for what was said.
    """
    merged = merged_summaries(messages)
    for at, message in enumerate(messages):
        fills_gap = message.origin == "placeholder" and message.position < 0
        if message.origin not in ("summary", "note") and not fills_gap:
            yield without_summary(message) if at in merged else message


def _repair(transcript: Transcript) -> tuple[Transcript, tuple[str, ...]]:
    """Return what the provider takes, and the rules that were broken; as it is where a repair
    would have to invent something.
    """
    try:
        sound, actions = repair_transcript(transcript, profile_for(transcript.dialect, None))
    except CannotRepair:
        return transcript, ()
    return sound, tuple(dict.fromkeys(action.rule for action in actions))


def transcript_of(
    store: Store, info: SessionInfo, *, what: What = "log", number: int | None = None
) -> Transcript:
    """Return the log of a session, or what the model sees of it, in its frame.

    `number` is that of a view, the current one if it is not given.
    """
    rows = store.read(info.id)
    messages = recognize(decode_rows(rows, info.dialect))
    marked = {row.position for row in rows if row.generated}
    log = tuple(
        replace(one, origin="summary") if one.position in marked else one for one in messages
    )
    kept = store.view(info.id, number) if what == "view" else None
    view = None if kept is None else unpack_view(kept.items, info.dialect)
    if what == "view" and number is None:
        log = tuple(render(_extend_view(info, rows, view), log))
    elif view is not None:
        log = tuple(render(extend(view, len(log)), log))
    return add_frame(info, log)


def _extend_view(info: SessionInfo, rows: Sequence[StoredMessage], view: View | None) -> View:
    """Return the view on a whole log, what came since it was made as results are on arrival."""
    arriving = convert(frame_of(info).get("arrival", {"level": "off"}), ResultPolicy)
    log = GrowingLog(info.dialect, LogReading(Estimator(), Policy()), arriving)
    log.load(payloads(rows), view)
    return log.view


def add_frame(info: SessionInfo, messages: tuple[Message, ...] = ()) -> Transcript:
    """Return messages of a session in what stands around its list: system prompt, tools."""
    frame = frame_of(info)
    body, key = frame.get("body"), frame.get("key", "")
    if not isinstance(body, dict) or not key:
        return Transcript(info.dialect, messages)
    whole = cast("dict[str, Any]", {**body, key: []})
    read = dialect_named(info.dialect).decode_system
    system = None if read is None else read(whole)
    return Transcript(info.dialect, messages, Frame(key, whole), system)


_LINE_END = re.compile("\r\n?|[\x0b\x0c\x1c-\x1e\x85\u2028\u2029]")
_CONTROL = re.compile(
    "[\x00-\x08\x0e-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff"
    "\ufff9-\ufffb\U000e0000-\U000e007f]"
)
"""Codes that move a cursor, set a title or a link, or turn the direction of writing, with which a
page could show another text than it has. Line ends and tabs are not among them."""
_SPEAKER = {"assistant": "Agent", "user": "User", "tool": "Tool"}


def as_markdown(info: SessionInfo, transcript: Transcript) -> str:
    """Return a conversation as one page. Words are whole; results are bounded, which is said."""
    calls: dict[str, ToolCall] = {}
    pieces = [f"# {_line(info.title or info.first_ask or info.id)}", _facts(info)]
    for place, message in enumerate(transcript.messages):
        is_result = {type(part) for part in message.parts} == {ToolResult}
        role = "tool" if is_result else message.role
        speaker = _SPEAKER.get(role, role.capitalize())
        mark = f", {message.origin} of a compaction" if message.is_generated else ""
        pieces.append(f"## {speaker} · m{place}{mark}")
        pieces.extend(_parts(message.parts, calls))
    return show_controls("\n\n".join(piece for piece in pieces if piece) + "\n")


def show_controls(text: str) -> str:
    """Return a text without raw control codes: each is the mark for an unknown character, as on
    the terminal; whatever ends a line is a line feed.
    """
    return _CONTROL.sub("\ufffd", _LINE_END.sub("\n", text))


def _line(text: str) -> str:
    """Return a name on one line, so that it cannot begin a heading or a list of its own."""
    return " ".join(text.split())


def _facts(info: SessionInfo) -> str:
    rows = {
        "session": info.id,
        "from": f"{info.source} {info.source_id}".strip(),
        "model": info.model,
        "folder": info.cwd,
        "goal": info.goal,
    }
    return "\n".join(f"- {name}: {_line(value)}" for name, value in rows.items() if value)


def _parts(parts: Sequence[Part], calls: dict[str, ToolCall]) -> Iterator[str]:
    for part in parts:
        match part:
            case Text(text=text):
                yield text
            case Thinking(text=text):
                yield "\n".join(f"> {line}" for line in text.splitlines())
            case Media(kind=kind, media_type=media_type):
                yield f"*[{_line(f'{kind} {media_type}')}]*"
            case ToolCall(id=call_id, name=name, arguments=arguments):
                calls[call_id] = part
                yield f"**{_line(name)}**\n\n{fenced(arguments, 'json')}"
            case ToolResult(call_id=call_id, parts=inner):
                yield _result(calls.get(call_id), part)
                yield from _parts([one for one in inner if isinstance(one, Media)], calls)
            case Opaque(kind=kind):
                yield f"*[{_line(kind)}]*"


def _result(call: ToolCall | None, result: ToolResult) -> str:
    text = "\n".join(part.text for part in result.parts if isinstance(part, Text))
    name = call.name if call is not None else result.name
    return render_result(name, {} if call is None else read_arguments(call.arguments), text)


_MOST_ROWS = 500
"""Messages that are read at most: an answer of 10,000 tokens has no room for more, of 20 each."""


def brief_session(
    store: Store,
    info: SessionInfo,
    *,
    show: Show,
    tokens: int = BRIEF_TOKENS,
    focus: str = "",
    for_person: bool = False,
) -> Brief:
    """Return the record of a stored session: of its whole log, with what its compactions know.

    What a model wrote is in it. Nothing in the store changes.
    """
    return brief_of(
        transcript_of(store, info),
        tokens=tokens,
        focus=focus,
        goal=info.goal,
        redact=show,
        delegated=pick_sentences(delegations(store, info)),
        state=_state(store, info),
        for_person=for_person,
    )


class Remainder(Struct, frozen=True):
    """What a compaction would leave of a session."""

    summary: str
    """Of the messages that are folded, without its frame; "" if none are."""
    rows: tuple[ShownMessage, ...]
    """The messages that stay, in order."""
    folded: int
    tokens_before: int
    tokens_after: int
    why_not: str = ""
    """Why all messages stay as they are, if they do."""


def remainder_of(
    store: Store, info: SessionInfo, *, show: Show, tokens: int, focus: str = ""
) -> Remainder:
    """Return what a compaction of the whole log to about `tokens` would leave; nothing changes.

    System prompts come on top of the size: they are not shown to other sessions. No references are
    given out, because the originals are found by their positions.
    """
    known = _state(store, info)
    done = trial_compaction(
        transcript_of(store, info),
        tokens=tokens,
        focus=focus,
        goal=info.goal,
        redact=show,
        pinned=frozenset(pin.position for pin in store.pins(info.id)),
        state=CompactionState(prose=known.prose, prose_to=known.prose_to),
    )
    before = done.tokens_before
    if isinstance(done, Skipped):
        start = max(info.length - _MOST_ROWS, 0)
        rows = messages_in(store, info, start, info.length, show=show)
        return Remainder("", rows, 0, before, before, done.detail or done.reason)
    rows = tuple(row for item in done.view.items for row in _rows(store, info, item, show))
    folded = sum(item.stop - item.start for item in done.view.items if isinstance(item, Folded))
    framed = split_summary(done.summary_text)
    summary = framed.body if framed else done.summary_text
    return Remainder(summary, rows, folded, before, done.tokens_after)


def _rows(store: Store, info: SessionInfo, item: Item, show: Show) -> Iterator[ShownMessage]:
    match item:
        case Kept(start=start, stop=stop):
            start = max(start, info.length - _MOST_ROWS)
            yield from messages_in(store, info, start, stop, show=show) if start < stop else ()
        case Rewritten(start=at, message=message):
            text = reveal_text(message, show)
            merged = split_summary(text)
            yield replace(message_at(store, info, at), text=merged.rest if merged else text)
        case Folded():
            return


def _state(store: Store, info: SessionInfo) -> CompactionState:
    """Return what the compactions of a session know."""
    saved = snapshot_of(store, info, store.view(info.id))
    return unpack_snapshot(saved).state if saved else CompactionState()
