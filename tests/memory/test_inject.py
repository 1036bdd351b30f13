"""Recalled text in a request."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.testing.strategies import valid_lists

from foldaway import check
from foldaway.facts.frame import summary_text
from foldaway.memory.fence import fence_text, strip_fenced
from foldaway.memory.messages import inject

PROVIDERS = ("openai-chat", "openai-responses", "anthropic", "gemini")


def test_the_block_stands_at_the_end_of_what_the_user_said_last() -> None:
    """Also in the middle of a tool loop, so that it stays where it was through the turn."""
    rows: list[Any] = [
        {"role": "user", "content": "first"},
        {"role": "assistant", "content": "ok"},
        {"role": "user", "content": "second"},
        {"role": "assistant", "content": None, "tool_calls": [
            {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}]},
        {"role": "tool", "tool_call_id": "c", "content": "r"},
    ]  # fmt: skip
    before = json.dumps(rows)
    made = inject(rows, fence_text("blue"))
    assert json.dumps(rows) == before
    assert made[2]["content"] == f"second\n\n{fence_text('blue')}"
    assert made[:2] == rows[:2]
    assert made[3:] == rows[3:]
    assert inject(rows, "") == rows
    assert inject(rows[:3], fence_text("blue")) == made[:3]


def test_a_summary_is_not_what_the_user_said() -> None:
    """Where a compaction folded what came after the question, the block stays with the question."""
    rows: list[Any] = [
        {"role": "user", "content": "which port?"},
        {"role": "user", "content": summary_text("## Goal\n- x", "fa-0123456789")},
        {"role": "assistant", "content": "looking"},
    ]
    made = inject(rows, fence_text("5433"))
    assert "5433" in made[0]["content"]
    assert made[1:] == rows[1:]


@pytest.mark.parametrize("provider", PROVIDERS)
@given(data=st.data())
def test_injection_breaks_no_rule_and_nothing_before_its_place(
    provider: str, data: st.DataObject
) -> None:
    """At most one message differs, and what a scrubber leaves of the request is the request."""
    rows = data.draw(valid_lists(provider))
    made = inject(rows, fence_text("what is known"), dialect=provider)
    changed = [at for at, pair in enumerate(zip(rows, made, strict=True)) if pair[0] != pair[1]]
    assert len(changed) <= 1
    assert not check(made, provider=provider)
    assert "what is known" not in strip_fenced(json.dumps(made, ensure_ascii=False))
