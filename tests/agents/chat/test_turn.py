"""A turn on both wires, over real HTTP: all that was seen is in the store, whatever happens."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from threading import Event
from typing import Any

import pytest

from foldaway import Policy, open_memory, open_store
from foldaway.agents.chat.model import ChatModel
from foldaway.agents.chat.tools import Toolbox
from foldaway.agents.chat.turn import INTERRUPTED, LOST, Turns
from foldaway.errors import SummarizerFailed
from foldaway.sessions import Chat, internals
from foldaway.testing import (
    Cuts,
    ModelRequest,
    ModelServer,
    Reply,
    Says,
    Trickles,
    Waits,
    anthropic_error,
    openai_error,
)
from foldaway.transcript import ToolCall, ToolResult, texts

from .conftest import WIRES, calls, url_of  # pyright: ignore

pytestmark = pytest.mark.slow


class Heard:
    """What a listener was told, and an event for each first piece."""

    def __init__(self) -> None:
        self.text = ""
        self.called: list[str] = []
        self.results: list[str] = []
        self.began = asyncio.Event()

    def say(self, text: str) -> None:
        self.text += text
        self.began.set()

    def call(self, call: ToolCall) -> None:
        self.called.append(call.name)
        self.began.set()

    def result(self, text: str) -> None:
        self.results.append(text)


async def allow(command: str) -> Any:
    return "yes"


Scene = Callable[[Turns, Heard], Awaitable[Any]]


def play(server: ModelServer, wire: str, scene: Scene, *, resume: str = "", **options: Any) -> Any:
    """Run a scene with a chat on the server, and close everything."""

    async def run() -> Any:
        heard = Heard()
        model = ChatModel(f"{wire}:model", url=url_of(server, wire))
        with (
            open_store(Path("home") / "sessions") as store,
            Chat(
                store, open_memory(store), system="Be brief.", dialect=model.dialect,
                model="model", context_length=20_000, policy=Policy(floor_tokens=1_000),
                resume=resume, **options,
            ) as chat,
        ):  # fmt: skip
            turns = Turns(chat, model, Toolbox(chat, ask=allow), heard)
            try:
                return await scene(turns, heard)
            finally:
                await model.close()

    return asyncio.run(run())


def said(turns: Turns) -> list[tuple[str, str]]:
    """Return role and words of the log; of results what they say."""
    rows: list[tuple[str, str]] = []
    for message in internals(turns.chat.session).engine.log.messages:
        for part in message.parts:
            if isinstance(part, ToolResult):
                rows.append(("result", "".join(one.text for one in part.parts)))
            elif isinstance(part, ToolCall):
                rows.append(("call", part.name))
        if words := "\n".join(texts(message)):
            rows.append((message.role, words))
    return [row for row in rows if row[0] not in ("system", "tool")]


@pytest.mark.parametrize("wire", WIRES)
def test_an_answer_is_heard_in_pieces_and_kept_whole(server: ModelServer, wire: str) -> None:
    """With what the provider counted, cached parts included."""
    server.replies(Says("word " * 40, input_tokens=400, cache_read_tokens=300))

    async def scene(turns: Turns, heard: Heard) -> None:
        end = await turns.take("hello")
        assert end.ending == "answered"
        assert heard.text == "word " * 40
        assert said(turns) == [("user", "hello"), ("assistant", "word " * 40)]
        (usage,) = turns.chat.session.store.usage(turns.chat.session.id)
        assert usage.cache_read_tokens == 300

    play(server, wire, scene)
    (request,) = server.requests
    assert [tool for tool in request.body["tools"] if "shell" in str(tool)]


@pytest.mark.parametrize("wire", WIRES)
def test_calls_are_run_and_answered(server: ModelServer, wire: str) -> None:
    """A shell command, with its output and exit code, and then the answer."""
    call = calls("shell", {"command": "echo ready; exit 3"})
    server.replies(lambda request: call(request) if len(server.requests) == 1 else "done")

    async def scene(turns: Turns, heard: Heard) -> None:
        assert (await turns.take("run it")).ending == "answered"
        assert said(turns) == [
            ("user", "run it"), ("call", "shell"), ("result", "ready\n\n[exit code 3]"),
            ("assistant", "done"),
        ]  # fmt: skip
        assert heard.called == ["shell"]

    play(server, wire, scene)
    assert len(server.requests) == 2


@pytest.mark.parametrize("wire", WIRES)
def test_an_interrupted_answer_is_kept_as_it_was_seen(server: ModelServer, wire: str) -> None:
    """The connection is closed, and the next turn is a valid request."""
    server.replies(Trickles(Says("slowly " * 4_000), 0.0001))

    async def scene(turns: Turns, heard: Heard) -> None:
        task = asyncio.create_task(turns.take("tell me"))
        await heard.began.wait()
        task.cancel()
        assert (await task).ending == "interrupted"
        assert said(turns) == [("user", "tell me"), ("assistant", heard.text)]
        assert await asyncio.to_thread(server.requests[0].left.wait, 30)
        server.replies("now")
        await turns.take("again")
        assert said(turns)[2:] == [("user", "again"), ("assistant", "now")]

    play(server, wire, scene)


@pytest.mark.parametrize("wire", WIRES)
def test_an_interrupt_before_the_first_word_loses_nothing(server: ModelServer, wire: str) -> None:
    """The message is there, and can be answered later without being said again."""
    server.replies(Waits(Event()))

    async def scene(turns: Turns, heard: Heard) -> None:
        task = asyncio.create_task(turns.take("tell me"))
        while not server.requests:
            await asyncio.sleep(0.001)
        task.cancel()
        assert (await task).ending == "interrupted"
        assert turns.is_open
        server.replies("here it is")
        assert (await turns.take()).ending == "answered"
        assert said(turns) == [("user", "tell me"), ("assistant", "here it is")]

    play(server, wire, scene)


@pytest.mark.parametrize("wire", WIRES)
def test_an_interrupted_command_ends_and_its_call_says_so(server: ModelServer, wire: str) -> None:
    """Nothing that it started goes on."""
    server.replies(calls("shell", {"command": "sleep 300; touch late"}))

    async def scene(turns: Turns, heard: Heard) -> None:
        task = asyncio.create_task(turns.take("wait"))
        await heard.began.wait()
        await asyncio.sleep(0)
        task.cancel()
        assert (await task).ending == "interrupted"
        assert said(turns) == [("user", "wait"), ("call", "shell"), ("result", INTERRUPTED)]
        server.replies("fine")
        await turns.take("go on")

    play(server, wire, scene)


FAILURES: dict[str, dict[str, Reply]] = {
    "an error": {"openai": openai_error(400), "anthropic": anthropic_error(400, "bad_request")},
    "a stream that breaks": dict.fromkeys(WIRES, Cuts(Says("half " * 200), 1_500)),
}


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("name", FAILURES)
def test_a_failure_is_a_sentence_and_what_was_seen_stays(
    server: ModelServer, wire: str, name: str
) -> None:
    """The turn can be repeated, and no request breaks a rule."""
    server.replies(FAILURES[name][wire])

    async def scene(turns: Turns, heard: Heard) -> None:
        end = await turns.take("hello")
        assert end.ending == "failed"
        assert end.sentence.startswith(f"{wire}:model: broken answer")
        kept = [("assistant", heard.text)] if heard.text else []
        assert said(turns) == [("user", "hello"), *kept]
        assert bool(kept) == (name != "an error")
        server.replies("better")
        assert (await turns.take("again")).ending == "answered"

    play(server, wire, scene)


@pytest.mark.parametrize("wire", WIRES)
def test_a_call_that_a_crash_left_open_is_mended(server: ModelServer, wire: str) -> None:
    """The process ended between a call and its result; the session goes on from there."""
    server.replies(calls("shell", {"command": "true"}))

    async def crash(turns: Turns, heard: Heard) -> str:
        answer = await turns.model.answer({"max_tokens": 9} if wire == "anthropic" else {}, [
            {"role": "user", "content": "x"}], heard.say)  # fmt: skip
        turns.chat.session.append({"role": "user", "content": "run"}, answer.message)
        return turns.chat.session.id

    name = play(server, wire, crash)

    async def resume(turns: Turns, heard: Heard) -> None:
        assert turns.mend() == 1
        assert turns.mend() == 0
        assert said(turns)[-1] == ("result", LOST)
        server.replies("gone")
        assert (await turns.take()).ending == "answered"

    play(server, wire, resume, resume=name)


@pytest.mark.parametrize("wire", WIRES)
def test_a_long_talk_is_compacted_and_its_log_is_whole(server: ModelServer, wire: str) -> None:
    """Every message is in the log, however often it was folded."""

    def answer(request: ModelRequest) -> str:
        return f"answer {len(server.requests)} " + "and more words " * 150

    server.replies(answer)

    async def scene(turns: Turns, heard: Heard) -> None:
        for number in range(30):
            assert (await turns.take(f"question {number}")).ending == "answered"
        assert turns.chat.session.info.compactions
        asked = [words for role, words in said(turns) if role == "user"]
        assert asked == [f"question {number}" for number in range(30)]
        assert len(said(turns)) == 60

    play(server, wire, scene)


def test_a_model_without_a_key_says_which(monkeypatch: pytest.MonkeyPatch) -> None:
    """Before anything is asked."""
    for wire, variable in (("openai", "OPENAI_API_KEY"), ("anthropic", "ANTHROPIC_API_KEY")):
        monkeypatch.delenv(variable)
        with pytest.raises(SummarizerFailed, match=variable):
            asyncio.run(ChatModel(f"{wire}:model").connect())


def test_the_prompt_of_a_claude_is_marked_for_its_cache(
    server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The system prompt and the newest messages, as Anthropic wants it."""
    monkeypatch.setenv("ANTHROPIC_BASE_URL", server.anthropic_url)

    async def ask() -> None:
        model = ChatModel("claude-opus-5")
        frame = model.frame("Be brief.", [])
        await model.answer(frame, [{"role": "user", "content": "hello"}], lambda text: None)
        await model.close()

    asyncio.run(ask())
    (request,) = server.requests
    assert request.raw.count(b"cache_control") == 2


def test_a_name_alone_finds_its_wire() -> None:
    """A Claude is Anthropic's; a kind before the name counts more; colons are part of names."""
    assert ChatModel("claude-x").spec == "anthropic:claude-x"
    assert ChatModel("openai:claude-x").spec == "openai:claude-x"
    assert ChatModel("llama3:8b").spec == "openai:llama3:8b"
    assert ChatModel("anthropic:model").switch_to("other").spec == "anthropic:other"
