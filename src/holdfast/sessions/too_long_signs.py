"""What providers say when a request is too long or too large."""

from __future__ import annotations

from typing import Literal, TypeAlias

from msgspec import Struct

TooBig: TypeAlias = Literal["context", "payload"]
"""`context`: more tokens than the model reads; `payload`: more bytes than the server takes."""

_REFUSED = frozenset((400, 413, 422, 500))
"""A gateway in front of a model may answer 500 for what the model refused."""


class Sign(Struct, frozen=True, gc=False):
    """One way in which a provider says it; every field that is not empty must fit."""

    provider: str
    means: TooBig
    words: str = ""
    """A pattern for the message; a number in the group `limit` is the window."""
    code: str = ""
    """A value of `code`, `type` or `status` in the error."""
    statuses: frozenset[int] = _REFUSED


SIGNS: tuple[Sign, ...] = (
    Sign("openai", "context", code="context_length_exceeded"),
    Sign("openai", "context", r"maximum context length (?:is|of) (?P<limit>[\d,]+)"),
    Sign("openai", "context", r"input exceeds the context window"),
    Sign("openai", "payload", code="string_above_max_length"),
    Sign("anthropic", "context", r"prompt is too long(?:: \d+ tokens > (?P<limit>\d+))?"),
    Sign("anthropic", "context", r"exceed context limit: \d+ \+ \d+ > (?P<limit>\d+)"),
    Sign("anthropic", "payload", code="request_too_large"),
    Sign("anthropic", "payload", r"request exceeds the maximum (?:allowed )?(?:size|number of b)"),
    Sign(
        "gemini", "context", r"exceeds the maximum number of tokens allowed(?: \(?(?P<limit>\d+))?"
    ),
    Sign("gemini", "payload", r"request payload size exceeds the limit"),
    Sign("bedrock", "context", r"input is too long for requested model"),
    Sign("bedrock", "context", r"too many (?:input )?tokens in request"),
    Sign("mistral", "context", r"too large for model with (?P<limit>\d+) maximum context length"),
    Sign("xai", "context", r"maximum prompt length is (?P<limit>\d+)"),
    Sign("groq", "context", r"please reduce the length of the (?:messages|completion)"),
    Sign("cohere", "context", r"too many tokens: (?:the )?total "),
    Sign("together", "context", r"`inputs` tokens \+ `max_new_tokens` must be <= (?P<limit>\d+)"),
    Sign("llama.cpp", "context", code="exceed_context_size_error"),
    Sign("llama.cpp", "context", r"exceeds the available context size"),
    Sign("ollama", "context", r"input length exceeds (?:the )?(?:maximum )?context length"),
    Sign("vllm", "context", r"longer than the maximum model length of (?P<limit>\d+)"),
    Sign("any", "payload", r"(?:request entity|payload|request body) (?:is )?too large"),
    Sign("any", "payload", statuses=frozenset((413,))),
)
"""Tried in order; what stands first decides, and the window is read by the words of any of them.
Those that serve others' APIs repeat their words."""
