"""Fields of structured results: which are found, how they are named, which come first."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from holdfast.facts.dialogue.values import DataField, fields

LEAVES = st.one_of(
    st.integers(-(10**6), 10**6),
    st.booleans(),
    st.text(st.characters(codec="ascii", exclude_characters="\"\\'"), min_size=1, max_size=20),
)
VALUES = st.recursive(
    LEAVES,
    lambda below: st.one_of(
        st.lists(below, max_size=4),
        st.dictionaries(st.from_regex(r"[a-z_]{1,8}", fullmatch=True), below, max_size=4),
    ),
    max_leaves=12,
)


def worthiest(text: str, most: int) -> list[DataField]:
    """The fields that are likeliest asked for again."""
    return sorted(fields(text), key=lambda field: -field.worth)[:most]


@given(st.one_of(st.lists(VALUES), st.dictionaries(st.sampled_from("abc"), VALUES)))
def test_every_short_value_of_json_is_found_as_it_is_written(value: object) -> None:
    """The value of a field stands in the text, and a leaf of the text is among the fields."""
    text = json.dumps(value)
    found = fields(text)
    assert all(one.value in text for one in found)
    assert {one.path for one in found} >= {path for path, leaf in _leaves(value) if leaf.strip()}


def _leaves(value: object, path: str = "") -> list[tuple[str, str]]:
    if isinstance(value, dict):
        if len(value) > 1 and all(isinstance(v, dict) for v in value.values()):  # a table
            below = [_leaves(v, f"{path}[{k}]") for k, v in value.items()]
        else:
            below = [_leaves(v, f"{path}.{k}" if path else k) for k, v in value.items()]
    elif isinstance(value, list):
        below = [_leaves(v, f"{path}[{n}]") for n, v in enumerate(value)]
    else:
        text = "" if isinstance(value, str) and not value.isprintable() else str(value)
        nested = isinstance(value, str) and value[:1] in "{["
        return [] if nested else [(path, text)]
    return [leaf for leaves in below for leaf in leaves]


@given(st.text(alphabet="[]{}()\"',:\\ab1.N one", max_size=60))
def test_no_text_breaks_the_reading(text: str) -> None:
    """What is not quite JSON gives some fields or none."""
    for one in fields(text):
        assert one.value in text


def test_ids_and_states_come_before_long_texts() -> None:
    """What an agent asks for again is first: ids, names, status, amounts, dates."""
    text = json.dumps({
        "description": "a long story about nothing in particular that nobody reads",
        "user_id": "mia_kim_4397", "status": "cancelled",
        "flights": [{"flight_number": "HAT107", "price": 163.10, "date": "2024-05-20"}],
        "reservations": ["M20IZO"],
    })  # fmt: skip
    found = [f"{one.path} = {one.value}" for one in worthiest(text, 20)]
    assert found[0] == "user_id = mia_kim_4397"
    assert found[-1].startswith("description")
    assert "flights[0].price = 163.1" in found
    assert "reservations[0] = M20IZO" in found


def test_numbers_stay_as_they_are_written() -> None:
    """1.10 is not 1.1, and a large number keeps all of its digits."""
    found = {one.path: one.value for one in worthiest('{"a": 1.10, "b": 12345678901234567890}', 5)}
    assert found == {"a": "1.10", "b": "12345678901234567890"}


def test_rows_of_a_table_in_pythons_form_are_read() -> None:
    """Results of SQL tools are lists of tuples."""
    text = "[('Aruba', 828.0, None), (\"O'Hara\", b'int', Decimal('1.20'))]"
    found = {one.path: one.value for one in worthiest(text, 20)}
    assert found["[0][0]"] == "Aruba"
    assert found["[0][1]"] == "828.0"
    assert found["[1][0]"] == "O'Hara"
    assert "1.20" in found.values()


def test_a_value_that_was_cut_off_gives_what_it_has() -> None:
    """A truncated result still names its first fields."""
    found = {
        one.path: one.value for one in worthiest('{"id": "A1", "rows": [{"n": 1}, {"n": 2', 20)
    }
    assert found == {"id": "A1", "rows[0].n": "1", "rows[1].n": "2"}


def test_a_value_inside_a_string_is_read_too() -> None:
    """Tools that wrap their answer in a string hide nothing."""
    text = json.dumps({"content": "{'reversed': 'abc', 'n': 3}"})
    assert {one.path: one.value for one in worthiest(text, 5)} == {
        "content.reversed": "abc", "content.n": "3",
    }  # fmt: skip


def test_a_text_has_no_fields() -> None:
    """A log line in brackets, a Markdown link or prose is no structured data."""
    for text in (
        "[lint:go] running the linter, please wait", "[a link](https://example.com)", "plain",
        "(see above, in the notes)", "", "[", "{}",
    ):  # fmt: skip
        assert worthiest(text, 5) == [], text


def test_a_huge_value_is_read_in_part() -> None:
    """Work has a bound, and the first rows are there."""
    text = json.dumps([{"id": f"A{n}", "name": "x" * 50} for n in range(50_000)])
    assert worthiest(text, 3)[0].value == "A0"
