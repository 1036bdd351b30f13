"""The model server itself, asked by the real SDKs."""

from __future__ import annotations

import base64
import threading
from typing import Any

import pytest

pytest.importorskip("starlette", reason="the model server needs starlette")

from foldaway.testing import ModelRequest, ModelServer, Says, Waits, in_turn

MESSAGES: list[Any] = [{"role": "user", "content": "hello"}]


@pytest.fixture
def openai_client(server: ModelServer) -> Any:
    openai = pytest.importorskip("openai", reason="needs the openai package")
    with openai.OpenAI(base_url=server.openai_url, max_retries=0) as client:
        yield client


@pytest.fixture
def anthropic_client(server: ModelServer) -> Any:
    anthropic = pytest.importorskip("anthropic", reason="needs the anthropic package")
    with anthropic.Anthropic(base_url=server.anthropic_url, max_retries=0) as client:
        yield client


def test_whole_answers_are_read_by_the_sdks(
    server: ModelServer, openai_client: Any, anthropic_client: Any
) -> None:
    """What is not streamed has text and usage where the SDKs look for them."""
    server.replies(Says("a text", input_tokens=5, output_tokens=2))
    chat = openai_client.chat.completions.create(model="m", messages=MESSAGES)
    response = openai_client.responses.create(model="m", input=MESSAGES)
    message = anthropic_client.messages.create(model="m", max_tokens=9, messages=MESSAGES)
    assert chat.choices[0].message.content == response.output_text == "a text"
    assert message.content[0].text == "a text"
    assert chat.usage.prompt_tokens == response.usage.input_tokens == message.usage.input_tokens
    assert [request.api for request in server.requests] == ["chat", "responses", "messages"]


def test_streams_are_read_by_the_helpers_of_the_sdks(
    server: ModelServer, openai_client: Any, anthropic_client: Any
) -> None:
    """The accumulating helpers check the order of events more strictly than we do."""
    text = "a text of several pieces, long enough"
    server.replies(text)
    with openai_client.responses.stream(model="m", input=MESSAGES) as stream:
        assert stream.get_final_response().output_text == text
    with openai_client.chat.completions.stream(model="m", messages=MESSAGES) as stream:
        assert stream.get_final_completion().choices[0].message.content == text
    with anthropic_client.messages.stream(model="m", max_tokens=9, messages=MESSAGES) as stream:
        assert stream.get_final_text() == text


def test_a_compaction_keeps_the_users_and_hides_the_rest(
    server: ModelServer, openai_client: Any
) -> None:
    """`/responses/compact`: the user messages, then one opaque item."""
    server.replies(Says("", compaction="the summary"))
    talk = [*MESSAGES, {"role": "assistant", "content": "hi"}]
    compacted = openai_client.responses.compact(model="m", input=talk)
    assert [item.type for item in compacted.output] == ["message", "compaction"]
    assert base64.b64decode(compacted.output[-1].encrypted_content) == b"the summary"


def test_a_response_over_its_threshold_brings_a_compaction_item(
    server: ModelServer, openai_client: Any
) -> None:
    """Server-side compaction of the Responses API."""
    server.replies("a text")
    settings = [{"type": "compaction", "compact_threshold": 1}]
    response = openai_client.responses.create(
        model="m", input=MESSAGES, context_management=settings
    )
    assert [item.type for item in response.output] == ["compaction", "message"]


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("pause", [False, True])
def test_a_message_over_its_trigger_begins_with_a_compaction_block(
    stream: bool, pause: bool, server: ModelServer, anthropic_client: Any
) -> None:
    """Anthropic's compaction edit, alone where the request wants to pause there."""
    server.replies(Says("a text", input_tokens=60_000, compaction="the summary"))
    trigger = {"type": "input_tokens", "value": 50_000}
    edit = {"type": "compact_20260112", "trigger": trigger, "pause_after_compaction": pause}
    asked: dict[str, Any] = {
        "model": "m", "max_tokens": 9, "messages": MESSAGES,
        "betas": ["compact-2026-01-12"], "context_management": {"edits": [edit]},
    }  # fmt: skip
    if stream:
        with anthropic_client.beta.messages.stream(**asked) as events:
            message = events.get_final_message()
    else:
        message = anthropic_client.beta.messages.create(**asked)
    kinds = [block.type for block in message.content]
    assert kinds == (["compaction"] if pause else ["compaction", "text"])
    assert message.content[0].content == "the summary"
    assert message.stop_reason == ("compaction" if pause else "end_turn")
    assert server.requests[0].headers["anthropic-beta"] == "compact-2026-01-12"


def test_tokens_are_counted(server: ModelServer, anthropic_client: Any) -> None:
    """More text is more tokens."""
    server.replies(Says(""))
    count = anthropic_client.messages.count_tokens
    longer = [{"role": "user", "content": "hello " * 100}]
    assert (
        count(model="m", messages=MESSAGES).input_tokens
        < count(model="m", messages=longer).input_tokens
    )


def test_a_script_that_is_over_fails_the_block(openai_client: Any) -> None:
    """One request too many does not go unnoticed."""
    openai = pytest.importorskip("openai")

    def twice() -> None:
        with ModelServer(in_turn("one")) as server:
            client = openai_client.copy(base_url=server.openai_url)
            assert client.responses.create(model="m", input="x").output_text == "one"
            with pytest.raises(openai.InternalServerError):
                client.responses.create(model="m", input="x")

    with pytest.raises(AssertionError, match="the script is over"):
        twice()


def test_nothing_is_left_of_a_server_also_while_it_holds_a_request() -> None:
    """A client that waits for ever sees its connection closed, and the thread ends."""
    openai = pytest.importorskip("openai", reason="needs the openai package")
    asked = threading.Event()
    seen: list[Exception] = []

    def hold(request: ModelRequest) -> Waits:
        asked.set()
        return Waits(threading.Event())

    def client(url: str) -> None:
        with openai.OpenAI(base_url=url, max_retries=0) as talking:
            try:
                talking.responses.create(model="m", input="x")
            except openai.APIConnectionError as error:
                seen.append(error)

    before = set(threading.enumerate())
    with ModelServer(hold) as server:
        waiting = threading.Thread(target=client, args=(server.openai_url,))
        waiting.start()
        assert asked.wait(20)
    waiting.join(20)
    assert len(seen) == 1
    assert set(threading.enumerate()) <= before
