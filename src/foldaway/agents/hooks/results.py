"""A tool's result before the model sees it: long texts shortened, secrets hidden if asked for.

The originals go into the store, so that their references open.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any, cast

from msgspec import Struct

from foldaway._core import Reference
from foldaway.dialects import dump_bytes
from foldaway.errors import Conflict
from foldaway.facts import family_of
from foldaway.reduction import reduce_text
from foldaway.stores import NewMessage, NewSession, SessionInfo, Store
from foldaway.transcript import Estimator

_TRIES = 8
"""Looks at a session that another call writes to at the same moment; the second one sees it."""
LEAST_CHARS_PER_TOKEN = 2
"""A text of fewer characters a token is not worth a look: it is near the limit."""
_EXACT = frozenset({"read", "write", "edit", "todo", "plan", "memory", "question", "notebook"})
"""Families whose results stay as they are: what an agent edits it must have seen, and the others
are short or show the user's own words."""
_OWN_TOOLS = "foldaway_"
"""In the names of our own tools, whose answers somebody asked for."""
_MOST_DEPTH = 16
"""Levels of a result that are looked into; chosen."""


class Original(Struct, frozen=True):
    """A shortened text, and the reference of its original."""

    ref: str
    text: str


class ShownResult(Struct, frozen=True):
    """A result as the model will see it, in the shape that it came in, and what it leaves out."""

    value: Any
    originals: tuple[Original, ...]


def show_result(
    tool: str, given: Any, tokens: int, mark: str, redact: Callable[[str], str] | None = None
) -> ShownResult | None:
    """Return how a result is shown, None if that is as it came.

    Texts of more than `tokens` are shortened by their kind, 0 for none. `mark` sets the references
    of two calls with the same result apart.
    """
    is_exact = _OWN_TOOLS in tool or family_of(tool) in _EXACT
    limit = 0 if is_exact else tokens
    originals: list[Original] = []

    def show(text: str) -> str:
        made = text if redact is None else redact(text)
        if limit and len(made) >= limit * LEAST_CHARS_PER_TOKEN:
            ref = f"fa-{hashlib.sha256(f'{mark} {text}'.encode(errors='replace')).hexdigest()[:10]}"
            shorter = reduce_text(made, None, limit, ref, counter=Estimator()).text
            if shorter != made:
                originals.append(Original(ref, text))
                return shorter
        return made

    value = _map(given, show, _MOST_DEPTH)
    return None if value == given else ShownResult(value, tuple(originals))


def _map(value: Any, change: Callable[[str], str], depth: int) -> Any:
    """Return a value of JSON with every text in it changed."""
    if isinstance(value, str):
        return change(value)
    if not depth:
        return value
    if isinstance(value, dict):
        table = cast("Mapping[str, Any]", value)
        return {key: _map(one, change, depth - 1) for key, one in table.items()}
    if isinstance(value, list):
        return [_map(one, change, depth - 1) for one in cast("list[Any]", value)]
    return value


def keep_originals(
    store: Store, originals: Sequence[Original], *, agent: str, session: str, cwd: str, tool: str
) -> None:
    """Keep originals; the same ones a second time are known. Raises what a store raises.

    They are in a session of their own, which lists and searches leave out: the agent's file has
    the conversation, with the short results in it.
    """
    counter = Estimator()
    new = NewSession(
        dialect="openai-chat",
        title="results that were shortened",
        source=agent,
        source_id=f"{session}/results",
        kind="tool",
        cwd=cwd,
    )
    rows = [
        NewMessage(
            body=dump_bytes({"role": "tool", "tool_call_id": one.ref, "content": one.text}),
            role="tool",
            text=one.text,
            tools=(tool,),
            key=one.ref,
            tokens=counter.count(one.text),
        )
        for one in originals
    ]
    for attempt in range(_TRIES):
        info = _session(store, new)
        given = [
            Reference(one.ref, (at, at + 1), "arrival")
            for at, one in enumerate(originals, info.length)
        ]
        try:
            store.append(info.id, rows, expect=info.length, references=given)
            return
        except Conflict:  # another call of the same session was first
            if attempt == _TRIES - 1:
                raise


def _session(store: Store, new: NewSession) -> SessionInfo:
    found = store.by_source(new.source, new.source_id)
    if found is None:
        with suppress(Conflict):  # another call of the same session was first
            return store.create(new)
        return _session(store, new)
    return found
