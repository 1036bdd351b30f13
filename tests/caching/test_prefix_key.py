"""The key of the static prefix: the same for the same prefix, whatever its order."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foldaway.caching.breakpoints import SESSION, STATIC, prefix_key
from foldaway.errors import NotReadable

json_values = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.text(max_size=5)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=4), inner, max_size=3)
    ),
    max_leaves=8,
)
tools: st.SearchStrategy[list[dict[str, Any]]] = st.lists(
    st.dictionaries(st.text(max_size=4), json_values, max_size=4), max_size=4
)


@given(st.text(), tools, st.randoms(use_true_random=False), st.text())
def test_order_and_session_make_no_difference(
    instructions: str, given_tools: list[dict[str, Any]], random: Any, session: str
) -> None:
    """Tools in any order, keys in any order, and any session id give one key."""
    if not instructions and not given_tools:
        return
    shuffled = [dict(random.sample(list(tool.items()), len(tool))) for tool in given_tools]
    random.shuffle(shuffled)
    key = prefix_key(instructions, given_tools)
    assert prefix_key(instructions, shuffled, session) == key
    assert key.startswith(STATIC)
    assert len(key) <= 64


@given(st.text(), st.text(), tools)
def test_other_instructions_give_another_key(one: str, other: str, given_tools: Any) -> None:
    """What the model is told counts."""
    if one != other:
        assert prefix_key(one, given_tools, "s") != prefix_key(other, given_tools, "s")


def test_text_does_not_move_between_instructions_and_tools() -> None:
    """A NUL in the instructions is no border."""
    assert prefix_key('a\0{"b":1}') != prefix_key("a", [{"b": 1}])


def test_the_session_counts_only_without_a_static_prefix() -> None:
    """Two kinds of keys, told apart by how they begin."""
    assert prefix_key("", (), "one").startswith(SESSION)
    assert prefix_key("", (), "one") != prefix_key("", (), "two")
    assert prefix_key("") == ""


def test_cache_marks_do_not_count() -> None:
    """A mark that moves leaves the key alone."""
    marked = [{"name": "a", "cache_control": {"type": "ephemeral"}}]
    assert prefix_key("x", marked) == prefix_key("x", [{"name": "a"}])


def test_lone_surrogates_are_no_obstacle() -> None:
    """Odd text has a key too."""
    assert prefix_key("\ud800", [{"name": "\udfff"}]).startswith(STATIC)


def test_what_is_no_json_is_refused() -> None:
    """A definition that cannot be written is an error of ours, with a remedy."""
    deep: dict[str, Any] = {}
    for _ in range(100_000):
        deep = {"a": deep}
    for odd in ({"a": object()}, deep):
        with pytest.raises(NotReadable, match="JSON"):
            prefix_key("x", [odd])
