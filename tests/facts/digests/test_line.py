"""Pieces of a digest line."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foldaway.facts.digests.line import (
    clip,
    first_line,
    first_of,
    last_line,
    one_line,
    path_of,
    shorten,
    size_of,
    whole_number,
    words_of,
)


@given(st.text(), st.integers(2, 200))
def test_cut_text_fits_on_one_line(text: str, most: int) -> None:
    """No more than was asked for, and the same when cut again."""
    for cut in (clip(text, most), one_line(text, most)):
        assert len(cut) <= most
        assert len(cut.splitlines()) <= 1
        assert one_line(cut, most) == cut


@pytest.mark.parametrize(("text", "cut"), [
    ("a\n  b", "a b"),
    ("\x1b[31mred\x1b[0m", "red"),
    ("a\x00b\ud800c\u202ed", "a\ufffdb\ufffdc\ufffdd"),
    ("x" * 30, "x" * 11 + "…"),
    ("  \n" * 100, "…"),
])  # fmt: skip
def test_clip_folds_and_cuts(text: str, cut: str) -> None:
    """Blanks are folded, colours go, what cannot be shown is marked, what is cut off too."""
    assert clip(text, 12) == cut


PATHS: list[tuple[dict[str, Any], str]] = [
    ({"file_path": "a.py"}, "a.py"),
    ({"paths": ["a.py", "b.py"]}, "2 files (a.py, b.py)"),
    ({"files": [{"path": n} for n in "abcde"]}, "5 files (a, b, c, …)"),
    ({"path": "x" * 200 + "/name.py"}, "…" + "x" * 111 + "/name.py"),
    ({"path": 3, "files": [1, {}]}, ""),
]  # fmt: skip


@pytest.mark.parametrize(("arguments", "path"), PATHS)
def test_the_path_is_found_under_any_key(arguments: dict[str, Any], path: str) -> None:
    """Of a long one the end stays, of many the first."""
    assert path_of(arguments) == path


@pytest.mark.parametrize(("output", "size"), [
    ("", "0 characters"), ("abc", "3 characters"), ("abc\n", "4 characters"), ("a\nb", "2 lines"),
    ("a\n" * 1_234, "1,234 lines"),
])  # fmt: skip
def test_the_size_is_in_lines_where_there_are_lines(output: str, size: str) -> None:
    """A line break at the end begins no further line."""
    assert size_of(output) == size


def test_values_are_found_in_odd_arguments() -> None:
    """Words, lists of words and numbers in quotes; nothing else is taken for one."""
    odd: dict[str, Any] = {"a": ["ls", "-l", 3, None], "b": "", "n": "12", "t": True, "x": {}}
    assert first_of(odd, "b", "a") == "ls -l 3 "
    assert first_of(odd, "b", "x") == ""
    assert whole_number(odd, "t", "n") == 12
    assert whole_number(odd, "t", "b") is None
    values: list[Any] = [True, 1.5, "abcdef", None, []]
    assert [words_of(value, 4) for value in values] == [
        "true", "1.5", "abc…", "", "",
    ]  # fmt: skip


def test_the_first_and_last_lines_say_something() -> None:
    """Rules and blank lines are passed over."""
    text = "\n---\nfirst words\nmiddle\nlast words\n---\n\n"
    assert (first_line(text), last_line(text)) == ("first words", "last words")
    assert first_line("---\n") == last_line("") == ""
    assert shorten("/a/b/c/name.py", 10) == "…c/name.py"
