"""Logs, tests, builds and traces: what failed stays, what repeats is folded."""

from __future__ import annotations

from foldaway import reduce

REFERENCE = "fa-0123456789"


def test_a_log_keeps_its_errors_and_what_stands_beside_them() -> None:
    """Among a thousand lines the one that failed, with the line after it."""
    lines = [f"step {n} of {'abcdefg'[n % 7]} took {n} ms" for n in range(1000)]
    lines[617] = "ERROR: no route to host"
    lines[618] = "  while connecting to db-3"
    text = reduce("\n".join(lines), "log", 200).text
    assert "ERROR: no route to host\n  while connecting to db-3" in text
    assert text.startswith("step 0 ")
    assert "step 999 " in text


def test_a_log_folds_lines_that_differ_in_digits_alone() -> None:
    """One of them stands for all, and says for how many."""
    text = "start\n" + "\n".join(f"polling, try {n}" for n in range(500)) + "\nready"
    done = reduce(text, "log", 60)
    assert "polling, try 0 [+499 alike]" in done.text
    assert done.text.startswith("start\n")
    assert "\nready\n" in done.text


def test_a_log_names_a_day_once() -> None:
    """A stamp whose day stands above keeps its time alone."""
    lines = [f"2026-02-03 11:36:{n:02},123 INFO word {'xyz'[n % 3] * (n + 1)}" for n in range(50)]
    text = reduce("\n".join(lines), "log", 300).text
    assert text.count("2026-02-03") == 1
    assert "\n11:36:" in text


def test_an_error_is_shown_once_and_different_ones_first() -> None:
    """A thousand times the same error does not crowd out the other one."""
    lines = ["ERROR: connection lost"] * 5
    text = "\n".join(
        [f"ERROR: connection {n} lost\nretrying {n}" for n in range(400)]
        + ["ERROR: disk full", *lines]
    )
    assert "ERROR: disk full" in reduce(text, "log", 80).text


def test_progress_bars_and_colours_are_gone() -> None:
    """What a terminal would have overwritten is not shown."""
    bar = "\r".join(f"\x1b[32m{n}%\x1b[0m" for n in range(101))
    text = reduce(f"{bar}\r\n" + "word of a line\r\n" * 400 + "end", None, 60).text
    assert text.startswith("100%\n")
    assert "\x1b" not in text
    assert "\r" not in text


def test_test_output_keeps_names_reasons_and_counts() -> None:
    """What passed is left out."""
    passed = "".join(f"=== RUN   TestGood{n}\n--- PASS: TestGood{n} (0.00s)\n" for n in range(200))
    failed = "=== RUN   TestBad\n    bad_test.go:17: want 3, got 4\n--- FAIL: TestBad (0.00s)\n"
    text = reduce(f"Exit code 1\n{passed}{failed}FAIL\nFAIL\tpkg/a\t0.6s\n", None, 120).text
    for part in ("Exit code 1", "--- FAIL: TestBad", "want 3, got 4", "FAIL\tpkg/a\t0.6s"):
        assert part in text
    assert text.count("PASS") < 5


def test_where_too_many_tests_fail_their_names_become_a_list() -> None:
    """Every name is there, though not every line is."""
    text = "\n".join(
        f"--- FAIL: Test{n} (0.00s)\n    a_test.go:{n}: " + "a long story of what is wrong " * 6
        for n in range(40)
    )
    done = reduce(text, "test", 400)
    assert done.text.startswith("[40 failing tests: Test0, Test1, ")
    assert all(f"Test{n}" in done.text for n in range(40))


def test_a_build_shows_a_message_once_with_all_its_places() -> None:
    """The same diagnostic elsewhere is a place behind the first."""
    noise = "".join(f"   Compiling crate_{n} v0.{n}.0\n" for n in range(100))
    found = "".join(
        f"src/{name}.rs:{n}:5: error: unused value\n    let x = f();\n        ^\n"
        for name in "ab"
        for n in (3, 9)
    )
    text = reduce(f"{noise}{found}error: could not compile\n", "build", 90).text
    assert "src/a.rs:3:5: error: unused value [also 9:5, src/b.rs:3:5, 9:5]" in text
    assert "error: could not compile" in text


def test_a_build_that_is_all_diagnostics_is_shown_by_file() -> None:
    """Every file with its count, then its first findings."""
    text = "\n".join(f"pkg/{'abc'[n % 3]}.go:{n}:2: name_{n} is not used" for n in range(90))
    done = reduce(text, "build", 250)
    assert done.text.startswith("90 findings in 3 files\n")
    for name in "abc":
        assert f"pkg/{name}.go [30]" in done.text


def test_a_trace_keeps_its_ends_and_its_own_frames() -> None:
    """Frames of libraries go first."""
    library = "".join(
        f'  File "/venv/lib/site-packages/lib/m{n}.py", line {n}, in g{n}\n    call_{n}()\n'
        for n in range(60)
    )
    text = (
        'Traceback (most recent call last):\n  File "/app/main.py", line 3, in main\n    run()\n'
        f'{library}  File "/app/last.py", line 9, in last\n    raise ValueError(x)\n'
        "ValueError: bad value"
    )
    done = reduce(text, None, 150)
    assert done.kind == "trace"
    for part in ("Traceback", "/app/main.py", "/app/last.py", "ValueError: bad value"):
        assert part in done.text


def test_recursion_is_shown_once() -> None:
    """A frame that was seen before comes last."""
    frame = '  File "/app/a.py", line 7, in again\n    again(n + 1)\n'
    text = f"Traceback (most recent call last):\n{frame * 300}RecursionError: too deep"
    assert reduce(text, "trace", 80).text.count("in again") <= 2


def test_a_line_without_end_is_read_in_pieces() -> None:
    """Its start, its end and what failed in the middle, by characters."""
    text = "start " + "word " * 40_000 + " ValueError: bad value " + "word " * 40_000 + " end"
    done = reduce(text, None, 300, REFERENCE)
    assert done.text.startswith("start ")
    assert "ValueError: bad value" in done.text
    assert " end\n" in done.text
    assert done.counts.keys() == {"characters"}
    assert REFERENCE in done.text
