"""What providers and SDKs call their failures, and what Holdfast calls them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from holdfast.errors import FailureKind

CODES: Mapping[str, FailureKind] = {
    "insufficient_quota": "refused",
    "billing_hard_limit_reached": "refused",
    "billing_not_active": "refused",
    "billing_error": "refused",
    "invalid_api_key": "refused",
    "authentication_error": "refused",
    "permission_error": "refused",
    "model_not_found": "not found",
    "not_found_error": "not found",
    "rate_limit_exceeded": "rate limited",
    "rate_limit_error": "rate limited",
    "overloaded_error": "overloaded",
    "api_error": "overloaded",
    "server_error": "overloaded",
    "timeout_error": "overloaded",
    "context_length_exceeded": "too long",
    "exceed_context_size_error": "too long",
    "request_too_large": "too long",
    "string_above_max_length": "too long",
    "content_filter": "bad answer",
    "content_policy_violation": "bad answer",
    "invalid_prompt": "bad answer",
}
"""`error.code`, `error.type` and `error.details.error_code` of the providers' bodies."""

STATUSES: Mapping[int, FailureKind] = {
    401: "refused",
    402: "refused",
    403: "refused",
    404: "not found",
    405: "not found",
    407: "refused",
    408: "timed out",
    409: "overloaded",
    410: "not found",
    413: "too long",
    425: "overloaded",
    429: "rate limited",
    451: "refused",
}
"""Every other 4xx is a request that the server does not take: a broken answer. Every 5xx is
overloaded, 500 too: it is the server's fault and passes."""

SURE_STATUSES = frozenset({401, 402, 403, 404, 413})
"""Statuses that no code in the body can talk out of their meaning."""

PHRASES: Sequence[tuple[str, FailureKind]] = (
    ("prompt is too long", "too long"),  # Anthropic
    ("exceed context limit", "too long"),  # Anthropic, with max_tokens
    ("maximum context length", "too long"),  # OpenAI, vLLM, DeepSeek, Mistral
    ("maximum prompt length", "too long"),  # xAI
    ("exceeds the maximum number of tokens", "too long"),  # Gemini
    ("input is too long", "too long"),  # Bedrock
    ("exceeds the available context size", "too long"),  # llama.cpp
    ("context window", "too long"),  # Responses
    ("credit balance is too low", "refused"),  # Anthropic
)
"""Looked for in the body of a 400 or 422 alone, where the provider has no code for it."""

SURE_TYPES: Sequence[tuple[str, FailureKind]] = (
    ("builtins.ImportError", "broken answer"),
    ("ssl.SSLError", "unreachable"),
    ("httpx.ConnectTimeout", "unreachable"),
    ("httpx2.ConnectTimeout", "unreachable"),
    ("litellm.exceptions.ContextWindowExceededError", "too long"),
    ("litellm.exceptions.ContentPolicyViolationError", "bad answer"),
    ("litellm.exceptions.PaymentRequiredError", "refused"),
    ("litellm.exceptions.BudgetExceededError", "refused"),
    ("litellm.exceptions.LiteLLMUnknownProvider", "not found"),
    ("anthropic.CredentialsError", "refused"),
)
"""Types that say more than the status beside them, the first that fits."""

TYPES: Sequence[tuple[str, FailureKind]] = (
    ("openai.APITimeoutError", "timed out"),
    ("anthropic.APITimeoutError", "timed out"),
    ("httpx.TimeoutException", "timed out"),
    ("httpx2.TimeoutException", "timed out"),
    ("openai.APIResponseValidationError", "broken answer"),
    ("anthropic.APIResponseValidationError", "broken answer"),
    ("httpx.DecodingError", "broken answer"),
    ("httpx2.DecodingError", "broken answer"),
    ("httpx.InvalidURL", "unreachable"),
    ("httpx2.InvalidURL", "unreachable"),
    ("openai.APIConnectionError", "unreachable"),
    ("anthropic.APIConnectionError", "unreachable"),
    ("httpx.TransportError", "unreachable"),
    ("httpx2.TransportError", "unreachable"),
    ("aiohttp.client_exceptions.ClientError", "unreachable"),
    ("builtins.TimeoutError", "timed out"),
    ("builtins.OSError", "unreachable"),
)
"""Types of failures that have no status, the first that fits; whatever else is a broken answer."""

CONNECTION_WORDS: Sequence[tuple[str, str]] = (
    ("ssl.SSLCertVerificationError", "the certificate of the server is not trusted"),
    ("ssl.SSLError", "no TLS connection"),
    ("socket.gaierror", "no such host"),
    ("builtins.ConnectionRefusedError", "connection refused"),
    ("httpx.ConnectTimeout", "no connection in time"),
    ("httpx2.ConnectTimeout", "no connection in time"),
    ("httpx.ConnectError", "no connection"),
    ("httpx2.ConnectError", "no connection"),
)
"""What to say of a connection that did not come about; else it was closed without an answer."""

TRANSPORT = frozenset(
    {"httpx.TransportError", "httpx2.TransportError", "aiohttp.client_exceptions.ClientError"}
)
"""Types of what goes wrong between two machines."""

INVENTED = frozenset(
    {"litellm.exceptions.APIConnectionError", "litellm.exceptions.MidStreamFallbackError"}
)
"""Types whose status is not a server's."""
