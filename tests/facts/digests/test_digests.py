"""Digests: one line for each output, through a table keyed by the family of the tool."""

from __future__ import annotations

import json
import time
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.testing.words import arguments, names, outputs

from foldaway.facts.digests import DIGESTS, digest, digest_of
from foldaway.facts.digests.line import LIMIT_CHARS
from foldaway.facts.tools import FAMILIES, Family, read_arguments
from foldaway.testing import call
from foldaway.transcript import ToolCall

ONE_OF_EACH = sorted(row.names.split()[0] for row in FAMILIES.values() if row.names)
KEYS = (
    "command", "cmd", "path", "file_path", "files", "pattern", "query", "url", "todos", "plan",
    "code", "questions", "question", "input", "content", "old_string", "edits", "view_range",
    "description", "session_id", "chars", "action", "coordinate", "taskId", "status", "tool_name",
)  # fmt: skip
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=12) | st.sampled_from(("view", "*** Add File: a\n+b", "[x] a\n[ ] b", "[")),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=3)
    ),
    max_leaves=10,
)  # fmt: skip
ODD = "\x1b[]{}\"':;/\\\n\r\t\x00\u2028\u202e\ud800 1aé→|#-*<>="
FORMS = ("Exit code 1\n", "Command: '\n", "\nOutput:\n", '{"output": 1}', "[File:\n1:", "Error: ")
TEXTS = (
    st.text(max_size=80)
    | st.text(st.sampled_from(ODD), max_size=80)
    | VALUES.map(json.dumps)
    | st.sampled_from(FORMS)
)  # fmt: skip


def test_every_family_has_a_digest_and_a_row() -> None:
    """A tool of any family gets a line by its own rules, and `tools.toml` says what it does."""
    assert set(DIGESTS) == set(get_args(Family))
    assert set(FAMILIES) == set(get_args(Family))


@given(
    name=st.sampled_from(ONE_OF_EACH) | names() | st.text(max_size=80),
    value=st.dictionaries(st.sampled_from(KEYS), VALUES, max_size=5) | arguments(),
    output=st.lists(TEXTS, max_size=6).map("".join) | outputs(),
)
def test_a_digest_is_one_safe_line(name: str, value: dict[str, Any], output: str) -> None:
    """Whatever the tool, its arguments and its output: bounded, encodable, nothing to break it."""
    line = digest(name, value, output)
    assert 0 < len(line) <= LIMIT_CHARS
    assert len(line.splitlines()) == 1
    assert not any(char < " " or "\x7f" <= char <= "\x9f" or char == "\u202e" for char in line)
    line.encode()


@given(name=st.sampled_from(ONE_OF_EACH), output=st.lists(TEXTS, max_size=6).map("".join))
def test_a_digest_is_smaller_than_what_it_stands_for(name: str, output: str) -> None:
    """An output that is longer than a digest may be gets shorter by it."""
    long = output + "x" * LIMIT_CHARS
    assert len(digest(name, {"path": "p" * 500, "command": "c" * 500}, long)) <= len(long)


@given(
    name=st.sampled_from(ONE_OF_EACH),
    value=st.dictionaries(st.sampled_from(KEYS), VALUES, max_size=3),
    output=st.lists(TEXTS, max_size=3).map("".join),
)
def test_a_digest_is_the_same_for_the_same_input(
    name: str, value: dict[str, Any], output: str
) -> None:
    """Nothing but the name, the arguments and the output counts, not even the order of calls."""
    first = digest(name, value, output)
    digest(name, {}, output[::-1])
    assert digest(name, value, output) == first


@pytest.mark.parametrize("piece", [
    " ", "\n", "1\n", "1:1: ", "{", "[", '"', "\\", "\x1b[1;", '{"a": "x', "<title ", "https://",
    "*** Add File: x\n", "Error: x\n", "FAIL\tx\n", "Page URL: ", "](", '"title": "', "[(1), ",
    "a/b.c:1:", "ok  \tx\n", "- [ ] x\n", "\nagentId: ", '"Q"="',
])  # fmt: skip
def test_a_digest_reads_only_so_much(piece: str) -> None:
    """A megabyte of anything costs next to nothing, for every kind of tool."""
    text = piece * (1_000_000 // len(piece))
    asked: dict[str, Any] = dict.fromkeys(KEYS, text[:100_000])
    before = time.process_time()
    for name in ONE_OF_EACH:
        digest(name, asked, text)
        digest(name, {"question": "Q"}, text)
    assert time.process_time() - before < 3.0


@pytest.mark.parametrize("depth", [10, 300, 900])
def test_nested_arguments_and_results_are_harmless(depth: int) -> None:
    """As deep as JSON may nest, in the arguments and in the output."""
    text = '{"files": [' * depth + "1" + "]}" * depth
    for name in (*ONE_OF_EACH, "get_user"):
        assert digest_of(ToolCall("c", name, text), text)
        assert digest_of(ToolCall("c", name, text), "[" * depth + "]" * depth)


@pytest.mark.parametrize("text", ["", "null", "[1]", "not json", '"x"', '{"a": '])
def test_arguments_that_are_no_object_are_empty(text: str) -> None:
    """A digest is still made."""
    odd = ToolCall("c", "bash", text)
    assert read_arguments(odd.arguments) == {}
    assert digest_of(odd, "out") == "bash ran ``: 3 characters"


def test_free_text_is_what_a_custom_tool_was_given() -> None:
    """A patch that comes without JSON around it is read all the same."""
    patch = "*** Begin Patch\n*** Update File: a.py\n@@\n-x\n+y\n*** End Patch"
    line = digest_of(ToolCall("c", "apply_patch", patch, "custom"), "Success.")
    assert line == "apply_patch changed a.py (+1 -1)"


def test_a_result_without_a_call_has_a_digest() -> None:
    """By its own shape."""
    assert digest_of(None, "x" * 1_000).startswith("tool(): 1,000 characters; begins 'xxx")


def test_a_name_in_the_arguments_is_the_tool_that_was_meant() -> None:
    """Where a tool only hands on to another one."""
    asked = call("use_mcp_tool", tool_name="read_file", arguments={"path": "a.py"})
    assert digest_of(asked, "x\ny") == "read_file a.py: 2 lines"
