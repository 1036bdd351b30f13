"""What a model server is asked, and what it can be told to do."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from threading import Event
from typing import Any, Literal, TypeAlias

from msgspec import Struct, field

Api: TypeAlias = Literal[
    "chat", "responses", "compact", "embeddings", "messages", "count_tokens"
]  # fmt: skip


class ModelRequest(Struct, frozen=True, kw_only=True):
    """One request as it came."""

    api: Api
    path: str
    headers: Mapping[str, str]
    """Names in lower case."""
    body: Any
    raw: bytes = b""
    """The body as it came."""
    left: Event = field(default_factory=Event)
    """Set when the client went away before its answer was complete."""


class Says(Struct, frozen=True):
    """The model says something; streamed where the request asks for that."""

    text: str
    stopped: Literal["end", "length", "refusal"] = "end"
    input_tokens: int | None = None
    """Where None, a token for every four characters of the request."""
    output_tokens: int | None = None
    """Where None, a token for every four characters of the text."""
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0
    compaction: str = "What was said so far."
    """The summary in a compaction block, where the request asks for one."""


class Sends(Struct, frozen=True, kw_only=True):
    """An HTTP answer as it is: an object as JSON, a text as HTML unless the headers say more."""

    status: int = 200
    body: Mapping[str, Any] | str | bytes = ""
    headers: Mapping[str, str] = {}


class Cuts(Struct, frozen=True):
    """An answer of which only the first bytes come; then the connection is closed."""

    reply: Says | Sends
    after: int = 0


class Trickles(Struct, frozen=True):
    """An answer that comes a byte at a time."""

    reply: Says | Sends
    seconds: float = 0.05
    """Between two bytes."""


class Drops(Struct, frozen=True):
    """The connection goes away before the headers of an answer."""

    reset: bool = True
    """Whether by a reset; otherwise it is closed in order."""


class Waits(Struct, frozen=True):
    """Nothing comes until `until` is set, or the client has left, or the server is closed."""

    until: Event
    then: Says | Sends | Cuts | Trickles | Drops = Says("")


Reply: TypeAlias = Says | Sends | Cuts | Trickles | Drops | Waits
Script: TypeAlias = str | Reply | Callable[[ModelRequest], "str | Reply"]
"""What to reply: always the same, or by the request."""


def openai_error(
    status: int,
    code: str = "",
    message: str = "an error",
    *,
    param: str | None = None,
    headers: Mapping[str, str] | None = None,
) -> Sends:
    """Return an error as OpenAI sends it."""
    error = {"message": message, "type": code or "invalid_request_error"}
    body = {"error": {**error, "param": param, "code": code or None}}
    return Sends(status=status, body=body, headers=headers or {})


def anthropic_error(
    status: int,
    kind: str,
    message: str = "an error",
    *,
    headers: Mapping[str, str] | None = None,
) -> Sends:
    """Return an error as Anthropic sends it."""
    body = {"type": "error", "error": {"type": kind, "message": message}, "request_id": "req_1"}
    return Sends(status=status, body=body, headers=headers or {})


def in_turn(*replies: str | Reply) -> Callable[[ModelRequest], str | Reply]:
    """Return a script that gives each reply once; one request too many is an `AssertionError`."""
    left = iter(replies)

    def script(request: ModelRequest) -> str | Reply:
        found = next(left, None)
        if found is None:
            raise AssertionError(f"the script is over: one more request to {request.path}")
        return found

    return script
