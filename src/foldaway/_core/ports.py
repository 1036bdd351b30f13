"""What the pipeline asks of the outside, as protocols and values."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, Protocol, TypeAlias, runtime_checkable

from msgspec import Struct

from foldaway.transcript import Media, Message, Violation


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


@runtime_checkable
class MediaCounter(Protocol):
    """A `TokenCounter` that counts media too; by the others each counts 1,600 tokens."""

    def count_media(self, media: Media) -> int:
        """Return the tokens of an image, audio, video or document."""
        ...


Redact: TypeAlias = Callable[[str], str]
"""Returns a text without its secrets; called wherever text is folded."""


MediaReducer: TypeAlias = Callable[[Sequence[Message]], Sequence[Message]]
"""Returns as many messages with lighter media; those that it leaves alone are the same objects."""


class WireRules(Struct, frozen=True):
    """What the pipeline must know of a dialect and its provider, as a value."""

    name: str
    check: Callable[[Sequence[Message]], Sequence[Violation]]
    """Where a list breaks the provider's rules."""
    strips_thinking: bool = False
    """Whether thinking is bound to the messages before it, so that a rewrite must strip it."""
    loop_thinks: bool = False
    """Whether a tool loop in progress must have thinking."""
    drops_stale: bool = False
    """Whether the provider drops thinking that is bound to something else, and does not refuse."""


class CachedPrefix(Struct, frozen=True, kw_only=True):
    """What the provider has in its cache: the main request, letter for letter, without its end."""

    dialect: str
    messages: Sequence[Any]
    """As they went over the wire."""
    system: Any = None
    tools: Sequence[Any] = ()
    thinking: Any = None
    """How the main model thinks, as its requests say it: `thinking`, `reasoning` or
    `reasoning_effort`."""
    tool_choice: Any = None
    prompt_cache_key: str = ""


class SummaryRequest(Struct, frozen=True, kw_only=True):
    """One question to a model that writes a summary. Secrets are out of it already."""

    instructions: str
    """What to do: the system text."""
    prompt: str
    """The material and the question: one user text."""
    max_tokens: int
    """How long the answer may be."""
    schema: Mapping[str, Any] | None = None
    """The JSON schema of the answer, for models that can be held to one; others write Markdown."""
    prefix: CachedPrefix | None = None
    """Where the main model writes: the request that it has read already. Then `instructions` and
    `prompt` are appended as one user message, and nothing before it changes."""


class SummaryAnswer(Struct, frozen=True, kw_only=True):
    """What the model wrote, as it came."""

    text: str
    model: str = ""
    stopped: Literal["end", "length", "refusal", "other"] = "end"
    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0


class Summarizer(Protocol):
    """A model that writes summaries, for callers that wait and for those that await.

    Both methods raise `SummarizerFailed` for whatever goes wrong outside, and nothing else; they
    try once: whether to try again is decided by the failure policy.
    """

    @property
    def name(self) -> str:
        """Who writes, for the report: `openai:gpt-5-mini`."""
        ...

    @property
    def context_length(self) -> int:
        """How many tokens it can read and write in one request; 0 if that is not known."""
        ...

    def summarize(self, request: SummaryRequest, timeout: float) -> SummaryAnswer:
        """Return the answer within `timeout` seconds."""
        ...

    async def asummarize(self, request: SummaryRequest, timeout: float) -> SummaryAnswer:
        """Return the answer within `timeout` seconds; cancelling the task cancels the request."""
        ...


class NativeRequest(Struct, frozen=True, kw_only=True):
    """The part of a conversation that its own provider is to compact, as it goes over the wire."""

    messages: Sequence[Any]
    """What the model sees of it now; an item of an earlier native compaction is among them."""
    system: Any = None
    """The system text that is outside the list."""
    tools: Sequence[Any] = ()
    max_tokens: int = 8_192
    """How long the provider's summary may be, with what the model thinks before it."""


class NativeAnswer(Struct, frozen=True, kw_only=True):
    """What the provider gave for it."""

    items: tuple[Any, ...]
    """Elements of the message list, exactly as they came: to be sent back so, in this order."""
    model: str = ""
    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0
    note: str = ""
    """What the host must know from now on."""


class NativeCompactor(Protocol):
    """A provider that compacts its own conversations into an item that only it can read or sign.

    Both methods raise `SummarizerFailed` for whatever goes wrong outside, and nothing else; they
    try once. Only what the provider has been sent already is sent.
    """

    @property
    def name(self) -> str:
        """Who compacts, for the report: `openai-responses:gpt-5.5`."""
        ...

    @property
    def dialect(self) -> str:
        """The dialect of the lists that it takes and gives."""
        ...

    def compact(self, request: NativeRequest, timeout: float) -> NativeAnswer:
        """Return the answer within `timeout` seconds."""
        ...

    async def acompact(self, request: NativeRequest, timeout: float) -> NativeAnswer:
        """Return the answer within `timeout` seconds; cancelling the task cancels the request."""
        ...


class NativeItem(Struct, frozen=True):
    """What a provider's own compaction put into a view, and what we say of the same messages."""

    items: tuple[Any, ...]
    """The sealed items or blocks, verbatim."""
    shadow: str
    """Our own summary in its frame, for people and for other providers."""
