"""A provider's rules as the value that the pipeline takes: it knows no dialect itself."""

from __future__ import annotations

from collections.abc import Sequence
from fnmatch import fnmatchcase

from msgspec.structs import replace

from holdfast.dialects.check import check_transcript
from holdfast.dialects.rule import Profile
from holdfast.ports import WireRules
from holdfast.transcript import Message, Transcript, Violation

_ALTERNATING = frozenset({"anthropic", "gemini", "strict", "sharegpt"})
_USER_FIRST = frozenset({"anthropic", "gemini", "strict"})


def wire_rules(transcript: Transcript, profile: Profile, model: str = "") -> WireRules:
    """Return the rules of `profile` for messages in the frame of `transcript`."""

    def check(messages: Sequence[Message]) -> Sequence[Violation]:
        return check_transcript(replace(transcript, messages=tuple(messages)), profile)

    named = model or str(transcript.frame.setting("model") or "")
    bound = profile.bound_thinking_models
    return WireRules(
        profile.name,
        check,
        alternates=profile.name in _ALTERNATING,
        user_first=profile.name in _USER_FIRST,
        strips_thinking=bool(bound) and (not named or any(fnmatchcase(named, b) for b in bound)),
    )
