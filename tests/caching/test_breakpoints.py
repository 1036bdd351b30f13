"""Cache marks: never more than four, where they may stand, and only where they are wanted."""

from __future__ import annotations

import copy
import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from tests.testing.rows import each_row

from foldaway.caching.breakpoints import (
    KEY,
    MOST_MARKS,
    wants_breakpoints,
    with_breakpoints,
    without_breakpoints,
)

MARK = {"type": "ephemeral"}
LONG = {"type": "ephemeral", "ttl": "1h"}

marks = st.sampled_from([None, None, None, MARK, LONG])
words = st.sampled_from(["", " ", "word", "two words", "\ud800"])


@st.composite
def blocks(draw: st.DrawFn) -> Any:
    kind = draw(st.sampled_from(
        ["text", "thinking", "redacted_thinking", "tool_use", "tool_result", "image", "odd", 7]
    ))  # fmt: skip
    found: dict[str, Any] = {"type": kind}
    if kind == "text":
        found["text"] = draw(words)
    if kind == "tool_result":
        found["content"] = draw(st.one_of(words, st.lists(blocks(), max_size=2)))
    mark = draw(marks)
    return found if mark is None else {**found, KEY: mark}


contents = st.one_of(st.none(), words, st.lists(st.one_of(blocks(), st.none()), max_size=4))
messages = st.lists(
    st.one_of(
        st.fixed_dictionaries(
            {
                "role": st.sampled_from(["user", "assistant", "system", "tool", "odd"]),
                "content": contents,
            }
        ),
        st.just({"role": "user"}),
        st.just("no message"),
    ),
    max_size=8,
)
requests = st.fixed_dictionaries(
    {"model": st.just("claude")},
    optional={
        "messages": messages,
        "system": contents,
        "tools": st.lists(st.sampled_from([{"name": "a"}, {"name": "b", KEY: MARK}]), max_size=3),
        KEY: st.just(MARK),
    },
)
anything = st.one_of(requests, messages)
ttls = st.sampled_from(["5m", "1h"])
wires = st.sampled_from(["anthropic", "openrouter"])


def count(value: Any) -> int:
    """Count the marks anywhere in a value."""
    if isinstance(value, dict):
        own = isinstance(value.get(KEY), dict)
        return own + sum(count(inner) for key, inner in value.items() if key != KEY)
    return sum(count(inner) for inner in value) if isinstance(value, list) else 0


@given(anything, ttls, wires)
def test_there_are_never_more_than_four_marks_unless_there_were(
    request: Any, ttl: Any, wire: Any
) -> None:
    """The client's own marks count, and none of them is taken away."""
    marked = with_breakpoints(request, ttl=ttl, wire=wire)
    was, now = count(request), count(marked)
    assert was <= now <= max(was, MOST_MARKS)


@given(anything, ttls, wires)
def test_marking_twice_is_marking_once(request: Any, ttl: Any, wire: Any) -> None:
    """What was marked comes back as the same object."""
    marked = with_breakpoints(request, ttl=ttl, wire=wire)
    assert with_breakpoints(marked, ttl=ttl, wire=wire) is marked


@given(anything, ttls, wires)
def test_marking_changes_nothing_but_marks_and_mutates_nothing(
    request: Any, ttl: Any, wire: Any
) -> None:
    """Without its marks, and with single texts as texts, the request is what it was."""
    before = copy.deepcopy(request)
    marked = with_breakpoints(request, ttl=ttl, wire=wire)
    assert request == before
    assert plain(without_breakpoints(marked)) == plain(without_breakpoints(request))


def plain(value: Any) -> Any:
    """Return a value with a list of one text in the place of a text as the text."""
    if isinstance(value, dict):
        return {key: plain(inner) for key, inner in value.items()}
    if isinstance(value, list):
        only = value[0] if len(value) == 1 else None
        if isinstance(only, dict) and set(only) == {"type", "text"} and only["type"] == "text":
            return only["text"]
        return [plain(inner) for inner in value]
    return value


@given(anything, wires)
def test_no_mark_of_ours_stands_where_it_may_not(request: Any, wire: Any) -> None:
    """Thinking, empty texts and things of unknown kind never get one."""
    bare = without_breakpoints(request)
    marked = with_breakpoints(bare, wire=wire)
    for block in every_marked(marked):
        assert block.get("type") not in ("thinking", "redacted_thinking", "odd", 7)
        assert block.get("type") != "text" or block["text"].strip()


def every_marked(value: Any) -> list[dict[str, Any]]:
    if isinstance(value, dict):
        own = [value] if KEY in value else []
        return own + [one for inner in value.values() for one in every_marked(inner)]
    if isinstance(value, list):
        return [one for inner in value for one in every_marked(inner)]
    return []


@given(messages, ttls)
def test_taking_marks_away_leaves_none(items: list[Any], ttl: Any) -> None:
    """A host that keeps what was sent can take all marks out again."""
    assert count(without_breakpoints(with_breakpoints(items, ttl=ttl))) == 0


def test_the_system_prompt_and_the_newest_three_messages_are_marked() -> None:
    """One mark for what never changes, three that move with the conversation."""
    request = {
        "system": "be good",
        "messages": [{"role": "user", "content": f"message {n}"} for n in range(6)],
    }
    marked = with_breakpoints(request)
    assert marked["system"] == [{"type": "text", "text": "be good", KEY: MARK}]
    assert [count(message) for message in marked["messages"]] == [0, 0, 0, 1, 1, 1]
    request["messages"].append({"role": "user", "content": "message 6"})
    assert [count(m) for m in with_breakpoints(request)["messages"]] == [0, 0, 0, 0, 1, 1, 1]


def test_messages_that_cannot_bear_a_mark_are_passed_over() -> None:
    """Empty content and thinking alone are no place; the next older message is taken."""
    items: list[dict[str, Any]] = [
        {"role": "user", "content": "first"},
        {"role": "assistant", "content": [{"type": "tool_use", "id": "a", "name": "t"}]},
        {"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": "a", "content": [{"type": "text", "text": "x"}]},
        ]},
        {"role": "assistant", "content": [{"type": "thinking", "thinking": "hm"}]},
        {"role": "user", "content": ""},
    ]  # fmt: skip
    marked = with_breakpoints(items)
    assert [count(message) for message in marked] == [1, 1, 1, 0, 0]
    result = marked[2]["content"][0]
    assert result[KEY] == MARK
    assert KEY not in result["content"][0]


def test_openrouter_gets_no_mark_on_tool_messages() -> None:
    """There a mark on a tool message makes the request hang."""
    items = [
        {"role": "system", "content": "be good"},
        {"role": "user", "content": "do it"},
        {"role": "assistant", "content": None, "tool_calls": []},
        {"role": "tool", "tool_call_id": "a", "content": "done"},
    ]
    assert [count(m) for m in with_breakpoints(items, wire="openrouter")] == [1, 1, 0, 0]


def test_without_a_system_prompt_the_tools_are_marked() -> None:
    """The end of what never changes is then the last tool."""
    request = {"tools": [{"name": "a"}, {"name": "b"}], "messages": []}
    assert [count(tool) for tool in with_breakpoints(request)["tools"]] == [0, 1]


def test_a_long_lived_mark_never_follows_a_short_lived_one() -> None:
    """Ours take the life that the client's marks leave them."""
    items: list[dict[str, Any]] = [{"role": "user", "content": f"m{n}"} for n in range(4)]
    items[1]["content"] = [{"type": "text", "text": "m1", KEY: MARK}]
    later = with_breakpoints({"system": "s", "messages": items}, ttl="1h")
    assert later["system"][0][KEY] == LONG
    assert [m["content"][0][KEY] for m in later["messages"][2:]] == [MARK, MARK]
    items[3]["content"] = [{"type": "text", "text": "m3", KEY: LONG}]
    items[1]["content"] = "m1"
    sooner = with_breakpoints({"system": "s", "messages": items}, ttl="5m")
    assert sooner["system"][0][KEY] == LONG


@each_row(
    ("model", "provider", "url", "wanted"),
    [
        ("claude-sonnet-4-5", "anthropic", "", "anthropic"),
        ("claude-sonnet-4-5", "", "https://api.anthropic.com/v1", "anthropic"),
        ("anthropic/claude-sonnet-4.5", "openrouter", "", "openrouter"),
        ("anthropic/claude-sonnet-4.5", "", "https://openrouter.ai/api/v1", "openrouter"),
        ("claude-sonnet-4-5", "anthropic", "http://localhost:8080", None),
        ("claude-sonnet-4-5", "", "https://evil.example/api.anthropic.com", None),
        ("claude-sonnet-4-5", "", "https://notanthropic.com", None),
        ("claude-sonnet-4-5", "", "https://api.anthropic.com@evil.example/", None),
        ("gpt-5.1", "openrouter", "", None),
        ("claude-sonnet-4-5", "", "", None),
        ("claude-sonnet-4-5", "bedrock", "", None),
    ],
)
def test_marks_are_wanted_for_claude_on_two_providers(
    model: str, provider: str, url: str, wanted: str | None
) -> None:
    """Claude on Anthropic and OpenRouter; elsewhere nothing is marked."""
    assert wants_breakpoints(model, provider=provider, base_url=url) == wanted


def test_a_marked_request_keeps_the_rules_of_the_provider() -> None:
    """What we mark passes the check of cache markers."""
    from foldaway.dialects.checking import check_transcript
    from foldaway.dialects.loading import load
    from foldaway.dialects.profiles import profile_for

    request = {
        "model": "claude-sonnet-4-5", "max_tokens": 10, "system": "s",
        "messages": [{"role": ("user", "assistant")[n % 2], "content": f"m{n}"} for n in range(5)],
    }  # fmt: skip
    marked = with_breakpoints(json.loads(json.dumps(request)), ttl="1h")
    found = load(marked, dialect="anthropic")
    assert check_transcript(found, profile_for("anthropic", None)) == []
