"""One record: what is refused, and the generated text that is added to it or taken out."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any, TypeAlias

from msgspec.structs import replace

from foldaway.dialects import dialect_named, profile_for, repair_transcript
from foldaway.errors import NotReadable
from foldaway.facts import merged_summaries, recognize, without_summary
from foldaway.trajectories.counting import SHAREGPT
from foldaway.transcript import Groups, Message, Text, Transcript

_TAG = re.compile(r"<(/?)(tool_call|tool_response|think|thinking|REASONING_SCRATCHPAD)>")


def refuse_unreadable(transcript: Transcript, max_turns: int) -> None:
    """Raise `NotReadable` for a record that cannot be a conversation.

    It has absurdly many turns, no turn of anybody known, or words of an agent in which a tag
    opens again inside itself: then nobody can say what was called.
    """
    turns = len(transcript.messages)
    if turns > max_turns:
        raise NotReadable(f"has {turns:,} turns, more than {max_turns:,}", where=_path(transcript))
    if all(message.role == "unknown" for message in transcript.messages):
        raise NotReadable("has no turn of a known speaker", where=_path(transcript))
    if transcript.dialect != SHAREGPT:
        return
    for at, message in enumerate(transcript.messages):
        if message.role != "assistant":
            continue
        for part in message.parts:
            if type(part) is Text and (tag := _find_nested_tag(part.text)):
                raise NotReadable(
                    f"a <{tag}> opens inside a <{tag}>", where=f"{_path(transcript)}[{at}]"
                )


def _find_nested_tag(text: str) -> str:
    """Return the first tag that is opened inside itself and closed there, "" if there is none.

    Words may name a tag without opening one, so what is never closed is not nested.
    """
    if "</" not in text:
        return ""
    opened: dict[str, int] = {}
    for found in _TAG.finditer(text):
        closes, tag = found.groups()
        depth = opened.get(tag, 0)
        if closes and depth > 1:
            return tag
        opened[tag] = max(depth - 1, 0) if closes else depth + 1
    return ""


def _path(transcript: Transcript) -> str:
    return transcript.frame.path


def is_compacted(transcript: Transcript) -> bool:
    """Return whether a record has generated text: a summary, a digest, a placeholder, a notice.

    Summaries of other compressors count too, as far as their form is known.
    """
    messages = recognize(transcript.messages)
    return _has_generated(messages) or without_notice(transcript) is not transcript


def _has_generated(messages: Sequence[Message]) -> bool:
    return any(one.is_generated for one in messages) or bool(merged_summaries(messages))


def strip_generated(transcript: Transcript) -> Transcript:
    """Return the record without generated text; the same object if it has none.

    A summary goes out of the turn that carries it, or with its turn; a digest goes with the call
    that it answers, as a result cannot be without it. If two turns of one speaker then meet, they
    become one. Raises `NotReadable` if nothing else is left.
    """
    messages = recognize(transcript.messages)
    if not _has_generated(messages):
        return without_notice(transcript)
    merged = merged_summaries(messages)
    kept: list[Message] = []
    for start, stop in pairwise([*Groups(messages).starts, len(messages)]):
        group = messages[start:stop]
        if not any(message.is_generated for message in group):
            kept.extend(
                without_summary(one) if at in merged else one for at, one in enumerate(group, start)
            )
    if not any(message.role in ("user", "assistant") for message in kept):
        raise NotReadable("holds nothing but generated text", where=transcript.frame.path)
    left = without_notice(replace(transcript, messages=tuple(kept)))
    profile = profile_for(transcript.dialect).without("call-pending")
    mended, _ = repair_transcript(left, profile)
    return mended


_MARK = "[foldaway notice]"
NOTICE = (
    f"{_MARK} Some earlier turns of this conversation are summarized in one message, "
    "which is marked as such."
)
_NOTICES = re.compile(rf"(?:\n\n)?{re.escape(_MARK)}[^\n]*")
"""A notice in any words: it begins with its mark, and ends with its line."""

Edit: TypeAlias = Callable[[str], str]


def with_notice(transcript: Transcript, words: str = "") -> Transcript:
    """Return the record with the notice, in these words, at the end of its system text, once.

    A system turn at the front gets it, otherwise the field beside the turns; if there is
    neither, the record is as it was. A system turn further on is a message like others.
    """
    notice = f"{_MARK} {words.strip()}" if words else NOTICE
    return _edit(
        transcript, lambda text: text if notice in text else f"{_without(text)}\n\n{notice}"
    )


def without_notice(transcript: Transcript) -> Transcript:
    """Return the record without the notice."""
    return _edit(transcript, _without)


def _without(text: str) -> str:
    return _NOTICES.sub("", text)


def _edit(transcript: Transcript, edit: Edit) -> Transcript:
    first = transcript.messages[0] if transcript.messages else None
    if first is None or first.role not in ("system", "developer"):
        return _edit_field(transcript, edit)
    changed = _edit_last_text(first, edit)
    if changed is first:
        return transcript
    return replace(transcript, messages=(changed, *transcript.messages[1:]))


def _edit_field(transcript: Transcript, edit: Edit) -> Transcript:
    frame, dialect = transcript.frame, dialect_named(transcript.dialect)
    if frame.body is None:
        return transcript
    if transcript.dialect == SHAREGPT:
        text: Any = frame.body.get("system")
        if not isinstance(text, str) or not text or edit(text) == text:
            return transcript
        return replace(transcript, frame=replace(frame, body={**frame.body, "system": edit(text)}))
    if transcript.system is None or dialect.encode_system is None:
        return transcript
    changed = _edit_last_text(transcript.system, edit)
    if changed is transcript.system:
        return transcript
    body = {**frame.body, dialect.system_key: dialect.encode_system(changed)}
    return replace(transcript, frame=replace(frame, body=body), system=changed)


def _edit_last_text(message: Message, edit: Edit) -> Message:
    """Return the message with its last words edited, the same object if nothing changed."""
    for at in range(len(message.parts) - 1, -1, -1):
        part = message.parts[at]
        if isinstance(part, Text):
            text = edit(part.text)
            if text == part.text:
                return message
            changed = replace(part, text=text, intact=False)
            return message.with_parts((*message.parts[:at], changed, *message.parts[at + 1 :]))
    return message
