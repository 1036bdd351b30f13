"""Hold a message list against a provider's rules, and repair it without inventing content."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from foldaway._core import WireRules
from foldaway.dialects.dialect import Encode
from foldaway.dialects.jsontext import depth_error
from foldaway.dialects.loading import dialect_named, dump, load
from foldaway.dialects.profiles import dialect_for, profile_for
from foldaway.dialects.rule import Action, Case, Mended, Profile, is_model
from foldaway.dialects.rules.thinking import (
    THINKING_FIRST,
    drop_settings,
    is_enabled,
    is_set_to_drop,
)
from foldaway.errors import CannotEncode, CannotRepair
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


_ROUNDS = 6
"""Repairs may uncover each other; the longest chain that the broken strategies produce is 3."""


class Repaired(Struct, frozen=True):
    """A list that its provider accepts, and what was done to get there.

    `messages` has the shape that was given (list or request body); if nothing was wrong it is
    the very object that was given.
    """

    messages: Any
    actions: tuple[Action, ...]
    transcript: Transcript


def repair(messages: Any, *, provider: str | None = None, dialect: str | None = None) -> Repaired:
    """Return `messages` repaired for the provider, with the list of what was done.

    Idempotent; the input is never mutated; messages without fault are the same objects. Raises
    `CannotRepair` with the violations that cannot be fixed without inventing content, and what
    `check` raises.
    """
    transcript = load(messages, dialect=dialect_for(provider, dialect))
    mended, actions = repair_transcript(transcript, profile_for(transcript.dialect, provider))
    value = messages if mended is transcript else dump(mended)
    return Repaired(value, actions, mended)


def repair_transcript(
    transcript: Transcript, profile: Profile
) -> tuple[Transcript, tuple[Action, ...]]:
    """Return the repaired transcript (the same object if nothing was wrong) and the actions.

    What comes back has been written and read again: its parts are what its wire form says.
    """
    try:
        return _repair_all(transcript, profile)
    except RecursionError:
        raise depth_error() from None


def _repair_all(transcript: Transcript, profile: Profile) -> tuple[Transcript, tuple[Action, ...]]:
    actions: list[Action] = []
    violations: list[Violation] = []
    for _ in range(_ROUNDS):
        case = _case(transcript, profile)
        violations = check_case(case)
        if not violations:
            return transcript, tuple(actions)
        hopeless = [violation for violation in violations if not violation.mendable]
        if hopeless:
            raise CannotRepair(hopeless)
        mended = _repair_once(case, actions)
        if not mended.messages:
            raise CannotRepair([replace(found, mendable=False) for found in violations])
        transcript = _read_again(mended)
    raise CannotRepair([replace(found, mendable=False) for found in violations])


def _case(transcript: Transcript, profile: Profile) -> Case:
    return Case(transcript, survey(transcript.messages), profile)


def _repair_once(case: Case, actions: list[Action]) -> Transcript:
    """Apply every repair once, in the order of the profile."""
    for rule in case.profile.rules:
        violations = [found for found in rule.check(case) if found.mendable]
        if not violations:
            continue
        if rule.mend is None:
            raise CannotRepair(violations)
        mended = rule.mend(case, violations)
        actions.extend(mended.actions)
        case = _case(_apply_edits(case.transcript, mended), case.profile)
        if not case.messages:
            break
    return case.transcript


def _apply_edits(transcript: Transcript, mended: Mended) -> Transcript:
    if mended.body is None:
        return replace(transcript, messages=mended.messages)
    read_system = dialect_named(transcript.dialect).decode_system
    return replace(
        transcript,
        messages=mended.messages,
        frame=replace(transcript.frame, body=mended.body),
        system=read_system(mended.body) if read_system else None,
    )


def _read_again(transcript: Transcript) -> Transcript:
    """Return the transcript as it is read from its own wire form.

    Messages that nobody changed are the same objects; the others keep their place of origin and
    the mark of having been changed.
    """
    dialect = dialect_named(transcript.dialect)
    wires = [
        message.wire if message.intact and message.wire is not None else dialect.encode(message)
        for message in transcript.messages
    ]
    messages = tuple(
        old
        if old.intact and old.parts == read.parts and old.flaws == read.flaws
        else replace(
            read,
            position=old.position,
            origin=old.origin,
            intact=old.intact and old.origin == "real",
        )
        for old, read in zip(transcript.messages, dialect.decode(wires), strict=True)
    )
    return replace(transcript, messages=messages)
