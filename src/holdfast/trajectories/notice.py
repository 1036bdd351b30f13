"""The sentence in the system turn that says that turns were summarised."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from msgspec.structs import replace

from holdfast.dialects.registry import dialect_named
from holdfast.trajectories.measure import SHAREGPT
from holdfast.transcript import Message, Text, Transcript

NOTICE = (
    "[holdfast notice] Some earlier turns of this conversation are summarised in one message, "
    "which is marked as such."
)
_ADDED = f"\n\n{NOTICE}"

Edit: TypeAlias = Callable[[str], str]


def with_notice(transcript: Transcript) -> Transcript:
    """Return the record with the notice at the end of its system text, once.

    A system turn at the front has it, otherwise the field beside the turns; where there is
    neither, the record is as it was. A system turn further on is a message like others.
    """
    return _edited(transcript, lambda text: text if NOTICE in text else text + _ADDED)


def without_notice(transcript: Transcript) -> Transcript:
    """Return the record without the notice."""
    return _edited(transcript, lambda text: text.replace(_ADDED, "").replace(NOTICE, ""))


def _edited(transcript: Transcript, edit: Edit) -> Transcript:
    first = transcript.messages[0] if transcript.messages else None
    if first is None or first.role not in ("system", "developer"):
        return _field_edited(transcript, edit)
    changed = _last_text_edited(first, edit)
    if changed is first:
        return transcript
    return replace(transcript, messages=(changed, *transcript.messages[1:]))


def _field_edited(transcript: Transcript, edit: Edit) -> Transcript:
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
    changed = _last_text_edited(transcript.system, edit)
    if changed is transcript.system:
        return transcript
    body = {**frame.body, dialect.system_key: dialect.encode_system(changed)}
    return replace(transcript, frame=replace(frame, body=body), system=changed)


def _last_text_edited(message: Message, edit: Edit) -> Message:
    """Return the message with its last words edited, the same object where nothing changed."""
    for at in range(len(message.parts) - 1, -1, -1):
        part = message.parts[at]
        if isinstance(part, Text):
            text = edit(part.text)
            if text == part.text:
                return message
            changed = replace(part, text=text, intact=False)
            return message.with_parts((*message.parts[:at], changed, *message.parts[at + 1 :]))
    return message
