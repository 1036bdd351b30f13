"""The next view: where the summary stands, in which role, and the note in the system prompt."""

from __future__ import annotations

from typing import Any

import pytest

from holdfast import check, load
from holdfast.engine.oneshot import compress
from holdfast.pipeline.assemble import with_note
from holdfast.pipeline.frame import SUMMARY_OPEN, SYSTEM_NOTE
from holdfast.policy import Policy
from holdfast.testing.laws import summary_of, tokens_of
from holdfast.testing.long_lists import Ending, Exchange, written
from holdfast.transcript import Message, Text

PROVIDERS = ("openai-chat", "openai-responses", "anthropic", "gemini", "strict")
ENDINGS: tuple[Ending, ...] = ("ask", "reply", "step", "pending")


@pytest.mark.parametrize("provider", PROVIDERS)
@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("first", [0, 1, 2, 3, 4])
def test_a_place_for_the_summary_is_always_found(provider: str, ending: Ending, first: int) -> None:
    """Whatever stands before and after it: the result is valid, with one summary in it."""
    items = written(provider, [Exchange(2, 1, 900)] * 4, ending=ending, with_system=True)
    policy = Policy(floor_tokens=500, summary_min_tokens=100, protect_first=first)
    made = compress(items, provider=provider, policy=policy, target_tokens=1_500)
    assert made.report.status == "compacted"
    wrong = [found.rule for found in check(made.messages, provider=provider)]
    assert set(wrong) <= ({"call-pending"} if ending == "pending" else set[str]())
    assert summary_of(load(made.messages)).startswith(SUMMARY_OPEN)


@pytest.mark.parametrize("provider", ["anthropic", "gemini", "strict"])
def test_without_a_system_message_the_first_message_is_a_users(provider: str) -> None:
    """Also from the second compaction on."""
    items = written(provider, [Exchange(2, 1, 900)] * 4)
    for start in (100, 200, 300):
        items = compress(items, provider=provider, target_tokens=1_500).messages
        assert items[0]["role"] == "user"
        items = [*items, *_reply(provider), *written(provider, [Exchange(2, 1, 900)], start=start)]


def _reply(provider: str) -> list[Any]:
    if provider == "gemini":
        return [{"role": "model", "parts": [{"text": "Yes."}]}]
    return [{"role": "assistant", "content": "Yes."}]


def test_the_note_stands_once_in_the_system_prompt() -> None:
    """After three compactions it is still one; a pruned list gets none."""
    items = written("openai-chat", [Exchange(2, 1, 900)] * 4, with_system=True)
    prompt = items[0]["content"]
    for start in (100, 200, 300):
        items = compress(items, target_tokens=1_500).messages
        assert items[0]["content"] == f"{prompt}\n\n{SYSTEM_NOTE}"
        items = [*items, *written("openai-chat", [Exchange(2, 1, 900)], start=start)]


def test_a_note_is_added_once_to_any_prompt() -> None:
    """To the last text, or as a text of its own."""
    for parts in ((Text("Rules."),), ()):
        noted = with_note(Message("system", parts))
        assert with_note(noted) is noted
        assert str(noted.parts).count("holdfast note") == 1


@pytest.mark.parametrize("prompt", ["Be exact.", [{"type": "text", "text": "Be exact."}]])
def test_a_system_prompt_outside_the_list_gets_the_note_and_is_counted(prompt: Any) -> None:
    """The frame of a request stays, with the note in its system prompt; what the note costs is in
    the report."""
    tools = [{"name": "bash", "input_schema": {"type": "object"}}]
    body = {"model": "claude-sonnet-4-5", "max_tokens": 1_000, "system": prompt, "tools": tools,
            "messages": written("anthropic", [Exchange(2, 1, 900)] * 5)}  # fmt: skip
    made = compress(body, target_tokens=1_500)
    assert list(made.messages) == list(body)
    assert SYSTEM_NOTE in str(made.messages["system"])
    assert check(made.messages) == []
    assert made.report.tokens_after == tokens_of(load(made.messages))
    assert made.report.tokens_before == tokens_of(load(body))


def test_bound_thinking_is_stripped_from_the_kept_turns() -> None:
    """On a model whose thinking is bound to what stood before it, no thinking follows a fold; on
    one where it is not, it stays whole."""
    items = written("anthropic", [Exchange(2, 1, 900, thinks=True)] * 4, ending="step")
    bound = compress(items, provider="anthropic", model="claude-opus-5-5", target_tokens=2_000)
    free = compress(items, provider="anthropic", model="claude-3-5-sonnet", target_tokens=2_000)
    assert bound.report.boundary is not None
    assert not _thinks(bound.messages[3:])
    assert _thinks(free.messages[-4:])


def _thinks(items: list[Any]) -> bool:
    blocks = [block for item in items for block in item["content"] if isinstance(block, dict)]
    return any(block["type"] == "thinking" for block in blocks)
