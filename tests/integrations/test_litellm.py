"""The callback of LiteLLM's proxy; the proxy itself is played by tests/frameworks."""

from __future__ import annotations

import asyncio
import json
from hashlib import sha256
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

pytestmark = pytest.mark.slow

litellm = pytest.importorskip("foldaway.integrations.litellm")

TAKES_PART = SimpleNamespace(api_key="sk-a", metadata={"foldaway": True})
OTHER = SimpleNamespace(api_key="sk-b", metadata={})


def _request() -> dict[str, Any]:
    said = [{"role": role, "content": f"{role} {at} " + "many words " * 200}
            for at in range(14) for role in ("user", "assistant")]  # fmt: skip
    return {
        "model": "gpt-5", "litellm_call_id": "call-1", "litellm_session_id": "task-7",
        "messages": [*said, {"role": "user", "content": "And now?"}],
    }  # fmt: skip


def _called(callback: Any, key: Any, data: dict[str, Any]) -> dict[str, Any]:
    return asyncio.run(callback.async_pre_call_hook(key, None, data, "acompletion"))


def test_only_keys_that_take_part_have_fewer_messages_sent(tmp_path: Path):
    """A key without the metadata is left alone, and the headers of an answer say what was done."""
    callback = litellm.FoldawayCallback(
        str(tmp_path / "s.db"), context_length=8_000, on_error="raise"
    )
    whole = len(_request()["messages"])
    assert len(_called(callback, OTHER, _request())["messages"]) == whole
    headers = callback.async_post_call_response_headers_hook
    assert asyncio.run(headers(_request(), OTHER, None)) is None
    assert len(_called(callback, TAKES_PART, _request())["messages"]) < whole
    assert asyncio.run(headers(_request(), TAKES_PART, None))["x-foldaway-compacted"] == "yes"


def test_a_client_answers_the_calls_of_its_own_key(tmp_path: Path):
    """By the key that it asks the proxy with, and the name that its requests give."""
    store = str(tmp_path / "s.db")
    callback = litellm.FoldawayCallback(store, context_length=8_000, on_error="raise")
    hashed = SimpleNamespace(api_key=sha256(b"sk-a").hexdigest(), metadata={"foldaway": True})
    _called(callback, hashed, _request())
    said = json.dumps({"text": "assistant 0"})
    answer = litellm.FoldawayCallback(store).answer
    assert "assistant 0" in answer("sk-a", "task-7", "foldaway_search", said)
    assert "assistant 0" not in answer("sk-b", "task-7", "foldaway_search", said)


def test_the_sdk_answers_the_tools_that_it_offers(tmp_path: Path):
    """In the conversation of its key; a wrong call gets a sentence."""
    held = litellm.FoldawayCompletions("task-7", str(tmp_path / "s.db"), on_error="raise")
    names = [one["function"]["name"] for one in held.tools]
    assert names == ["foldaway_recall", "foldaway_search"]
    assert held.answer("foldaway_recall", "{").startswith("no ref was given")


def test_a_store_that_fails_lets_the_request_pass(tmp_path: Path):
    """The proxy goes on without us."""
    (tmp_path / "file").write_text("not a folder")
    callback = litellm.FoldawayCallback(str(tmp_path / "file" / "s.db"), context_length=8_000)
    assert _called(callback, TAKES_PART, _request()) == _request()
