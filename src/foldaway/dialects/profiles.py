"""What each provider insists on: a table of dated profiles, and how to find the right one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

import msgspec
from msgspec.structs import replace

from foldaway._core import read_table
from foldaway.dialects.rule import Profile, Rule
from foldaway.dialects.rules import content, ids, keys, pairs, results, roles, thinking, tools
from foldaway.errors import UnknownName, WrongDialect

RULES: Mapping[str, Rule] = {
    rule.name: rule
    for subject in (content, ids, keys, pairs, results, roles, thinking, tools)
    for rule in subject.RULES
}
"""Every rule by its name."""


def _read_profiles() -> dict[str, Profile]:
    """Return the profiles of `profiles.toml` by their names."""
    types = {field.name: field.type for field in msgspec.structs.fields(Profile)}
    found: dict[str, Profile] = {}
    for name, row in read_table("profiles", dict[str, dict[str, Any]], "foldaway.dialects").items():
        base = found.get(row.pop("like", ""))
        own = tuple(RULES[rule] for rule in row.pop("rules").split())
        rules = own if base is None else (*base.rules, *own)
        given = {field: msgspec.convert(value, types[field]) for field, value in row.items()}
        given |= {"name": name, "rules": rules}
        found[name] = Profile(**given) if base is None else replace(base, **given)
    return found


PROFILES: Mapping[str, Profile] = _read_profiles()


def profile_named(name: str) -> Profile:
    """Return a profile by its name, or raise `UnknownName`."""
    found = PROFILES.get(name) if isinstance(cast("object", name), str) else None
    if found is None:
        raise UnknownName("provider", name, tuple(PROFILES))
    return found


def dialect_for(provider: str | None, dialect: str | None) -> str | None:
    """Return the dialect to read with: the named one, the provider's, None to find it.

    Raises `UnknownName` for a provider that does not exist, and `WrongDialect` if the named
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
    return profile_named(dialect if provider is None else provider)
