"""Messages of Converse as Anthropic's, and back."""

from __future__ import annotations

from typing import Any

from foldaway.integrations.converse import ConverseForm

FORM = ConverseForm()
RESULT: dict[str, Any] = {
    "role": "user",
    "metadata": {"custom": 1},
    "content": [
        {"toolResult": {"toolUseId": "t1", "status": "error", "content": [
            {"json": {"port": 5433}}, {"text": "many words"}]}},
        {"image": {"format": "png", "source": {"bytes": b"png"}}},
        {"cachePoint": {"type": "default"}},
    ],
}  # fmt: skip


def test_a_message_is_read_in_anthropics_form() -> None:
    """Calls, results, thinking and images; what Anthropic does not have keeps its own name."""
    thought = {"reasoningText": {"text": "so", "signature": "s1"}}
    call = {"toolUseId": "t1", "name": "read", "input": {"path": "a"}}
    said = {"role": "assistant", "content": [{"reasoningContent": thought}, {"toolUse": call}]}
    assert FORM.messages_of(said)[0]["content"] == [
        {"type": "thinking", "thinking": "so", "signature": "s1"},
        {"type": "tool_use", "id": "t1", "name": "read", "input": {"path": "a"}},
    ]
    result, image, other = FORM.messages_of(RESULT)[0]["content"]
    assert result["is_error"]
    assert result["content"][0] == {"type": "text", "text": '{"port":5433}'}
    assert image["source"] == {"type": "base64", "media_type": "image/png", "data": "cG5n"}
    assert other == {"type": "cachePoint", "cachePoint": {"type": "default"}}


def test_blocks_that_stayed_are_the_hosts_own() -> None:
    """Only the text that changed is written anew, also inside a result."""
    message = FORM.messages_of(RESULT)[0]
    message["content"][0]["content"][1] = {"type": "text", "text": "few"}
    built = FORM.built([message], RESULT, [])[0]
    inner = built["content"][0]["toolResult"]
    assert inner["content"] == [{"json": {"port": 5433}}, {"text": "few"}]
    assert (inner["toolUseId"], inner["status"]) == ("t1", "error")
    assert built["content"][1] is RESULT["content"][1]
    assert built["content"][2] is RESULT["content"][2]
    assert built["metadata"] == {"custom": 1}


def test_a_new_message_is_of_texts_and_calls() -> None:
    """As a summary is, with a string or with blocks."""
    call = {"type": "tool_use", "id": "t2", "name": "read", "input": {}}
    made = FORM.built(
        [{"role": "user", "content": "what was"}, {"role": "assistant", "content": [call]}],
        None,
        [],
    )
    assert made[0] == {"role": "user", "content": [{"text": "what was"}]}
    assert made[1]["content"] == [{"toolUse": {"toolUseId": "t2", "name": "read", "input": {}}}]


def test_results_and_an_added_text_are_two_messages_if_that_is_asked_for() -> None:
    """The text must not come between calls and results, and some writers put it first."""
    message = FORM.messages_of(RESULT)[0]
    message["content"] = [*message["content"][:1], {"type": "text", "text": "what was"}]
    results, text = ConverseForm(is_split=True).built([message], RESULT, [])
    assert results["content"] == RESULT["content"][:1]
    assert text == {"role": "user", "metadata": {"custom": 1}, "content": [{"text": "what was"}]}
    assert len(FORM.built([message], RESULT, [])) == 1
