"""What a request is: a turn of which conversation, or something that passes as it came."""

from __future__ import annotations

import gzip
import io
import re
import zlib
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import zstandard
from msgspec import Struct, ValidationError

from foldaway.agents.known import CompactionSign
from foldaway.dialects import dialect_named, parse, split_list, split_object
from foldaway.errors import NotReadable
from foldaway.gateway.client_compactions import sign_of
from foldaway.gateway.identity import agent_of, bind_key, make_start_name, read_client_name
from foldaway.gateway.wires import Route, route_of

OwnerOf: TypeAlias = Callable[[Mapping[str, str], Mapping[str, Any]], str]
"""Returns whose a request is, by its headers and its small fields."""

_SMALL_FIELD = 4_096
"""Bytes of a field that is read to tell whose request it is; model, metadata and settings are far
smaller, tools and system prompts far larger."""
NOT_KNOWN_YET = "not known yet"
"""Why the first request of a conversation without a name passes: its first answer names it."""


class Turn(Struct, frozen=True, weakref=True):
    """A request of a conversation."""

    key: str
    """The name of the conversation."""
    model: str
    agent: str
    body: bytes
    """The request as JSON."""
    is_first: bool
    """Whether the model has not spoken in it yet."""
    binds: bool = False
    """Whether the model's thinking may be bound to all that stands before it: then nothing before
    an answer that is on its way may change."""
    sign: CompactionSign | None = None
    """By what it is known as the client's own compaction, if it is one."""
    owner: str = ""
    """Whose it is, by `Owners`; the key has it too."""


class Passing(Struct, frozen=True):
    """Why a request goes on as it came."""

    reason: str
    sign: CompactionSign | None = None
    turn: Turn | None = None
    """Of a client's compaction: the request, with the name that the client gives, if any."""
    model: str = ""
    """As far as it could be read: what the request costs counts all the same."""


def read_turn(
    route: Route,
    headers: Mapping[str, str],
    body: bytes,
    most_bytes: int,
    owner_of: OwnerOf = lambda headers, frame: "",
) -> Turn | Passing:
    """Return the conversation that a request belongs to, or why it passes."""
    plain = unpack_body(body, headers.get("content-encoding", ""), most_bytes)
    if plain is None:
        return Passing("unknown encoding")
    try:
        return _read_turn(route, headers, plain, owner_of)
    except (NotReadable, ValidationError):
        return Passing("not readable")


def read_client_turn(
    method: str, path: str, query: bytes, headers: Mapping[str, str], body: bytes, most_bytes: int
) -> tuple[Turn, Route] | None:
    """Return the turn of a conversation that a client of this process sends, and its route; None if
    it sends something else.
    """
    route = route_of(method, path, headers, query)
    turn = read_turn(route, headers, body, most_bytes) if route.operation == "turn" else None
    return (turn, route) if isinstance(turn, Turn) else None


def _read_turn(
    route: Route, headers: Mapping[str, str], body: bytes, owner_of: OwnerOf
) -> Turn | Passing:
    fields = split_object(body)
    held = fields.get(dialect_named(route.wire.dialect).list_key)
    if held is None or bytes(memoryview(held)[:1]) != b"[":
        return Passing("no list")
    # views, because copies of megabytes take longer than all else here
    small = {name: raw for name, raw in fields.items() if len(memoryview(raw)) <= _SMALL_FIELD}
    frame = {name: parse(raw) for name, raw in small.items()}
    model = route.model or str(frame.get("model") or "")
    if frame.get("previous_response_id") or frame.get("conversation"):
        return Passing("the provider holds the conversation", model=model)
    sign = sign_of(route, headers, fields)
    is_first = not any(re.search(mark, memoryview(held)) for mark in route.wire.marks)
    tools = fields.get("tools")
    is_aside = is_first and (tools is None or len(memoryview(tools)) <= len("[ ]"))
    if is_aside and sign is None:
        return Passing("side request", model=model)
    name = read_client_name(headers, frame)
    if not name and not is_first:
        name = make_start_name(split_list(held), route.wire.dialect)
    thinking: Any = frame.get("thinking")
    binds = isinstance(thinking, dict) and thinking != {"type": "disabled"}
    owner = owner_of(headers, frame)
    key = bind_key(f"{route.wire.name}:{name}", owner) if name else ""
    turn = Turn(key, model, agent_of(headers), body, is_first, binds, sign, owner)
    if is_aside or not name:
        reason = "side request" if is_aside else NOT_KNOWN_YET
        return Passing(reason, sign, turn if sign else None, model)
    return turn


def unpack_body(body: bytes, encoding: str, most_bytes: int) -> bytes | None:
    """Return a body without its compression; None if it cannot be read, or is too large then."""
    try:
        match encoding.strip().lower():
            case "" | "identity":
                return body
            case "gzip" | "x-gzip":
                with gzip.GzipFile(fileobj=io.BytesIO(body)) as packed:
                    found = packed.read(most_bytes + 1)
            case "deflate":
                found = zlib.decompressobj().decompress(body, most_bytes + 1)
            case "zstd":
                with zstandard.ZstdDecompressor().stream_reader(body) as packed:
                    found = packed.read(most_bytes + 1)
            case _:
                return None
    except (OSError, EOFError, zlib.error, zstandard.ZstdError):
        return None
    return None if len(found) > most_bytes else found
