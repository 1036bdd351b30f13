"""What test runners report of themselves: which tests failed, and how many of each there were."""

from __future__ import annotations

import re
from typing import Final

from msgspec import Struct

from holdfast.reduction.lines import matches, places
from holdfast.reduction.terminal import plain

__all__ = [
    "TestCounts",
    "failing_packages",
    "failing_spans",
    "failing_tests",
    "summary_spans",
    "test_counts",
]


class TestCounts(Struct, frozen=True):
    """The counts of a test run, summed over its parts."""

    __test__ = False  # no test class, whatever pytest thinks of its name

    passed: int = 0
    failed: int = 0
    """Failures and errors."""
    skipped: int = 0


def failing_tests(text: str, most: int = 50) -> tuple[str, ...]:
    """Return the names of the first `most` tests that failed, each once, in order.

    A Go package is named where no test in the text is.
    """
    names: dict[str, int] = {}
    for gate, rows in FAILING.items():
        if gate in text:
            for sign, pattern in rows:
                for at, found in matches(text, sign, pattern, most):
                    names.setdefault(plain(found[1]).strip(), at)
    if not names:
        for at, name in failing_packages(text, most).items():
            names.setdefault(name, at)
    names.pop("", None)
    return tuple(sorted(names, key=names.__getitem__)[:most])


def failing_spans(text: str, most: int) -> list[tuple[int, int]]:
    """Return the lines that name a test that failed."""
    starts = {
        at
        for gate, rows in FAILING.items()
        if gate in text
        for sign, pattern in rows
        for at, _ in matches(text, sign, pattern, most)
    }
    return [(at, at) for at in sorted(starts)[:most]]


def failing_packages(text: str, most: int) -> dict[int, str]:
    """Return the Go packages in which something failed, by where their line begins."""
    return {at: found[1] for at, found in matches(text, "FAIL\t", _GO_PACKAGE, most)}


def test_counts(text: str) -> TestCounts | None:
    """Return the counts that a test run reports, None where it reports none.

    Go without `-v` reports packages, and they are counted.
    """
    spans = summary_spans(text)
    if spans:
        return _counts([_numbers_in(plain(text[start:end])) for start, end in spans])
    return _go_counts(text)


def summary_spans(text: str) -> list[tuple[int, int]]:
    """Return the lines in which a test run reports its counts."""
    for gate, rows in SUMMARIES.items():
        for signs, pattern in rows if gate in text else ():
            spans = sorted({span for sign in signs for span in places(text, sign)})
            found = [span for span in spans if pattern.match(plain(text[span[0] : span[1]]))]
            if found:
                return found
    return []


test_counts.__test__ = False  # pyright: ignore[reportFunctionMemberAccess]

_END = r"(?: \(\d[^)]*\)| \[\d[^\]]*\]| \d+ ?ms)?\s*$"

FAILING: Final[dict[str, tuple[tuple[str, re.Pattern[str]], ...]]] = {
    "FAIL": (
        ("FAILED ", re.compile(r"FAILED (\S.*?::.*?)(?: - .*)?$")),
        (" FAILED", re.compile(r"(\S+::\S.*?) FAILED(?:\s+\[ *\d+%\])?\s*$")),
        (" FAILED", re.compile(r"(?!> Task)(\S.*? > \S.*?) FAILED\s*$")),
        ("... FAILED", re.compile(r"(?:test )?(\S.*?) \.\.\. FAILED")),
        ("--- FAIL: ", re.compile(r"\s*--- FAIL: (\S+)")),
        (" failed]", re.compile(r"FAIL\t(\S+ \[(?:build|setup) failed\])")),
        ("FAIL: ", re.compile(r"FAIL: (\S+ \(.*?\)|test\S*)")),
        ("FAIL ", re.compile(r"\s*(?:❯ ?)?FAIL +(\S*(?:[Tt]est|[Ss]pec)\S*\.\w+(?: > .*)?)\s*$")),
        ("<<< FAIL", re.compile(r"\[ERROR\] (\S.*?) +(?:-- )?Time elapsed.*<<< FAILURE")),
    ),
    "ERROR": (
        ("ERROR ", re.compile(r"ERROR (\S+?\.py(?:::.*?)?)(?: - .*)?$")),
        ("ERROR: test", re.compile(r"ERROR: (test\S* \(.*?\))")),
        ("<<< ERROR", re.compile(r"\[ERROR\] (\S.*?) +(?:-- )?Time elapsed.*<<< ERROR")),
    ),
    "ailed": (
        ("  Failed ", re.compile(r"\s+Failed (\S+) \[.*\]\s*$")),
        ("(Failed)", re.compile(r"\s*\d+ - (\S.*?) \(Failed\)")),
        ("' failed (", re.compile(r"Test Case '(.*?)' failed \(")),
    ),
    "(fail) ": (("(fail) ", re.compile(rf"\(fail\) (\S.*?){_END}")),),
    "not ok ": (("not ok ", re.compile(r"\s*not ok \d+ (?:- )?(\S.*?)(?: # .*)?\s*$")),),
    "rspec ./": (("rspec ./", re.compile(r"rspec (\./\S+ # .*)$")),),
    "●": (("● ", re.compile(r"\s*● (\S.* › .*?)\s*$")),),
    "✕": (("✕", re.compile(rf"\s*✕ (\S.*?){_END}")),),
    "✗": (("✗", re.compile(rf"\s*✗ (\S.*?){_END}")),),
    "✘": (("✘", re.compile(rf"\s*✘ +\d* ?(\S.*?){_END}")),),
    "✖": (("✖", re.compile(r"\s*✖ (\S.*?) \(\d.*\)\s*$")),),
    "×": (("×", re.compile(rf"\s*× (\S.*? > .*?){_END}")),),
}
"""A literal without which none of its rows is tried; in a row a literal and the line with the name
of a test that failed: pytest, Gradle, cargo, Go, unittest, Jest, Vitest, Maven, .NET, CTest,
XCTest, Bun, TAP, RSpec, Node and Playwright."""

_PYTEST = re.compile(r"(?:=+ )?(?:\d+ \w+, )*\d+ [a-z]+(?:, \d+ \w+)* in \d[\d.]*s")

SUMMARIES: Final[dict[str, tuple[tuple[tuple[str, ...], re.Pattern[str]], ...]]] = {
    "test result: ": ((("test result: ",), re.compile(r"test result: ")),),
    " passed": ((("ed in ", "ing in ", "ings in ", "rror in ", "rrors in "), _PYTEST),),
    "ed in ": ((("ed in ",), _PYTEST),),
    "ests": (
        (("Tests: ",), re.compile(r"\s*Tests: +\d.* total")),
        (("Tests  ",), re.compile(r"\s*Tests  +\d.*\(\d+\)")),
        (("Tests run: ",), re.compile(
            r"(?:\[\w+\] *)?Tests run: \d+, Failures: \d+(?!.*Time elapsed)"
        )),
        (("Tests: ",), re.compile(r"Tests: \d+, Assertions: \d+")),
        ((" tests passed",), re.compile(r"\s*\d+% tests passed, ")),
        ((" tests completed",), re.compile(r"\d+ tests completed")),
    ),
    "Ran ": (
        (("Ran ", "FAILED (", "OK ("), re.compile(r"Ran \d+ tests? in |(?:FAILED|OK) \(\w+=")),
    ),
    "Passed:": ((("Passed:",), re.compile(r".*Failed: +\d+, Passed: +\d+")),),
    " example": (((" example",), re.compile(r"\d+ examples?, \d+ failures?")),),
    " pass": (
        ((" pass", " fail", " skip", " pend"), re.compile(
            r"(?:# |ℹ )(?:pass|fail|skipped) \d+\s*$"
            r"|\s*\d+ (?:pass|fail|skip|pend)(?:ed|ing|ped)?(?: \([^)]*\))?\s*$"
        )),
    ),
}  # fmt: skip
"""A literal without which none of its rows is tried; in a row literals and what the lines with the
counts look like: cargo, pytest, Jest, Vitest, Maven, PHPUnit, CTest, Gradle, unittest, .NET, RSpec,
then Mocha, Bun, Playwright, Node and TAP."""

_NUMBER_FIRST = re.compile(
    r"(\d{1,9}) (?:tests? )?(pass|fail|err|skip|ignor|pend|todo|example|test)"
)
_NUMBER_LAST = re.compile(
    r"(pass|fail|err|skip|ignor|pend|todo|run|tests|out of|ran)[a-z]*(?:[:=] *| )(\d{1,9})", re.I
)
_PASSED, _FAILED, _SKIPPED = ("pass",), ("fail", "err"), ("skip", "ignor", "pend", "todo")
_TOTAL = ("run", "ran", "tests", "test", "example", "out of")


def _numbers_in(line: str) -> dict[str, int]:
    """Return the counts of one line by the stem of their word."""
    found = {word: int(number) for number, word in _NUMBER_FIRST.findall(line)}
    for word, number in _NUMBER_LAST.findall(line):
        found.setdefault(word.lower(), int(number))
    return found


def _counts(lines: list[dict[str, int]]) -> TestCounts:
    def total(words: tuple[str, ...]) -> int:
        return sum(line.get(word, 0) for line in lines for word in words)

    passed, failed, skipped = total(_PASSED), total(_FAILED), total(_SKIPPED)
    run = sum(max(line.get(word, 0) for word in _TOTAL) for line in lines)
    return TestCounts(passed or max(0, run - failed - skipped), failed, skipped)


_GO_PACKAGE = re.compile(r"FAIL\t(\S+)")
_GO_TEST = re.compile(r"^--- (PASS|FAIL|SKIP): ", re.M)
_GO_LINE = re.compile(r"^(ok  |FAIL|\?   )\t\S", re.M)


def _go_counts(text: str) -> TestCounts | None:
    if "--- PASS: " in text or "--- FAIL: " in text:
        found = _GO_TEST.findall(text)
        return TestCounts(found.count("PASS"), found.count("FAIL"), found.count("SKIP"))
    if "\nok  \t" in text or text.startswith("ok  \t") or "FAIL\t" in text:
        found = _GO_LINE.findall(text)
        return TestCounts(found.count("ok  "), found.count("FAIL"), found.count("?   "))
    return None
