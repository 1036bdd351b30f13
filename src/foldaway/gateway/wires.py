"""The wires that agents speak: which request is a turn of a conversation, and what answers say."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Literal, TypeAlias, cast

from msgspec import Struct

from foldaway.dialects import parse
from foldaway.errors import NotReadable

Operation: TypeAlias = Literal["turn", "count", "compact", "models", "other"]
"""A request that a model answers; one that asks how many tokens that would be; one for the list in
short; one for the models that there are; any other."""


class Wire(Struct, frozen=True):
    """One provider's API, as far as requests of a conversation go."""

    name: str
    dialect: str
    upstream: str
    """Where its provider answers, if the settings name no other address."""
    ping: bytes
    """What keeps a silent stream open: an event that every client of this wire skips."""
    marks: tuple[bytes, ...]
    """JSON strings that only a list has in which a model has spoken."""


MESSAGES = Wire(
    "messages",
    "anthropic",
    "https://api.anthropic.com",
    b'event: ping\ndata: {"type": "ping"}\n\n',
    (b'"assistant"',),
)
CHAT = Wire("chat", "openai-chat", "https://api.openai.com", b": ping\n\n", (b'"assistant"',))
RESPONSES = Wire(
    "responses",
    "openai-responses",
    "https://api.openai.com",
    b": ping\n\n",
    (b'"assistant"', b'"function_call"', b'"custom_tool_call"', b'"reasoning"'),
)
GEMINI = Wire(
    # its own client reads no comments; an empty line is skipped by all
    "gemini",
    "gemini",
    "https://generativelanguage.googleapis.com",
    b"\n",
    (b'"model"',),
)
WIRES: Mapping[str, Wire] = {wire.name: wire for wire in (MESSAGES, CHAT, RESPONSES, GEMINI)}


class Route(Struct, frozen=True):
    """What a request asks for, by its path."""

    wire: Wire
    operation: Operation = "other"
    model: str = ""
    """The model, if the path names it."""
    streams: Literal["", "events", "list"] = ""
    """The stream that the address asks for, if it does: of events, or one that is a list."""


_ROUTES: tuple[tuple[re.Pattern[str], Wire, Operation], ...] = (
    (re.compile(r"/messages$"), MESSAGES, "turn"),
    (re.compile(r"/messages/count_tokens$"), MESSAGES, "count"),
    (re.compile(r"/chat/completions$"), CHAT, "turn"),
    (re.compile(r"/responses$"), RESPONSES, "turn"),
    (re.compile(r"/responses/input_tokens$"), RESPONSES, "count"),
    (re.compile(r"/responses/compact$"), RESPONSES, "compact"),
    (re.compile(r"/models/(?P<model>[^/:]+):(?:stream)?[gG]enerateContent$"), GEMINI, "turn"),
    (re.compile(r"/models/(?P<model>[^/:]+):countTokens$"), GEMINI, "count"),
)


def route_of(method: str, path: str, headers: Mapping[str, str], query: bytes = b"") -> Route:
    """Return what a request asks for; of an unknown path at least whose API it is."""
    if method == "POST":
        for pattern, wire, operation in _ROUTES:
            if found := pattern.search(path):
                model = found.groupdict().get("model") or ""
                if ":stream" not in found[0]:
                    return Route(wire, operation, model)
                return Route(wire, operation, model, "events" if b"alt=sse" in query else "list")
    other: Operation = "models" if method == "GET" and path.endswith("/models") else "other"
    if "anthropic-version" in headers or "x-api-key" in headers or "/messages" in path:
        return Route(MESSAGES, other)
    if "x-goog-api-key" in headers or "/v1beta/" in path:
        return Route(GEMINI, other)
    return Route(RESPONSES if "/responses" in path else CHAT, other)


def upstream_of(path: str, wire: Wire, known: Mapping[str, str]) -> str:
    """Return where a request goes: the longest beginning of its path that has an address, else that
    of its wire. A beginning ends at a slash, so that no path can change the host.
    """
    found = (one for one in known if one.startswith("/") and _is_below(path, one))
    prefix = max(found, key=len, default="")
    base = known[prefix] if prefix else known.get(wire.name) or known.get("") or wire.upstream
    return base.rstrip("/") + path[len(prefix.rstrip("/")) :]


def provider_address(
    method: str, path: str, headers: Mapping[str, str], known: Mapping[str, str]
) -> str:
    """Return where a request goes if no gateway is between."""
    return upstream_of(path, route_of(method, path.partition("?")[0], headers).wire, known)


def _is_below(path: str, prefix: str) -> bool:
    return f"{path}/".startswith(f"{prefix.rstrip('/')}/")


def usage_in(body: bytes, content_type: str) -> dict[str, Any]:
    """Return the usage that an answer reports, {} if it reports none; later figures win."""
    found: dict[str, Any] = {}
    for event in _events(body, content_type):
        for held in (event, event.get("message"), event.get("response")):
            if isinstance(held, dict):
                values = cast("dict[str, Any]", held)
                usage = values.get("usage") or values.get("usageMetadata")
                if isinstance(usage, dict):
                    said = cast("dict[str, Any]", usage)
                    found |= {name: value for name, value in said.items() if value is not None}
    return found


def _events(body: bytes, content_type: str) -> Iterator[dict[str, Any]]:
    if content_type.startswith("text/event-stream"):
        pieces = [line[5:] for line in body.splitlines() if line.startswith(b"data:")]
        pieces = [one for one in pieces if b'"usage' in one]
    else:
        pieces = [body]
    for piece in pieces:
        try:
            value = parse(piece.strip())
        except NotReadable:
            continue
        for one in cast("list[Any]", value) if isinstance(value, list) else [value]:
            if isinstance(one, dict):
                yield cast("dict[str, Any]", one)


def refusal_body(wire: Wire, status: int, kind: str, sentence: str) -> dict[str, Any]:
    """Return an error in the form of a wire, for what the gateway itself has to refuse."""
    if wire is MESSAGES:
        return {"type": "error", "error": {"type": kind, "message": sentence}}
    if wire is GEMINI:
        return {"error": {"code": status, "message": sentence, "status": kind.upper()}}
    return {"error": {"message": sentence, "type": kind, "param": None, "code": kind}}
