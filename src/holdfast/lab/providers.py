"""Whether providers would accept a view."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from holdfast.dialects.check import check
from holdfast.dialects.convert import convert
from holdfast.errors import HoldfastError
from holdfast.lab.scoring.session import Message

PROVIDERS: Mapping[str, str] = {
    "openai-chat": "openai-chat",
    "strict": "openai-chat",
    "openai-responses": "openai-responses",
    "anthropic": "anthropic",
    "gemini": "gemini",
}
"""The providers whose rules are asked, and the dialect that each speaks."""
_OPEN = "call-pending"
"""The last call may be open: the agent is at work."""

ViewFor: TypeAlias = Callable[[Any, str], Any]
"""Takes the messages in a provider's dialect and its name; gives its view for this provider."""


def rules_broken(messages: Sequence[Message]) -> dict[str, frozenset[str]]:
    """Return for each provider the rules that a history breaks before anybody touched it."""
    return {
        provider: frozenset(_broken(_in(messages, dialect), provider))
        for provider, dialect in PROVIDERS.items()
    }


def violations(view: Sequence[Message], before: Mapping[str, frozenset[str]]) -> dict[str, int]:
    """Return for each provider how often a view breaks rules that the history kept.

    What cannot be put in a provider's words at all counts as one.
    """
    return {
        provider: sum(
            rule not in before[provider] for rule in _broken(_in(view, dialect), provider)
        )
        for provider, dialect in PROVIDERS.items()
    }


def violations_of(make: ViewFor, messages: Sequence[Message]) -> dict[str, int]:
    """Return for each provider how often the view that was made for it breaks its rules."""
    found: dict[str, int] = {}
    for provider, dialect in PROVIDERS.items():
        given = _in(messages, dialect)
        try:
            view = make(given, provider)
        except HoldfastError:
            view = None
        found[provider] = len(_broken(view, provider))
    return found


def _in(messages: Sequence[Message], dialect: str) -> Any:
    try:
        return convert(list(messages), dialect, dialect="openai-chat").messages
    except HoldfastError:
        return None


def _broken(view: Any, provider: str) -> list[str]:
    if view is None:
        return ["unreadable"]
    try:
        return [row.rule for row in check(view, provider=provider) if row.rule != _OPEN]
    except HoldfastError:
        return ["unreadable"]
