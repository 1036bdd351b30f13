"""A session as a file: its log or what the model sees, in any dialect, as lines or for people."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Literal, TypeAlias, cast

from msgspec import Struct, convert
from msgspec.structs import replace

from foldaway._core import Policy
from foldaway.compaction import LogReading, ResultPolicy
from foldaway.dialects import (
    Loss,
    convert_transcript,
    dialect_named,
    dump_bytes,
    profile_for,
    repair_transcript,
)
from foldaway.dialects import dump as dump_value
from foldaway.engine import GrowingLog, unpack_view
from foldaway.errors import CannotRepair
from foldaway.facts import merged_summaries, recognize, without_summary
from foldaway.sessions.markdown import as_markdown
from foldaway.sessions.rows import decode_rows, frame_of, payloads
from foldaway.stores import SessionInfo, Store, StoredMessage
from foldaway.tokens import Estimator
from foldaway.transcript import Frame, Message, Transcript, View, extend, render

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
