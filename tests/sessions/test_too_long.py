"""Errors that say a request was too big, as the providers' own clients raise them."""

from __future__ import annotations

from typing import Any

import anthropic
import httpx
import openai
from tests.testing.rows import each_row

from foldaway.sessions.too_long import Refusal, refusal_of


def openai_error(status: int, message: str, code: str | None = None) -> Exception:
    request = httpx.Request("POST", "http://127.0.0.1/v1/chat/completions")
    response = httpx.Response(status, request=request)
    body: dict[str, Any] = {"message": message, "type": "invalid_request_error", "code": code}
    return openai.APIStatusError(message, response=response, body=body)


def anthropic_error(status: int, message: str, kind: str) -> Exception:
    request = httpx.Request("POST", "http://127.0.0.1/v1/messages")
    response = httpx.Response(status, request=request)
    body = {"type": "error", "error": {"type": kind, "message": message}}
    return anthropic.APIStatusError(message, response=response, body=body)


SAID = [
    (openai_error(400, "Your input is long.", "context_length_exceeded"), "context", None),
    (openai_error(400, "This model's maximum context length is 8,192 tokens. However, you "
                  "requested 9000 tokens."), "context", 8_192),
    (openai_error(400, "This model's maximum context length is 16000 tokens. However, your "
                  "messages resulted in 20353 tokens.", "context_length_exceeded"),
     "context", 16_000),
    (openai_error(422, "Input is longer than the maximum model length of 4096."), "context", 4_096),
    (openai_error(500, "the request exceeds the available context size, try increasing it"),
     "context", None),
    (openai_error(400, "request (9001 tokens) exceeds the available context size (8192 tokens), "
                  "try increasing it", "exceed_context_size_error"), "context", 8_192),
    (openai_error(413, "Request Entity Too Large"), "payload", None),
    (openai_error(413, ""), "payload", None),
    (anthropic_error(400, "prompt is too long: 210000 tokens > 200000 maximum",
                     "invalid_request_error"), "context", 200_000),
    (anthropic_error(400, "input length and `max_tokens` exceed context limit: 190000 + 32000 > "
                     "200000, decrease input length", "invalid_request_error"), "context", 200_000),
    (anthropic_error(413, "Request exceeds the maximum size", "request_too_large"), "payload",
     None),
    (RuntimeError("The input token count (1048577) exceeds the maximum number of tokens allowed "
                  "(1048576)."), "context", 1_048_576),
    (RuntimeError("Input is too long for requested model."), "context", None),
]  # fmt: skip

SAID_NOT = [
    openai_error(401, "maximum context length is 8192 tokens"),
    openai_error(429, "Request too large for gpt-4o: limit 30000 tokens per minute"),
    openai_error(400, "Invalid value for max_tokens", "invalid_value"),
    anthropic_error(529, "Overloaded", "overloaded_error"),
    anthropic_error(
        400, "messages: text content blocks must be non-empty", "invalid_request_error"
    ),
    ValueError("nothing of the kind"),
    KeyboardInterrupt(),
]


@each_row(("error", "means", "limit"), SAID)
def test_an_error_that_says_so_is_recognized(
    error: Exception, means: str, limit: int | None
) -> None:
    """By status and code first, then by words; the window where the words give it."""
    found = refusal_of(error)
    assert found is not None
    assert (found.means, found.limit) == (means, limit)


@each_row("error", SAID_NOT)
def test_every_other_error_is_left_alone(error: BaseException) -> None:
    """A rate limit, a wrong key or a broken request is not made better by compacting."""
    assert refusal_of(error) is None


def test_an_error_that_wraps_one_counts_and_a_ring_of_causes_ends() -> None:
    """Frameworks raise errors of their own from the client's."""
    inner = openai_error(400, "", "context_length_exceeded")
    outer = RuntimeError("the model failed")
    outer.__cause__ = inner
    inner.__cause__ = outer
    assert refusal_of(outer) == Refusal("context", "openai", None)
    outer.__cause__ = outer
    assert refusal_of(outer) is None
