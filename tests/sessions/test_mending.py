"""Sessions of other agents that break the rules of their provider."""

from __future__ import annotations

import json
from typing import Any

import pytest

from foldaway._core.policy import Policy
from foldaway.dialects.checking import check
from foldaway.sessions import SessionOptions
from foldaway.sessions.session import Session
from foldaway.stores.store import Store
from foldaway.stores.values import NewMessage, NewSession, SessionInfo

WINDOW: Any = {
    "context_length": 8_000, "policy": Policy(floor_tokens=500),
}  # fmt: skip


def broken(count: int) -> list[dict[str, Any]]:
    """Return a talk whose last call nobody answered, and in which a user speaks twice."""
    found: list[dict[str, Any]] = []
    for number in range(count):
        found += [
            {"role": "user", "content": f"Question {number}. " + "word " * 80},
            {"role": "assistant", "content": f"Answer {number}. " + "so on " * 90},
        ]
    call = {"type": "tool_use", "id": "toolu_1", "name": "Bash", "input": {"command": "ls"}}
    return [*found, {"role": "user", "content": "list it"},
            {"role": "assistant", "content": [call]},
            {"role": "user", "content": "never mind, and go on"}]  # fmt: skip


def imported(store: Store, messages: list[dict[str, Any]], source_id: str = "cc-1") -> SessionInfo:
    new = NewSession(dialect="anthropic", source="claude-code", source_id=source_id)
    info = store.create(new)
    rows = [NewMessage(body=json.dumps(one).encode(), role=one["role"]) for one in messages]
    store.append(info.id, rows)
    return info


def test_what_is_sent_of_an_import_is_valid_and_the_log_stays(kept: Store) -> None:
    """Repaired on its way to the provider; what is kept is what the file said."""
    messages = broken(2)
    assert check(messages, dialect="anthropic")
    info = imported(kept, messages)
    session = Session.open(kept, info.id, **WINDOW)
    assert not check(session.messages, dialect="anthropic")
    assert session.messages == session.messages
    session.append({"role": "assistant", "content": "So be it."})
    session.append({"role": "user", "content": "Thanks."})
    assert not check(session.messages, dialect="anthropic")
    assert [json.loads(row.body) for row in kept.read(info.id)][:7] == messages


def test_the_report_names_what_was_repaired(kept: Store) -> None:
    """Whether something was folded or not; a branch of an import is one too."""
    info = imported(kept, broken(20))
    session = Session.open(kept, info.id, **WINDOW)
    branch = session.branch(len(broken(20)))
    for one in (session, branch):
        report = one.compact(force=True)
        assert report.status == "compacted"
        assert report.repaired
        assert not any("repair it" in note for note in report.notes)
        assert not check(one.messages, dialect="anthropic")


def turn(dialect: str) -> list[dict[str, Any]]:
    """Return what a host had appended when its process died in a tool."""
    asked = {"role": "user", "content": "Which tests fail?"}
    chat = {"id": "c1", "type": "function", "function": {"name": "run", "arguments": "{}"}}
    use = {"type": "tool_use", "id": "c1", "name": "run", "input": {}}
    item = {"type": "function_call", "call_id": "c1", "name": "run", "arguments": "{}"}
    return {
        "openai-chat": [asked, {"role": "assistant", "content": None, "tool_calls": [chat]}],
        "anthropic": [asked, {"role": "assistant", "content": [use]}],
        "openai-responses": [asked, item, {**item, "call_id": "c2"}],
        "gemini": [
            {"role": "user", "parts": [{"text": "Which tests fail?"}]},
            {"role": "model", "parts": [{"functionCall": {"name": "run", "args": {}}}]},
        ],
    }[dialect]


@pytest.mark.parametrize("dialect", ["openai-chat", "anthropic", "openai-responses", "gemini"])
def test_a_session_whose_process_died_in_a_tool_resumes(kept: Store, dialect: str) -> None:
    """A result that never came is a stub for the provider as soon as the user goes on; the log
    stays, and so does a call that is still running."""
    new = NewSession(dialect=dialect)
    session = Session(kept, "my-agent", **WINDOW, options=SessionOptions(new=new))
    session.append(*turn(dialect))
    assert session.messages == turn(dialect)
    said = turn(dialect)[0]
    resumed = Session(kept, "my-agent", **WINDOW)
    assert resumed.messages == turn(dialect)
    resumed.append(said)
    for one in (resumed, Session(kept, "my-agent", **WINDOW)):
        assert not check(one.messages, dialect=dialect)
    assert [json.loads(row.body) for row in kept.read(resumed.id)] == [*turn(dialect), said]


def test_what_a_host_appends_itself_is_sent_as_it_is(kept: Store) -> None:
    """Only calls without results are looked at: a host may mean what it says."""
    session = Session(kept, **WINDOW)
    talk = [*broken(2)[:-2], {"role": "user", "content": "I said list it."}]
    session.append(*talk)
    assert Session.open(kept, session.id, **WINDOW).messages == talk
