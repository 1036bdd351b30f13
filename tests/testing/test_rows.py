"""A table as one test says as much as one item a row."""

from __future__ import annotations

import pytest
from tests.testing.rows import each_row


@pytest.fixture
def limit() -> int:
    """The largest number that passes."""
    return 2


def test_every_row_that_fails_is_named_with_its_error(limit: int) -> None:
    """Whether it failed by an assertion, by another error or because nothing was raised."""

    @each_row("number, text", [(1, "a"), (3, "b"), pytest.param(4, "c", id="fourth"), (0, "d")])
    def check(number: int, text: str, limit: int) -> None:
        assert number <= limit, text
        if not number:
            with pytest.raises(KeyError):
                pass

    with pytest.raises(BaseExceptionGroup) as found:
        check(limit=limit)
    assert found.value.message == ("3 of 4 rows failed: 1 (3, 'b'); 2 (fourth); 3 (0, 'd')")
    assert [error.__notes__ for error in found.value.exceptions] == [
        ["row 1 (3, 'b')"], ["row 2 (fourth)"], ["row 3 (0, 'd')"]
    ]  # fmt: skip


def test_a_row_that_skips_is_said_after_the_others_ran() -> None:
    """It is left out neither in silence nor with the rows behind it."""
    ran: list[int] = []

    @each_row("number", [1, 2])
    def check(number: int) -> None:
        if number == 1:
            pytest.skip("not here")
        ran.append(number)

    with pytest.raises(pytest.skip.Exception, match=r"row 0 \(1\): not here"):
        check()
    assert ran == [2]


@each_row("number", [1, 2], ids=["one", "two"])
@each_row(("text",), [("a",), ("b",)], ids=str)
def test_tables_may_be_combined_and_fixtures_come_as_ever(
    number: int, text: str, limit: int
) -> None:
    """Every row of one with every row of the other."""
    assert number <= limit
    assert text in "ab"


def test_a_table_that_checks_nothing_is_refused() -> None:
    """No rows, rows with marks, coroutines and names that the test does not take."""

    def check(number: int) -> None:
        assert number

    async def later(number: int) -> None:
        assert number

    with pytest.raises(ValueError, match="no rows"):
        each_row("number", [])
    with pytest.raises(ValueError, match="no marks"):
        each_row("number", [pytest.param(1, marks=pytest.mark.soak)])
    with pytest.raises(TypeError, match="'check' is async, or does not take"):
        each_row("other", [1])(check)
    with pytest.raises(TypeError, match="'later' is async"):
        each_row("number", [1])(later)  # pyright: ignore[reportArgumentType]
