"""The next view: where the summary stands, in which role, and what stays as it was."""

from __future__ import annotations

from typing import Any

import pytest
from tests.testing.laws import summary_of, tokens_of
from tests.testing.long_lists import Ending, Exchange, written
from tests.testing.rows import each_row

from foldaway import Options, check, load
from foldaway._core.policy import Policy
from foldaway.engine.oneshot import compress
from foldaway.facts.frame import SUMMARY_OPEN

PROVIDERS = ("openai-chat", "openai-responses", "anthropic", "gemini", "strict")
ENDINGS: tuple[Ending, ...] = ("ask", "reply", "step", "pending")


@each_row("provider", PROVIDERS)
@each_row("ending", ENDINGS)
@each_row("first", [0, 1, 2, 3, 4])
def test_a_place_for_the_summary_is_always_found(provider: str, ending: Ending, first: int) -> None:
    """Whatever stands before and after it: the result is valid, with one summary in it."""
    items = written(provider, [Exchange(2, 1, 900)] * 6, ending=ending, with_system=True)
    policy = Policy(floor_tokens=500, protect_first=first)
    made = compress(items, provider=provider, policy=policy, target_tokens=700)
    assert made.report.status == "compacted"
    wrong = [found.rule for found in check(made.messages, provider=provider)]
    assert set(wrong) <= ({"call-pending"} if ending == "pending" else set[str]())
    assert summary_of(load(made.messages)).startswith(SUMMARY_OPEN)


@each_row("tokens", [2_500, 4_000])
@each_row("pinned", [8, 20])
def test_a_fold_inside_a_turn_has_a_place_for_the_summary_where_roles_alternate(
    tokens: int, pinned: int
) -> None:
    """Between a result and the next call neither role fits: a word of the assistant goes before
    the summary. Also in the second compaction."""
    items = written("openai-chat", [Exchange(60, 1, 300)], ending="step", with_system=True)
    policy = Policy(floor_tokens=500, protect_last=2)
    options = Options(pinned=frozenset(range(1, pinned + 1)))
    for start in (100, 200):
        made = compress(
            items, provider="alternating", policy=policy, target_tokens=tokens, options=options
        )
        assert made.report.folded, made.report.detail
        assert check(made.messages, provider="alternating") == []
        assert summary_of(load(made.messages)).startswith(SUMMARY_OPEN)
        newer = written("openai-chat", [Exchange(30, 1, 300)], ending="step", start=start)
        items = [*made.messages, *newer[1:]]


@each_row("provider", ["anthropic", "gemini", "strict"])
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


OLD_NOTE = (
    "[foldaway note: older messages are folded into a reference record; build on it. Memory and "
    "rules files stay authoritative.]"
)


@pytest.mark.parametrize("note", ["", f"\n\n{OLD_NOTE}"])
def test_the_system_message_stays_as_it_is(note: str) -> None:
    """After three compactions a provider still finds it in its cache; also where an older version
    had put a note into it."""
    items = written("openai-chat", [Exchange(2, 1, 900)] * 4, with_system=True)
    items[0] = {**items[0], "content": items[0]["content"] + note}
    system = items[0]
    for start in (100, 200, 300):
        items = compress(items, target_tokens=1_500).messages
        assert items[0] == system
        items = [*items, *written("openai-chat", [Exchange(2, 1, 900)], start=start)]


@pytest.mark.parametrize("prompt", ["Be exact.", [{"type": "text", "text": "Be exact."}]])
def test_a_system_prompt_outside_the_list_stays_as_it_is_and_is_counted(prompt: Any) -> None:
    """All of a request but its messages stays; what it costs is in the report."""
    tools = [{"name": "bash", "input_schema": {"type": "object"}}]
    body = {"model": "claude-sonnet-4-5", "max_tokens": 1_000, "system": prompt, "tools": tools,
            "messages": written("anthropic", [Exchange(2, 1, 900)] * 5)}  # fmt: skip
    made = compress(body, target_tokens=700)
    assert {**made.messages, "messages": []} == {**body, "messages": []}
    assert list(made.messages) == list(body)
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
