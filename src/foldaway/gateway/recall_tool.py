"""The recall tool that a gateway offers by itself, and which conversations have it.

A conversation has it from its first request on or never: tools stand before everything else, so to
add one later would break a warm cache, and thinking may be bound to it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

import msgspec

from foldaway.dialects.jsontext import dump, parse, split_list, split_object
from foldaway.dialects.registry import dialect_named
from foldaway.engine.recall import TOOLS, tools_in
from foldaway.gateway.hidden import HiddenCalls, restored
from foldaway.gateway.wires import CHAT, GEMINI, RESPONSES, Route, Wire
from foldaway.sessions.following import with_elements, with_field
from foldaway.sessions.rows import frame_of
from foldaway.sessions.session import Session
from foldaway.sessions.standing import find_by_key
from foldaway.stores.store import Store

OWN_NAMES = frozenset(tool["name"] for tool in TOOLS)
"""Of the tools that the gateway answers itself."""
_OFFERED, _HIDDEN = "recall_tool", "hidden_calls"
"""The notes of a session: whether it has the tool, and the calls that its client did not see."""
_MOST_BYTES = 1_000_000
"""Of hidden calls that are kept with a session, the newest; more than a window holds beside all
else, and older ones were folded."""
_DECLARATIONS = ("functionDeclarations", "function_declarations")


class RecallTool:
    """What a gateway knows of its own tool in one conversation."""

    def __init__(self, store: Store, source: str) -> None:
        """Take where the conversation is kept."""
        self._store, self._source = store, source
        self._is_offered: bool | None = None
        self._is_noted = False
        self._hidden: dict[tuple[str, ...], HiddenCalls] = {}

    @property
    def is_offered(self) -> bool:
        """Whether the conversation has the tool."""
        return bool(self._is_offered)

    @property
    def is_known(self) -> bool:
        """Whether it was looked up in the store whether the conversation has the tool."""
        return self._is_offered is not None

    def look_up(self, key: str, is_new: bool) -> None:
        """Take up what the store holds under a key; a conversation that it does not hold gets the
        tool only if it `is_new`. In a thread.
        """
        known = find_by_key(self._store, key, self._source)
        if known is None:
            self._is_offered = is_new if self._is_offered is None else self._is_offered
            return
        for one in self._store.lineage(known.root_id):
            notes = frame_of(one).get("notes", {})
            self._is_noted |= bool(notes.get(_OFFERED))
            kept = msgspec.convert(notes.get(_HIDDEN, []), list[HiddenCalls])
            self._hidden |= {hidden.anchors: hidden for hidden in kept}
        self._is_offered = self._is_noted or bool(self._is_offered)

    def dressed(self, body: bytes, route: Route) -> bytes:
        """Return a request with the tool and with calls of it from before; the very same bytes if
        the conversation or the request has none.
        """
        if not self._is_offered or not takes_tool(body, route):
            return body
        made = restored(body, route.wire, self._hidden) if self._hidden else body
        return with_tool(made, route.wire)

    def note(self, session: Session) -> None:
        """Keep with a session that it has the tool. In a thread."""
        if self._is_offered and not self._is_noted:
            session.note(**{_OFFERED: True})
            self._is_noted = True

    def hide(self, hidden: HiddenCalls, session: Session) -> None:
        """Keep what the client did not see of an answer. In a thread."""
        kept: list[Any] = [*session.notes.get(_HIDDEN, []), msgspec.to_builtins(hidden)]
        while len(kept) > 1 and len(dump(kept)) > _MOST_BYTES:
            kept.pop(0)
        session.note(**{_OFFERED: True, _HIDDEN: kept})
        self._hidden[hidden.anchors] = hidden
        self._is_noted = True


def is_new(body: bytes, wire: Wire) -> bool:
    """Return whether the model has spoken at most once in a request: a conversation without a name
    is known by its first answer only.
    """
    decode = dialect_named(wire.dialect).decode
    raws = split_list(bytes(split_object(body)[dialect_named(wire.dialect).list_key]))
    runs, was_model = 0, False
    for raw in raws:
        is_model = any(mark in bytes(raw) for mark in wire.marks) and any(
            message.role == "assistant" for message in decode([parse(raw)], 0)
        )
        runs += is_model and not was_model
        was_model = is_model
        if runs > 1:
            return False
    return True


def takes_tool(body: bytes, route: Route) -> bool:
    """Return whether a request can have our tool: it has tools, its client keeps the list itself,
    and it asks for one answer.
    """
    fields = split_object(body)
    tools = bytes(fields.get("tools") or b"null")
    if tools[:1] != b"[" or not split_list(tools):
        return False
    if any(f'"{name}"'.encode() in tools for name in OWN_NAMES):
        return False
    if route.wire is RESPONSES:
        return "store" in fields and parse(fields["store"]) is False
    if route.wire is CHAT:
        return parse(fields["n"]) in (None, 1) if "n" in fields else True
    return route.wire is not GEMINI or _declaring(tools) is not None


def with_tool(body: bytes, wire: Wire) -> bytes:
    """Return a request with our tool after the client's; their bytes stay, ours are constant."""
    tools = bytes(split_object(body)["tools"])
    own = own_tools(wire)
    if wire is not GEMINI:
        return with_field(body, "tools", tools.rstrip()[:-1] + b"," + own + b"]")
    at = _declaring(tools)
    if at is None:
        return body
    raws = split_list(tools)
    elements = [bytes(raw) for raw in raws]
    fields = split_object(elements[at])
    name = next(one for one in _DECLARATIONS if one in fields)
    held = bytes(fields[name]).rstrip()[:-1]
    comma = b"," if split_list(bytes(fields[name])) else b""
    elements[at] = with_field(elements[at], name, held + comma + own + b"]")
    return with_elements(body, "tools", elements, raws)


@lru_cache
def own_tools(wire: Wire) -> bytes:
    """Return the tools as a request of a wire declares them, with commas between."""
    declared: Sequence[Any] = tools_in(wire.dialect, TOOLS)
    if wire is GEMINI:
        declared = declared[0]["functionDeclarations"]
    if wire is RESPONSES:  # strict is the default there, and wants every argument to be required
        declared = [{**tool, "strict": False} for tool in declared]
    return b",".join(map(dump, declared))


def _declaring(tools: bytes) -> int | None:
    """Return which of Gemini's tools declares functions: a second one is not allowed everywhere."""
    found = None
    for at, raw in enumerate(split_list(tools)):
        fields: Mapping[str, Any] = split_object(raw)
        if any(name in fields for name in _DECLARATIONS):
            found = at
    return found
