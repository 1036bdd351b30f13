"""Clients of providers whose requests stay inside the window, against the strict stub."""

from __future__ import annotations

import asyncio
import gc
import json
import sys
import threading
from collections.abc import Generator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, cast

import pytest
from msgspec.structs import replace

from foldaway import wrap
from foldaway.errors import InvalidSetting
from foldaway.stores.open import open_store
from foldaway.stores.values import SessionFilter
from foldaway.testing import ModelServer, openai_error

openai = pytest.importorskip("openai")
WINDOW = 8_000
TURNS = 9
"""Calls of a phase: more than two windows hold of their results."""


def history(turns: int) -> list[Any]:
    """Return a chat that ends with a question."""
    said = [
        {"role": role, "content": f"{role} {at}: " + "many words " * 120}
        for at in range(turns)
        for role in ("user", "assistant")
    ]
    return [*said, {"role": "user", "content": "and now?"}]


def client(server: ModelServer, folder: Path, *, is_async: bool = False, **options: Any) -> Any:
    """Return a wrapped client of a server."""
    kind = openai.AsyncOpenAI if is_async else openai.OpenAI
    made = kind(base_url=server.openai_url, api_key="none", max_retries=0)
    options = {"context_length": WINDOW, "on_error": "raise", **options}
    return wrap(made, store=folder / "sessions.db", **options)


def sent(server: ModelServer) -> list[Any]:
    return server.requests[-1].body["messages"]


@pytest.mark.shared
@pytest.mark.parametrize("wire", [
    "chat", *(pytest.param(name, marks=pytest.mark.soak) for name in ("responses", "messages")),
])  # fmt: skip
def test_a_conversation_is_compacted_restarted_and_valid(
    wire: str, stub: Any, tmp_path: Path
) -> None:
    """Awaited in one process and streamed in the next, with tools; no request breaks a rule."""
    pytest.importorskip("anthropic" if wire == "messages" else "openai")
    runner = sys.modules["frameworks_run"]
    row = runner.Played("openai", wire, "", "foldaway")
    for phase in runner.SCENARIO.phases[1:3]:
        short = replace(phase, turns=TURNS)
        given = (stub, short, "openai", Path(sys.executable), row, tmp_path, WINDOW + 2_000)
        assert runner.played_phase(*given) == ""
    runner.judge(row, tmp_path / "log")
    assert (row.invalid, row.too_long) == (0, 0)
    assert runner.compactions_in(tmp_path / runner.STORE) >= 3


def test_it_is_the_same_client_in_every_other_respect(tmp_path: Path) -> None:
    """Its type, raw responses, copies with other options, and streams of any kind."""
    with ModelServer("said") as server:
        wrapped = client(server, tmp_path, key="one")
        assert isinstance(wrapped, openai.OpenAI)
        asked: Any = {"model": "m", "messages": history(30)}
        raw = wrapped.chat.completions.with_raw_response.create(**asked)
        assert raw.parse().choices[0].message.content == "said"
        first = sent(server)
        assert len(first) < 61
        copied = wrapped.with_options(timeout=9.0)
        copied.chat.completions.create(**asked)
        assert sent(server) == first
        for given in ({}, {"stream_options": {"include_usage": True}}):
            pieces = copied.chat.completions.create(**asked, stream=True, **given)
            said = [one.choices[0].delta.content or "" for one in pieces if one.choices]
            assert "".join(said) == "said"
        assert sent(server) == first


def test_a_client_that_awaits_streams_too(tmp_path: Path) -> None:
    """By the same transport."""

    async def play(server: ModelServer) -> str:
        wrapped = client(server, tmp_path, is_async=True, key="one")
        asked: Any = {"model": "m", "messages": history(30), "stream": True}
        pieces = await wrapped.chat.completions.create(**asked)
        said = [one.choices[0].delta.content or "" async for one in pieces if one.choices]
        await wrapped.close()
        return "".join(said)

    with ModelServer("said") as server:
        assert asyncio.run(play(server)) == "said"
        assert len(sent(server)) < 61


def test_an_http_client_is_enough(tmp_path: Path) -> None:
    """For frameworks that make the client of the provider themselves."""
    with ModelServer("said") as server, openai.DefaultHttpxClient() as http:
        wrapped = wrap(http, "one", store=tmp_path, context_length=WINDOW)
        made = openai.OpenAI(base_url=server.openai_url, api_key="none", http_client=wrapped)
        made.chat.completions.create(model="m", messages=history(30))
        assert len(sent(server)) < 61
        assert "assistant 0" in wrapped.foldaway.functions("one")[0]("m1")


def test_a_request_may_name_another_conversation(tmp_path: Path) -> None:
    """By a header that the provider does not get; each has what it folded, and no other's."""
    with ModelServer("said") as server:
        wrapped = client(server, tmp_path, key="one")
        for name in ("one", "two"):
            listed = history(30)
            listed[1]["content"] = f"the secret of {name}. {listed[1]['content']}"
            given = {} if name == "one" else {"extra_headers": {"x-foldaway-session": name}}
            wrapped.chat.completions.create(model="m", messages=listed, **given)
            assert "x-foldaway-session" not in server.requests[-1].headers
        found = wrapped.foldaway.answer("two", "foldaway_search", {"text": "the secret of"})
        assert "of two" in found
        assert "of one" not in found


def test_a_refused_request_is_sent_again_smaller(tmp_path: Path) -> None:
    """The caller sees only the answer; any other refusal comes out as it is."""
    words = "This model's maximum context length is 4000 tokens."
    with ModelServer() as server:

        def reply(request: Any) -> Any:
            is_long = len(request.raw) > 14_000
            return openai_error(400, "context_length_exceeded", words) if is_long else "said"

        server.replies(reply)
        wrapped = client(server, tmp_path, key="one", context_length=64_000)
        done = wrapped.chat.completions.create(model="m", messages=history(20))
        assert done.choices[0].message.content == "said"
        assert len(server.requests) == 2
        server.replies(openai_error(400, "invalid_value", "no"))
        with pytest.raises(openai.BadRequestError, match="no"):
            wrapped.chat.completions.create(model="m", messages=history(20))


def test_usage_is_taken_from_answers_and_streams(tmp_path: Path) -> None:
    """It is in the store, with the conversation."""
    with ModelServer("said") as server:
        wrapped = client(server, tmp_path, key="one")
        asked: Any = {"model": "m", "messages": history(3)}
        wrapped.chat.completions.create(**asked)
        asked["messages"] = [*history(3), *history(1)[1:]]
        list(wrapped.chat.completions.create(
            **asked, stream=True, stream_options={"include_usage": True}
        ))  # fmt: skip
        session = wrapped.foldaway.held(_of("one")).session
        assert len(session.store.usage(session.id)) == 2


def _of(key: str) -> Any:
    from foldaway.integrations.host_sessions import HostRequest

    return HostRequest(key=key, dialect="openai-chat")


def test_a_fault_of_ours_sends_the_request_as_it_came(tmp_path: Path) -> None:
    """A store that cannot be read costs a compaction, not a request."""
    (tmp_path / "sessions.db").write_bytes(b"not a database" * 400)
    with ModelServer("said") as server:
        wrapped = client(server, tmp_path, key="one", on_error="pass")
        wrapped.chat.completions.create(model="m", messages=history(30))
        assert sent(server) == json.loads(json.dumps(history(30)))


def test_what_is_no_client_is_refused() -> None:
    """Before anything is sent."""
    with pytest.raises(InvalidSetting):
        wrap(object())


def test_a_client_that_nobody_closes_leaves_no_open_socket(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Clients of openai close themselves when they are let go; wrapped ones do, too."""
    seen: list[Any] = []
    monkeypatch.setattr(sys, "unraisablehook", seen.append)
    (tmp_path / "sessions.db").write_bytes(b"not a database" * 400)
    for turns in (1, 30, 30, 60):
        with ModelServer("said") as server:
            wrapped = client(server, tmp_path, key="one", on_error="pass")
            wrapped.chat.completions.create(model="m", messages=history(turns))
        del wrapped
        gc.collect()
    assert [str(one.exc_value) for one in seen] == []


def test_a_client_that_is_kept_still_works_after_its_wrapped_copy_is_gone(tmp_path: Path) -> None:
    """The two share their connections."""
    with ModelServer("said") as server, openai.OpenAI(
        base_url=server.openai_url, api_key="none", max_retries=0
    ) as own:  # fmt: skip
        wrapped = wrap(own, "one", store=tmp_path / "sessions.db")
        wrapped.chat.completions.create(model="m", messages=history(1))
        del wrapped
        gc.collect()
        own.chat.completions.create(model="m", messages=history(1))


class CollectingStore:
    """A store in one of whose next calls the garbage is collected, as it may be at any moment."""

    def __init__(self, store: Any) -> None:
        self._store, self.left = store, 0

    def __getattr__(self, name: str) -> Any:
        self.left -= 1
        if self.left == 0:
            gc.collect()
        return getattr(self._store, name)


@pytest.mark.slow
def test_a_stream_that_is_collected_during_the_next_request_does_not_disturb_it(
    tmp_path: Path,
) -> None:
    """Clients that stop reading at the last event close it then: what is sent has all that the
    host has, and the usage of every answer is kept.
    """
    gc.collect()
    gc.disable()  # only while a request is followed
    with ModelServer("said") as server, open_store(tmp_path / "sessions.db") as store:
        made = openai.OpenAI(base_url=server.openai_url, api_key="none", max_retries=0)
        collecting = CollectingStore(store)
        wrapped = wrap(made, "one", store=cast("Any", collecting), context_length=WINDOW,
                       on_error="raise")  # fmt: skip
        listed = history(3)
        try:
            for number in range(60):
                collecting.left = 1 + number % 12
                stream = wrapped.chat.completions.create(
                    model="m", messages=listed, stream=True, stream_options={"include_usage": True}
                )
                stream.itself = stream  # so that only the collector lets it go
                assert next(one for one in stream if one.usage)
                del stream
                assert sent(server)[-1] == listed[-1]
                listed += [
                    {"role": "assistant", "content": "said"},
                    {"role": "user", "content": f"{number}: " + "more words " * 120},
                ]
            gc.collect()
        finally:
            gc.enable()
        session = wrapped.foldaway.held(_of("one")).session
        assert len(store.usage(session.id)) == 60
        assert store.session(session.id).compactions
        wrapped.close()


class RefusingInStream(BaseHTTPRequestHandler):
    """A provider of Responses that says inside the stream that a request is too long."""

    most_bytes, sizes = 24_000, list[int]()

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"]))
        self.sizes.append(len(body))
        whole: dict[str, Any] = {"id": "resp_1", "object": "response", "output": []}
        if len(body) > self.most_bytes:
            error = {"code": "context_length_exceeded", "message": "Your input exceeds the context "
                     "window of this model."}  # fmt: skip
            last = {"type": "response.failed", "response": {**whole, "error": error}}
        else:
            usage = {"input_tokens": len(body) // 4, "output_tokens": 1, "total_tokens": 9}
            last = {"type": "response.completed", "response": {**whole, "usage": usage}}
        events = [{"type": "response.created", "response": whole}, last]
        said = "".join(f"event: {one['type']}\ndata: {json.dumps(one)}\n\n" for one in events)
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("content-length", str(len(said)))
        self.end_headers()
        self.wfile.write(said.encode())

    def log_message(self, *_: Any) -> None:
        pass


@contextmanager
def refusing_in_stream() -> Generator[str]:
    RefusingInStream.sizes.clear()
    server = ThreadingHTTPServer(("127.0.0.1", 0), RefusingInStream)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def test_usage_is_taken_when_the_last_event_comes(tmp_path: Path) -> None:
    """Not when the stream is closed: who stops reading there may close it long after that."""

    async def first_stream(made: Any, asked: Any) -> Any:
        stream = await made.responses.create(**asked, stream=True)
        async for event in stream:
            if event.type == "response.completed":
                return stream
        raise AssertionError

    with refusing_in_stream() as url, open_store(tmp_path / "sessions.db") as store:
        asked: Any = {"model": "m", "input": history(1)}
        kept: list[Any] = []
        for number, kind in enumerate((openai.OpenAI, openai.AsyncOpenAI), start=1):
            made = wrap(kind(base_url=url, api_key="x", max_retries=0), "one", store=store,
                        context_length=60_000)  # fmt: skip
            if kind is openai.OpenAI:
                stream = made.responses.create(**asked, stream=True)
                kept.append(stream)
                assert next(one for one in stream if one.type == "response.completed")
            else:
                kept.append(asyncio.run(first_stream(made, asked)))
            (session,) = store.sessions(SessionFilter(), most=9).sessions
            assert len(store.usage(session.id)) == number


def test_a_refusal_inside_a_stream_is_recovered_from(tmp_path: Path) -> None:
    """The client sees the answer to the smaller request only."""
    listed: list[Any] = [
        {"role": role, "content": f"{role} {number}: " + "word " * 60}
        for number in range(60) for role in ("user", "assistant")
    ]  # fmt: skip
    with (
        refusing_in_stream() as url,
        openai.OpenAI(base_url=url, api_key="x", max_retries=0) as made,
    ):
        client = wrap(made, store=tmp_path / "s.db", key="one", context_length=60_000)
        asked: Any = {"model": "m", "input": [*listed, {"role": "user", "content": "go on"}]}
        kinds = [event.type for event in client.responses.create(**asked, stream=True)]
        client.close()
    assert kinds == ["response.created", "response.completed"]
    assert RefusingInStream.sizes[0] > RefusingInStream.most_bytes > RefusingInStream.sizes[-1]
