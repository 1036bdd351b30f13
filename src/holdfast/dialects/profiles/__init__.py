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
from holdfast.errors import UnknownName, WrongDialect

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


def dialect_for(provider: str | None, dialect: str | None) -> str | None:
    """Return the dialect to read with: the named one, the provider's, None to find it.

    Raises `UnknownName` for a provider that does not exist, and `WrongDialect` where the named
    dialect is not the one that the provider speaks.
    """
    if provider is None:
        return dialect
    spoken = profile_named(provider).dialect
    if dialect is not None and dialect != spoken:
        raise WrongDialect(provider, spoken, dialect)
    return spoken


def profile_for(dialect: str, provider: str | None = None) -> Profile:
    """Return the named profile, otherwise the one of the dialect."""
    return profile_named(provider or dialect)
