"""The providers' rules as dated data, one provider a file."""

from __future__ import annotations

from collections.abc import Mapping

from holdfast.dialects.profiles import (
    anthropic,
    gemini,
    openai_chat,
    openai_responses,
    sharegpt,
    strict,
)
from holdfast.dialects.rule import Profile
from holdfast.errors import UnknownName

PROFILES: Mapping[str, Profile] = {
    profile.name: profile
    for profile in (
        anthropic.PROFILE,
        gemini.PROFILE,
        openai_chat.PROFILE,
        openai_responses.PROFILE,
        sharegpt.PROFILE,
        strict.PROFILE,
    )
}


def profile_named(name: str) -> Profile:
    """Return a profile by its name, or raise `UnknownName`."""
    found = PROFILES.get(name)
    if found is None:
        raise UnknownName("provider", name, tuple(PROFILES))
    return found


def profile_for(dialect: str, provider: str | None = None) -> Profile:
    """Return the named profile, otherwise the one of the dialect."""
    return profile_named(provider or dialect)
