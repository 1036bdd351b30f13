"""What test runners report of themselves: which tests failed, and how many of each there were."""

from __future__ import annotations

import re
from typing import Final

from msgspec import Struct

from holdfast.reduction.lines import matches, places
from holdfast.reduction.terminal import plain
from holdfast.regex import Regex

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

FAILING: Final[dict[str, tuple[tuple[str, Regex[str]], ...]]] = {
    "FAIL": (
        ("FAILED ", Regex(r"FAILED (\S.*?::.*?)(?: - .*)?$")),
        (" FAILED", Regex(r"(\S+::\S.*?) FAILED(?:\s+\[ *\d+%\])?\s*$")),
        (" FAILED", Regex(r"(?!> Task)(\S.*? > \S.*?) FAILED\s*$")),
        ("... FAILED", Regex(r"(?:test )?(\S.*?) \.\.\. FAILED")),
        ("--- FAIL: ", Regex(r"\s*--- FAIL: (\S+)")),
        (" failed]", Regex(r"FAIL\t(\S+ \[(?:build|setup) failed\])")),
        ("FAIL: ", Regex(r"FAIL: (\S+ \(.*?\)|test\S*)")),
        ("FAIL ", Regex(r"\s*(?:❯ ?)?FAIL +(\S*(?:[Tt]est|[Ss]pec)\S*\.\w+(?: > .*)?)\s*$")),
        ("<<< FAIL", Regex(r"\[ERROR\] (\S.*?) +(?:-- )?Time elapsed.*<<< FAILURE")),
    ),
    "ERROR": (
        ("ERROR ", Regex(r"ERROR (\S+?\.py(?:::.*?)?)(?: - .*)?$")),
        ("ERROR: test", Regex(r"ERROR: (test\S* \(.*?\))")),
        ("<<< ERROR", Regex(r"\[ERROR\] (\S.*?) +(?:-- )?Time elapsed.*<<< ERROR")),
    ),
    "ailed": (
        ("  Failed ", Regex(r"\s+Failed (\S+) \[.*\]\s*$")),
        ("(Failed)", Regex(r"\s*\d+ - (\S.*?) \(Failed\)")),
        ("' failed (", Regex(r"Test Case '(.*?)' failed \(")),
    ),
    "(fail) ": (("(fail) ", Regex(rf"\(fail\) (\S.*?){_END}")),),
    "not ok ": (("not ok ", Regex(r"\s*not ok \d+ (?:- )?(\S.*?)(?: # .*)?\s*$")),),
    "rspec ./": (("rspec ./", Regex(r"rspec (\./\S+ # .*)$")),),
    "●": (("● ", Regex(r"\s*● (\S.* › .*?)\s*$")),),
    "✕": (("✕", Regex(rf"\s*✕ (\S.*?){_END}")),),
    "✗": (("✗", Regex(rf"\s*✗ (\S.*?){_END}")),),
    "✘": (("✘", Regex(rf"\s*✘ +\d* ?(\S.*?){_END}")),),
    "✖": (("✖", Regex(r"\s*✖ (\S.*?) \(\d.*\)\s*$")),),
    "×": (("×", Regex(rf"\s*× (\S.*? > .*?){_END}")),),
}
"""A literal without which none of its rows is tried; in a row a literal and the line with the name
of a test that failed: pytest, Gradle, cargo, Go, unittest, Jest, Vitest, Maven, .NET, CTest,
XCTest, Bun, TAP, RSpec, Node and Playwright."""

_PYTEST = Regex(r"(?:=+ )?(?:\d+ \w+, )*\d+ [a-z]+(?:, \d+ \w+)* in \d[\d.]*s")

SUMMARIES: Final[dict[str, tuple[tuple[tuple[str, ...], Regex[str]], ...]]] = {
    "test result: ": ((("test result: ",), Regex(r"test result: ")),),
    " passed": ((("ed in ", "ing in ", "ings in ", "rror in ", "rrors in "), _PYTEST),),
    "ed in ": ((("ed in ",), _PYTEST),),
    "ests": (
        (("Tests: ",), Regex(r"\s*Tests: +\d.* total")),
        (("Tests  ",), Regex(r"\s*Tests  +\d.*\(\d+\)")),
        (("Tests run: ",), Regex(
            r"(?:\[\w+\] *)?Tests run: \d+, Failures: \d+(?!.*Time elapsed)"
        )),
        (("Tests: ",), Regex(r"Tests: \d+, Assertions: \d+")),
        ((" tests passed",), Regex(r"\s*\d+% tests passed, ")),
        ((" tests completed",), Regex(r"\d+ tests completed")),
    ),
    "Ran ": (
        (("Ran ", "FAILED (", "OK ("), Regex(r"Ran \d+ tests? in |(?:FAILED|OK) \(\w+=")),
    ),
    "Passed:": ((("Passed:",), Regex(r".*Failed: +\d+, Passed: +\d+")),),
    " example": (((" example",), Regex(r"\d+ examples?, \d+ failures?")),),
    " pass": (
        ((" pass", " fail", " skip", " pend"), Regex(
            r"(?:# |ℹ )(?:pass|fail|skipped) \d+\s*$"
            r"|\s*\d+ (?:pass|fail|skip|pend)(?:ed|ing|ped)?(?: \([^)]*\))?\s*$"
        )),
    ),
}  # fmt: skip
"""A literal without which none of its rows is tried; in a row literals and what the lines with the
counts look like: cargo, pytest, Jest, Vitest, Maven, PHPUnit, CTest, Gradle, unittest, .NET, RSpec,
then Mocha, Bun, Playwright, Node and TAP."""

_NUMBER_FIRST = Regex(r"(\d{1,9}) (?:tests? )?(pass|fail|err|skip|ignor|pend|todo|example|test)")
_NUMBER_LAST = Regex(
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


_GO_PACKAGE = Regex(r"FAIL\t(\S+)")
_GO_TEST = Regex(r"^--- (PASS|FAIL|SKIP): ", re.M)
_GO_LINE = Regex(r"^(ok  |FAIL|\?   )\t\S", re.M)


def _go_counts(text: str) -> TestCounts | None:
    if "--- PASS: " in text or "--- FAIL: " in text:
        found = _GO_TEST.findall(text)
        return TestCounts(found.count("PASS"), found.count("FAIL"), found.count("SKIP"))
    if "\nok  \t" in text or text.startswith("ok  \t") or "FAIL\t" in text:
        found = _GO_LINE.findall(text)
        return TestCounts(found.count("ok  "), found.count("FAIL"), found.count("?   "))
    return None
