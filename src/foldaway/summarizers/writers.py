"""Who writes the summaries of an engine."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias, get_args

from msgspec import Struct
from msgspec.structs import replace

from foldaway._core import Budget, CachedPrefix, NativeCompactor, SettingsStruct, Summarizer
from foldaway.caching import Prices
from foldaway.compaction import Writer, system_stop
from foldaway.errors import InvalidSetting, UnknownName
from foldaway.summarizers.failures import OnFailure
from foldaway.transcript import Message, Payload

Progress: TypeAlias = Callable[[str, int, int], None]
"""Told before every call: the summarizer, the number of the call, how many there are."""
DEFAULT_TIMEOUT = 120.0
"""Seconds; chosen, the default of `--summarizer-timeout`."""
MOST_CALLS = 8
"""Of one summary; chosen, docs/summarizers.md says so."""


MUST_LEAD = frozenset({"anthropic"})
"""Dialects whose item must be the very first of the list."""


class NativeCompaction(SettingsStruct, frozen=True, kw_only=True):
    """The caller's permission to have a conversation compacted by its own provider."""

    compactor: NativeCompactor
    timeout: float = DEFAULT_TIMEOUT
    system: Any = None
    """The system text of the requests, if it is outside the list."""
    tools: Sequence[Payload] = ()
    """The tools of the requests: the provider reads the conversation with them."""
    prices: Prices | None = None
    """Those of its model, if they are not to be looked up."""

    def why_never(self, rules: str, log: Sequence[Message]) -> str:
        """Return why a conversation cannot be compacted by this provider, "" if it can."""
        wanted = self.compactor.dialect
        if rules != wanted:
            return f"it takes lists of {wanted!r}, and this one is for {rules!r}"
        if wanted in MUST_LEAD and system_stop(log):
            return "its item must be the first of the list, which begins with a system message"
        return ""


_VENDORS = (
    ("claude", "anthropic"),
    ("gpt", "openai"),
    ("o1", "openai"),
    ("o3", "openai"),
    ("o4", "openai"),
    ("chatgpt", "openai"),
    ("codex", "openai"),
)
"""Whose models have names that begin so: the only ones that are asked at a vendor's own address."""


class SameProvider(Struct, frozen=True):
    """Where a summarizer is asked, so that another model can be asked there too."""

    kind: str
    url: str = ""
    key_variable: str = ""

    def summarizer(self, model: str) -> Summarizer | str:
        """Return the summarizer that asks a model at the same address with the same key, or why it
        cannot be asked there.
        """
        vendor, name = self.kind.removesuffix("-responses"), _without_provider(model).lower()
        known = next((one for start, one in _VENDORS if name.startswith(start)), "")
        if vendor == "litellm" or (known != vendor and (known or not self.url)):
            return f"{model} is not known to be asked by {self.kind}"
        named = model if self.url else _without_provider(model)
        found = _find(f"{self.kind}:{named}", self.url, self.key_variable)
        return found or "nobody is asked"


class Writers(SettingsStruct, frozen=True, kw_only=True):
    """Who is asked for a summary, in this order: the provider of the conversation, a model,
    another model. The ledger writes if nobody is, or if all of them fail.
    """

    main: Summarizer | None = None
    fallback: Summarizer | None = None
    own: SameProvider | None = None
    """Where the conversation's own model is asked if the summarizer fails and there is no other
    fallback; None leaves it out."""
    no_own: str = ""
    """Why the conversation's own model cannot be the fallback."""
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

    def check_cached_prompt(self, *, model: str, dialect: str) -> None:
        """Raise `InvalidSetting` if a named summarizer is to reuse a cached prompt that is not its
        own.

        Only the model that has read a conversation has it in its cache.
        """
        if self.main is None or not self.reuse_prompt_cache:
            return
        kind, _, name = self.main.name.partition(":")
        if not model:
            why = "the main model is unknown; pass --model"
        elif _without_provider(name) != _without_provider(model):
            why = (
                f"the summarizer ({self.main.name!r}) is not the main model ({model!r}), and only "
                f"that has the conversation in its cache"
            )
        elif _DIALECTS.get(kind) != dialect:
            asked_in = _DIALECTS.get(kind)
            why = f"the conversation is {dialect!r}, but {kind!r} is asked in {asked_in!r}"
        else:
            return
        said = f"cannot reuse the prompt cache: {why}"
        raise InvalidSetting("summarizer.reuse_prompt_cache", True, "false", message=said)

    def notes(self, budget: Budget) -> list[str]:
        """Return what there is to say of the summarizer before it is asked."""
        return [] if self.main is None else window_note(self.main, budget)

    def for_model(self, model: str) -> Writers:
        """Return the writers of a conversation with this model: it is the fallback if none is named
        and it can be asked where the summarizer is asked, with the same key.
        """
        if self.own is None or self.main is None or self.fallback is not None or not model:
            return self
        if _without_provider(self.main.name.partition(":")[2]) == _without_provider(model):
            return self
        found = self.own.summarizer(model)
        if isinstance(found, str):
            return replace(self, no_own=found)
        return replace(self, fallback=found)

    def with_request(
        self, *, system: Any = None, tools: Sequence[Payload] = (), prices: Prices | None = None
    ) -> Writers:
        """Return the writers, the provider's own compaction with the system text and the tools of
        the main requests, and their prices, if it was given none.
        """
        native = self.native
        if native is None:
            return self
        if native.system is None and not native.tools:
            native = replace(native, system=system, tools=tools)
        return replace(self, native=replace(native, prices=native.prices or prices))


_SYSTEM: Mapping[str, str] = {"anthropic": "system", "openai-responses": "instructions"}
_THINKING: Mapping[str, str] = {
    "anthropic": "thinking",
    "openai-chat": "reasoning_effort",
    "openai-responses": "reasoning",
}
_DIALECTS: Mapping[str, str] = {
    "anthropic": "anthropic",
    "litellm": "openai-chat",
    "openai": "openai-chat",
    "openai-responses": "openai-responses",
}
"""What the summarizers of each kind can be asked after."""


def prefix_of(
    dialect: str, messages: Sequence[Any], request: Mapping[str, Any], *, tools: Sequence[Any] = ()
) -> CachedPrefix:
    """Return the prefix that a main request left in the cache: its messages, and what of its other
    fields is before them or belongs to its key.
    """
    return CachedPrefix(
        dialect=dialect,
        messages=tuple(messages),
        system=request.get(_SYSTEM.get(dialect, "")),
        tools=tuple(request.get("tools") or tools),
        thinking=request.get(_THINKING.get(dialect, "")),
        tool_choice=request.get("tool_choice"),
        prompt_cache_key=request.get("prompt_cache_key") or "",
    )


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
    first; a fallback of the same kind, and a native compaction by the same vendor or without a
    summarizer, have the same address and key, others their provider's own. Without a fallback, or
    with `"main"`, the conversation's own model is asked where the first is; `"none"` leaves it out.
    Raises what
    `summarizer_named` and `native_of` raise, and `InvalidSetting` for a fallback without a
    summarizer.
    """
    if isinstance(summarizer, Writers):
        return summarizer
    own = None
    if fallback in (None, "main") and isinstance(summarizer, str):
        own = SameProvider(_kind(summarizer), url, key_variable)
    fallback = None if fallback == "main" else fallback
    is_same = _kind(fallback) == _kind(summarizer)
    return Writers(
        main=_find(summarizer, url, key_variable, window),
        fallback=_find(fallback, url, key_variable) if is_same else _find(fallback),
        own=own,
        native=native_of(native, url=url, key_variable=key_variable)
        if _vendor(native) == _vendor(summarizer) or summarizer in (None, "none")
        else native_of(native),
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


def window_note(writer: Summarizer, budget: Budget) -> list[str]:
    """Return what there is to say of a summarizer that reads less than a session may hold."""
    if not 0 < writer.context_length < budget.threshold_tokens:
        return []
    return [
        f"{writer.name} reads {writer.context_length:,} tokens, less than the threshold of "
        f"{budget.threshold_tokens:,}: it is asked in pieces"
    ]


def _without_provider(model: str) -> str:
    """Return a model without the provider that is before it."""
    return model.rpartition("/")[2]


def _kind(given: Summarizer | str | None) -> str:
    return given.partition(":")[0] if isinstance(given, str) else ""


def _vendor(given: object) -> str:
    kind = given.partition(":")[0] if isinstance(given, str) else ""
    return kind.removesuffix("-responses")


def _find(
    given: Summarizer | str | None, url: str = "", key_variable: str = "", window: int | None = None
) -> Summarizer | None:
    if given == "none":  # asked here too: the command line passes it if no model is set
        return None
    if not isinstance(given, str):
        if given is not None and not hasattr(given, "summarize"):
            wanted = "a name such as 'openai:gpt-5-mini'; from_callable() makes one of a function"
            raise InvalidSetting("summarizer", given, wanted)
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
