"""Errors, failing tests, counts, exit status and changed files, as many tools write them."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.reduction.shape_examples import EXAMPLES
from tests.testing.rows import each_row

from foldaway.reduction import signals
from foldaway.reduction.shapes import END_SHAPES, SHAPES, Shape
from foldaway.reduction.signals import TestCounts

EVERY = (*SHAPES, *END_SHAPES)


@each_row("shape", EVERY, ids=lambda shape: shape.sign)
def test_every_shape_matches_its_examples_and_nothing_harmless(shape: Shape) -> None:
    """A shape is held against its own examples, and all shapes together against the harmless."""
    examples, harmless = EXAMPLES[shape.sign]
    for example in examples:
        assert shape.sign in example
        assert shape.pattern.search(example)
        assert signals.error_lines(example) == (example.strip(),)
    for example in harmless:
        assert shape.sign in example or shape.sign.lower() in example.lower()
        assert signals.error_lines(example) == ()


@each_row(
    "line",
    [
        "cmd/main.go:12:5: not enough arguments in call to f",
        "\x1b[31merror\x1b[0m: it is broken",
        "✗ does the thing",
        "  ✕ returns null (3 ms)",
        "src/a.ts:12:5 lint/style/useConst",
    ],
)
def test_errors_without_the_word_are_found_too(line: str) -> None:
    """Compilers that name a place, colours, and the marks of test runners."""
    assert len(signals.error_lines(f"quiet\n{line}\nquiet")) == 1


@each_row(
    "line",
    [
        'fmt.Fprintf(os.Stderr, "Warning: failed to read: %v", err)',
        "    12→\t\treturn errors.New(\"error: no\")",
        "+\tif err != nil { return fmt.Errorf(\"failed to x: %w\", err) }",
        "src/a.c:12:5: warning: unused variable",
        "all 12 tests passed, 0 errors",
        "the error handling of the second pass",
    ],
)  # fmt: skip
def test_text_that_only_speaks_of_errors_is_no_error(line: str) -> None:
    """Source code, warnings and sentences."""
    assert signals.error_lines(line) == ()


def test_errors_come_in_order_once_each_and_no_more_than_asked_for() -> None:
    """The first are the ones that matter."""
    text = "\n".join(f"error: number {n % 7}" for n in range(100))
    assert signals.error_lines(text, 3) == ("error: number 0", "error: number 1", "error: number 2")
    assert len(signals.error_lines(text, 99)) == 7


def test_errors_inside_a_json_string_are_lines_of_their_own() -> None:
    """Agents hand a command's output over as one line of JSON."""
    text = '{"output": "ok\\nerror: no route\\nok", "metadata": {"exit_code": 3}}'
    assert "error: no route" in signals.error_lines(text)
    assert signals.exit_status(text) == 3


def test_an_error_in_a_line_of_a_megabyte_is_found() -> None:
    """The piece around it is given, not the line."""
    text = "x" * 500_000 + " ValueError: bad value " + "y" * 500_000
    (found,) = signals.error_lines(text)
    assert "ValueError: bad value" in found
    assert len(found) <= signals.SHOWN_CHARS


@each_row(
    ("text", "name"),
    [
        ("FAILED tests/test_a.py::test_b[x y] - ValueError: no", "tests/test_a.py::test_b[x y]"),
        ("tests/test_a.py::test_b FAILED     [ 33%]", "tests/test_a.py::test_b"),
        ("ERROR tests/test_a.py - ImportError: no", "tests/test_a.py"),
        ("test a::b ... FAILED", "a::b"),
        ("    --- FAIL: TestA/sub_case (0.10s)", "TestA/sub_case"),
        ("FAIL\tpkg/a [build failed]", "pkg/a [build failed]"),
        ("FAIL\tpkg/a\t0.2s", "pkg/a"),
        ("FAIL: test_x (a.B.test_x)", "test_x (a.B.test_x)"),
        ("ERROR: test_x (a.B)", "test_x (a.B)"),
        (" FAIL  src/a.test.ts > suite > name", "src/a.test.ts > suite > name"),
        ("FAIL src/a.test.ts", "src/a.test.ts"),
        ("  ● suite › name", "suite › name"),
        ("  ✕ does it (12 ms)", "does it"),
        ("not ok 3 - name # time=1", "name"),
        ("[ERROR] com.x.T.m  Time elapsed: 0.1 s  <<< FAILURE!", "com.x.T.m"),
        ("FooTest > bar FAILED", "FooTest > bar"),
        ("  Failed Ns.T.M [12 ms]", "Ns.T.M"),
        ("rspec ./spec/a_spec.rb:12 # does x", "./spec/a_spec.rb:12 # does x"),
        ("  3 - name (Failed)", "name"),
        ("(fail) a > b [1.00ms]", "a > b"),
        ("Test Case '-[Foo testBar]' failed (0.1 seconds).", "-[Foo testBar]"),
    ],
)
def test_the_failing_tests_of_every_runner_are_named(text: str, name: str) -> None:
    """As the runner names them, without what stands around the name."""
    assert signals.failing_tests(f"quiet\n{text}\nquiet") == (name,)


def test_a_go_package_is_named_only_where_no_test_is() -> None:
    """The package of a test that is named says nothing new."""
    text = "--- FAIL: TestA (0.1s)\nFAIL\tpkg/a\t0.2s"
    assert signals.failing_tests(text) == ("TestA",)


@each_row(
    ("text", "counts"),
    [
        ("=== 3 failed, 12 passed, 1 skipped in 1.20s ===", TestCounts(12, 3, 1)),
        ("12 passed in 0.31s", TestCounts(12)),
        ("3 passed, 1 warning in 0.31s\n== 2 ==", TestCounts(3)),
        (
            "test result: FAILED. 12 passed; 3 failed; 1 ignored; 0 measured\n"
            "test result: ok. 2 passed; 0 failed; 0 ignored",
            TestCounts(14, 3, 1),
        ),
        ("Tests:       1 failed, 5 passed, 6 total", TestCounts(5, 1)),
        (" Tests  1 failed | 5 passed (6)", TestCounts(5, 1)),
        ("[ERROR] Tests run: 12, Failures: 1, Errors: 1, Skipped: 2", TestCounts(8, 2, 2)),
        ("Ran 12 tests in 0.1s\n\nFAILED (failures=2, errors=1)", TestCounts(9, 3)),
        ("Ran 12 tests in 0.1s\n\nOK (skipped=1)", TestCounts(11, 0, 1)),
        ("Failed!  - Failed:     1, Passed:    12, Skipped:     0, Total: 13", TestCounts(12, 1)),
        ("12 examples, 1 failure, 2 pending", TestCounts(9, 1, 2)),
        ("Tests: 12, Assertions: 30, Failures: 1.", TestCounts(11, 1)),
        ("98% tests passed, 2 tests failed out of 100", TestCounts(98, 2)),
        ("12 tests completed, 1 failed", TestCounts(11, 1)),
        ("  12 passing (3s)\n  2 failing\n  1 pending", TestCounts(12, 2, 1)),
        ("# pass 12\n# fail 1", TestCounts(12, 1)),
        ("ℹ tests 13\nℹ pass 12\nℹ fail 1", TestCounts(12, 1)),
        (" 5 pass\n 1 fail", TestCounts(5, 1)),
        ("ok  \tpkg/a\t0.1s\nFAIL\tpkg/b\t0.2s", TestCounts(1, 1)),
        ("--- FAIL: TestA (0.0s)\n--- PASS: TestB (0.0s)\n--- SKIP: TestC", TestCounts(1, 1, 1)),
        ("nothing was tested in this passage", None),
    ],
)
def test_the_counts_of_every_runner_are_read(text: str, counts: TestCounts | None) -> None:
    """Summed where a run reports in parts; errors are failures."""
    assert signals.test_counts(text) == counts


@each_row(
    ("text", "status"),
    [
        ("Exit code 1\nlater", 1),
        ("x\nProcess exited with code 0\n", 0),
        ("exit status 2", 2),
        ("[exit code: 127]", 127),
        ("Command failed with exit code 3", 3),
        ('{"exit_code": 0}', 0),
        ('\\"exit_code\\":1', 1),
        ("<exit_code>1</exit_code>", 1),
        ("returncode=-9", -9),
        ("if [ -n x ]; then exit 1; fi", None),
        ("a" * 2_000 + "Exit code 1" + "b" * 2_000, None),
    ],
)
def test_an_exit_status_is_what_a_result_reports_at_its_ends(text: str, status: int | None) -> None:
    """`exit 1` in a script is no status, nor is what stands in the middle of a long output."""
    assert signals.exit_status(text) == status


def test_the_files_of_diffs_and_patches_are_found() -> None:
    """git, plain diffs, renames and the patches of agents, each file once, in order."""
    text = (
        "diff --git a/one.py b/one.py\n--- a/one.py\n+++ b/one.py\n@@ -1 +1 @@\n-x\n+y\n"
        "diff --git a/old.py b/new.py\nrename from old.py\nrename to new.py\n"
        "diff --git a/gone.py b/gone.py\n--- a/gone.py\n+++ /dev/null\n"
        "*** Add File: three.py\n*** Update File: four.py\n*** Move to: five.py\n"
    )
    expected = ("one.py", "new.py", "old.py", "gone.py", "three.py", "four.py", "five.py")
    assert signals.changed_files(text) == expected
    assert signals.changed_files(text, 2) == ("one.py", "new.py")


@given(st.text(st.characters(), max_size=300))
def test_no_text_breaks_a_signal(text: str) -> None:
    """Surrogates, NUL and everything else."""
    assert isinstance(signals.error_lines(text), tuple)
    assert isinstance(signals.failing_tests(text), tuple)
    assert isinstance(signals.changed_files(text), tuple)
    signals.test_counts(text)
    signals.exit_status(text)


@pytest.mark.slow
@pytest.mark.parametrize(
    "piece",
    ["rror", "Error: ", "error:\n", "FAIL\t", "FAILED ", ":1:1: ", "--- FAIL: \n", " pass\n",
     "ed in ", "● ", "✗", "diff --git ", "E   x\n", "a.b:1:1: ", "Tests: ", "\x1b["],
)  # fmt: skip
def test_a_megabyte_of_any_sign_is_read_in_seconds(piece: str) -> None:
    """No sign, however often it stands there, makes a search slow."""
    text = piece * (1_000_000 // len(piece))
    start = time.process_time()
    signals.error_lines(text)
    signals.failing_tests(text)
    signals.test_counts(text)
    signals.changed_files(text)
    assert time.process_time() - start < 6


def test_what_pytest_says_of_a_failure_is_found_where_it_stands_alone() -> None:
    """The line itself is looked at, and not the one before it."""
    text = (
        "test_a.py:3: in test_a\n    assert f() == 4\nE   assert 3 == 4\nE    +  where 3 = f()\nend"
    )
    assert signals.error_lines(text) == ("E   assert 3 == 4", "E    +  where 3 = f()")
    assert signals.error_lines("start\nE   assert 3 == 4\nend") == ("E   assert 3 == 4",)
