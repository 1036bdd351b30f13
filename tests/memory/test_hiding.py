"""Messages without their secrets."""

from __future__ import annotations

from typing import Any, cast

from hypothesis import example, given
from hypothesis import strategies as st
from tests.testing.rows import each_row

from foldaway.memory.messages import redact_value
from foldaway.redaction import RedactionPolicy, Redactor

KEY = "ghp_" + "a1B2" * 9
PIECES = st.sampled_from([
    'password="', "token='", "secret: ", "\\", '"', "'", "\n", "words ", KEY, "}", "]", ",", "{",
    "-----BEGIN PRIVATE KEY-----\nMIIE",
])  # fmt: skip
TEXTS = st.lists(PIECES, max_size=6).map("".join)
VALUES = st.recursive(
    TEXTS | st.none() | st.integers(0, 9),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(
        st.sampled_from(["role", "content", "text", "password", "arguments"]), inner, max_size=3),
    max_leaves=8,
)  # fmt: skip

redact = Redactor(RedactionPolicy(personal=False))


def form(value: Any) -> Any:
    """Return the lists and objects of a value, without what they hold."""
    if isinstance(value, dict):
        return {key: form(one) for key, one in cast("dict[str, Any]", value).items()}
    return [form(one) for one in cast("list[Any]", value)] if isinstance(value, list) else None


@given(VALUES)
@example({"role": None, "content": ',password="', "arguments": None})
@example({KEY: "words"})
def test_every_list_and_object_keeps_its_place_and_no_key_survives(value: Any) -> None:
    """Whatever quotes a text opens and never closes."""
    found = redact_value(value, redact)
    assert KEY in str(form(value)) or form(found) == form(value)
    assert KEY not in str(found)


@each_row("text", ['password="', "token='", '{"api_key": "'])
def test_no_message_is_swallowed_by_the_one_before(text: str) -> None:
    """A quote that is left open ends with its text."""
    rows = [{"role": "user", "content": text}, {"role": "assistant", "content": "the port is 5433"}]
    assert redact_value(rows, redact)[1] == rows[1]


def test_names_of_fields_tell_secrets() -> None:
    """Also beside a text that has to be read by itself."""
    rows = [{"content": 'password="', "input": {"password": "hunter2-hunter2"}}, {"x": "y"}]
    found = redact_value(rows, redact)
    assert "hunter2" not in str(found)
    assert found[1] == {"x": "y"}
