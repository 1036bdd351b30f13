"""Answers with calls and results, in the two wire formats that adapters use."""

from __future__ import annotations

from typing import Any

import pytest
from tests.testing.rows import each_row

from foldaway import check
from foldaway.integrations.host_messages import (
    HostCall,
    answer_payload,
    arguments_in,
    calls_in,
    result_payload,
    texts_in,
)

CALL = HostCall("call_1", "read_file", {"path": "a.py"})
THINKING = {"type": "thinking", "thinking": "so", "signature": "s"}


@each_row("dialect", ["openai-chat", "anthropic"])
@each_row("content", ["", "text", [{"type": "text", "text": "text"}]])
def test_calls_and_results_come_back_and_are_valid(dialect: str, content: Any) -> None:
    """Whatever an answer says beside its calls."""
    answer = answer_payload(dialect, content, [CALL])
    result = result_payload(dialect, CALL.id, "its text")
    assert calls_in(answer) == [CALL]
    assert check([{"role": "user", "content": "go"}, answer, result], dialect=dialect) == []


def test_a_block_that_repeats_a_call_is_left_out_and_thinking_stays_first() -> None:
    """Frameworks have a call twice: in the content, and beside it."""
    repeated = {"type": "tool_use", "id": "call_1", "name": "read_file", "input": {}}
    answer = answer_payload("anthropic", [THINKING, repeated], [CALL])
    assert [one["type"] for one in answer["content"]] == ["thinking", "tool_use"]
    assert answer["content"][1]["input"] == {"path": "a.py"}


@pytest.mark.parametrize(
    ("given", "found"),
    [('{"a": 1}', {"a": 1}), ({"a": 1}, {"a": 1}), ("", {}), ("{a", {"text": "{a"}),
     ("[1]", {"text": "[1]"})],
)  # fmt: skip
def test_arguments_are_an_object_whatever_the_model_wrote(given: Any, found: Any) -> None:
    """A call with broken arguments must not stop the conversation from being followed."""
    assert arguments_in(given) == found


def test_texts_of_a_content_leave_out_what_is_no_text() -> None:
    """A content is a text, blocks, or nothing."""
    assert texts_in("a") == ["a"]
    assert texts_in([{"type": "text", "text": "a"}, THINKING]) == ["a"]
    assert texts_in(None) == []
