"""The providers' own compactions through the real SDKs, over real sockets."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable
from typing import Any

import pytest
from msgspec import Struct
from tests.testing.laws import broken_laws
from tests.testing.long_lists import Exchange, joined, written
from tests.testing.rows import each_row

from foldaway._core.policy import Policy
from foldaway._core.ports import NativeAnswer, NativeCompactor, NativeRequest
from foldaway.engine.compressor import Compressor
from foldaway.errors import FailureKind, InvalidSetting, SummarizerFailed
from foldaway.summarizers.models.anthropic import BETA, anthropic_native
from foldaway.summarizers.models.openai import openai_native
from foldaway.summarizers.writers import writers_of

pytest.importorskip("starlette", reason="the model server needs starlette")

from foldaway.testing import (
    Cuts,
    Drops,
    ModelServer,
    Reply,
    Says,
    Sends,
    Trickles,
    Waits,
    anthropic_error,
    openai_error,
    refusing_url,
)

ECHO = "the planted conversation sk-planted-openai sk-planted-anthropic"
SMALL = Policy(floor_tokens=500)
USER = {"role": "user", "content": "the planted conversation"}


class Api(Struct, frozen=True):
    """One provider: its package, its dialect, the field that holds its list."""

    package: str
    dialect: str
    make: Callable[..., NativeCompactor]
    field: str

    def url(self, server: ModelServer) -> str:
        return server.anthropic_url if self.package == "anthropic" else server.openai_url


OPENAI = Api("openai", "openai-responses", openai_native, "input")
ANTHROPIC = Api("anthropic", "anthropic", anthropic_native, "messages")


@pytest.fixture(params=[OPENAI, ANTHROPIC], ids=["openai", "anthropic"])
def native(request: pytest.FixtureRequest, environment: None) -> Api:
    found: Api = request.param
    pytest.importorskip(found.package, reason=f"needs the {found.package} package")
    return found


Put = Callable[[NativeCompactor, NativeRequest, float], NativeAnswer]


def wait(compactor: NativeCompactor, request: NativeRequest, timeout: float) -> NativeAnswer:
    return compactor.compact(request, timeout)


def await_(compactor: NativeCompactor, request: NativeRequest, timeout: float) -> NativeAnswer:
    return asyncio.run(compactor.acompact(request, timeout))


@pytest.fixture(params=[wait, await_], ids=["sync", "async"])
def put(request: pytest.FixtureRequest) -> Put:
    return request.param


def whole(api: Api, item: Any, **more: Any) -> Sends:
    """An answer with one item in it, and fields that no SDK knows."""
    if api is OPENAI:
        body = {"id": "resp_1", "object": "response.compaction", "output": [item]}
    else:
        body = {"type": "message", "role": "assistant", "content": [item],
                "stop_reason": "compaction", "model": "model-x"}  # fmt: skip
    text = json.dumps({**body, **more})
    return Sends(body=text, headers={"content-type": "application/json"})


SEALED = {
    "type": "compaction",
    "content": "Säge <b>\u2028 1.50",
    "encrypted_content": "gAAA+/==",
    "signature": "Eu+/=",
    "tool_changes": [],
    "later": {"z": None, "a": [1, 2.5, "1e3"]},
}


# What is sent, and what comes back


def test_the_item_comes_back_as_the_provider_sent_it(
    native: Api, put: Put, server: ModelServer
) -> None:
    """Every field in its order, known to the SDK or not; none is added."""
    server.replies(whole(native, SEALED))
    answer = put(native.make("model-x", url=native.url(server)), NativeRequest(messages=[USER]), 20)
    item = answer.items[0] if native is OPENAI else answer.items[0]["content"][0]
    assert json.dumps(item) == json.dumps(SEALED)
    assert len(answer.items) == 1


def test_openai_is_sent_the_window_and_its_instructions(put: Put, server: ModelServer) -> None:
    """To `/responses/compact`; all items of the answer are taken, because none may be pruned."""
    pytest.importorskip("openai")
    server.replies(Says("", input_tokens=900, output_tokens=40, cache_read_tokens=800))
    call = {"type": "function_call", "call_id": "c1", "name": "bash", "arguments": "{}"}
    done = {"type": "function_call_output", "call_id": "c1", "output": "ok"}
    given = NativeRequest(messages=[USER, call, done], system="Be exact.", tools=[{"name": "x"}])
    compactor = openai_native("model-x", url=server.openai_url)
    answer = put(compactor, given, 20)
    (request,) = server.requests
    assert request.path == "/v1/responses/compact"
    assert request.body == {
        "model": "model-x", "input": [USER, call, done], "instructions": "Be exact.",
    }  # fmt: skip
    assert [item["type"] for item in answer.items] == ["message", "compaction"]
    assert (answer.input_tokens, answer.output_tokens, answer.cache_read_tokens) == (900, 40, 800)
    assert (compactor.name, compactor.dialect) == ("openai-responses:model-x", "openai-responses")


def test_anthropic_is_asked_for_a_signed_block(put: Put, server: ModelServer) -> None:
    """On demand and under its beta, with the system text and tools of the conversation."""
    pytest.importorskip("anthropic")
    server.replies(Says("", input_tokens=900, output_tokens=40, cache_read_tokens=7))
    tool = {"name": "bash", "input_schema": {"type": "object"}}
    given = NativeRequest(messages=[USER], system="Be exact.", tools=[tool], max_tokens=5_000)
    compactor = anthropic_native("model-x", url=server.anthropic_url)
    answer = put(compactor, given, 20)
    (request,) = server.requests
    assert request.path.startswith("/v1/messages")
    assert request.headers["anthropic-beta"] == BETA
    assert request.body == {
        "model": "model-x", "max_tokens": 5_000, "messages": [USER], "system": "Be exact.",
        "tools": [tool], "compaction": {"type": "summarize"},
    }  # fmt: skip
    (message,) = answer.items
    assert message["role"] == "assistant"
    assert message["content"][0]["type"] == "compaction"
    assert (answer.input_tokens, answer.output_tokens, answer.cache_read_tokens) == (907, 40, 7)
    assert BETA in answer.note
    assert (compactor.name, compactor.dialect) == ("anthropic:model-x", "anthropic")


def test_an_address_that_is_none_is_refused(native: Api) -> None:
    """Before anything is sent."""
    with pytest.raises(InvalidSetting, match="http"):
        native.make("model-x", url="localhost")


# Failures


class Row(Struct, frozen=True):
    """What the server does, and what it is called."""

    name: str
    reply: Reply
    kind: FailureKind
    retry_after: float = 0.0
    timeout: float = 20.0


def json_text(text: str) -> Sends:
    return Sends(body=text, headers={"content-type": "application/json"})


def stopped(reason: str, content: Any = ()) -> Sends:
    return json_text(json.dumps({"content": list(content), "stop_reason": reason}))


def unavailable() -> Sends:
    details = {"error_code": "compaction_unavailable"}
    error = {"type": "overloaded_error", "message": ECHO, "details": details}
    return Sends(status=529, body={"type": "error", "error": error})


ROWS = (
    Row("401", openai_error(401, "invalid_api_key", ECHO), "refused"),
    Row("quota", openai_error(429, "insufficient_quota", ECHO), "refused"),
    Row("404", openai_error(404, "", ECHO), "not found"),
    Row("429", anthropic_error(429, "rate_limit_error", headers={"retry-after": "7"}),
        "rate limited", 7.0),
    Row("529", unavailable(), "overloaded"),
    Row("502", Sends(status=502, body=f"<html>{ECHO}</html>"), "overloaded"),
    Row("too long", openai_error(400, "context_length_exceeded", ECHO), "too long"),
    Row("400", anthropic_error(400, "invalid_request_error", ECHO), "broken answer"),
    Row("html", Sends(body=f"<html>{ECHO}</html>"), "broken answer"),
    Row("half json", json_text('{"output": [{"type": "comp'), "broken answer"),
    Row("json of another kind", json_text("[1, 2]"), "broken answer"),
    Row("error in an answer", json_text('{"error": {"code": "server_error"}}'), "overloaded"),
    Row("cut", Cuts(whole(OPENAI, SEALED), 20), "broken answer"),
    Row("nothing in it", json_text('{"output": [], "content": [], "stop_reason": "end_turn"}'),
        "empty answer"),
    Row("reset", Drops(), "unreachable"),
    Row("silence", Waits(threading.Event()), "timed out", timeout=0.3),
    Row("trickle", Trickles(whole(ANTHROPIC, SEALED), 0.02), "timed out", timeout=0.4),
)  # fmt: skip


@each_row("row", ROWS, ids=lambda row: row.name)
def test_a_failure_has_its_kind_and_quotes_nothing(
    row: Row, native: Api, put: Put, server: ModelServer
) -> None:
    """Sync or async: one request, one kind, no word of what was sent."""
    server.replies(row.reply)
    compactor = native.make("model-x", url=native.url(server))
    with pytest.raises(SummarizerFailed) as caught:
        put(compactor, NativeRequest(messages=[USER]), row.timeout)
    failed = caught.value
    assert (failed.kind, failed.retry_after) == (row.kind, row.retry_after), failed.said
    assert "planted" not in str(failed)
    assert failed.__cause__ is failed.__context__ is None
    if row.kind != "timed out":  # on a busy machine the time may be over before it is sent
        assert len(server.requests) == 1


@each_row(
    ("reply", "kind"),
    [
        (stopped("max_tokens"), "empty answer"),
        (stopped("refusal"), "empty answer"),
        (stopped("tool_use"), "bad answer"),
        (stopped("model_context_window_exceeded"), "too long"),
        (stopped("compaction", [{"type": "compaction", "content": None}]), "empty answer"),
        (stopped("end_turn", [{"type": "text", "text": "Hello"}]), "empty answer"),
    ],
)
def test_anthropic_says_in_its_answer_why_there_is_no_block(
    reply: Sends, kind: FailureKind, server: ModelServer
) -> None:
    """The status is 200 then; a block without content is a compaction that failed."""
    pytest.importorskip("anthropic")
    server.replies(reply)
    with pytest.raises(SummarizerFailed) as caught:
        anthropic_native("model-x", url=server.anthropic_url).compact(
            NativeRequest(messages=[USER]), 20
        )
    assert caught.value.kind == kind


def test_a_port_that_nobody_listens_on_is_unreachable(native: Api, put: Put) -> None:
    """The address is wrong or the server is down."""
    with refusing_url() as url, pytest.raises(SummarizerFailed) as caught:
        put(native.make("model-x", url=url), NativeRequest(messages=[USER]), 20)
    assert (caught.value.kind, caught.value.said) == ("unreachable", "connection refused")


def test_without_a_key_nothing_is_sent(
    native: Api, put: Put, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The variable is named."""
    name = f"{native.package.upper()}_API_KEY"
    monkeypatch.delenv(name)
    with pytest.raises(SummarizerFailed, match=name) as caught:
        put(native.make("model-x"), NativeRequest(messages=[USER]), 20)
    assert caught.value.kind == "refused"


def test_what_cannot_be_sent_is_a_failure_like_others(native: Api, put: Put) -> None:
    """Half a character has no bytes; the caller sees no error of the SDK."""
    odd = NativeRequest(messages=[{"role": "user", "content": "\ud800 the planted conversation"}])
    with refusing_url() as url, pytest.raises(SummarizerFailed) as caught:
        put(native.make("model-x", url=url), odd, 20)
    assert caught.value.kind == "broken answer"
    assert "planted" not in str(caught.value)


def test_cancelling_the_task_closes_the_connection(native: Api, server: ModelServer) -> None:
    """The provider is not left to work on for nobody."""
    server.replies(Waits(threading.Event()))
    compactor = native.make("model-x", url=native.url(server))

    async def main() -> None:
        task = asyncio.create_task(compactor.acompact(NativeRequest(messages=[USER]), 20))
        while not server.requests:
            await asyncio.sleep(0.005)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())
    assert server.requests[0].left.wait(5)


# A whole session


def test_a_session_is_compacted_by_its_provider(native: Api, server: ModelServer) -> None:
    """Twice: the first item goes back to the provider as it came, and every law holds."""
    server.replies(Says("", compaction="What was said so far. " * 20))
    before = written(native.dialect, [Exchange(2, 2, 900)] * 8, with_system=True)
    made = Compressor(
        context_length=32_000, policy=SMALL, provider=native.dialect,
        summarizer=writers_of(None, native=native.make("model-x", url=native.url(server))),
    )  # fmt: skip
    made.append(*before)
    report = made.compact()
    assert report.summary_source.source == "native"
    assert (
        broken_laws(
            before, made.messages, report, made.conversation.recall, provider=native.dialect
        )
        == []
    )
    more = written(native.dialect, [Exchange(2, 2, 900)] * 8, start=9)
    made.append(*joined(native.dialect, made.messages, more)[len(made.messages) :])
    seen = made.messages
    assert made.compact().summary_source.source == "native"
    first, second = (request.body[native.field] for request in server.requests)
    start = 1 if native is OPENAI else 0
    assert first == before[start : start + len(first)]
    assert second == seen[start : start + len(second)]
    assert sum(str(one).count("'compaction'") for one in second) == 1
    assert made.undo()
    assert made.undo()
    assert made.messages[: len(before)] == before


@pytest.mark.parametrize("status", [401, 404, 429, 500])
def test_a_session_goes_on_where_its_provider_does_not_compact(
    status: int, native: Api, server: ModelServer
) -> None:
    """The ledger's summary stands in; nothing is lost."""
    server.replies(Sends(status=status, body={"error": {"message": ECHO}}))
    before = written(native.dialect, [Exchange(2, 2, 900)] * 8, with_system=True)
    made = Compressor(
        context_length=32_000, policy=SMALL, provider=native.dialect,
        summarizer=writers_of(None, native=native.make("model-x", url=native.url(server))),
    )  # fmt: skip
    made.append(*before)
    report = made.compact()
    assert (report.status, report.summary_source.source) == ("compacted", "ledger")
    assert (
        broken_laws(
            before, made.messages, report, made.conversation.recall, provider=native.dialect
        )
        == []
    )
    assert "planted" not in repr(report)
    assert len(server.requests) == 1


@pytest.mark.parametrize("summarizer", [None, "none"])
def test_a_native_compaction_by_name_asks_the_address_that_is_given(
    native: Api, server: ModelServer, summarizer: str | None
) -> None:
    """It is not the summarizer's alone; another vendor's summarizer keeps it to itself."""
    server.replies(whole(native, SEALED))
    url, spec = native.url(server), f"{native.dialect}:model-x"
    asked = writers_of(summarizer, native=spec, url=url).native
    assert asked is not None
    asked.compactor.compact(NativeRequest(messages=[USER]), 20)
    assert len(server.requests) == 1
    other = {"anthropic": "openai:m", "openai-responses": "anthropic:m"}[native.dialect]
    kept = writers_of(other, native=spec, url=url).native
    assert kept is not None
    with pytest.raises(SummarizerFailed):
        kept.compactor.compact(NativeRequest(messages=[USER]), 0.5)
    assert len(server.requests) == 1
