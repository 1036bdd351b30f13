"""Results shortened when they arrive, before they are ever part of a cached prefix."""

from __future__ import annotations

from collections.abc import Mapping
from fnmatch import fnmatchcase

from msgspec import Struct

from holdfast.errors import InvalidSetting
from holdfast.ports import TokenCounter
from holdfast.reduction.fit import reduce_text, tokens_of
from holdfast.reduction.reduced import Reduced, TextReducer

__all__ = ["Truncation", "on_arrival"]


class Truncation(Struct, frozen=True, kw_only=True):
    """How much of a tool's result stays."""

    default_tokens: int = 10_000
    """For tools that no pattern names; 0 leaves them whole."""
    tools: Mapping[str, int] = {}
    """Tokens by tool: names, or patterns with `*` and `?`, in any case. The first that fits
    counts, for the whole name or for its last part, as in `mcp__server__read_file`; 0 leaves the
    tool's results whole."""

    def __post_init__(self) -> None:
        for name, tokens in (("default_tokens", self.default_tokens), *self.tools.items()):
            if tokens < 0:
                raise InvalidSetting(f"truncation of {name}", tokens, "0 or more")

    def limit(self, tool: str) -> int:
        """Return the tokens that a result of this tool may have, 0 for no limit."""
        names = {tool.lower(), tool.lower().rpartition("__")[2].rpartition(".")[2]}
        for pattern, tokens in self.tools.items():
            if any(fnmatchcase(name, pattern.lower()) for name in names):
                return tokens
        return self.default_tokens


def on_arrival(
    policy: Truncation,
    tool: str,
    text: str,
    *,
    counter: TokenCounter,
    reference: str = "",
    hint: str = "",
    reducer: TextReducer | None = None,
) -> Reduced:
    """Return a result as it should enter the log: whole, or reduced to the tool's limit.

    The same result always gives the same text, so a cached prefix stays valid.
    """
    limit = policy.limit(tool)
    if limit == 0:
        tokens = tokens_of(text, counter)
        return Reduced(text=text, kind=None, tokens_before=tokens, tokens_after=tokens)
    return reduce_text(text, None, limit, reference, counter=counter, hint=hint, reducer=reducer)
