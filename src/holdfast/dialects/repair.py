"""Mend what breaks a provider's rules, without inventing content."""

from __future__ import annotations

from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from holdfast.dialects.check import check_transcript
from holdfast.dialects.load import dump, load
from holdfast.dialects.profiles import profile_for, profile_named
from holdfast.dialects.rule import Action, Case, Mended, Profile
from holdfast.errors import CannotRepair
from holdfast.transcript import Transcript, Violation, survey

_ROUNDS = 6
"""Mends may uncover each other; the longest chain that the broken strategies produce is 3."""


class Repaired(Struct, frozen=True):
    """A list that its provider accepts, and what was done to get there.

    `messages` has the shape that was given (list or request body); where nothing was wrong it is
    the very object that was given.
    """

    messages: Any
    actions: tuple[Action, ...]
    transcript: Transcript


def repair(messages: Any, *, provider: str | None = None, dialect: str | None = None) -> Repaired:
    """Return `messages` mended for the provider, with the list of what was done.

    Idempotent; the input is never mutated; messages without fault are the same objects. Raises
    `CannotRepair` with the violations that cannot be mended without inventing content.
    """
    if provider is not None and dialect is None:
        dialect = profile_named(provider).dialect
    transcript = load(messages, dialect=dialect)
    mended, actions = repair_transcript(transcript, profile_for(transcript.dialect, provider))
    value = messages if mended is transcript else dump(mended)
    return Repaired(value, actions, mended)


def repair_transcript(
    transcript: Transcript, profile: Profile
) -> tuple[Transcript, tuple[Action, ...]]:
    """Return the mended transcript (the same object where nothing was wrong) and the actions."""
    actions: list[Action] = []
    violations: list[Violation] = []
    for _ in range(_ROUNDS):
        violations = check_transcript(transcript, profile)
        if not violations:
            return transcript, tuple(actions)
        hopeless = [violation for violation in violations if not violation.mendable]
        if hopeless:
            raise CannotRepair(hopeless)
        transcript = _one_round(transcript, profile, actions)
    raise CannotRepair(violations)


def _one_round(transcript: Transcript, profile: Profile, actions: list[Action]) -> Transcript:
    for rule in profile.rules:
        case = Case(transcript, survey(transcript.messages), profile)
        violations = rule.check(case)
        if not violations or any(not violation.mendable for violation in violations):
            continue
        if rule.mend is None:
            raise CannotRepair(violations)
        mended = rule.mend(case, violations)
        actions.extend(mended.actions)
        transcript = _apply(transcript, mended)
    return transcript


def _apply(transcript: Transcript, mended: Mended) -> Transcript:
    frame = transcript.frame
    if mended.body is not None:
        frame = replace(frame, body=mended.body)
    return replace(transcript, messages=mended.messages, frame=frame)
