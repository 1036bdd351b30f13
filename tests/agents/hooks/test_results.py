"""Results before the model sees them: the same shape, shorter, and nothing lost."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from tests.testing.rows import each_row

from foldaway.agents.hooks.results import keep_originals, show_result
from foldaway.stores.open import open_store
from foldaway.transcript.estimate import Estimator

LOG = "\n".join(f"{n}: request {n * 7919 % 1000003} took {n * 31 % 900} ms" for n in range(900))
VALUES = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.text(max_size=40), st.just(LOG)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=4), inner, max_size=3)
    ),
    max_leaves=6,
)


def shape(value: Any) -> Any:
    match value:
        case dict():
            table: dict[str, Any] = value
            return {key: shape(one) for key, one in table.items()}
        case list():
            rows: list[Any] = value
            return [shape(one) for one in rows]
        case _:
            return type(value)


def long_texts(value: Any) -> int:
    return json.dumps(value).count(json.dumps(LOG))


@given(VALUES)
def test_a_result_keeps_its_shape_and_every_long_text_its_original(value: Any) -> None:
    """Short texts stay as they are; each shortened one names the reference of its original."""
    found = show_result("Bash", value, 500, "s t")
    if not long_texts(value):
        assert found is None
        return
    assert found is not None
    assert shape(found.value) == shape(value)
    assert len(found.originals) == long_texts(value)
    assert all(one.text == LOG for one in found.originals)
    text = json.dumps(found.value)
    assert all(one.ref in text for one in found.originals)
    assert found == show_result("Bash", value, 500, "s t")


def test_a_text_is_shortened_to_its_tokens() -> None:
    """And says where the original is."""
    found = show_result("Bash", {"stdout": LOG, "stderr": "x"}, 500, "m")
    assert found is not None
    assert Estimator().count(found.value["stdout"]) <= 500
    assert found.value["stderr"] == "x"


@each_row("tool", ["Read", "Edit", "mcp__foldaway__foldaway_sessions_recall"])
def test_what_must_be_exact_stays(tool: str) -> None:
    """An agent edits what it has read, and a recall that is shortened again recalls nothing."""
    assert show_result(tool, {"content": LOG}, 500, "m") is None


def test_secrets_are_hidden_if_asked_for() -> None:
    """Also in short results, and in those that must be exact; nothing is kept for them."""
    found = show_result("Read", {"content": "key"}, 500, "m", lambda text: text.replace("k", "*"))
    assert found is not None
    assert found.value == {"content": "*ey"}
    assert found.originals == ()


def test_a_reference_opens_the_original() -> None:
    """Twice is once; two calls with the same output have references of their own."""
    with open_store(":memory:") as store:
        for mark in ("one", "two", "two"):
            found = show_result("Bash", LOG, 500, mark)
            assert found is not None
            keep_originals(
                store, found.originals, agent="claude-code", session="s", cwd="/p", tool="Bash"
            )
            place = store.places(found.originals[0].ref)[0]
            (row,) = store.read(place.session_id, *place.reference.positions)
            assert json.loads(row.body)["content"] == LOG
        assert store.session(place.session_id).length == 2
        assert store.session(place.session_id).kind == "tool"
