"""Hints for a provider's cache: marks up to which it caches a request, and a key to route by."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal, TypeAlias, TypeVar, cast

from msgspec import Struct

from foldaway.caching.prices import Ttl
from foldaway.errors import NotReadable

MOST_MARKS = 4
"""Anthropic refuses a request with more."""
NEWEST_CARRIERS = 3
"""How many messages are marked: all but the one mark for the system prompt."""
KEY = "cache_control"

Wire: TypeAlias = Literal["anthropic", "openrouter"]
"""Anthropic's own messages, or a chat list that OpenRouter translates: there only parts of content
can bear a mark, and a mark on a `tool` message makes the request hang."""

_BEARERS = frozenset(
    (
        "text",
        "image",
        "image_url",
        "document",
        "tool_use",
        "tool_result",
        "server_tool_use",
        "search_result",
    )
)
"""Types of blocks that may be marked; results of the provider's own tools may too. Thinking and
empty texts may not."""

_SYSTEM_ROLES = ("system", "developer")
_Block: TypeAlias = dict[str, Any]
Given = TypeVar("Given", bound="Mapping[str, Any] | Sequence[Any]")


def wants_breakpoints(model: str, *, provider: str = "", base_url: str = "") -> Wire | None:
    """Return how to mark requests to this model, None if marks are unknown or not needed.

    Claude models on Anthropic and on OpenRouter want them. A base URL says more than the name of
    a provider; if both are missing nothing is known, and nothing is marked.
    """
    if "claude" not in model.lower():
        return None
    host = _host(base_url)
    if host:
        name = host
    else:
        name = {"anthropic": "anthropic.com", "openrouter": "openrouter.ai"}.get(provider.lower())
    if name is None:
        return None
    if name == "anthropic.com" or name.endswith(".anthropic.com"):
        return "anthropic"
    if name == "openrouter.ai" or name.endswith(".openrouter.ai"):
        return "openrouter"
    return None


def with_breakpoints(request: Given, *, ttl: Ttl = "5m", wire: Wire = "anthropic") -> Given:
    """Return a request, or its message list, marked at the system prompt and the newest messages.

    The last three messages that can bear a mark get one, so that marks move on with the
    conversation. Never more than four together with those that are there, which stay; a
    longer-lived mark never follows a shorter-lived one of ours. Nothing is mutated, twice is
    once, and what needs no mark comes back as the same object.
    """
    body: Mapping[str, Any] = (
        request if isinstance(request, Mapping) else {"messages": list(request)}
    )
    chosen = _chosen(body, ttl, wire)
    if not chosen:
        return request
    marked: dict[str, Any] = dict(body)
    for place, mark in chosen:
        _put(marked, place, mark)
    return cast("Given", marked if isinstance(request, Mapping) else marked["messages"])


class CacheHint(Struct, frozen=True):
    """One mark that `with_breakpoints` sets, as data for hosts that set it in their own way."""

    wire: Wire
    part: Literal["tools", "system", "messages"]
    index: int
    """Of the tool or message; 0 for the system prompt."""
    block: int | None
    """Of the content; None if the content is one text, or for a tool."""
    ttl: Ttl


def cache_hints(
    request: Mapping[str, Any] | Sequence[Any], *, ttl: Ttl = "5m", wire: Wire = "anthropic"
) -> tuple[CacheHint, ...]:
    """Return the marks that `with_breakpoints` would set, in the order of the prefix."""
    body: Mapping[str, Any] = (
        request if isinstance(request, Mapping) else {"messages": list(request)}
    )
    parts: tuple[Literal["tools", "system", "messages"], ...] = ("tools", "system", "messages")
    return tuple(
        CacheHint(
            wire,
            parts[place.part],
            place.at,
            None if place.block < 0 else place.block,
            "1h" if mark.get("ttl") == "1h" else "5m",
        )
        for place, mark in sorted(_chosen(body, ttl, wire), key=lambda one: one[0])
    )


def without_breakpoints(request: Given) -> Given:
    """Return a request, or its message list, without marks: for hosts that keep what was sent."""
    return cast("Given", _bare(request, 3))


def move_marks(payloads: Sequence[tuple[int | None, Any]], marked: Mapping[int, Any]) -> list[Any]:
    """Return messages that replace others, with the marks that those have now.

    Each comes with the place of the message that it replaces, None if it replaces none; `marked`
    are the messages that have a mark, by their places. The last mark of those that are replaced by
    none goes to the last message without a place.
    """
    marks = {at: _mark_of(message) for at, message in marked.items()}
    found = [_marked_as(one, None if at is None else marks.pop(at, None)) for at, one in payloads]
    last = next((n for n in reversed(range(len(found))) if payloads[n][0] is None), None)
    left = [mark for mark in marks.values() if mark is not None]
    if left and last is not None:
        found[last] = _marked_as(found[last], left[-1])
    return found


def _mark_of(message: object) -> Mapping[str, Any] | None:
    """Return the last mark in a message, None if it has none."""
    marked = [message, *_items(_field(message, "content"))]
    found = [_field(one, KEY) for one in marked if _is_marked(one)]
    return found[-1] if found else None


def _marked_as(message: Any, mark: Mapping[str, Any] | None) -> Any:
    """Return a message without its marks, and with `mark` on the last block that may bear one."""
    bare = _bare(message, 3)
    at = _bearer(_field(bare, "content")) if mark is not None else None
    return (
        bare if at is None else {**bare, "content": _marked(bare["content"], at, dict(mark or {}))}
    )


class _Place(Struct, frozen=True, order=True):
    """Where a mark stands, in the order of the prefix.

    `part` is 0 for tools, 1 for the system prompt, 2 for messages; `at` the tool or message;
    `block` the block in it, -1 if the content is one text.
    """

    part: int
    at: int
    block: int


class _Mark(Struct, frozen=True):
    place: _Place
    is_long: bool


def _chosen(body: Mapping[str, Any], ttl: Ttl, wire: Wire) -> list[tuple[_Place, _Block]]:
    """Return the places that get a mark, and the marks."""
    there = list(_marks(body))
    places = [one for one in _wanted(body, wire) if not _is_marked(_block_at(body, one))]
    room = max(MOST_MARKS - len(there), 0)
    return [(place, _mark(place, there, ttl)) for place in places[:room]]


def _wanted(body: Mapping[str, Any], wire: Wire) -> list[_Place]:
    """Return the places to mark, the most useful first: system, then the newest messages."""
    messages = _items(body.get("messages"))
    found: list[_Place] = []
    fixed = _fixed_place(body, messages, wire)
    if fixed is not None:
        found.append(fixed)
    carriers: list[_Place] = []
    for at in range(len(messages) - 1, -1, -1):
        role = _field(messages[at], "role")
        if role in _SYSTEM_ROLES or (wire == "openrouter" and role == "tool"):
            continue
        block = _bearer(_field(messages[at], "content"))
        if block is not None:
            carriers.append(_Place(2, at, block))
        if len(carriers) == NEWEST_CARRIERS:
            break
    return found + carriers


def _fixed_place(body: Mapping[str, Any], messages: Sequence[Any], wire: Wire) -> _Place | None:
    """Return the end of what never changes: the system prompt, or the tools if there is none."""
    block = _bearer(body.get("system"))
    if block is not None:
        return _Place(1, 0, block)
    leading = 0
    while leading < len(messages) and _field(messages[leading], "role") in _SYSTEM_ROLES:
        leading += 1
    for at in range(leading - 1, -1, -1):
        block = _bearer(_field(messages[at], "content"))
        if block is not None:
            return _Place(2, at, block)
    tools = _items(body.get("tools"))
    if wire == "anthropic" and tools and isinstance(tools[-1], dict):
        return _Place(0, len(tools) - 1, -1)
    return None


def _bearer(content: object) -> int | None:
    """Return the last block that may be marked, -1 for a text, None if nothing may."""
    if isinstance(content, str):
        return -1 if content.strip() else None
    blocks = _items(content)
    return next((at for at in range(len(blocks) - 1, -1, -1) if _bears(blocks[at])), None)


def _bears(block: object) -> bool:
    kind = _field(block, "type")
    if kind == "text":
        text = _field(block, "text")
        return isinstance(text, str) and bool(text.strip())
    return kind in _BEARERS or (isinstance(kind, str) and kind.endswith("_tool_result"))


def _marks(body: Mapping[str, Any]) -> Iterator[_Mark]:
    """Yield every mark of a request, those within results and the automatic one too."""
    if isinstance(body.get(KEY), dict):
        yield _Mark(_Place(3, 0, 0), _is_long(body))
    for at, tool in enumerate(_items(body.get("tools"))):
        if _is_marked(tool):
            yield _Mark(_Place(0, at, -1), _is_long(tool))
    yield from _marks_in(body.get("system"), 1, 0)
    for at, message in enumerate(_items(body.get("messages"))):
        if _is_marked(message):
            yield _Mark(_Place(2, at, -1), _is_long(message))
        yield from _marks_in(_field(message, "content"), 2, at)


def _marks_in(content: object, part: int, at: int) -> Iterator[_Mark]:
    for index, block in enumerate(_items(content)):
        if _is_marked(block):
            yield _Mark(_Place(part, at, index), _is_long(block))
        for inner in _items(_field(block, "content")):
            if _is_marked(inner):
                yield _Mark(_Place(part, at, index), _is_long(inner))


def _mark(place: _Place, there: Sequence[_Mark], ttl: Ttl) -> _Block:
    """Return a mark of the life that was asked for, or the one that its neighbours force on it."""
    if any(one.is_long and place < one.place for one in there):
        ttl = "1h"
    elif any(not one.is_long and one.place < place for one in there):
        ttl = "5m"
    return {"type": "ephemeral", "ttl": "1h"} if ttl == "1h" else {"type": "ephemeral"}


def _block_at(body: Mapping[str, Any], place: _Place) -> object:
    if place.part == 0:
        return _items(body["tools"])[place.at]
    content = body.get("system") if place.part == 1 else body["messages"][place.at]["content"]
    return None if place.block < 0 else _items(content)[place.block]


def _put(body: dict[str, Any], place: _Place, mark: _Block) -> None:
    """Put a mark into copies of all that lies on the way to it."""
    if place.part == 0:
        tools = list(_items(body["tools"]))
        tools[place.at] = {**tools[place.at], KEY: mark}
        body["tools"] = tools
    elif place.part == 1:
        body["system"] = _marked(body["system"], place.block, mark)
    else:
        messages = list(_items(body["messages"]))
        message = messages[place.at]
        messages[place.at] = {**message, "content": _marked(message["content"], place.block, mark)}
        body["messages"] = messages


def _marked(content: Any, block: int, mark: _Block) -> list[Any]:
    if block < 0:
        return [{"type": "text", "text": content, KEY: mark}]
    blocks = list(_items(content))
    blocks[block] = {**blocks[block], KEY: mark}
    return blocks


def _bare(value: Any, depth: int) -> Any:
    """Return a value without marks in it or in what it holds under `content` and the like."""
    if isinstance(value, Mapping):
        held = cast("Mapping[str, Any]", value)
        inner = {
            key: _bare(held[key], depth - 1)
            for key in ("tools", "system", "messages", "content")
            if depth and isinstance(held.get(key), list)
        }
        if KEY not in held and all(inner[key] is held[key] for key in inner):
            return held
        return {key: inner.get(key, kept) for key, kept in held.items() if key != KEY}
    if isinstance(value, list):
        items = cast("list[Any]", value)
        bare = [_bare(item, depth) for item in items]
        return items if all(new is old for new, old in zip(bare, items, strict=True)) else bare
    return value


def _host(url: str) -> str:
    rest = url.split("://", 1)[-1]
    authority = rest.replace("\\", "/").split("/", 1)[0].split("?", 1)[0].split("#", 1)[0]
    return authority.rpartition("@")[2].partition(":")[0].rstrip(".").lower()


def _items(value: object) -> list[Any]:
    return cast("list[Any]", value) if isinstance(value, list) else []


def _field(value: object, name: str) -> Any:
    return cast("_Block", value).get(name) if isinstance(value, dict) else None


def _is_marked(block: object) -> bool:
    return isinstance(_field(block, KEY), dict)


def _is_long(block: object) -> bool:
    return _field(block, KEY).get("ttl") == "1h"


STATIC = "hfk-"
SESSION = "hfs-"
"""What keys begin with: one of ours is never taken for a session id, nor one kind for the other."""

_DIGITS = 40
"""Of the hash, so that a key stays below the 64 characters that OpenAI takes."""


def prefix_key(
    instructions: str, tools: Sequence[Mapping[str, Any]] = (), session_id: str = ""
) -> str:
    """Return a key of the instructions and tool definitions, at most 64 characters long.

    The order of the tools, and of the keys in them, makes no difference; nor do cache marks. The
    session id counts only if there are neither instructions nor tools; "" if there is
    nothing at all. A hint for routing: equal keys promise nothing about equal requests. Raises
    `NotReadable` for a definition that JSON cannot say.
    """
    if not instructions and not tools:
        return SESSION + _digest(session_id) if session_id else ""
    schemas = sorted(_canonical(_unmarked(tool)) for tool in tools)
    # JSON has no raw NUL, so that no text can move from one field into the next
    return STATIC + _digest("\0".join((_canonical(instructions), *schemas)))


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:_DIGITS]


def _unmarked(tool: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in tool.items() if key != KEY}


def _canonical(value: object) -> str:
    try:
        return json.dumps(value, sort_keys=True, separators=(",", ":"))
    except (TypeError, ValueError, RecursionError):
        raise NotReadable(
            "holds what JSON cannot say", where="tools", remedy="give the definitions as plain JSON"
        ) from None
