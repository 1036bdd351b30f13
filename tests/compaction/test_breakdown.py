"""Where the context goes, by category."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.testing.long_lists import Exchange, long_lists, written

from foldaway import load
from foldaway._core.policy import Policy
from foldaway.compaction.measure import fixed_categories
from foldaway.engine import Compressor
from foldaway.engine.inspection import shares_of
from foldaway.engine.oneshot import compress
from foldaway.transcript import Estimator


@pytest.mark.parametrize("provider", ["openai-chat", "openai-responses", "anthropic", "gemini"])
@given(data=st.data())
def test_the_categories_add_up_to_the_totals(provider: str, data: st.DataObject) -> None:
    """Before and after: the parts are the whole."""
    report = compress(
        data.draw(long_lists(provider)), provider=provider, target_tokens=2_000
    ).report
    if report.status == "compacted":
        assert sum(one.tokens_after for one in report.categories) == report.tokens_after
        assert sum(one.tokens_before for one in report.categories) == report.tokens_before


def test_each_kind_of_message_has_its_category() -> None:
    """System, user, agent, tool results, and the summary afterwards."""
    items = written("openai-chat", [Exchange(2, 1, 900)] * 5, with_system=True)
    found = {one.name: one for one in compress(items, target_tokens=900).report.categories}
    assert {"system prompt", "user", "agent", "tool results", "summary"} <= set(found)
    assert found["summary"].tokens_before == 0
    assert found["tool results"].tokens_after < found["tool results"].tokens_before


def test_what_stands_outside_the_messages_is_told_apart() -> None:
    """System prompt, tools, MCP tools, subagents and skills of a request body."""
    body = {
        "model": "claude-sonnet-4-5", "system": "Be exact. " * 20,
        "tools": [
            {"name": "bash", "input_schema": {}}, {"name": "mcp__git__log", "input_schema": {}},
            {"name": "Task", "input_schema": {}}, {"name": "Skill", "input_schema": {}},
        ],
        "messages": [{"role": "user", "content": "Hi."}],
    }  # fmt: skip
    found = {one.name for one in fixed_categories(load(body), Estimator())}
    assert found == {"system prompt", "tools", "MCP tools", "subagents", "skills"}


SYSTEM = "You are exact. " * 20 + "\n# CLAUDE.md\nUse tabs.\n## Skills\n- pdf\n<memory>\nlikes tea"


def test_a_system_prompt_in_the_list_is_told_by_its_sections_too() -> None:
    """Rules files, skills and memory stand apart, wherever the dialect has its system prompt."""
    items = [
        {"role": "system", "content": SYSTEM},
        *written("openai-chat", [Exchange(2, 1, 900)] * 5),
    ]
    report = compress(items, target_tokens=1_500).report
    found = {one.name: one for one in report.categories}
    assert {"system prompt", "rules files", "skills", "memory"} <= set(found)
    assert found["rules files"].tokens_before == found["rules files"].tokens_after > 0
    assert sum(one.tokens_after for one in report.categories) == report.tokens_after
    assert sum(one.tokens_before for one in report.categories) == report.tokens_before
    shares = {share.name: share.tokens for share in shares_of(load(items), Estimator())}
    assert shares["skills"] == found["skills"].tokens_before


def test_the_tools_of_a_long_lived_session_are_a_category() -> None:
    """The parts are the whole there too."""
    tools = [{"type": "function", "function": {"name": "look", "description": "word " * 50}}]
    engine = Compressor(context_length=8_000, tools=tools)
    engine.append(*written("openai-chat", [Exchange(2, 1, 900)] * 20))
    report = engine.compact(force=True)
    assert report.status == "compacted"
    assert "tools" in {one.name for one in report.categories}
    assert sum(one.tokens_after for one in report.categories) == report.tokens_after


def test_a_report_holds_no_content() -> None:
    """Neither words of the user nor of tools."""
    items = written("openai-chat", [Exchange(2, 1, 900)] * 5, with_system=True)
    report = compress(items, target_tokens=1_500, policy=Policy(protect_first=0)).report
    text = repr(report)
    assert "Ask 1" not in text
    assert "# checked" not in text
