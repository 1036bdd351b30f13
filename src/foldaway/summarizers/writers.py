"""Who writes the summaries of an engine."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias, get_args

from msgspec import Struct
from msgspec.structs import replace

from foldaway._core import NativeCompactor, Summarizer
from foldaway.caching import Prices
from foldaway.compaction import Writer
from foldaway.errors import InvalidSetting, UnknownName
from foldaway.summarizers.failures import OnFailure
from foldaway.transcript import Payload

Progress: TypeAlias = Callable[[str, int, int], None]
"""Told before every call: the summarizer, the number of the call, how many there are."""
DEFAULT_TIMEOUT = 120.0
"""Seconds; chosen, the default of `--summarizer-timeout`."""
MOST_CALLS = 8
"""Of one summary; chosen, docs/summarizers.md says so."""


class NativeCompaction(Struct, frozen=True, kw_only=True):
    """The caller's permission to have a conversation compacted by its own provider."""

    compactor: NativeCompactor
    timeout: float = DEFAULT_TIMEOUT
    system: Any = None
    """The system text of the requests, if it is outside the list."""
    tools: Sequence[Payload] = ()
    """The tools of the requests: the provider reads the conversation with them."""
    prices: Prices | None = None
    """Those of its model, if they are not to be looked up."""


class Writers(Struct, frozen=True, kw_only=True):
    """Who is asked for a summary, in this order: the provider of the conversation, a model,
    another model. The ledger writes if nobody is, or if all of them fail.
    """

    main: Summarizer | None = None
    fallback: Summarizer | None = None
    native: NativeCompaction | None = None
    """Leave to have the provider of the conversation compact it first."""
    on_failure: OnFailure = "auto"
    timeout: float = DEFAULT_TIMEOUT
    """Seconds for all calls of one summary together."""
    most_calls: int = MOST_CALLS
    fallback_when_complex: bool = False
    """Whether the fallback is asked first if the ledger shows much that is open or changed."""
    reuse_prompt_cache: bool = False
    """Whether the summarizer is the main model, and is asked after what it has in its cache. Then
    the conversation is sent as it is, as the main requests are: not redacted."""
    main_request: Mapping[str, Any] = {}
    """The fields of the main requests, if their cached prompt is reused: `system` or
    `instructions`, `thinking` or `reasoning`, `tools`, `tool_choice`, `prompt_cache_key`."""
    progress: Progress | None = None
    is_preview: bool = False
    """Whether nobody is asked: the report then says who would be, and in how many calls."""

    def __post_init__(self) -> None:
        """Raise `InvalidSetting` for what cannot be."""
        if self.on_failure not in get_args(OnFailure):
            choices = f"one of {', '.join(get_args(OnFailure))}"
            raise InvalidSetting("on_failure", self.on_failure, choices)
        if not self.timeout > 0:
            raise InvalidSetting("summarizer_timeout", self.timeout, "above 0")
        if self.fallback is not None and self.main is None:
            said = "fallback_summarizer needs a summarizer: name one, or leave the fallback out"
            raise InvalidSetting(
                "fallback_summarizer", self.fallback.name, "left out", message=said
            )

    @property
    def asks_nobody(self) -> bool:
        """Whether the ledger alone writes."""
        return self.main is None and self.native is None

    @property
    def writer(self) -> Writer:
        """Who is asked first."""
        return "provider" if self.native is not None else "model" if self.main else "ledger"

    @property
    def patience(self) -> float:
        """How many seconds all of them together may take."""
        native = self.native.timeout if self.native else 0.0
        return native + (self.timeout if self.main else 0.0)

    @property
    def cached_request(self) -> Mapping[str, Any] | None:
        """The fields of the main requests whose cached prompt is reused, None if none is."""
        return self.main_request if self.main is not None and self.reuse_prompt_cache else None


def writers_of(
    summarizer: Summarizer | Writers | str | None,
    fallback: Summarizer | str | None = None,
    *,
    native: NativeCompaction | NativeCompactor | str | None = None,
    url: str = "",
    key_variable: str = "",
    window: int | None = None,
    on_failure: OnFailure = "auto",
    timeout: float = DEFAULT_TIMEOUT,
    fallback_when_complex: bool = False,
    reuse_prompt_cache: bool = False,
    progress: Progress | None = None,
) -> Writers:
    """Return who writes; names are looked up.

    `url`, `key_variable` (which holds the key) and `window` (what it can read) are those of the
    first; a fallback of the same kind has the same address and key, one of another kind its
    provider's own. Raises what `summarizer_named` and `native_of` raise, and `InvalidSetting` for
    a fallback without a summarizer.
    """
    if isinstance(summarizer, Writers):
        return summarizer
    is_same = _kind(fallback) == _kind(summarizer)
    return Writers(
        main=_find(summarizer, url, key_variable, window),
        fallback=_find(fallback, url, key_variable) if is_same else _find(fallback),
        native=native_of(native),
        on_failure=on_failure,
        timeout=timeout,
        progress=progress,
        fallback_when_complex=fallback_when_complex,
        reuse_prompt_cache=reuse_prompt_cache,
    )


def native_of(
    given: NativeCompaction | NativeCompactor | str | None,
    *,
    url: str = "",
    key_variable: str = "",
    timeout: float = DEFAULT_TIMEOUT,
    system: Any = None,
    tools: Sequence[Payload] = (),
    prices: Prices | None = None,
) -> NativeCompaction | None:
    """Return the permission that the caller gave; names are looked up.

    `url` is another address than the provider's own, `key_variable` holds the key for it. Raises
    `UnknownName` for a name of another kind than `openai-responses:MODEL` and `anthropic:MODEL`,
    and `MissingExtra` without the SDK.
    """
    if given is None or isinstance(given, NativeCompaction):
        return given
    compactor = _find_native(given, url, key_variable) if isinstance(given, str) else given
    return NativeCompaction(
        compactor=compactor, timeout=timeout, system=system, tools=tools, prices=prices
    )


def with_request(
    writers: Writers,
    *,
    system: Any = None,
    tools: Sequence[Payload] = (),
    prices: Prices | None = None,
) -> Writers:
    """Return the writers, the provider's own compaction with the system text and the tools of the
    main requests, and their prices, if it was given none.
    """
    native = writers.native
    if native is None:
        return writers
    if native.system is None and not native.tools:
        native = replace(native, system=system, tools=tools)
    return replace(writers, native=replace(native, prices=native.prices or prices))


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
    from foldaway.summarizers.models.named import summarizer_named

    return summarizer_named(given, url=url, key_variable=key_variable, context_length=window)


def _find_native(spec: str, url: str, key_variable: str) -> NativeCompactor:
    from foldaway.summarizers.models.anthropic import anthropic_native
    from foldaway.summarizers.models.openai import openai_native

    makers = {"openai-responses": openai_native, "anthropic": anthropic_native}
    kind, _, model = spec.partition(":")
    if kind not in makers or not model.strip():
        raise UnknownName("native compaction", spec, [f"{name}:MODEL" for name in makers])
    return makers[kind](model, url=url, key_variable=key_variable)
