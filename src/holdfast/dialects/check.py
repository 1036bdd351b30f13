"""Hold a message list against a provider's rules."""

from __future__ import annotations

from typing import Any

from holdfast.dialects.jsontext import too_deep
from holdfast.dialects.load import load
from holdfast.dialects.profiles import dialect_for, profile_for
from holdfast.dialects.rule import Case, Profile
from holdfast.transcript import Transcript, Violation, survey


def check(
    messages: Any, *, provider: str | None = None, dialect: str | None = None
) -> list[Violation]:
    """Return where `messages` break the provider's rules, in order; empty where they do not.

    `messages` is a message list or a whole request body, as parsed from JSON. The dialect is found
    from the data unless named; the provider is the dialect's own unless named, and a provider
    implies its dialect. Nothing is mutated. Raises `NotReadable` where there are no messages, and
    `WrongDialect` where the provider does not speak the dialect.
    """
    transcript = load(messages, dialect=dialect_for(provider, dialect))
    return check_transcript(transcript, profile_for(transcript.dialect, provider))


def check_transcript(transcript: Transcript, profile: Profile) -> list[Violation]:
    """Return the violations of a transcript, in the order of its messages."""
    try:
        return check_case(Case(transcript, survey(transcript.messages), profile))
    except RecursionError:
        raise too_deep() from None


def check_case(case: Case) -> list[Violation]:
    """Return the violations of a transcript whose index is made already."""
    found = [violation for rule in case.profile.rules for violation in rule.check(case)]
    found.sort(key=lambda violation: violation.index)
    return found
