"""Who writes the summaries of an engine."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias, get_args

from msgspec import Struct

from holdfast.errors import InvalidSetting
from holdfast.ports import Summarizer
from holdfast.writing.failures import OnFailure

Progress: TypeAlias = Callable[[str, int, int], None]
"""Told before every call: the summarizer, the number of the call, how many there are."""
DEFAULT_TIMEOUT = 120.0
"""Seconds; chosen, the default of `--summarizer-timeout`."""
MOST_CALLS = 8
"""Of one summary; chosen, docs/summarizers.md says so."""


class Writers(Struct, frozen=True, kw_only=True):
    """Who writes, who is asked if that fails, and what follows if both fail."""

    main: Summarizer
    other: Summarizer | None = None
    on_failure: OnFailure = "auto"
    timeout: float = DEFAULT_TIMEOUT
    """Seconds for all calls of one summary together."""
    most_calls: int = MOST_CALLS
    other_when_complex: bool = False
    """Whether the other one is asked first if the ledger shows much that is open or changed."""
    reuse_prompt_cache: bool = False
    """Whether the summarizer is the main model, and is asked after what it has in its cache. Then
    the conversation is sent as it is, as the main requests are: not redacted."""
    main_request: Mapping[str, Any] = {}
    """The fields of the main requests, if their cached prompt is reused: `system` or
    `instructions`, `thinking` or `reasoning`, `tools`, `tool_choice`, `prompt_cache_key`."""
    progress: Progress | None = None
    is_preview: bool = False
    """Whether nobody is asked: the report then says who would be, and in how many calls."""


def writers_of(
    summarizer: Summarizer | Writers | str | None,
    fallback: Summarizer | str | None = None,
    *,
    url: str = "",
    key_variable: str = "",
    window: int | None = None,
    on_failure: OnFailure = "auto",
    timeout: float = DEFAULT_TIMEOUT,
    fallback_when_complex: bool = False,
    reuse_prompt_cache: bool = False,
    progress: Progress | None = None,
) -> Writers | None:
    """Return who writes, None if the ledger alone does; names are looked up.

    `url`, `key_variable` (which holds the key) and `window` (what it can read) are those of the
    first; a fallback of the same kind has the same address and key, one of another kind its
    provider's own. Raises what `summarizer_named` raises, and `InvalidSetting` for a fallback
    without a summarizer.
    """
    if isinstance(summarizer, Writers):
        return summarizer
    main = _find(summarizer, url, key_variable, window)
    is_same = _kind(fallback) == _kind(summarizer)
    other = _find(fallback, url, key_variable) if is_same else _find(fallback)
    if on_failure not in get_args(OnFailure):
        raise InvalidSetting("on_failure", on_failure, f"one of {', '.join(get_args(OnFailure))}")
    if not timeout > 0:
        raise InvalidSetting("summarizer_timeout", timeout, "above 0")
    if main is None:
        if other is not None:
            said = "fallback_summarizer needs a summarizer: name one, or leave the fallback out"
            raise InvalidSetting("fallback_summarizer", other.name, "left out", message=said)
        return None
    return Writers(
        main=main,
        other=other,
        on_failure=on_failure,
        timeout=timeout,
        progress=progress,
        other_when_complex=fallback_when_complex,
        reuse_prompt_cache=reuse_prompt_cache,
    )


def _kind(given: Summarizer | str | None) -> str:
    return given.partition(":")[0] if isinstance(given, str) else ""


def _find(
    given: Summarizer | str | None,
    url: str = "",
    key_variable: str = "",
    window: int | None = None,
) -> Summarizer | None:
    if given == "none":  # asked here too: the command line passes it if no model is set
        return None
    if not isinstance(given, str):
        return given
    from holdfast.writing.models.named import summarizer_named

    return summarizer_named(given, url=url, key_variable=key_variable, context_length=window)
