"""Originals of shortened results in the store, so that their references open."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

from foldaway._core import Reference
from foldaway.agents.hooks.results import Original
from foldaway.dialects import dump_bytes
from foldaway.errors import Conflict
from foldaway.stores import NewMessage, NewSession, SessionInfo, Store
from foldaway.tokens import Estimator

_TRIES = 8
"""Looks at a session that another call writes to at the same moment; the second one sees it."""


def keep_originals(
    store: Store, originals: Sequence[Original], *, agent: str, session: str, cwd: str, tool: str
) -> None:
    """Keep originals; the same ones a second time are known. Raises what a store raises.

    They are in a session of their own, which lists and searches leave out: the agent's file has
    the conversation, with the short results in it.
    """
    counter = Estimator()
    new = NewSession(
        dialect="openai-chat", title="results that were shortened", source=agent,
        source_id=f"{session}/results", kind="tool", cwd=cwd,
    )  # fmt: skip
    rows = [
        NewMessage(
            body=dump_bytes({"role": "tool", "tool_call_id": one.ref, "content": one.text}),
            role="tool", text=one.text, tools=(tool,), key=one.ref, tokens=counter.count(one.text),
        )
        for one in originals
    ]  # fmt: skip
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
