"""Hold a message list against a provider's rules."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from msgspec.structs import replace

from foldaway._core import WireRules
from foldaway.dialects.dialect import Encode
from foldaway.dialects.jsontext import depth_error
from foldaway.dialects.loading import load
from foldaway.dialects.profiles import dialect_for, profile_for
from foldaway.dialects.registry import dialect_named
from foldaway.dialects.rule import Case, Profile, is_model
from foldaway.dialects.rules.thinking import (
    THINKING_FIRST,
    drop_settings,
    is_enabled,
    is_set_to_drop,
)
from foldaway.errors import CannotEncode
from foldaway.transcript import Message, Text, ToolCall, ToolResult, Transcript, Violation, survey


def check(
    messages: Any, *, provider: str | None = None, dialect: str | None = None
) -> list[Violation]:
    """Return where `messages` break the provider's rules, in order; empty if they do not.

    `messages` is a message list or a whole request body, as parsed from JSON. The dialect is found
    from the data unless named; the provider is the dialect's own unless named, and a provider
    implies its dialect. Nothing is mutated. Raises `NotReadable` if there are no messages, and
    `WrongDialect` where the provider does not speak the dialect.
    """
    transcript = load(messages, dialect=dialect_for(provider, dialect))
    return check_transcript(transcript, profile_for(transcript.dialect, provider))


def check_transcript(transcript: Transcript, profile: Profile) -> list[Violation]:
    """Return the violations of a transcript, in the order of its messages."""
    try:
        return check_case(Case(transcript, survey(transcript.messages), profile))
    except RecursionError:
        raise depth_error() from None


def check_case(case: Case) -> list[Violation]:
    """Return the violations of a transcript whose index is made already."""
    found = [violation for rule in case.profile.rules for violation in rule.check(case)]
    found.sort(key=lambda violation: violation.index)
    return found


def wire_rules(
    transcript: Transcript, profile: Profile, model: str = "", *, drops_stale: bool = False
) -> WireRules:
    """Return the rules of `profile` for messages in the frame of `transcript`.

    `model` is asked if the frame names none. With `drops_stale` the request will ask the provider
    to drop thinking that is bound to something else.
    """
    body = transcript.frame.body
    if drops_stale and profile.bound_thinking_models and body is not None:
        asking = replace(transcript.frame, body={**body, **drop_settings(body).fields})
        transcript = replace(transcript, frame=asking)
    encode = dialect_named(transcript.dialect).encode

    def check(messages: Sequence[Message]) -> Sequence[Violation]:
        unwritable = [
            found
            for index, message in enumerate(messages)
            if not message.intact
            and not _is_plain(message)
            and (found := _find_unwritable(encode, message, index))
        ]
        if unwritable:
            return unwritable
        return check_transcript(replace(transcript, messages=tuple(messages)), profile)

    named = str(transcript.frame.setting("model") or "") or model
    thinking = transcript.frame.setting("thinking")
    bound = profile.bound_thinking_models
    return WireRules(
        profile.name,
        check,
        strips_thinking=bool(bound) and (not named or is_model(named, bound)),
        loop_thinks=profile.has(THINKING_FIRST) and is_enabled(thinking),
        drops_stale=is_set_to_drop(thinking),
    )


def _is_plain(message: Message) -> bool:
    """Return whether a message holds only what every dialect can write: words and functions."""
    return all(
        isinstance(part, Text)
        or (isinstance(part, (ToolCall, ToolResult)) and part.kind == "function")
        for part in message.parts
    )


def _find_unwritable(encode: Encode, message: Message, index: int) -> Violation | None:
    """Return what keeps a changed message from being written, None if nothing does."""
    try:
        encode(message)
    except CannotEncode as error:
        return Violation("encodable", index, f"$[{index}]", str(error), "keep it as it was", False)
    return None
