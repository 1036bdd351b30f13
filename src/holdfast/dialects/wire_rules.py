"""A provider's rules as the value that the pipeline takes: it knows no dialect itself."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from holdfast.dialects.check import check_transcript
from holdfast.dialects.dialect import Encode
from holdfast.dialects.registry import dialect_named
from holdfast.dialects.rule import Profile, is_model
from holdfast.dialects.rules import roles_alternate, user_first
from holdfast.errors import CannotEncode
from holdfast.ports import WireRules
from holdfast.transcript import Message, Text, ToolCall, ToolResult, Transcript, Violation


def wire_rules(transcript: Transcript, profile: Profile, model: str = "") -> WireRules:
    """Return the rules of `profile` for messages in the frame of `transcript`."""
    encode = dialect_named(transcript.dialect).encode

    def check(messages: Sequence[Message]) -> Sequence[Violation]:
        unwritable = [
            found
            for index, message in enumerate(messages)
            if not message.intact
            and not _is_plain(message)
            and (found := _unwritable(encode, message, index))
        ]
        if unwritable:
            return unwritable
        return check_transcript(replace(transcript, messages=tuple(messages)), profile)

    named = model or str(transcript.frame.setting("model") or "")
    bound = profile.bound_thinking_models
    return WireRules(
        profile.name,
        check,
        alternates=profile.prefers_alternation or profile.has(roles_alternate.NAME),
        user_first=profile.has(user_first.NAME),
        strips_thinking=bool(bound) and (not named or is_model(named, bound)),
    )


def _is_plain(message: Message) -> bool:
    """Return whether a message holds only what every dialect can write: words and functions."""
    return all(
        isinstance(part, Text)
        or (isinstance(part, (ToolCall, ToolResult)) and part.kind == "function")
        for part in message.parts
    )


def _unwritable(encode: Encode, message: Message, index: int) -> Violation | None:
    """Return what keeps a changed message from being written, None where nothing does."""
    try:
        encode(message)
    except CannotEncode as error:
        return Violation("encodable", index, f"$[{index}]", str(error), "keep it as it was", False)
    return None
