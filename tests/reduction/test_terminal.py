"""Escape codes, line ends and progress bars."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.reduction.terminal import plain


@pytest.mark.parametrize(
    ("given_", "shown"),
    [
        ("\x1b[1;31mred\x1b[0m", "red"),
        ("\x1b]8;;https://a.invalid\x07link\x1b]8;;\x07", "link"),
        ("\x1b(B\x1b[?25l text", " text"),
        ("a\r\nb\r\n", "a\nb\n"),
        ("10%\r50%\r100%\ndone", "100%\ndone"),
        ("kept\r", "kept"),
        ("\x1b", "\x1b"),
        ("plain", "plain"),
    ],
)
def test_text_is_as_a_terminal_leaves_it(given_: str, shown: str) -> None:
    """No codes, line feeds alone, what was overwritten is gone."""
    assert plain(given_) == shown


@given(st.text(st.sampled_from("ab\x1b[];0m\x07\\\r\n"), max_size=60))
def test_the_number_of_lines_stays(text: str) -> None:
    """Only line feeds part lines, and none comes or goes."""
    assert plain(text).count("\n") == text.count("\n")
