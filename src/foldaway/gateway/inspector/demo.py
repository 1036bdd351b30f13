"""A session to try the pages on: the story of `foldaway chat --demo`, in a store of its own.

It is among the copies of files, so that no store of a person is changed, and goes with them.
"""

from __future__ import annotations

import json

from msgspec import Struct
from starlette.requests import Request

from foldaway._core import Policy, read_table
from foldaway.gateway.inspector.session_sources import DEMO
from foldaway.gateway.inspector.site import ROOT, Answer, Inspector
from foldaway.sessions import Session, SessionOptions
from foldaway.stores import NewSession, Store
from foldaway.transcript import estimate_text

_WINDOW = 8_000
_TIMES = 2
"""How often the story is told: a session is worth looking at from two compactions on."""


class DemoAnswer(Struct, frozen=True):
    """Where a script goes on."""

    address: str


def demo(inspector: Inspector, request: Request) -> Answer:
    """Make the session, or remove it; return where to go on."""
    store = inspector.shelf.copies().store
    if request.method == "DELETE":
        if inspector.shelf.has_demo():
            store.erase(store.descendants([DEMO]))
        return DemoAnswer(ROOT)
    if not inspector.shelf.has_demo():
        write_demo(store)
    return DemoAnswer(f"{ROOT}/session/{DEMO}")


def write_demo(store: Store) -> None:
    """Write the session, as an agent would have had it: it is compacted when that is due."""
    session = Session(
        store,
        DEMO,
        model="gpt-5",
        context_length=_WINDOW,
        policy=Policy(floor_tokens=1_000, protect_last=2),
        options=SessionOptions(
            new=NewSession(id=DEMO, dialect="openai-chat", title="A demo: the orders service")
        ),
    )
    steps = read_table("demo", dict[str, list[dict[str, str]]], "foldaway.agents.chat")["steps"]
    before = 0
    for at, step in enumerate([one for one in steps if one["file"]] * _TIMES):
        name = {"name": "read_file", "arguments": json.dumps({"path": step["file"]})}
        call = {"id": f"call_{at}", "type": "function", "function": name}
        text = "\n".join(step["line"].format(n=n) for n in range(at, at + 40))
        asked = [{"role": "user", "content": step["ask"]}]
        read = [
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": call["id"], "content": text},
        ]
        for messages in (asked, read):
            session.append(*messages)
            session.compact()
            sent = estimate_text(json.dumps(session.messages))
            cached = before if before <= sent else 0
            details = {"cached_tokens": cached}
            session.used(
                {"prompt_tokens": sent, "completion_tokens": 50, "prompt_tokens_details": details}
            )
            before = sent
        session.append({"role": "assistant", "content": step["answer"]})
