"""Results shortened when they arrive."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.testing.rows import each_row

from foldaway.errors import InvalidSetting
from foldaway.reduction import Truncation, reduce_on_arrival
from foldaway.transcript import Estimator

COUNTER = Estimator()
POLICY = Truncation(
    default_tokens=300, tools={"read": 0, "Bash": 100, "mcp__github__*": 50, "search_*": 80}
)
LONG = "a line of an output that is long\n" * 400


@each_row(
    ("tool", "limit"),
    [
        ("Read", 0),
        ("bash", 100),
        ("mcp__github__list_issues", 50),
        ("mcp__other__search_code", 80),
        ("functions.bash", 100),
        ("unknown", 300),
        ("", 300),
    ],
)
def test_a_tool_has_the_limit_of_the_first_pattern_that_names_it(tool: str, limit: int) -> None:
    """In any case, by its whole name or by the last part of it."""
    assert POLICY.limit(tool) == limit
    done = reduce_on_arrival(POLICY, tool, LONG, counter=COUNTER)
    if limit:
        assert done.tokens_after <= limit
    else:
        assert done.text == LONG
        assert done.is_whole


@given(st.text(st.characters(), max_size=300), st.text(max_size=20))
def test_a_result_that_fits_is_left_alone(text: str, tool: str) -> None:
    """The very text; and what was shortened once is not shortened again."""
    done = reduce_on_arrival(Truncation(default_tokens=2_000), tool, text, counter=COUNTER)
    assert done.text == text
    short = Truncation(default_tokens=20)
    once = reduce_on_arrival(short, tool, text, counter=COUNTER)
    assert reduce_on_arrival(short, tool, once.text, counter=COUNTER).text == once.text


def test_a_reference_is_named_in_what_was_shortened() -> None:
    """So that the agent can ask for the whole."""
    done = reduce_on_arrival(POLICY, "Bash", LONG, counter=COUNTER, reference="fa-0123456789")
    assert "fa-0123456789" in done.text


@pytest.mark.parametrize("bad", [{"default_tokens": -1}, {"tools": {"Bash": -5}}])
def test_a_limit_below_nothing_is_refused(bad: dict[str, object]) -> None:
    """The error names the tool."""
    with pytest.raises(InvalidSetting, match="must be 0 or more"):
        Truncation(**bad)  # pyright: ignore[reportArgumentType]
