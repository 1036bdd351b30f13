"""What the pipeline asks of the outside, as protocols and values."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol, TypeAlias

from msgspec import Struct

from holdfast.transcript import Message, Violation


class TokenCounter(Protocol):
    """Counts the tokens of a text; the same text always gives the same count."""

    @property
    def name(self) -> str:
        """What counted, for the report."""
        ...

    @property
    def is_estimate(self) -> bool:
        """Whether the counts are estimates."""
        ...

    def count(self, text: str) -> int:
        """Return the tokens of `text`, 0 for an empty one."""
        ...


Redact: TypeAlias = Callable[[str], str]
"""Returns a text without its secrets; called wherever text is folded."""


class WireRules(Struct, frozen=True):
    """What the pipeline must know of a dialect and its provider, as a value."""

    name: str
    check: Callable[[Sequence[Message]], Sequence[Violation]]
    """Where a list breaks the provider's rules."""
    alternates: bool = False
    """Whether two neighbours of one role must be avoided."""
    user_first: bool = False
    """Whether the first message that is no system message must be a user's."""
    strips_thinking: bool = False
    """Whether thinking is bound to the messages before it, so that a rewrite must strip it."""
