"""Rows of structured results: a line for each item, with its worthiest fields first."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from foldaway.facts.rows import data_rows, shorten_row

LEAVES = st.one_of(
    st.integers(-(10**6), 10**6),
    st.booleans(),
    st.text(st.characters(codec="ascii", categories=["L", "N"]), min_size=1, max_size=20),
)
VALUES = st.recursive(
    LEAVES,
    lambda below: st.one_of(
        st.lists(below, max_size=4),
        st.dictionaries(st.from_regex(r"[a-z_]{1,8}", fullmatch=True), below, max_size=4),
    ),
    max_leaves=12,
)
LEG = {
    "notes": "Loaded at night, behind the second gate on the left.",
    "from": "PHX", "to": "SEA", "leg_number": "HAT045", "prices": {"small": 106, "large": 370},
    "leaves": "23:00:00", "date": "2024-05-28",
}  # fmt: skip
TOLD = (
    "HAT045 PHX SEA; prices (small: 106, large: 370); leaves: 23:00:00 2024-05-28; "
    "notes: Loaded at night, behind the second gate on the left."
)


@given(st.one_of(st.lists(VALUES), st.dictionaries(st.sampled_from("abc"), VALUES)))
def test_every_short_value_of_json_is_told_as_it_is_written(value: object) -> None:
    """With enough room no leaf is lost."""
    told = "\n".join(data_rows(json.dumps(value), 1_000, 10_000))
    for leaf in _leaves(value):
        if leaf not in ("null", "None"):
            assert leaf in told


def _leaves(value: object) -> list[str]:
    if isinstance(value, dict):
        return [leaf for below in value.values() for leaf in _leaves(below)]
    if isinstance(value, list):
        return [leaf for below in value for leaf in _leaves(below)]
    return [json.dumps(value).strip('"')]


@given(st.text(alphabet="[]{}()\"',:\\ab1.N one", max_size=60), st.integers(40, 400))
def test_no_text_breaks_the_reading(text: str, most: int) -> None:
    """What is not quite JSON gives some rows or none, and each is a line of its own."""
    for row in data_rows(text, 20, most):
        assert row.isprintable()
        assert len(shorten_row(row, most)) <= max(most, 60) + 10


def test_an_item_is_told_with_its_id_first_and_long_texts_last() -> None:
    """The other fields stand in their order, each under its name."""
    assert data_rows(json.dumps([LEG]), 9) == [TOLD]


def test_each_line_says_which_of_how_many_items_it_is() -> None:
    """Part of a list does not look like the whole."""
    rows = data_rows(json.dumps([LEG] * 3), 2)
    assert rows == [f"(1 of 3) {TOLD}", f"(2 of 3) {TOLD}"]
    [row] = data_rows(json.dumps({"watchlist": [f"S{n}" for n in range(1_003)]}), 9, 100)
    assert row.endswith(" of 1,003)")
    [row, *_] = data_rows(json.dumps([[f"city_{n}", n] for n in range(99)]), 99)
    assert row.startswith("(1 to 18 of 99) city_0, 0 | city_1, 1 | ")


def test_legs_of_a_pair_stay_together() -> None:
    """A list in a list is one item."""
    other = {**LEG, "leg_number": "HAT134", "from": "SFO", "to": "PHX"}
    [row] = data_rows(json.dumps([[other, LEG]]), 9)
    first, second = row.split(" | ")
    assert first.startswith("HAT134 SFO PHX")
    assert second.startswith("HAT045 PHX SEA")
    assert all("large: 370" in leg for leg in shorten_row(row, 170).split(" | "))


def test_a_customer_is_told_with_name_and_payments() -> None:
    """Each payment stands beside its amount, all of them on one line."""
    text = json.dumps({
        "name": {"first_name": "Omar", "last_name": "Rossi"}, "address": {"city": "Austin"},
        "payment_methods": {
            "gift_card_1": {"source": "gift_card", "amount": 6, "id": "gift_card_1"},
            "gift_card_2": {"source": "gift_card", "amount": 113, "id": "gift_card_2"},
        },
        "membership": "gold", "reservations": ["FQ8APE"],
    })  # fmt: skip
    assert data_rows(text, 9) == [
        "name (Omar Rossi); address (city: Austin); payment_methods "
        "(gift_card_1: source: gift_card, amount: 6 | gift_card_2: source: gift_card, amount: "
        "113); membership: gold; reservations: FQ8APE"
    ]


def test_items_that_do_not_fit_have_lines_with_the_id_they_belong_to() -> None:
    """No item is cut to pieces to make room."""
    items = [{"name": f"Lamp {n}", "item_id": str(10**9 + n), "price": 1.10} for n in range(40)]
    rows = data_rows(json.dumps({"order_id": "W11", "status": "shipped", "items": items}), 99, 300)
    assert rows[0] == "W11; status: shipped"
    assert rows[1] == "W11 items (1 of 40) item_id: 1000000000 Lamp 0; price: 1.1"
    assert len(rows) == 41


def test_numbers_stay_as_they_are_written() -> None:
    """1.10 is not 1.1, and a large number keeps all of its digits."""
    text = '{"a": 1.10, "b": 12345678901234567890}'
    assert data_rows(text, 9) == ["a: 1.10; b: 12345678901234567890"]


def test_short_rows_of_a_table_share_a_line() -> None:
    """Results of SQL tools are lists of tuples; a table with one column is a list."""
    text = "[('Aruba', 828.0, None), (\"O'Hara\", b'int', Decimal('1.20'))]"
    assert data_rows(text, 9) == ["Aruba, 828.0, None | O'Hara, int, 1.20"]
    assert data_rows("[('singer',), ('song',)]", 9) == ["singer, song"]


def test_a_value_that_was_cut_off_gives_what_it_has() -> None:
    """A truncated result still tells its first items."""
    rows = data_rows('{"id": "A1", "rows": [{"n": 1}, {"n": 2', 9)
    assert rows == ["A1; rows: n: 1 | n: 2"]


def test_of_a_long_text_its_beginning_is_told() -> None:
    """It does not push the fields out."""
    text = json.dumps({"note": "many words " * 80, "rear": 32.0})
    [row] = data_rows(text, 9)
    assert "rear: 32.0" in row
    assert row.endswith("many words many…")


def test_a_text_has_no_rows() -> None:
    """A log line in brackets, a Markdown link or prose is no structured data."""
    for text in (
        "[lint:go] running the linter, please wait", "[a link](https://example.com)", "plain",
        "(see above, in the notes)", "", "[", "{}",
    ):  # fmt: skip
        assert data_rows(text, 5) == [], text


def test_a_huge_value_is_read_in_part() -> None:
    """Work has a bound, and the first rows are there."""
    text = json.dumps([{"id": f"A{n}", "name": "x" * 50} for n in range(50_000)])
    assert data_rows(text, 3)[0].startswith("(1 of 50,000) A0")
