"""A session whose results are shown otherwise since they arrived."""

from __future__ import annotations

import json
from typing import Any

from foldaway._core.policy import ArrivalLevel, Policy
from foldaway.dialects.jsontext import dump_bytes
from foldaway.sessions import SessionOptions
from foldaway.sessions.exporting import export
from foldaway.sessions.hooks import Hooks, SessionEvent
from foldaway.sessions.rows import new_message
from foldaway.sessions.session import Session
from foldaway.stores.store import Store
from foldaway.stores.values import NewSession
from foldaway.transcript import Message

ROWS = json.dumps([{"id": n, "name": f"row {n}"} for n in range(60)], indent=2)
FIRST = {"role": "user", "content": "Look."}


def by(level: ArrivalLevel) -> Any:
    policy = Policy(floor_tokens=500, protect_last=4, arrival=level, arrival_tools={"*": 90})

    return {"context_length": 8_000, "policy": policy}


def step(number: int, text: str) -> list[Any]:
    function = {"name": "lookup", "arguments": "{}"}
    one = {"id": f"call_{number}", "type": "function", "function": function}
    return [
        {"role": "assistant", "content": None, "tool_calls": [one]},
        {"role": "tool", "tool_call_id": f"call_{number}", "content": text},
    ]


def begun(store: Store, level: ArrivalLevel = "lossless", **options: Any) -> Session:
    new = NewSession(dialect="openai-chat")
    session = Session(store, **by(level), **options, options=SessionOptions(new=new))
    session.append(FIRST, *step(1, ROWS))
    session.append(*step(2, ROWS))
    return session


def test_another_process_shows_the_same_bytes_whatever_its_policy(store: Store) -> None:
    """A session keeps the level that it began with, through compactions, undo and branches."""
    session = begun(store)
    assert session.messages[2]["content"] == json.dumps(json.loads(ROWS), separators=(",", ":"))
    assert session.messages[4]["content"].startswith("[foldaway duplicate")
    for level in ("off", "bounded"):
        again = Session.open(store, session.id, **by(level))
        assert again.messages == session.messages
    assert session.branch(4).messages == session.messages[:4]
    for number in range(3, 12):
        session.append(*step(number, f"[{number}, {ROWS}]"))
    before = session.messages
    assert session.compact(force=True).status == "compacted"
    session.append(*step(12, ROWS))
    other = Session.open(store, session.id, **by("off"))
    assert other.messages == session.messages
    assert other.undo()
    assert other.messages[: len(before)] == before
    fresh = Session.open(store, session.id, **by("bounded"))
    assert fresh.messages == other.messages


def test_the_store_alone_leads_back_from_a_marker(store: Store) -> None:
    """The reference is durable with the message that is shown under it."""
    session = begun(store)
    reference = session.messages[4]["content"][33:46]
    (place,) = store.places(reference, session_id=session.id)
    assert place.reference.positions == (4, 5)
    again = Session.open(store, session.id, **by("off"))
    assert again.recall(reference)[0]["content"] == ROWS


def test_what_was_sent_by_somebody_else_stays_as_it_is(store: Store) -> None:
    """A log that another agent or an older version wrote is shown as it came; what arrives here
    is not, and both stay so."""
    info = store.create(NewSession(dialect="openai-chat"))
    old = [FIRST, *step(1, ROWS), *step(2, ROWS)]
    rows = [new_message(Message("user", (), wire=one), 1) for one in old]
    store.append(info.id, rows)
    session = Session.open(store, info.id, **by("lossless"))
    assert session.messages == old
    session.append(*step(3, ROWS))
    assert session.messages[:-2] == old
    assert session.messages[-1]["content"].startswith("[foldaway duplicate")
    again = Session.open(store, info.id, **by("off"))
    assert again.messages == session.messages


def test_an_export_of_the_view_is_what_the_model_sees(store: Store) -> None:
    """And one of the log is what came."""
    session = begun(store)
    made = export(store, session.info, "jsonl", what="view")
    assert made.data == b"".join(dump_bytes(one) + b"\n" for one in session.messages)
    log = export(store, session.info, "jsonl")
    assert json.loads(log.data.splitlines()[4])["content"] == ROWS


def test_what_is_folded_is_told_also_of_what_was_shown_otherwise(store: Store) -> None:
    """Hooks hear of every message that the model saw and sees no more."""
    heard: list[SessionEvent] = []
    session = begun(store, hooks=Hooks(event=heard.append))
    for number in range(3, 12):
        session.append(*step(number, f"[{number}, {ROWS}]"))
    session.append({"role": "user", "content": "Go on."})
    assert session.compact(force=True).status == "compacted"
    (done,) = heard
    assert done.report is not None
    start, stop = done.report.boundary or (0, 0)
    assert {at for at in range(start, stop) if at % 2 == 0 and at} <= set(done.folded)
