"""What is asked and what is answered, where nothing fails."""

from __future__ import annotations

import asyncio
import os
import signal
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from msgspec.structs import replace

from foldaway._core.ports import CachedPrefix, SummaryAnswer, SummaryRequest
from foldaway.errors import SummarizerFailed, WrongDialect

pytest.importorskip("starlette", reason="the model server needs starlette")

from foldaway.testing import ModelRequest, ModelServer, Says, Sends, Waits, openai_error

SCHEMA = {
    "type": "object",
    "properties": {"goal": {"type": "string"}},
    "required": ["goal"],
    "additionalProperties": False,
}
TEXT = "Ziel: die Prüfung läuft 🦊 — " * 4


def test_an_answer_comes_with_its_figures(
    api: Any, server: ModelServer, question: SummaryRequest, ask: Callable[..., SummaryAnswer]
) -> None:
    """Text, model and tokens; what went through the cache is a part of the input."""
    server.replies(Says(TEXT, input_tokens=90, output_tokens=12, cache_read_tokens=30))
    answer = ask(api.at(api.url(server)), question, 20)
    total = 120 if api.package == "anthropic" else 90
    assert answer == SummaryAnswer(
        text=TEXT, model="model-x", input_tokens=total, output_tokens=12, cache_read_tokens=30
    )
    assert [request.api for request in server.requests] == [api.answers_as]


@pytest.mark.parametrize("stopped", ["length", "refusal"])
def test_why_a_model_stopped_is_kept(
    stopped: Any, api: Any, server: ModelServer, question: SummaryRequest
) -> None:
    """A cut or a refusal is no failure here: the gate decides."""
    server.replies(Says("some words", stopped))
    answer = api.at(api.url(server)).summarize(question, 20)
    assert (answer.text, answer.stopped) == ("some words", stopped)


def test_a_server_that_does_not_stream_is_read_too(
    api: Any, server: ModelServer, question: SummaryRequest
) -> None:
    """Some servers answer a request for a stream with a whole body."""
    if api.package == "litellm":
        pytest.skip("litellm reads only streams")
    from foldaway.testing.model_replies import chat, messages, responses

    write = {"chat": chat, "responses": responses, "messages": messages}[api.answers_as]

    def whole(request: ModelRequest) -> Sends:
        body = write({**request.body, "stream": False}, Says("a whole answer"))
        assert isinstance(body, dict)
        return Sends(body=body)

    server.replies(whole)
    assert api.at(api.url(server)).summarize(question, 20).text == "a whole answer"


def test_a_schema_goes_along(api: Any, server: ModelServer, question: SummaryRequest) -> None:
    """Each API has its own field for it."""
    server.replies('{"goal": "x"}')
    api.at(api.url(server)).summarize(replace(question, schema=SCHEMA), 20)
    body = server.requests[0].body
    sent = {
        "chat": lambda: body["response_format"]["json_schema"]["schema"],
        "responses": lambda: body["text"]["format"]["schema"],
        "messages": lambda: body["output_config"]["format"]["schema"],
    }[api.answers_as]()
    assert sent == SCHEMA


def test_a_server_that_takes_no_schema_is_asked_once_more_and_then_never_again(
    api: Any, server: ModelServer, question: SummaryRequest, ask: Callable[..., SummaryAnswer]
) -> None:
    """The same call falls back to plain text; the instance remembers."""
    fields = ("response_format", "text", "output_config")

    def script(request: ModelRequest) -> str | Sends:
        named = next((field for field in fields if field in request.body), None)
        words = "text.format" if named == "text" else named
        return openai_error(400, message=f"'{words}' is not supported here") if named else "plain"

    server.replies(script)
    summarizer = api.at(api.url(server))
    asked = replace(question, schema=SCHEMA)
    assert ask(summarizer, asked, 20).text == "plain"
    assert ask(summarizer, asked, 20).text == "plain"
    assert len(server.requests) == 3


def test_nothing_before_the_appended_message_of_a_prefix_changes(
    api: Any, server: ModelServer, question: SummaryRequest
) -> None:
    """The cached prefix is sent letter for letter; one user message comes after it."""
    if api.package == "litellm":
        pytest.importorskip("mcp", reason="litellm needs mcp where there are tools")
    server.replies("a summary")
    prefix = PREFIXES[api.answers_as]
    api.at(api.url(server)).summarize(replace(question, prefix=prefix, schema=SCHEMA), 20)
    body = server.requests[0].body
    sent = body["input"] if api.answers_as == "responses" else body["messages"]
    assert sent[:-1] == list(prefix.messages)
    assert sent[-1] == {"role": "user", "content": "Summarise.\n\nthe planted conversation"}
    assert body["tools"] == list(prefix.tools)
    assert body.get("system", body.get("instructions")) == prefix.system
    # a schema, or at Anthropic another tool_choice, would cost the cache
    assert not {"response_format", "text", "output_config"} & set(body)
    assert body.get("tool_choice") == (None if api.answers_as == "messages" else "none")


def test_a_prefix_of_another_api_is_a_mistake_of_the_caller(
    api: Any, server: ModelServer, question: SummaryRequest, ask: Callable[..., SummaryAnswer]
) -> None:
    """It cannot be sent, and nothing is."""
    prefix = CachedPrefix(dialect="gemini", messages=[])
    with pytest.raises(WrongDialect):
        ask(api.at(api.url(server)), replace(question, prefix=prefix), 20)
    assert server.requests == []


def test_a_cancelled_task_closes_its_connection(
    api: Any, server: ModelServer, question: SummaryRequest
) -> None:
    """The server sees the client leave, and the caller gets its cancellation."""
    asked = threading.Event()

    def script(request: ModelRequest) -> Waits:
        asked.set()
        return Waits(threading.Event())

    server.replies(script)

    async def main() -> None:
        summarizer = api.at(api.url(server))
        task = asyncio.create_task(summarizer.asummarize(question, 60))
        await asyncio.to_thread(asked.wait, 20)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        if getattr(summarizer, "_tidy", None):
            await summarizer._tidy()

    asyncio.run(main())
    assert server.requests[0].left.wait(20)


@pytest.fixture
def interruptible() -> Iterator[None]:
    """Take Control-C as a shell's own job does; what it starts in the background ignores it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("interruptible")
def test_an_interrupt_of_the_caller_closes_the_connection(
    api: Any, server: ModelServer, question: SummaryRequest
) -> None:
    """Control-C while `summarize` waits: the request is given up, and the interrupt passes."""

    def script(request: ModelRequest) -> Waits:
        os.kill(os.getpid(), signal.SIGINT)
        return Waits(threading.Event())

    server.replies(script)
    with pytest.raises(KeyboardInterrupt):
        api.at(api.url(server)).summarize(question, 60)
    assert server.requests[0].left.wait(20)


def test_an_interrupt_while_the_thread_starts_closes_the_connection(
    api: Any, server: ModelServer, question: SummaryRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A busy machine may send the request before the caller is back from starting the thread."""
    asked = threading.Event()
    start = threading.Thread.start

    def script(request: ModelRequest) -> Waits:
        asked.set()
        return Waits(threading.Event())

    def interrupted(thread: threading.Thread) -> None:
        start(thread)
        if thread.name == "foldaway-summarizer":
            assert asked.wait(20)
            raise KeyboardInterrupt

    monkeypatch.setattr(threading.Thread, "start", interrupted)
    server.replies(script)
    with pytest.raises(KeyboardInterrupt):
        api.at(api.url(server)).summarize(question, 60)
    assert server.requests[0].left.wait(20)


def test_waiting_works_inside_a_running_loop(
    api: Any, server: ModelServer, question: SummaryRequest
) -> None:
    """A notebook has a loop already; `summarize` has its own."""
    server.replies("a summary")

    async def main() -> str:
        return api.at(api.url(server)).summarize(question, 20).text

    assert asyncio.run(main()) == "a summary"


def test_no_thread_is_left_after_a_call(
    api: Any, server: ModelServer, question: SummaryRequest
) -> None:
    """Neither after an answer nor after a timeout."""
    server.replies("a summary")
    summarizer = api.at(api.url(server))
    summarizer.summarize(question, 20)
    server.replies(Waits(threading.Event()))
    with pytest.raises(SummarizerFailed):
        summarizer.summarize(question, 0.2)
    assert not [each for each in threading.enumerate() if each.name.startswith("foldaway")]


@pytest.mark.slow
def test_an_answer_without_end_is_cut_off(
    api: Any, server: ModelServer, question: SummaryRequest
) -> None:
    """A server that ignores the limit does not fill the memory."""
    server.replies(Says(" ".join(map(str, range(12_000)))))
    answer = api.at(api.url(server)).summarize(question, 20)
    assert answer.stopped == "length"
    assert len(answer.text) <= 20 * question.max_tokens + 50_000


TOOLS = {
    "chat": {"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}},
    "responses": {
        "type": "function",
        "name": "f",
        "parameters": {"type": "object"},
        "strict": True,
    },
    "messages": {"name": "f", "input_schema": {"type": "object"}},
}

PREFIXES = {
    "chat": CachedPrefix(
        dialect="openai-chat",
        messages=[{"role": "system", "content": "s"}, {"role": "user", "content": "hello"}],
        tools=[TOOLS["chat"]],
    ),
    "responses": CachedPrefix(
        dialect="openai-responses",
        system="s",
        messages=[{"role": "user", "content": "hello"}],
        tools=[TOOLS["responses"]],
    ),
    "messages": CachedPrefix(
        dialect="anthropic",
        system=[{"type": "text", "text": "s", "cache_control": {"type": "ephemeral"}}],
        messages=[
            {
                "role": "user",
                "content": [
                    {"type": "text", "text": "hello", "cache_control": {"type": "ephemeral"}}
                ],
            }
        ],
        tools=[TOOLS["messages"]],
    ),
}
