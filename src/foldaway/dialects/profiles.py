"""What each provider insists on: a table of dated profiles, and how to find the right one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

from msgspec.structs import replace

from foldaway.dialects.rule import Profile, Rule
from foldaway.dialects.rules import content, ids, keys, pairs, results, roles, thinking, tools
from foldaway.errors import UnknownName, WrongDialect

RULES: Mapping[str, Rule] = {
    rule.name: rule
    for subject in (content, ids, keys, pairs, results, roles, thinking, tools)
    for rule in subject.RULES
}
"""Every rule by its name."""


def _rules(names: str) -> tuple[Rule, ...]:
    return tuple(RULES[name] for name in names.split())


_OPENAI_ID = r"[^\x00\ud800-\udfff]{1,64}"
"""OpenAI takes any call id of up to 64 characters that can be written."""

_ANTHROPIC = Profile(
    name="anthropic",
    dialect="anthropic",
    dated="2026-11",
    rules=_rules("""
        message-object role-known content-shape tool-speaker
        id-present id-unique id-legal name-legal arguments-object text-clean keys-foreign
        result-has-call server-tools-paired results-adjacent call-answered call-pending
        content-present thinking-signed thinking-first user-first thinking-bound
        compaction-block cache-markers tools-declared no-prefill
    """),
    answers="next message",
    result_role="user",
    results_first=True,
    arguments="object",
    name_pattern=r"[a-zA-Z0-9_-]{1,128}",
    id_pattern=r"[a-zA-Z0-9_-]+",
    foreign_keys=frozenset(
        {
            "tool_calls",
            "tool_call_id",
            "function_call",
            "reasoning_content",
            "refusal",
            "name",
            "id",
            "uuid",
            "timestamp",
            "model",
            "usage",
            "stop_reason",
            "stop_sequence",
            "type",
        }
    ),
    cache_markers=4,
    no_system_models=(
        "*claude-instant*",
        "*claude-[1-3]*",
        "*sonnet-4*",
        "*haiku-4*",
        "*opus-4-[0-7]",
        "*opus-4-[0-7]-*",
        "*opus-4-2*",
        "*sonnet-5",
    ),
    no_prefill_models=(
        "*opus-4-[6-9]*",
        "*sonnet-4-[6-9]*",
        "*haiku-4-[6-9]*",
        "*opus-[5-9]*",
        "*sonnet-[5-9]*",
        "*haiku-[5-9]*",
        "*fable-*",
    ),
    bound_thinking_models=(
        "*fable-5-[12]*",
        "*mythos-5-[12]*",
        "*opus-5-5*",
        "*sonnet-5-5*",
        "*haiku-5-5*",
    ),
)

_GEMINI = Profile(
    name="gemini",
    dialect="gemini",
    dated="2026-11",
    rules=_rules("""
        message-object role-known content-shape tool-speaker
        id-present id-unique name-legal arguments-object text-clean keys-foreign
        result-has-call results-adjacent call-answered call-pending
        content-present user-first thought-signature
    """),
    answers="next message",
    result_role="user",
    arguments="object",
    name_pattern=r"[a-zA-Z_][a-zA-Z0-9_.:-]{0,127}",
    foreign_keys=frozenset(
        {
            "content",
            "tool_calls",
            "tool_call_id",
            "reasoning_content",
            "name",
            "id",
            "timestamp",
            "type",
        }
    ),
    signed_call_models=("*gemini-[3-9]*",),
)

_OPENAI_CHAT = Profile(
    name="openai-chat",
    dialect="openai-chat",
    dated="2026-11",
    rules=_rules("""
        message-object role-known content-shape tool-speaker
        id-present id-unique id-legal name-legal arguments-object text-clean
        result-has-call results-adjacent call-answered call-pending
        content-present tool-text-only keys-foreign
    """),
    answers="following run",
    id_pattern=_OPENAI_ID,
)

_OPENAI_RESPONSES = Profile(
    name="openai-responses",
    dialect="openai-responses",
    dated="2026-11",
    rules=_rules("""
        message-object role-known content-shape
        id-present id-unique id-legal name-legal arguments-object text-clean keys-foreign
        result-has-call call-answered call-pending content-present reasoning-followed
    """),
    answers="anywhere",
    name_pattern=r"[a-zA-Z0-9_-]{1,128}",
    id_pattern=_OPENAI_ID,
    foreign_keys=frozenset({"tool_calls", "tool_call_id", "reasoning_content"}),
)

# No provider, but what trainers and converters rely on.
_SHAREGPT = Profile(
    name="sharegpt",
    dialect="sharegpt",
    dated="2026-11",
    rules=_rules("""
        message-object role-known content-shape arguments-object text-clean
        result-has-call call-answered content-present roles-alternate
    """),
    answers="following run",
)

_SPEAKER = frozenset({"role", "content", "name"})
_ALTERNATING_RULES = "system-first user-first roles-alternate"

# Chat templates and gateways that want alternating roles (Mistral, local models).
_ALTERNATING = replace(
    _OPENAI_CHAT,
    name="alternating",
    rules=(*_OPENAI_CHAT.rules, *_rules(_ALTERNATING_RULES)),
    user_after_tool=False,
)

# Gateways that refuse keys that they do not know (Fireworks, Moonshot).
_KNOWN_KEYS = Profile(
    name="known-keys",
    dialect="openai-chat",
    dated="2026-11",
    rules=_rules("""
        message-object role-known content-shape tool-speaker
        id-present id-unique id-legal name-legal arguments-object text-clean
        result-has-call results-adjacent call-answered call-pending keys-known
        content-present tool-text-only
    """),
    answers="following run",
    id_pattern=_OPENAI_ID,
    message_keys={
        "system": _SPEAKER,
        "developer": _SPEAKER,
        "user": _SPEAKER,
        "assistant": _SPEAKER | {"tool_calls"},
        "tool": _SPEAKER | {"tool_call_id"},
    },
    call_keys={
        "": frozenset({"id", "type", "function", "custom", "index"}),
        "function": frozenset({"name", "arguments"}),
        "custom": frozenset({"name", "input"}),
    },
)

# Both at once.
_STRICT = replace(
    _KNOWN_KEYS,
    name="strict",
    rules=(*_KNOWN_KEYS.rules, *_rules(_ALTERNATING_RULES)),
    user_after_tool=False,
)

PROFILES: Mapping[str, Profile] = {
    profile.name: profile
    for profile in (
        _ANTHROPIC,
        _GEMINI,
        _OPENAI_CHAT,
        _OPENAI_RESPONSES,
        _SHAREGPT,
        _ALTERNATING,
        _KNOWN_KEYS,
        _STRICT,
    )
}


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
