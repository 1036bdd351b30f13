"""Check: what it looks at, and in which order it answers."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.testing.rows import each_row

from foldaway.dialects.checking import check
from foldaway.dialects.profiles import PROFILES
from foldaway.errors import NotReadable, UnknownName

CHAT = [
    {"role": "user", "content": "go"},
    {"role": "tool", "tool_call_id": "c9", "content": "x"},
    {"role": "assistant", "content": "", "_note": 1},
]
ANY_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8)
    | st.sampled_from(["user", "assistant", "tool", "text", "tool_use", "thinking", "human"]),
    lambda inner: st.lists(inner, max_size=4)
    | st.dictionaries(
        st.sampled_from(
            ["role", "content", "type", "text", "parts", "from", "value", "tool_calls", "id",
             "tool_call_id", "function", "name", "arguments", "functionCall", "call_id", "input",
             "cache_control", "thinking", "signature", "_x"]
        ),
        inner, max_size=5,
    ),
    max_leaves=20,
)  # fmt: skip


def test_violations_come_in_the_order_of_the_messages() -> None:
    """A reader goes through the list once."""
    assert [(found.rule, found.index) for found in check(CHAT)] == [
        ("result-has-call", 1), ("content-present", 2), ("keys-foreign", 2),
    ]  # fmt: skip


def test_a_path_starts_at_the_root_of_what_was_given() -> None:
    """In a request body the path goes through the field that holds the list."""
    assert check(CHAT)[0].path == "$[1].tool_call_id"
    assert check({"messages": CHAT})[0].path == "$.messages[1].tool_call_id"


def test_a_provider_implies_its_dialect() -> None:
    """A plain list is read as the dialect of the provider that is named."""
    plain = [{"role": "assistant", "content": "hi"}, {"role": "user", "content": "go"}]
    assert check(plain) == []
    assert [found.rule for found in check(plain, provider="anthropic")] == ["user-first"]


def test_the_stricter_profile_reads_the_same_dialect() -> None:
    """`strict` is a profile of chat lists, not a dialect."""
    twice = [{"role": "user", "content": "a"}, {"role": "user", "content": "b"}]
    assert check(twice, dialect="openai-chat") == []
    assert [found.rule for found in check(twice, provider="strict")] == ["roles-alternate"]


def test_alternation_and_unknown_keys_are_two_options() -> None:
    """A gateway may want one and not the other; `strict` wants both."""
    twice = [{"role": "user", "content": "a"}, {"role": "user", "content": "b", "timestamp": 1}]

    def found(provider: str) -> set[str]:
        return {one.rule for one in check(twice, provider=provider)}

    assert found("alternating") == {"roles-alternate"}
    assert found("known-keys") == {"keys-known"}
    assert found("strict") == {"keys-known", "roles-alternate"}


def test_an_unknown_provider_is_named_with_the_known_ones() -> None:
    """The error says what there is."""
    with pytest.raises(UnknownName, match="anthropic"):
        check(CHAT, provider="nobody")


@each_row("value", [[], {}, "text", 7, None, {"messages": []}])
def test_what_holds_no_messages_is_not_readable(value: Any) -> None:
    """No list, no verdict."""
    with pytest.raises(NotReadable):
        check(value)


@given(st.lists(ANY_JSON, min_size=1, max_size=5), st.sampled_from(sorted(PROFILES)))
def test_any_json_list_gets_a_verdict_and_is_not_mutated(items: list[Any], provider: str) -> None:
    """Whatever JSON a list holds, check answers; an element that is no object is reported."""
    before = copy.deepcopy(items)
    found = check(items, provider=provider)
    assert items == before
    assert all(-1 <= violation.index < len(items) for violation in found)
    no_objects = {at for at, item in enumerate(items) if not isinstance(item, dict)}
    assert no_objects <= {violation.index for violation in found}


@each_row("provider", sorted(PROFILES))
def test_every_path_leads_to_a_place_in_the_data(provider: str) -> None:
    """A path can be followed as far as the data goes: its message is always there."""
    items = json.loads(json.dumps([*CHAT, {"from": "human"}, {"parts": 7, "role": "user"}, 5]))
    for violation in check(items, provider=provider):
        assert violation.path.startswith(f"$[{violation.index}]")


def test_what_is_wrong_and_what_to_do_do_not_contradict_or_repeat_each_other() -> None:
    """A string in a list of blocks is no block; the known roles are named once."""
    (found,) = check([{"role": "user", "content": ["hi"]}], provider="anthropic")
    assert (found.message, found.remedy) == (
        "is a string, not a content block",
        "make it a content block",
    )
    (found,) = check([{"content": "x"}], dialect="openai-chat")
    assert found.message == "has no role"
    assert found.remedy.startswith("use one of system, ")
