"""A chat on a real HTTP server, without and with a terminal."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from foldaway import check
from foldaway.testing import ModelRequest, ModelServer, Reply, Sends
from foldaway.testing.model_replies import sse

pytest.importorskip("prompt_toolkit")

WIRES = ("openai", "anthropic")


@pytest.fixture(autouse=True)
def own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Keep everything in a folder of the test, and have keys that are none."""
    home = tmp_path / "home"
    monkeypatch.setenv("FOLDAWAY_HOME", str(home))
    monkeypatch.setenv("OPENAI_API_KEY", "not-a-key")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "not-a-key")
    monkeypatch.chdir(tmp_path)
    return home


@pytest.fixture
def server() -> Iterator[ModelServer]:
    """A model server; at the end, every request that it got was one that its provider takes."""
    with ModelServer("an answer") as made:
        yield made
        for request in made.requests:
            provider = "anthropic" if request.api == "messages" else "openai-chat"
            assert check(request.body, provider=provider) == []


def url_of(server: ModelServer, wire: str) -> str:
    return server.anthropic_url if wire == "anthropic" else server.openai_url


def calls(name: str, arguments: Any, number: int = 0) -> Callable[[ModelRequest], Reply]:
    """Return a script that calls one tool, streamed in the way of the wire that asks."""
    text = arguments if isinstance(arguments, str) else json.dumps(arguments)
    own = f"call_{number}"

    def script(request: ModelRequest) -> Reply:
        events = _messages(own, name, text) if request.api == "messages" else _chat(own, name, text)
        return Sends(body=b"".join(events), headers={"content-type": "text/event-stream"})

    return script


def _chat(own: str, name: str, arguments: str) -> list[bytes]:
    def chunk(**more: Any) -> bytes:
        return sse(
            {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m", **more}
        )

    def delta(**found: Any) -> bytes:
        return chunk(choices=[{"index": 0, "delta": found, "finish_reason": None}])

    half = len(arguments) // 2
    begun = {"index": 0, "id": own, "type": "function",
             "function": {"name": name, "arguments": arguments[:half]}}  # fmt: skip
    usage = {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110}
    return [
        delta(role="assistant", content=None),
        delta(tool_calls=[begun]),
        delta(tool_calls=[{"index": 0, "function": {"arguments": arguments[half:]}}]),
        chunk(choices=[{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]),
        chunk(choices=[], usage=usage),
        sse("[DONE]"),
    ]


def _messages(own: str, name: str, arguments: str) -> list[bytes]:
    usage = {"input_tokens": 100, "output_tokens": 1}
    start = {"id": "m", "type": "message", "role": "assistant", "model": "m", "content": [],
             "stop_reason": None, "stop_sequence": None, "usage": usage}  # fmt: skip
    block = {"type": "tool_use", "id": own, "name": name, "input": {}}
    events = [
        ("message_start", {"message": start}),
        ("content_block_start", {"index": 0, "content_block": block}),
        ("content_block_delta",
         {"index": 0, "delta": {"type": "input_json_delta", "partial_json": arguments}}),
        ("content_block_stop", {"index": 0}),
        ("message_delta", {"delta": {"stop_reason": "tool_use", "stop_sequence": None},
                           "usage": {"output_tokens": 10}}),
        ("message_stop", {}),
    ]  # fmt: skip
    return [sse({"type": kind, **data}, kind) for kind, data in events]
