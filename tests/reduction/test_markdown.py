"""Tool results for people."""

from __future__ import annotations

import json
import re

from hypothesis import given
from hypothesis import strategies as st
from tests.testing.rows import each_row

from foldaway.reduction import fenced, render_result
from foldaway.reduction.markdown import MOST_CHARS, code

texts = st.text(st.characters(), max_size=300) | st.text(st.sampled_from("`~\n a"), max_size=80)
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=300),
    lambda inner: st.lists(inner, max_size=30) | st.dictionaries(st.text(max_size=20), inner),
    max_leaves=80,
)
arguments = st.dictionaries(
    st.sampled_from(("command", "file_path", "pattern", "subagent_type", "prompt", "x")), values
)


@given(texts)
def test_nothing_in_a_text_closes_its_fence(text: str) -> None:
    """No line of it is as long a run of backticks as the fence."""
    block = fenced(text)
    fence = block.partition("\n")[0]
    assert fence.strip("`") == ""
    assert block == f"{fence}\n{text}\n{fence}"
    assert fence not in text


@given(texts)
def test_nothing_in_a_text_closes_its_inline_code(text: str) -> None:
    """The marks around it are longer than any run in it."""
    shown = code(text)
    marks = shown[: len(shown) - len(shown.lstrip("`"))] or "`"
    assert marks not in text or not text


@given(st.text(max_size=20), arguments, texts | values.map(json.dumps))
def test_every_result_is_rendered_and_bounded(
    name: str, given_: dict[str, object], output: str
) -> None:
    """Whatever the tool, its arguments and its output."""
    shown = render_result(name, given_, output)
    assert shown.startswith("**")
    assert len(shown) <= 1.5 * MOST_CHARS


@each_row("output", ["x\n" * 500_000, "y" * 1_000_000, json.dumps(["z" * 99] * 9999)])
def test_a_megabyte_becomes_a_page(output: str) -> None:
    """Long outputs are bounded too."""
    assert len(render_result("Bash", {"command": "make"}, output)) <= 1.5 * MOST_CHARS


def test_a_command_shows_its_end_and_its_failures() -> None:
    """Command, exit status, counts, failing tests, first errors, then the output."""
    output = "Exit code 1\n--- FAIL: TestA (0.0s)\nFAIL\tpkg\t0.1s\n"
    shown = render_result("Bash", {"command": "go test ./..."}, output)
    assert shown.startswith("**Bash** `go test ./...`: exit 1\n- 0 passed, 1 failed\n")
    assert "- failing: `TestA`" in shown
    assert shown.endswith("```\n--- FAIL: TestA (0.0s)\nFAIL\tpkg\t0.1s\n```")


def test_a_search_shows_counts_and_first_matches() -> None:
    """How many in how many files, ten of them, and that there are more."""
    output = "\n".join(f"src/m{n % 20}.py:{n}:value {n}" for n in range(100))
    shown = render_result("Grep", {"pattern": "value"}, output)
    assert shown.startswith("**Grep** `pattern=value`: 100 matches in 20 files\n")
    assert shown.count("\n- ") == 11
    assert shown.endswith("[… 90 matches]; narrow the search")


def test_a_file_is_fenced_in_its_language() -> None:
    """A table or a fence in the file does no harm."""
    shown = render_result("Read", {"file_path": "docs/a.md"}, "| a |\n```\ncode\n```")
    assert shown == "**Read** `docs/a.md`: 4 lines\n````md\n| a |\n```\ncode\n```\n````"


def test_a_subagent_shows_its_task_and_status() -> None:
    """Who did what, and whether it went well."""
    asked = {"subagent_type": "Explore", "description": "Find the cache"}
    assert render_result("Task", asked, "It is in a.py.").startswith(
        "**Task** `Explore` finished: Find the cache\n"
    )
    assert "failed: Find" in render_result("Task", asked, "Error: it was interrupted")


def test_a_structured_failure_is_said_first() -> None:
    """The message, then the fields."""
    output = json.dumps({"data": None, "error": {"code": 404, "message": "no such user"}})
    shown = render_result("get_user", {"id": 7}, output)
    assert shown.startswith("**get_user** failed: `no such user`\n- error:\n  - code: 404")
    assert "failed: `quota`" in render_result("x", {}, '{"success": false, "message": "quota"}')


def test_nested_values_are_bounded_bullets() -> None:
    """A few levels, a few items, priority fields first, the rest counted."""
    value = {"z": 1, "deep": {"a": {"b": {"c": 1}}}, "list": list(range(50)), "status": "ok"}
    lines = render_result("api", {}, json.dumps(value)).split("\n")
    assert lines[1] == "- status: `ok`"
    assert "    - b: 1 field" in lines
    assert "  - [… 42 items]" in lines


def test_a_long_value_shows_its_own_end_and_how_much_is_missing() -> None:
    """The count is of the whole value, however long it is."""
    value = "start" + "x" * 9_000 + "the end"
    rendered = [
        render_result("mcp__a__b", {}, json.dumps({"note": value})),
        render_result("Bash", {"command": value}, ""),
    ]
    for text in rendered:
        shown, missing = re.findall(r"`(start.*?)\[… ([\d,]+) characters …\]x*the end`", text)[0]
        assert len(value) > int(missing.replace(",", "")) > len(value) - 160
        assert shown


def test_secrets_under_known_names_are_not_shown() -> None:
    """Neither among the fields nor among the arguments."""
    output = json.dumps({"user": "a", "api_key": "sk-12345", "auth": {"password": "hunter2"}})
    shown = render_result("login", {"password": "hunter2"}, output)
    assert "sk-12345" not in shown
    assert "hunter2" not in shown
    assert "- api_key: (hidden)" in shown


@each_row(
    ("name", "arguments", "output", "hidden"),
    [
        ("Bash", {"command": "env"}, "SHOP_API_KEY=zx81spectrum\nexit 0", "zx81spectrum"),
        ("Read", {"file_path": "a.yaml"}, "api_key: 'zx81spectrum'\nname: shop", "zx81spectrum"),
        ("get", {}, '{"error": "bad api_key: zx81spectrum"}', "zx81spectrum"),
        ("get", {}, '{"log": "api_key=zx81spectrum"}', "zx81spectrum"),
    ],
)
def test_values_of_an_api_key_are_hidden_in_every_rendering(
    name: str, arguments: dict[str, object], output: str, hidden: str
) -> None:
    """In a process, a file, a failure and a text in a field; code that reads one is no value."""
    shown = render_result(name, arguments, output)
    assert hidden not in shown
    assert "(hidden)" in shown
    code_ = "api_key = os.environ2['KEY']\npassword = read_password1(name)"
    assert code_ in render_result("Read", {"file_path": "a.py"}, code_)
