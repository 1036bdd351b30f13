"""Digests: one line for each output, through a table keyed by tool."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.pipeline.digests import DIGESTS, arguments_of, digest_of
from holdfast.pipeline.digests.line import clip, error_line, exit_code
from holdfast.testing import call
from holdfast.testing.formats.words import arguments, names, outputs
from holdfast.transcript import ToolCall


@pytest.mark.parametrize(("tool", "given_arguments", "output", "wanted"), [
    ("Bash", {"command": "npm test"}, "x\n" * 9 + "Error: no\nexit code 1",
     ["Bash ran `npm test`", "exit 1", "11 lines", "Error: no"]),
    ("shell", {"command": ["ls", "-l"]}, "a\nb", ["shell ran `ls -l`", "2 lines"]),
    ("read_file", {"path": "src/a.py", "offset": 40}, "a\nb\nc",
     ["read src/a.py from line 40", "3 lines"]),
    ("Write", {"file_path": "b.py", "content": "x" * 500}, "ok",
     ["Write wrote b.py", "500 characters"]),
    ("mcp__fs__edit_file", {"path": "c.py"}, "done", ["changed c.py"]),
    ("Grep", {"pattern": "def main", "path": "src"}, "a\nb",
     ["looked for 'def main' in src", "2 lines"]),
    ("get_user", {"id": 17}, '{"name": "Ann"}',
     ["get_user(id=17)", "15 characters", '{"name": "Ann"}']),
])  # fmt: skip
def test_a_digest_keeps_what_matters(
    tool: str, given_arguments: dict[str, Any], output: str, wanted: list[str]
) -> None:
    """The tool, what was asked of it, how much came, how it ended."""
    line = digest_of(call(tool, **given_arguments), output)
    assert [piece for piece in wanted if piece not in line] == []


@given(name=names() | st.sampled_from(sorted(DIGESTS)), value=arguments(), output=outputs())
def test_a_digest_is_one_short_line(name: str, value: dict[str, Any], output: str) -> None:
    """Whatever the tool, its arguments and its output are."""
    line = digest_of(call(name, **value), output)
    assert "\n" not in line
    assert 0 < len(line) < 700


@pytest.mark.parametrize("text", ["", "null", "[1]", "not json", '"x"', '{"a": '])
def test_arguments_that_are_no_object_are_empty(text: str) -> None:
    """A digest is still made."""
    odd = ToolCall("c", "bash", text)
    assert arguments_of(odd) == {}
    assert digest_of(odd, "out")


def test_a_result_without_a_call_has_a_digest() -> None:
    """By size alone."""
    assert "1,000 characters" in digest_of(None, "x" * 1_000)


@pytest.mark.parametrize(("output", "code"), [
    ("exit code: 3", 3), ("Process exited with code 0", 0), ("returncode=-9", -9), ("exit", None),
    ("y" * 500 + "exit code 1" + "y" * 500, None),
])  # fmt: skip
def test_exit_codes_are_read_at_the_ends(output: str, code: int | None) -> None:
    """As tools print them, at the head or the tail of an output."""
    assert exit_code(output) == code


def test_the_first_error_is_found_also_at_the_end_of_a_long_log() -> None:
    """One line of it, cut."""
    assert error_line("fine\n" * 30_000 + "FAILED test_x\nmore") == "FAILED test_x"
    assert error_line("all fine") == ""
    assert len(error_line("Error " + "x" * 1_000)) <= 160
    assert clip("a\n  b", 10) == "a b"
