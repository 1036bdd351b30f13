"""What in a tool result must not get lost: errors, failing tests, counts, exit status, files.

All functions are pure and quick: literals are found by plain search and only the lines around
them are looked at, so that a text without such lines costs little more than reading it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from msgspec import Struct

from foldaway._core import Regex
from foldaway.reduction.lines import Signs, find_matches, line_at, places, plain
from foldaway.reduction.shapes import (
    CODE_LINE,
    DETAIL,
    DETAIL_SIGN,
    DIAGNOSTIC,
    DIAGNOSTIC_PLACE,
    END_SHAPES,
    GLYPH,
    GLYPHS,
    SHAPES,
)

SHOWN_CHARS: Final = 400
"""The most of a line that is given back."""


def error_lines(text: str, most: int = 20, *, shown_chars: int = SHOWN_CHARS) -> tuple[str, ...]:
    """Return the first `most` different lines that tell of a failure, in order.

    Without escape codes and outer blanks, each at most `shown_chars` long; in JSON on one line,
    the piece around the failure. Source code that only mentions errors is mostly not taken.
    """
    text = unfold_json(text)
    lines: dict[str, None] = {}
    for start, end in error_spans(text, 2 * most):
        line = plain(text[start:end]).strip()[:shown_chars]
        if line:
            lines[line] = None
    return tuple(lines)[:most]


def error_spans(text: str, most: int) -> list[tuple[int, int]]:
    """Return where the first `most` lines that tell of a failure stand, in order.

    A span is a line as `lines.line_at` gives it.
    """
    found: dict[int, int] = {}
    held = _SIGNS.held(text)
    for number, shape in enumerate(SHAPES):
        if number in held:
            lines = places(text, shape.sign, follow=shape.follow)
            _collect(found, text, lines, shape.pattern, most)
    _collect(found, text, _diagnostics(text), DIAGNOSTIC, most)
    if DETAIL_SIGN in text:
        _collect(found, text, _details(text), DETAIL, most)
    if not text.isascii():
        for glyph in GLYPHS:
            _collect(found, text, places(text, glyph), GLYPH, most)
    for start, end in _ends(text):
        for number, shape in enumerate(END_SHAPES, len(SHAPES)):
            if number in held:
                _collect(found, text, places(text, shape.sign, start, end), shape.pattern, most)
    return sorted(found.items())[:most]


def has_diagnostics(text: str) -> bool:
    """Return whether a line begins like those of a compiler, `path.go:12:5: message`."""
    found: dict[int, int] = {}
    _collect(found, text, _diagnostics(text), DIAGNOSTIC, 1)
    return bool(found)


def exit_status(text: str) -> int | None:
    """Return the exit status that a result reports at its head or tail, None if it does not."""
    ends = (text[:_STATUS_CHARS], text[-_STATUS_CHARS:]) if len(text) > _STATUS_CHARS else (text,)
    for piece in ends:
        found = _EXIT.search(piece) if "xit" in piece else None
        returned = _RETURN.search(piece) if "eturn" in piece else None
        if returned and (found is None or returned.start() < found.start()):
            found = returned
        if found:
            return int(found[1])
    return None


def status_spans(text: str) -> list[tuple[int, int]]:
    """Return the lines at the head or tail that report an exit status."""
    size = len(text)
    ends = (
        ((0, _STATUS_CHARS), (size - _STATUS_CHARS, size)) if size > _STATUS_CHARS else ((0, size),)
    )
    found: list[int] = []
    for start, stop in ends:
        both = [shape.finditer(text, max(start, 0), stop) for shape in (_EXIT, _RETURN)]
        found.extend(sorted(match.start() for shape in both for match in shape))
    return [line_at(text, start) for start in found]


def changed_files(text: str, most: int = 200) -> tuple[str, ...]:
    """Return the files that a diff or patch changes, each once, in order."""
    names: dict[str, int] = {}
    for sign, pattern in _CHANGES:
        for at, found in find_matches(text, sign, pattern, most):
            names.setdefault(found[1], at)
    names.pop("/dev/null", None)
    return tuple(sorted(names, key=names.__getitem__)[:most])


def unfold_json(text: str) -> str:
    """Return JSON of few lines with the escaped line breaks in its strings as real ones."""
    head = text[:64].lstrip()[:1]
    if head in _JSON_HEADS and "\\n" in text and text.count("\n") * 500 < len(text):
        return text.replace("\\n", "\n")
    return text


_SIGNS = Signs([shape.sign for shape in (*SHAPES, *END_SHAPES)])
_JSON_HEADS = frozenset('{["')
_STATUS_CHARS = 400
"""How much of each end is searched for an exit status."""
_HEAD_CHARS, _END_CHARS = 1_024, 2_048
"""How much of each end is searched for `END_SHAPES`."""
_TRIES = 20_000
"""As many lines as `places` looks at."""
_NUMBER = r"\\?[\"']?\W{0,3}?(-?\d{1,10})\b"
_EXIT = Regex(rf"xit(?:(?:ed)?(?: with)?[ _-]?(?:code|status)|ed with|Code){_NUMBER}")
_RETURN = Regex(rf"eturn[ _]?code{_NUMBER}")
"""Two, because a pattern that begins with a literal is found ten times as fast."""
_CHANGES: tuple[tuple[str, Regex[str]], ...] = (
    ("diff --git ", Regex(r"diff --git \S+ (?:b/)?(\S.*)$")),
    ("+++ ", Regex(r"\+\+\+ (?:b/)?([^\t]+)")),
    ("--- a/", Regex(r"--- a/([^\t]+)")),
    (" File: ", Regex(r"\*\*\* (?:Add|Update|Delete) File: (.+)$")),
    ("*** Move to: ", Regex(r"\*\*\* Move to: (.+)$")),
    ("rename to ", Regex(r"rename to (.+)$")),
    ("rename from ", Regex(r"rename from (.+)$")),
)


def _collect(
    found: dict[int, int],
    text: str,
    spans: Iterator[tuple[int, int]],
    pattern: Regex[str],
    most: int,
) -> None:
    """Add those lines that look like `pattern`, at most `most`."""
    added = 0
    for start, end in spans:
        if start in found:
            continue
        window = text[start:end]
        if "\x1b" in window:
            window = plain(window)
        if start > 0 and text[start - 1] not in "\r\n":
            window = f"…{window}"
        if not CODE_LINE.match(window) and pattern.search(window):
            found[start] = end
            added += 1
            if added >= most:
                return


def _diagnostics(text: str) -> Iterator[tuple[int, int]]:
    found = DIAGNOSTIC_PLACE.search(text)
    while found:
        first, last = line_at(text, found.start())
        yield first, last
        found = DIAGNOSTIC_PLACE.search(text, max(last, found.end()))


def _details(text: str) -> Iterator[tuple[int, int]]:
    """Yield the lines that begin as those of pytest do; the sign holds the line break before."""
    at = text.find(DETAIL_SIGN)
    for _ in range(_TRIES):
        if at < 0:
            return
        first, last = line_at(text, at + 1)
        yield first, last
        at = text.find(DETAIL_SIGN, max(last, at + 1))


def _ends(text: str) -> tuple[tuple[int, int], ...]:
    size = len(text)
    if size <= _HEAD_CHARS + _END_CHARS:
        return ((0, size),)
    return (0, _HEAD_CHARS), (size - _END_CHARS, size)


class TestCounts(Struct, frozen=True):
    """The counts of a test run, summed over its parts."""

    __test__ = False  # no test class, whatever pytest thinks of its name

    passed: int = 0
    failed: int = 0
    """Failures and errors."""
    skipped: int = 0


def failing_tests(text: str, most: int = 50) -> tuple[str, ...]:
    """Return the names of the first `most` tests that failed, each once, in order.

    A Go package is named if no test in the text is.
    """
    names: dict[str, int] = {}
    for at, found in _find_failing_matches(text, most):
        names.setdefault(plain(found[1]).strip(), at)
    if not names:
        for at, name in failing_packages(text, most).items():
            names.setdefault(name, at)
    names.pop("", None)
    return tuple(sorted(names, key=names.__getitem__)[:most])


def failing_spans(text: str, most: int) -> list[tuple[int, int]]:
    """Return the lines that name a test that failed."""
    starts = {at for at, _ in _find_failing_matches(text, most)}
    return [(at, at) for at in sorted(starts)[:most]]


def _find_failing_matches(text: str, most: int) -> Iterator[tuple[int, re.Match[str]]]:
    for gate, rows in FAILING.items():
        for sign, pattern in rows if gate in text else ():
            yield from find_matches(text, sign, pattern, most)


def failing_packages(text: str, most: int) -> dict[int, str]:
    """Return the Go packages in which something failed, by where their line begins."""
    return {at: found[1] for at, found in find_matches(text, "FAIL\t", _GO_PACKAGE, most)}


def test_counts(text: str) -> TestCounts | None:
    """Return the counts that a test run reports, None if it reports none.

    Go without `-v` reports packages, and they are counted.
    """
    spans = summary_spans(text)
    if spans:
        return _counts([_numbers_in(plain(text[start:end])) for start, end in spans])
    return _count_go_results(text)


def summary_spans(text: str) -> list[tuple[int, int]]:
    """Return the lines in which a test run reports its counts."""
    for gate, rows in SUMMARIES.items():
        for signs, pattern in rows if gate in text else ():
            held = [sign for sign in signs if sign in text]
            spans = sorted({span for sign in held for span in places(text, sign)})
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
        (("Tests run: ",), Regex(r"(?:\[\w+\] *)?Tests run: \d+, Failures: \d+(?!.*Time elapsed)")),
        (("Tests: ",), Regex(r"Tests: \d+, Assertions: \d+")),
        ((" tests passed",), Regex(r"\s*\d+% tests passed, ")),
        ((" tests completed",), Regex(r"\d+ tests completed")),
    ),
    "Ran ": ((("Ran ", "FAILED (", "OK ("), Regex(r"Ran \d+ tests? in |(?:FAILED|OK) \(\w+=")),),
    "Passed:": ((("Passed:",), Regex(r".*Failed: +\d+, Passed: +\d+")),),
    " example": (((" example",), Regex(r"\d+ examples?, \d+ failures?")),),
    " pass": (
        (
            (" pass", " fail", " skip", " pend"),
            Regex(
                r"(?:# |ℹ )(?:pass|fail|skipped) \d+\s*$"
                r"|\s*\d+ (?:pass|fail|skip|pend)(?:ed|ing|ped)?(?: \([^)]*\))?\s*$"
            ),
        ),
    ),
}
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


def _count_go_results(text: str) -> TestCounts | None:
    if "--- PASS: " in text or "--- FAIL: " in text:
        found = _GO_TEST.findall(text)
        return TestCounts(found.count("PASS"), found.count("FAIL"), found.count("SKIP"))
    if "\nok  \t" in text or text.startswith("ok  \t") or "FAIL\t" in text:
        found = _GO_LINE.findall(text)
        return TestCounts(found.count("ok  "), found.count("FAIL"), found.count("?   "))
    return None
