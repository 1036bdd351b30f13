"""A session with its memory, as one object."""

from __future__ import annotations

import asyncio
import json
import threading
from pathlib import Path
from typing import Any

import pytest

from foldaway import check
from foldaway._core.ports import SummaryRequest
from foldaway.memory.fence import TAG
from foldaway.memory.manager import MemoryLimits, MemoryManager
from foldaway.memory.provider import MemoryProvider, MemoryTurn, Switch
from foldaway.sessions.chat import Chat
from foldaway.sessions.hooks import Hooks, SessionEvent
from foldaway.stores.open import open_store
from foldaway.summarizers.models import from_callable

PATIENT = MemoryLimits(prefetch_seconds=30)
"""What is tested is not how long a busy machine takes."""


class Notes(MemoryProvider):
    """Keeps every turn, and recalls those that share a word."""

    name = "notes"

    def __init__(self) -> None:
        self.turns: list[MemoryTurn] = []
        self.switches: list[Switch] = []
        self.folded: list[int] = []

    def system_text(self) -> str:
        return f"{len(self.turns)} turns are remembered."

    def prefetch(self, query: str, session_id: str) -> str:
        words = set(query.split())
        return "\n".join(turn.user for turn in self.turns if words & set(turn.user.split()))

    def sync(self, turn: MemoryTurn) -> None:
        self.turns.append(turn)

    def session_switched(self, switch: Switch) -> None:
        self.switches.append(switch)

    def before_compaction(self, messages: Any) -> str:
        self.folded.append(len(messages))
        return ""


def test_a_day_with_memory(tmp_path: Path) -> None:
    """What the user said in one session is in a request of the next, and in no transcript."""
    notes = Notes()
    with open_store(tmp_path / "s.db") as store:
        manager = MemoryManager(notes, limits=PATIENT)
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
        manager = MemoryManager(notes, limits=PATIENT)
        with Chat(store, manager, system="Be brief.", context_length=6_000) as chat:
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
        manager = MemoryManager(notes, limits=PATIENT)
        with Chat(store, manager, system="Be brief.") as chat:
            chat.ask("the port is 5433")
            chat.reply("Noted.")
            name = chat.session.id
        manager.close()
    with open_store(tmp_path / "s.db") as store:
        manager = MemoryManager(notes, limits=PATIENT)
        with Chat(store, manager, system="Be brief.", resume=name) as chat:
            asked = chat.ask("which port is it?")
            assert [row["role"] for row in asked] == ["system", "user", "assistant", "user"]
            assert "5433" in asked[-1]["content"]
            assert {tool["name"] for tool in chat.tools()} >= {"foldaway_recall"}
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

    with open_store(tmp_path / "s.db") as store:
        manager = MemoryManager(Telling(), limits=PATIENT)
        with Chat(store, manager, context_length=6_000, summarizer=from_callable(write)) as chat:
            while not asked:
                chat.ask("and some words to fill the window " * 20)
                chat.reply("Understood. " * 40)
        manager.close()
    assert "fond of otters" in asked[0]
    assert "a1B2a1B2" not in asked[0]


def words_of(message: Any) -> str:
    """Return all of a message as text."""
    return json.dumps(message, ensure_ascii=False)


@pytest.mark.parametrize(
    "dialect", ["openai-chat", "openai-responses", "anthropic", "gemini", "sharegpt"]
)
def test_a_turn_in_every_dialect(tmp_path: Path, dialect: str) -> None:
    """Texts become its messages; the system prompt stands where the dialect wants it."""
    notes = Notes()
    with open_store(tmp_path / "s.db") as store, MemoryManager(notes, limits=PATIENT) as manager:
        with Chat(store, manager, system="Be brief.", dialect=dialect) as chat:
            chat.ask("the port is 5433")
            chat.reply("Noted.")
            assert manager.flush(30)  # turns are handed over in the background
            asked = chat.ask("which port is it?")
            assert "5433" in words_of(asked[-1])
            assert TAG in words_of(asked[-1])
            assert chat.system == "Be brief.\n\n0 turns are remembered."
            within = "Be brief." in words_of(asked)
            assert within == (dialect in ("openai-chat", "sharegpt"))
            if dialect != "sharegpt":
                assert not check(asked, provider=dialect)
            chat.reply("5433.")
            name = chat.session.id
        assert store.session(name).dialect == dialect
        with Chat(store, manager, system="Be brief.", resume=name) as chat:
            assert "5433." in words_of(chat.request()[-1])
    assert [(turn.user, turn.agent) for turn in notes.turns] == [
        ("the port is 5433", "Noted."), ("which port is it?", "5433."),
    ]  # fmt: skip


def test_a_turn_that_a_crash_cut_off_goes_on(tmp_path: Path) -> None:
    """The question is the one of before, memory is asked again, and the turn is remembered."""
    notes = Notes()
    notes.turns.append(MemoryTurn(session_id="", number=1, user="the port is 5433", agent=""))
    look = {"id": "c", "type": "function", "function": {"name": "look", "arguments": "{}"}}
    calls: Any = {"role": "assistant", "content": None, "tool_calls": [look]}
    with open_store(tmp_path / "s.db") as store:
        chat = Chat(store, MemoryManager(notes, limits=PATIENT), system="Be brief.")
        before = chat.ask("which port is it?")
        chat.append(calls)
        name = chat.session.id
    with open_store(tmp_path / "s.db") as store, MemoryManager(notes, limits=PATIENT) as manager:
        with Chat(store, manager, system="Be brief.", resume=name) as chat:
            assert chat.request()[: len(before)] == before
            chat.append({"role": "tool", "tool_call_id": "c", "content": "5433"})
            chat.reply("5433.")
            assert chat.recalled.text == ""
        assert (notes.turns[-1].user, notes.turns[-1].agent) == ("which port is it?", "5433.")
        with Chat(store, manager, system="Be brief.", resume=name) as chat:
            assert chat.recalled.text == "", "an answered question is not asked again"


def test_a_session_that_is_taken_up_has_the_prompt_and_the_memory_of_today(tmp_path: Path) -> None:
    """Whatever both were when it began."""
    notes = Notes()
    with open_store(tmp_path / "s.db") as store, MemoryManager(notes, limits=PATIENT) as manager:
        with Chat(store, manager, system="Be brief.") as chat:
            chat.ask("x")
            chat.reply("y")
            name = chat.session.id
        with Chat(store, manager, system="Be kind.", resume=name) as chat:
            assert chat.request()[0]["content"] == "Be kind.\n\n1 turns are remembered."


def test_without_a_prompt_and_without_memories_there_is_no_system_message(tmp_path: Path) -> None:
    """And where memory has something to say later, there is one."""
    said = [""]

    class Late(MemoryProvider):
        name = "late"

        def system_text(self) -> str:
            return said[0]

    with open_store(tmp_path / "s.db") as store, MemoryManager(Late()) as manager:
        with Chat(store, manager) as chat:
            assert [row["role"] for row in chat.ask("x")] == ["user"]
            chat.reply("y")
            name = chat.session.id
        for text, roles in (
            ("known", ["system", "user", "assistant"]),
            ("", ["user", "assistant"]),
        ):
            said[0] = text
            with Chat(store, manager, resume=name) as chat:
                assert [row["role"] for row in chat.request()] == roles


def test_a_long_tool_loop_is_compacted_within_its_turn(tmp_path: Path) -> None:
    """`send` keeps the window, the block stays with the question, and the host's hooks hear."""
    notes, heard = Notes(), list[SessionEvent]()
    notes.turns.append(MemoryTurn(session_id="", number=1, user="the port is 5433", agent=""))
    with open_store(tmp_path / "s.db") as store, MemoryManager(notes, limits=PATIENT) as manager:
        hooks = Hooks(event=heard.append, before_compaction=lambda _: "mine")
        with Chat(store, manager, system="Be brief.", context_length=6_000, hooks=hooks) as chat:
            chat.ask("which port is it?")
            for number in range(60):
                request = chat.send(list)
                (row,) = [row for row in request if TAG in words_of(row)]
                assert "which port is it?" in words_of(row).partition(f"<{TAG}")[0]
                assert not check(request, provider="openai-chat")
                chat.append(
                    {"role": "assistant", "content": None, "tool_calls": [
                        {"id": f"c{number}", "type": "function",
                         "function": {"name": "look", "arguments": "{}"}}]},
                    {"role": "tool", "tool_call_id": f"c{number}",
                     "content": f"{number} " + "words " * 200},
                )  # fmt: skip
            assert [one.kind for one in heard].count("compacted") >= 2
            assert len(notes.folded) >= 2


def test_a_host_that_awaits(tmp_path: Path) -> None:
    """While memory is asked other tasks go on; a request that was too long is made again."""
    ticks: list[int] = []

    class Slow(Notes):
        def prefetch(self, query: str, session_id: str) -> str:
            gate.wait(30)
            return "known"

    async def day() -> list[Any]:
        async def tick() -> None:
            ticks.append(1)
            gate.set()

        with Chat(store, manager, system="Be brief.") as chat:
            asked, _ = await asyncio.gather(chat.aask("x"), tick())

            async def call(messages: list[Any]) -> list[Any]:
                return messages

            assert await chat.asend(call) == asked
            assert (await chat.areply("y")).status == "unchanged"
            return asked

    gate, notes = threading.Event(), Slow()
    limits = MemoryLimits(prefetch_seconds=30)
    with open_store(tmp_path / "s.db") as store, MemoryManager(notes, limits=limits) as manager:
        assert "known" in words_of(asyncio.run(day())[-1])
    assert ticks == [1]
    assert [turn.user for turn in notes.turns] == ["x"]


def test_what_providers_are_shown_of_a_session_is_not_their_own_text(tmp_path: Path) -> None:
    """The messages as they were said, without the system prompt and what memory put there."""
    shown: list[str] = []

    class Told(Notes):
        def session_ended(self, session_id: str, messages: Any) -> None:
            shown.append(words_of(messages))

    with (
        open_store(tmp_path / "s.db") as store,
        MemoryManager(Told(), limits=PATIENT) as manager,
        Chat(store, manager, system="Be brief.") as chat,
    ):
        chat.ask("x")
        chat.reply("y")
    assert len(shown) == 1
    assert '"x"' in shown[0]
    assert "Be brief." not in shown[0]
    assert "turns are remembered" not in shown[0]


def test_a_question_with_a_picture_is_a_message(tmp_path: Path) -> None:
    """What is no text is taken as it is; its words are what memory hears."""
    notes = Notes()
    parts = [
        {"type": "text", "text": "what is this?"},
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}},
    ]
    with (
        open_store(tmp_path / "s.db") as store,
        MemoryManager(notes, limits=PATIENT) as manager,
        Chat(store, manager) as chat,
    ):
        assert chat.ask({"role": "user", "content": parts})[-1]["content"] == parts
        chat.reply("A dot.")
    assert notes.turns[0].user == "what is this?"


def until_compacted(chat: Chat) -> None:
    """Talk until the window is full."""
    for turn in range(60):
        chat.ask(f"and {turn}?")
        if chat.reply(f"{turn} " + "words " * 200).status == "compacted":
            return
    pytest.fail("nothing was compacted")


def test_a_goal_is_there_byte_for_byte_after_every_compaction(tmp_path: Path) -> None:
    """Whatever its lines look like; one that is set meanwhile, by whomever, takes its place."""
    goal = "Ship it.\n  - by Friday\n\n## with\ttabs \u2028 and\r\nodd ends  "
    with open_store(tmp_path / "s.db") as store:
        chat = Chat(
            store,
            MemoryManager(Notes(), limits=PATIENT),
            system="Be brief.",
            goal=goal,
            context_length=6_000,
        )
        assert f"\n{goal}\n\n" in chat.system
        assert chat.ask("go on")[0]["content"] == chat.system
        chat.reply("yes")
        until_compacted(chat)
        assert f"\n{goal}\n\n" in chat.system
        store.change(chat.session.id, goal="Something else.\nAltogether.")
        until_compacted(chat)
        assert "\nSomething else.\nAltogether.\n\n" in chat.system
        assert goal not in chat.system
        chat.close()


def test_a_review_of_a_chat_tells_memory_nothing(tmp_path: Path) -> None:
    """It sees the same prompt, and its compactions and its end are nobody's business."""
    notes = Notes()
    with (
        open_store(tmp_path / "s.db") as store,
        MemoryManager(notes, limits=PATIENT) as manager,
        Chat(store, manager, system="Be brief.", context_length=6_000) as chat,
    ):
        for number in range(6):
            chat.ask(f"question {number} " + "words " * 100)
            chat.reply(f"answer {number} " + "words " * 100)
        manager.flush()
        before = (list(notes.turns), list(notes.folded), list(notes.switches))
        review = chat.session.branch(hidden=True)
        assert review.messages == chat.session.messages
        review.append({"role": "user", "content": "What is worth keeping?"})
        review.compact(force=True, keep_last=1)
        review.close()
        manager.flush()
        assert (notes.turns, notes.folded, notes.switches) == before
