from __future__ import annotations

from pathlib import Path

from foldaway.integrations.host_items import HostItems
from foldaway.stores.open import open_store
from foldaway.stores.values import NewSession


def new(key: str) -> NewSession:
    return NewSession(dialect="openai-responses", source="host-items", source_id=key, kind="tool")


def test_items_come_back_as_they_were_given_and_the_newest_can_be_taken_away(tmp_path: Path):
    """A host's list is its own: every key stays, in order, and what it removes is gone."""
    call = {"type": "function_call", "call_id": "c1", "name": "read", "arguments": "{}"}
    said = [{"role": "user", "content": "hello", "own": [1]}, call]
    with open_store(tmp_path / "s.db") as store:
        items = HostItems(lambda: store, new("task-7"))
        assert items.keep(-1) == []
        items.append(said)
        items.append([{"role": "assistant", "content": "done"}])
        again = HostItems(lambda: store, new("task-7"))
        assert again.read() == [*said, {"role": "assistant", "content": "done"}]
        assert again.keep(-1) == [{"role": "assistant", "content": "done"}]
        assert items.read() == said
        assert items.keep(0) == said
        assert items.read() == []


def test_lists_of_two_conversations_stay_apart(tmp_path: Path):
    """A key finds its own list only."""
    with open_store(tmp_path / "s.db") as store:
        one, two = (HostItems(lambda: store, new(key)) for key in ("a", "b"))
        one.append([{"role": "user", "content": "a"}])
        two.append([{"role": "user", "content": "b"}])
        assert one.read() == [{"role": "user", "content": "a"}]
