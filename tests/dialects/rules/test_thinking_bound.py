"""Thinking that is bound to the exact messages before it."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from foldaway.dialects.checking import check, check_transcript, repair
from foldaway.dialects.loading import load
from foldaway.dialects.profiles import profile_named
from foldaway.transcript import Message, Text

ANTHROPIC = profile_named("anthropic")


def request(*messages: Any, model: str = "claude-opus-5-5", **settings: Any) -> dict[str, Any]:
    return {"model": model, "max_tokens": 100, "messages": list(messages), **settings}


def thinks(text: str) -> dict[str, Any]:
    thought = {"type": "thinking", "thinking": "hm", "signature": "c2ln"}
    return {"role": "assistant", "content": [thought, {"type": "text", "text": text}]}


def said(text: str) -> dict[str, Any]:
    return {"role": "user", "content": text}


def kinds(messages: list[Any]) -> list[list[str]]:
    return [
        [block["type"] for block in message["content"]]
        for message in messages
        if isinstance(message["content"], list)
    ]


def test_thinking_after_an_edit_of_ours_goes() -> None:
    """Where repair drops a message, thinking after it is bound to what is no longer there."""
    body = request(said("go"), thinks("one"), said(" "), thinks("two"), said("on"))
    assert [found.rule for found in check(body)] == ["content-present"]
    assert kinds(repair(body).messages["messages"]) == [["thinking", "text"], ["text"]]


def test_thinking_before_the_edit_stays() -> None:
    """Nothing before the first change is touched."""
    body = request(said("go"), thinks("one"), said("on"), {"role": "ai", "content": "two"},
                   said("more"))  # fmt: skip
    mended = repair(body, provider="anthropic").messages["messages"]
    assert mended[1] is body["messages"][1]


def test_the_thinking_that_leads_a_changed_message_stays() -> None:
    """What changed after it in its own message is not what it is bound to."""
    body = request(said("go"), {"role": "assistant", "content": [
        {"type": "thinking", "thinking": "hm", "signature": "c2ln"},
        {"type": "text", "text": "nul \0"}]}, said("on"))  # fmt: skip
    assert kinds(repair(body).messages["messages"]) == [["thinking", "text"]]


def test_other_models_keep_their_thinking() -> None:
    """Only the models that the profile names bind thinking to its prefix."""
    body = request(said("go"), thinks("one"), said(" "), thinks("two"), said("on"),
                   model="claude-sonnet-4-5")  # fmt: skip
    assert kinds(repair(body).messages["messages"]) == [["thinking", "text"]] * 2


def test_a_request_that_drops_mismatches_itself_keeps_them() -> None:
    """With `drop_block` the provider leaves such blocks out without refusing the request."""
    body = request(
        said("go"), thinks("one"), said(" "), thinks("two"), said("on"),
        thinking={"type": "adaptive",
                  "block_binding": {"prefix_mismatch_behavior": "drop_block"}},
    )  # fmt: skip
    assert kinds(repair(body).messages["messages"]) == [["thinking", "text"]] * 2


def test_thinking_after_a_generated_message_is_reported() -> None:
    """A summary in the place of messages is a change of what the thinking is bound to."""
    transcript = load(request(said("go"), thinks("one"), said("on"), thinks("two"), said("more")))
    summary = Message("user", (Text("[summary]"),), origin="summary")
    folded = replace(transcript, messages=(summary, *transcript.messages[2:]))
    found = check_transcript(folded, ANTHROPIC)
    assert [(each.rule, each.index) for each in found] == [("thinking-bound", 2)]
