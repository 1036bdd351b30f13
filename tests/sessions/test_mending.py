"""Sessions of other agents that break the rules of their provider."""

from __future__ import annotations

import json
from typing import Any

from holdfast.dialects.check import check
from holdfast.policy import Policy
from holdfast.sessions.session import Session
from holdfast.stores.store import Store
from holdfast.stores.values import NewMessage, NewSession, SessionInfo

WINDOW: Any = {
    "context_length": 8_000, "policy": Policy(floor_tokens=500, summary_min_tokens=100),
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
    session = Session(kept, info.id, **WINDOW)
    assert not check(session.messages, dialect="anthropic")
    assert session.messages == session.messages
    session.append({"role": "assistant", "content": "So be it."})
    session.append({"role": "user", "content": "Thanks."})
    assert not check(session.messages, dialect="anthropic")
    assert [json.loads(row.body) for row in kept.read(info.id)][:7] == messages


def test_the_report_names_what_was_repaired(kept: Store) -> None:
    """Whether something was folded or not; a branch of an import is one too."""
    info = imported(kept, broken(20))
    session = Session(kept, info.id, **WINDOW)
    branch = session.branch(len(broken(20)))
    for one in (session, branch):
        report = one.compact(force=True)
        assert report.status == "compacted"
        assert report.repaired
        assert not check(one.messages, dialect="anthropic")


def test_what_a_host_appends_itself_is_sent_as_it_is(kept: Store) -> None:
    """Only what came from elsewhere is looked at: a host may be in the middle of a call."""
    session = Session(kept, **WINDOW)
    session.append(*broken(2))
    assert Session(kept, session.id, **WINDOW).messages == broken(2)
