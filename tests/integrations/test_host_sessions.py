"""Sessions of a host by its own ids: what every adapter stands on."""

from __future__ import annotations

import asyncio
import inspect
import re
import threading
from pathlib import Path
from typing import Any, get_type_hints

import pytest

from foldaway import check
from foldaway.integrations.host_sessions import (
    HOST_TOOLS,
    HostRequest,
    HostSessions,
    HostTurn,
    owned_key,
)
from foldaway.stores.open import open_store
from foldaway.transcript import Payload

WINDOW = 8_000


class Note:
    """A message of a host that has objects of its own."""

    def __init__(self, role: str, text: str) -> None:
        self.role, self.text = role, text


class NoteForm:
    """One payload for each."""

    def messages_of(self, own: Note) -> list[Payload]:
        return [{"role": own.role, "content": own.text}]

    def built(self, messages: Any, own: Any, listed: Any) -> list[Note]:
        return [Note(one["role"], str(one["content"])) for one in messages]


def notes(turns: int, word: str = "many words") -> list[Note]:
    """Return a conversation that ends with a question."""
    said = [
        Note(role, f"{role} {at}: " + f"{word} " * 120)
        for at in range(turns)
        for role in ("user", "assistant")
    ]
    return [*said, Note("user", "and now?")]


def asked(own: list[Note], key: str = "thread-1", **more: Any) -> HostRequest:
    return HostRequest(key=key, dialect="openai-chat", own=own, form=NoteForm(), **more)


def sessions(folder: Path, **options: Any) -> HostSessions:
    options = {"context_length": WINDOW, "on_error": "raise", **options}
    return HostSessions("test", folder / "sessions.db", **options)


def test_a_thread_without_its_list_finds_what_the_store_has(tmp_path: Path) -> None:
    """A new process that hands over only what is said now, under the same id: a search finds what
    was said before, and recall gives the place that it names."""
    first = sessions(tmp_path)
    assert first.turn(asked(notes(30, "kestrel port"))).is_changed
    again = sessions(tmp_path)
    again.turn(asked([Note("user", "Which port has the kestrel?")]))
    found = again.answer("thread-1", "foldaway_search", {"text": "assistant 3: kestrel"})
    place = re.search(r"recall (m7@\w+)", found)
    assert place is not None, found
    said = again.answer("thread-1", "foldaway_recall", {"ref": place[1]})
    assert "assistant 3: kestrel port" in said
    found = again.answer("thread-1", "foldaway_search", {"text": "a word that nobody said"})
    assert found.startswith("nothing that was folded")
    found = sessions(tmp_path).answer("thread-2", "foldaway_search", {"text": "kestrel"})
    assert found.startswith("nothing that was folded")


class TooLong(Exception):
    """As a provider says it."""

    status_code = 400


def refusal(tokens: int) -> TooLong:
    return TooLong(f"This model's maximum context length is {tokens} tokens.")


def test_messages_that_stay_are_the_hosts_own_objects(tmp_path: Path) -> None:
    """What changed is built by the form; the rest is not touched."""
    own = notes(30)
    sent = sessions(tmp_path).send(asked(own), lambda given: given, lambda _: None)
    assert len(sent) < len(own)
    assert sent[-1] is own[-1]
    assert sum(one in own for one in sent) >= 2
    assert check([{"role": one.role, "content": one.text} for one in sent]) == []


def test_a_list_that_fits_goes_on_as_it_is(tmp_path: Path) -> None:
    """No message is rebuilt if nothing is due."""
    own = notes(2)
    sent = sessions(tmp_path).send(asked(own), lambda given: given, lambda _: None)
    assert all(one is other for one, other in zip(sent, own, strict=True))


def test_a_conversation_is_found_again_by_its_key(tmp_path: Path) -> None:
    """In another process the same list gives the same request."""
    own = notes(30)
    first = sessions(tmp_path).turn(asked(own)).messages
    again = sessions(tmp_path).turn(asked(own)).messages
    assert [one.text for one in first] == [one.text for one in again]
    with open_store(tmp_path / "sessions.db") as store:
        other = HostSessions("test", store, context_length=WINDOW).turn(asked(own)).messages
    assert [one.text for one in other] == [one.text for one in first]


def test_a_refused_request_is_made_smaller_and_sent_again(tmp_path: Path) -> None:
    """By the window that the provider names; other errors come out as they are."""
    sizes: list[int] = []

    def call(given: list[Note]) -> str:
        sizes.append(sum(len(one.text) for one in given))
        if sizes[-1] > 9_000:
            raise refusal(3_000)
        return "answered"

    wide = sessions(tmp_path, context_length=32_000)
    assert wide.send(asked(notes(12)), call, lambda _: None) == "answered"
    assert len(sizes) == 2
    with pytest.raises(ValueError, match="another"):
        wide.send(asked(notes(12)), _fail, lambda _: None)


def _fail(given: list[Note]) -> str:
    raise ValueError("another error")


def test_hosts_that_await_get_the_same(tmp_path: Path) -> None:
    """The sessions work in a thread, and the loop goes on meanwhile."""

    async def call(given: list[Note]) -> list[Note]:
        return given

    own, threads = notes(30), set[int]()

    def usage_of(answer: list[Note]) -> Payload:
        threads.add(threading.get_ident())
        return {"prompt_tokens": 900}

    sent = asyncio.run(sessions(tmp_path).asend(asked(own), call, usage_of))
    assert len(sent) < len(own)
    assert threads
    assert threading.get_ident() not in threads


def test_usage_is_kept_with_the_request_that_it_is_about(tmp_path: Path) -> None:
    """Also if another request of the same conversation came in between."""
    made = sessions(tmp_path)
    one, other = made.turn(asked(notes(2))), made.turn(asked([Note("user", "a subagent's task")]))
    one.used(lambda: {"prompt_tokens": 1_234, "completion_tokens": 5})
    held = made.held(asked(notes(2)))
    assert held.last is one
    assert other.messages[0].text == "a subagent's task"


def test_what_was_folded_is_recalled_and_found(tmp_path: Path) -> None:
    """By the tools that hosts offer; an unknown reference is a sentence."""
    made, own = sessions(tmp_path), notes(30)
    own[1].text = "the port is 5433. " + own[1].text
    made.turn(asked(own))
    assert [tool.name for tool in HOST_TOOLS] == ["foldaway_recall", "foldaway_search"]
    assert "5433" in made.answer("thread-1", "foldaway_recall", {"ref": "m1"})
    assert "5433" in made.answer("thread-1", "foldaway_search", {"text": "the port"})
    assert "5433" not in made.answer("thread-2", "foldaway_search", {"text": "the port"})
    assert made.answer("thread-1", "foldaway_recall", {"ref": "fa-0000000000"})


def test_the_tools_are_functions_that_frameworks_can_read(tmp_path: Path) -> None:
    """Their types and docstrings say what the schemas of the tools say; an argument that is None is
    not given.
    """
    made = sessions(tmp_path)
    made.turn(asked(notes(30)))
    recall, search = made.functions("thread-1")
    assert [one.__name__ for one in (recall, search)] == [one.name for one in HOST_TOOLS]
    for function, tool in zip((recall, search), HOST_TOOLS, strict=True):
        given = inspect.signature(function).parameters
        needed = [name for name, one in given.items() if one.default is inspect.Parameter.empty]
        assert list(given) == list(tool.parameters["properties"])
        assert needed == tool.parameters["required"]
        assert get_type_hints(function)["return"] is str
        assert all(f"{name}: " in (function.__doc__ or "") for name in given)
    assert recall("m1", None) == made.answer("thread-1", "foldaway_recall", {"ref": "m1"})
    assert "assistant 3" in search(text="assistant 3")
    with pytest.raises(TypeError):
        search()


def test_a_subagent_has_a_session_and_a_budget_of_its_own(tmp_path: Path) -> None:
    """It is a child of the conversation that it works for, which is not touched."""
    made = sessions(tmp_path)
    made.turn(asked(notes(2)))
    child = asked(notes(30, "other words"), "sub-1", parent="thread-1")
    assert len(made.turn(child).messages) < len(child.own)
    held = made.held(child).session
    assert held.info.descent == "delegation"
    assert held.info.parent_id == made.held(asked([])).session.id


def test_a_fault_of_ours_sends_the_hosts_own_list(tmp_path: Path) -> None:
    """A store that cannot be opened, and messages that no form can read."""
    (tmp_path / "sessions.db").write_bytes(b"not a database" * 400)
    own = notes(30)
    made = sessions(tmp_path, on_error="pass")
    assert made.send(asked(own), lambda given: given, lambda _: 1 / 0) == own
    assert made.answer("thread-1", "foldaway_recall", {"ref": "m1"})
    odd = [object()]
    assert made.send(asked(odd), lambda given: given, lambda _: None) == odd  # type: ignore[arg-type]


def test_a_conversation_without_a_name_is_known_by_its_start(tmp_path: Path) -> None:
    """As soon as the model has spoken; until then it passes."""
    made, own = sessions(tmp_path), notes(30)
    assert made.turn(asked(own[:1], "")).followed is None
    first = made.turn(asked(own, "")).messages
    assert len(first) < len(own)
    longer = [*own, Note("assistant", "yes"), Note("user", "go on")]
    assert made.turn(asked(longer, "")).messages[0].text == first[0].text


def test_a_model_of_another_wire_gets_a_session_of_its_own(tmp_path: Path) -> None:
    """The key stays the host's; what was said before comes in the list again."""
    made, own = sessions(tmp_path), notes(30)
    made.turn(asked(own))
    other = HostRequest(key="thread-1", dialect="anthropic", own=own, form=NoteForm())
    assert len(made.turn(other).messages) < len(own)
    assert made.held(other) is not made.held(asked(own))


def test_a_message_that_cannot_be_built_leaves_the_hosts_list(tmp_path: Path) -> None:
    """The form of an adapter may fail on what it does not know; the request goes out whole."""

    class Failing(NoteForm):
        def built(self, messages: Any, own: Any, listed: Any) -> list[Note]:
            raise KeyError("text")

    own = notes(30)
    request = HostRequest(key="thread-1", dialect="openai-chat", own=own, form=Failing())
    assert sessions(tmp_path, on_error="pass").turn(request).messages == own


def test_the_same_name_under_two_api_keys_is_two_conversations():
    """Nobody reaches a conversation by guessing its name, and no key can be read from it."""
    one, two = owned_key("sk-a", "task"), owned_key("sk-b", "task")
    assert one != two
    assert one == owned_key("sk-a", "task")
    assert "sk-a" not in one


def test_a_host_that_tells_late_finds_its_last_request(tmp_path: Path) -> None:
    """It may have failed, which the host says when it asks again; no other thread has it."""
    made, own = sessions(tmp_path), notes(3)
    turn = made.turn(asked(own))
    assert made.last_turn("thread-1") is turn
    assert turn.asked.own is own
    assert made.last_turn("thread-2").asked.own == ()
    assert not made.last_turn("thread-2").recover(refusal(4_000))


def test_a_compaction_that_somebody_asks_for_is_done_below_the_window(tmp_path: Path) -> None:
    """Also if the list would have fitted; there may be nothing to fold."""
    made, own = sessions(tmp_path), notes(12)
    turn = made.turn(asked(own))
    assert turn.messages == own
    assert turn.compact()
    assert len(turn.messages) < len(own)
    assert not made.turn(asked(notes(0), "thread-2")).compact()


def test_a_tool_of_the_provider_does_not_stop_a_conversation_from_being_followed(
    tmp_path: Path,
) -> None:
    """It has neither a name nor parameters; functions count with the request."""
    made = sessions(tmp_path)
    tools = [{"type": "web_search"}, {"name": "read"}]
    request = asked(notes(30), tools=tools)
    assert made.turn(request).is_changed
    anthropic = HostRequest(
        key="thread-2", dialect="anthropic", own=notes(30), form=NoteForm(), tools=tools
    )
    assert made.turn(anthropic).is_changed


def test_an_argument_that_is_none_was_not_given(tmp_path: Path) -> None:
    """Frameworks fill in what a model leaves out."""
    made = sessions(tmp_path)
    made.turn(asked(notes(30)))
    given = {"ref": "m1", "offset": None, "limit": None}
    answer = made.answer("thread-1", "foldaway_recall", given)
    assert answer == made.answer("thread-1", "foldaway_recall", {"ref": "m1"})
    assert "assistant 0" in answer


def test_a_request_that_is_still_to_come_has_nothing_to_send_or_recover(tmp_path: Path) -> None:
    """Hosts have hooks that may be called before their first request."""
    turn = HostTurn(sessions(tmp_path))
    turn.used(lambda: {"input_tokens": 1})
    assert turn.messages == []
    assert not turn.recover(refusal(4_000))
