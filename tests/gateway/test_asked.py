"""Whose conversation a request is, and which requests are none."""

from __future__ import annotations

import gzip
import json
import zlib
from typing import Any

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st
from tests.testing.rows import each_row

from foldaway.gateway.identity import agent_of
from foldaway.gateway.options import GatewayOptions
from foldaway.gateway.requests import Passing, Turn, read_turn, unpack_body
from foldaway.gateway.wires import CHAT, GEMINI, MESSAGES, RESPONSES, Route, route_of, usage_in

LIMIT = 1 << 20
TOOLS = [{"name": "bash", "input_schema": {"type": "object"}}]
SPOKEN = [
    {"role": "user", "content": "Look at it."},
    {"role": "assistant", "content": "I did."},
    {"role": "user", "content": "And now?"},
]


def ask(
    messages: list[Any], wire: Any = MESSAGES, headers: dict[str, str] | None = None, **frame: Any
) -> Turn | Passing:
    key = {"gemini": "contents", "responses": "input"}.get(wire.name, "messages")
    body = {"model": "m", "tools": TOOLS, key: messages, **frame}
    return read_turn(Route(wire, "turn"), headers or {}, json.dumps(body).encode(), LIMIT)


@each_row(
    ("headers", "frame", "name"),
    [
        ({"x-claude-code-session-id": "a"}, {}, "a"),
        ({"thread-id": "t", "session-id": "s"}, {}, "t"),
        ({"x-session-id": "o"}, {}, "o"),
        ({"agent-session-id": "g"}, {}, "g"),
        ({"x-foldaway-session": "h", "x-session-id": "o"}, {}, "h"),
        ({}, {"metadata": {"user_id": "user_x_account_y_session_u-1"}}, "u-1"),
        ({}, {"metadata": {"user_id": '{"session_id": "u-2"}'}}, "u-2"),
    ],
)
def test_a_client_names_its_conversation(
    headers: dict[str, str], frame: dict[str, Any], name: str
) -> None:
    found = ask(SPOKEN, headers=headers, **frame)
    assert isinstance(found, Turn)
    assert found.key == f"messages:{name}"


def test_without_a_name_the_first_answer_tells_conversations_apart() -> None:
    """The same key as the conversation grows; another for another answer; none before it."""
    first, longer = ask(SPOKEN), ask([*SPOKEN, {"role": "assistant", "content": "Done."}])
    other = ask([SPOKEN[0], {"role": "assistant", "content": "I will."}])
    assert isinstance(first, Turn)
    assert isinstance(longer, Turn)
    assert isinstance(other, Turn)
    assert first.key == longer.key != other.key
    assert ask(SPOKEN[:1]) == Passing("not known yet", model="m")


def test_the_cache_key_and_the_id_of_a_request_name_no_conversation() -> None:
    headers = {"x-client-request-id": "r1", "x-request-id": "r2"}
    one, two = ask(SPOKEN, prompt_cache_key="k"), ask(SPOKEN, headers=headers)
    assert isinstance(one, Turn)
    assert isinstance(two, Turn)
    assert one.key == two.key


@each_row(
    ("wire", "answer"),
    [
        (MESSAGES, {"role": "assistant", "content": "ok"}),
        (CHAT, {"role": "assistant", "content": "ok"}),
        (RESPONSES, {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"}),
        (GEMINI, {"role": "model", "parts": [{"text": "ok"}]}),
    ],
)
def test_a_request_without_tools_is_a_turn_only_if_the_model_has_spoken(
    wire: Any, answer: dict[str, Any]
) -> None:
    """Titles pass; the request by which a client compacts its list has no tools either."""
    said = {"role": "user", "content": 'Say "assistant" and "model".', "parts": [{"text": "x"}]}
    headers = {"x-session-id": "s"}
    assert ask([said], wire, headers, tools=[]) == Passing("side request", model="m")
    assert isinstance(ask([said, answer], wire, headers, tools=[]), Turn)


def test_what_the_provider_holds_itself_passes() -> None:
    found = ask([{"role": "user", "content": "x"}], RESPONSES, previous_response_id="resp_1")
    assert isinstance(found, Passing)


@given(st.binary(max_size=300), st.sampled_from(["", "gzip", "deflate", "zstd", "br"]))
def test_any_bytes_are_a_turn_or_pass(body: bytes, encoding: str) -> None:
    found = read_turn(Route(MESSAGES, "turn"), {"content-encoding": encoding}, body, LIMIT)
    assert isinstance(found, (Turn, Passing))


@given(st.binary(max_size=300))
def test_a_compressed_body_is_read_as_it_was(body: bytes) -> None:
    packed = {
        "gzip": gzip.compress(body), "zstd": zstandard.compress(body),
        "deflate": zlib.compress(body), "": body,
    }  # fmt: skip
    for encoding, data in packed.items():
        assert unpack_body(data, encoding, LIMIT) == body


@pytest.mark.parametrize("pack", [("gzip", gzip.compress), ("zstd", zstandard.compress)])
def test_a_small_body_that_unpacks_to_a_huge_one_passes(pack: Any) -> None:
    name, compress = pack
    assert unpack_body(compress(bytes(LIMIT + 1)), name, LIMIT) is None


@each_row(
    ("path", "wire", "operation", "model"),
    [
        ("/v1/messages", MESSAGES, "turn", ""),
        ("/v1/messages/count_tokens", MESSAGES, "count", ""),
        ("/openrouter/api/v1/chat/completions", CHAT, "turn", ""),
        ("/v1/responses", RESPONSES, "turn", ""),
        ("/v1/responses/compact", RESPONSES, "compact", ""),
        ("/v1beta/models/gemini-2.5-pro:streamGenerateContent", GEMINI, "turn", "gemini-2.5-pro"),
        ("/v1beta/models/g:generateContent", GEMINI, "turn", "g"),
        ("/v1beta/models/g:countTokens", GEMINI, "count", "g"),
        ("/v1/models", CHAT, "other", ""),
    ],
)
def test_paths(path: str, wire: Any, operation: str, model: str) -> None:
    found = route_of("POST", path, {})
    assert (found.wire, found.operation, found.model) == (wire, operation, model)
    is_list = path == "/v1/models"
    assert route_of("GET", path, {}).operation == ("models" if is_list else "other")


def test_an_unknown_path_goes_to_the_provider_of_its_headers() -> None:
    assert route_of("GET", "/v1/models", {"anthropic-version": "x"}).wire is MESSAGES
    assert route_of("GET", "/x", {"x-goog-api-key": "x"}).wire is GEMINI


@each_row(
    ("body", "kind", "expected"),
    [
        (b'event: message_start\ndata: {"message":{"usage":{"input_tokens":5}}}\n\n'
         b'event: message_delta\ndata: {"usage":{"output_tokens":7}}\n\n', "text/event-stream",
         {"input_tokens": 5, "output_tokens": 7}),
        (b'data: {"response":{"usage":{"input_tokens":3}}}\n\ndata: [DONE]\n\n',
         "text/event-stream; charset=utf-8", {"input_tokens": 3}),
        (b'data: {"usageMetadata":{"promptTokenCount":4}}\r\n\r\n', "text/event-stream",
         {"promptTokenCount": 4}),
        (b'{"usage":{"prompt_tokens":9}}', "application/json", {"prompt_tokens": 9}),
        (b"<html>no</html>", "text/html", {}),
        (b'data: {"usage": broken\n\n', "text/event-stream", {}),
    ],
)  # fmt: skip
def test_usage_is_read_from_every_wire(body: bytes, kind: str, expected: dict[str, int]) -> None:
    assert usage_in(body, kind) == expected


def test_agents_by_what_they_call_themselves() -> None:
    assert agent_of({"user-agent": "claude-cli/2.1 (external, cli)"}) == "claude-code"
    assert agent_of({"user-agent": "codex_cli_rs/0.166"}) == "codex"
    assert agent_of({}) == "gateway"


def test_a_larger_request_may_be_held_up_longer() -> None:
    sizes = (0, 200_000, 2_000_000, 4_000_000, 40_000_000)
    least, small, middle, large, most = (GatewayOptions().deadline(size) for size in sizes)
    assert least == small == 0.25 < middle < large == most == 2.0
