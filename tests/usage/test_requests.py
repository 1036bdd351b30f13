"""What programs are told of a session, in few reads."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from foldaway.stores.open import open_store
from foldaway.stores.values import NewMessage, NewSession, TurnUsage
from foldaway.usage.requests import recorded_usage, session_details


def answer(at: int, **wire: Any) -> NewMessage:
    body = json.dumps({"role": "assistant", "content": "done", **wire}).encode()
    return NewMessage(body=body, role="assistant", tools=("bash",), time=float(at), tokens=3)


@pytest.mark.parametrize("length", [3, 2_500])
def test_usage_in_messages_is_found_in_a_log_of_any_length(tmp_path: Path, length: int) -> None:
    """Reports that stand in the answers count if the store has none of its own, each once."""
    with open_store(tmp_path) as store:
        new = [answer(at, id=f"a{at}", usage={"input_tokens": at + 1}) for at in range(length)]
        info = store.create(NewSession(dialect="anthropic"), messages=new)
        found = recorded_usage(store, info)
        assert [one.input_tokens for one in found] == list(range(1, length + 1))
        assert session_details(store, info).totals.requests == length
        store.add_usage(info.id, TurnUsage(position=1, input_tokens=7))
        assert [one.input_tokens for one in recorded_usage(store, info)] == [7]


def test_roles_and_tools_are_counted_without_reading_bodies(tmp_path: Path) -> None:
    """The counts are those of the log; a body that is no JSON does not matter."""
    with open_store(tmp_path) as store:
        new = [NewMessage(body=b"\xff", role="user", generated=True), answer(1)]
        found = session_details(store, store.create(NewSession(dialect="anthropic"), messages=new))
        assert found.roles == {"user": 1, "assistant": 1}
        assert (found.tools, found.generated) == ({"bash": 1}, 1)
