"""A session with its memory, as one object."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from holdfast.engine.compressor import Compressor
from holdfast.memory.fence import TAG
from holdfast.memory.manager import MemoryManager
from holdfast.memory.provider import MemoryProvider, Switch, Turn
from holdfast.ports import SummaryRequest
from holdfast.sessions.chat import Chat
from holdfast.stores.open import open_store
from holdfast.stores.values import SessionInfo
from holdfast.summarizers.callables import from_callable


class Notes(MemoryProvider):
    """Keeps every turn, and recalls those that share a word."""

    name = "notes"

    def __init__(self) -> None:
        self.turns: list[Turn] = []
        self.switches: list[Switch] = []
        self.folded: list[int] = []

    def system_text(self) -> str:
        return f"{len(self.turns)} turns are remembered."

    def prefetch(self, query: str, session_id: str) -> str:
        words = set(query.split())
        return "\n".join(turn.user for turn in self.turns if words & set(turn.user.split()))

    def sync(self, turn: Turn) -> None:
        self.turns.append(turn)

    def session_switched(self, switch: Switch) -> None:
        self.switches.append(switch)

    def before_compaction(self, messages: Any) -> str:
        self.folded.append(len(messages))
        return ""


def small(info: SessionInfo) -> Compressor:
    """Return a compressor with a window that a few turns fill."""
    return Compressor(context_length=6_000, dialect=info.dialect)


def test_a_day_with_memory(tmp_path: Path) -> None:
    """What the user said in one session is in a request of the next, and in no transcript."""
    notes = Notes()
    with open_store(tmp_path / "s.db") as store:
        manager = MemoryManager(notes)
        with Chat(store, manager, system="Be brief.") as chat:
            first = chat.ask("my favourite colour is teal")
            assert first[0]["content"] == "Be brief.\n\n0 turns are remembered."
            assert TAG not in json.dumps(first)
            chat.reply("Noted.", {"prompt_tokens": 30, "completion_tokens": 2})
        with Chat(store, manager, system="Be brief.") as chat:
            asked = chat.ask("which colour do I like?")
            assert "teal" in asked[-1]["content"]
            assert asked[-1]["content"].startswith("which colour do I like?\n\n<")
            chat.append(
                {"role": "assistant", "content": None, "tool_calls": [
                    {"id": "c", "type": "function",
                     "function": {"name": "look", "arguments": "{}"}}]},
                {"role": "tool", "tool_call_id": "c", "content": "nothing"},
            )  # fmt: skip
            again = chat.request()
            assert again[: len(asked)] == asked, "the cached prefix holds through the turn"
            chat.reply("Teal.")
            assert TAG not in json.dumps(chat.session.messages)
            name = chat.session.id
            kept = json.dumps([row.body.decode() for row in store.read(name)])
            assert "which colour" in kept
            assert TAG not in kept
        assert [turn.user for turn in notes.turns] == [
            "my favourite colour is teal", "which colour do I like?",
        ]  # fmt: skip
        manager.close()


def test_memory_is_asked_before_a_compaction_and_rendered_anew_after_it(tmp_path: Path) -> None:
    """The system prompt keeps its bytes until then; the request is valid throughout."""
    notes = Notes()
    with open_store(tmp_path / "s.db") as store:
        manager = MemoryManager(notes)
        with Chat(store, manager, system="Be brief.", engine=small) as chat:
            systems: list[str] = []
            compacted = 0
            for turn in range(30):
                request = chat.ask(f"turn {turn} " + "and some words to fill the window " * 20)
                systems.append(request[0]["content"])
                compacted += chat.reply("Understood. " * 40).status == "compacted"
                manager.flush()
            assert compacted >= 1
            assert len(notes.folded) == compacted
            assert len(set(systems)) == compacted + 1
        manager.close()


def test_a_session_is_taken_up_again(tmp_path: Path) -> None:
    """After a restart the conversation goes on, with memory."""
    notes = Notes()
    with open_store(tmp_path / "s.db") as store:
        manager = MemoryManager(notes)
        with Chat(store, manager, system="Be brief.") as chat:
            chat.ask("the port is 5433")
            chat.reply("Noted.")
            name = chat.session.id
        manager.close()
    with open_store(tmp_path / "s.db") as store:
        manager = MemoryManager(notes)
        with Chat(store, manager, system="Be brief.", resume=name) as chat:
            asked = chat.ask("which port is it?")
            assert [row["role"] for row in asked] == ["system", "user", "assistant", "user"]
            assert "5433" in asked[-1]["content"]
            assert {tool["name"] for tool in chat.tools()} >= {"holdfast_recall"}
            assert "no tool" in chat.call("nonsense", {})
        manager.close()


def test_what_memory_says_before_a_compaction_reaches_the_model_that_writes(tmp_path: Path) -> None:
    """In the request for the summary, without secrets; nothing of it without a model."""
    asked: list[str] = []

    def write(request: SummaryRequest) -> str:
        asked.append(request.instructions)
        return '{"goal": [{"text": "Fill the window.", "source": ""}]}'

    class Telling(Notes):
        def before_compaction(self, messages: Any) -> str:
            super().before_compaction(messages)
            return "the user is fond of otters; key ghp_" + "a1B2" * 9

    def engine(info: SessionInfo) -> Compressor:
        return Compressor(
            context_length=6_000, dialect=info.dialect, summarizer=from_callable(write)
        )

    with open_store(tmp_path / "s.db") as store:
        manager = MemoryManager(Telling())
        with Chat(store, manager, engine=engine) as chat:
            while not asked:
                chat.ask("and some words to fill the window " * 20)
                chat.reply("Understood. " * 40)
        manager.close()
    assert "fond of otters" in asked[0]
    assert "a1B2a1B2" not in asked[0]
