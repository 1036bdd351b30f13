"""How a command ended: exit status, size, counts, what failed, the first error."""

from __future__ import annotations

import re

from holdfast.facts.digests.line import clip, size_of
from holdfast.facts.digests.printed import printed
from holdfast.reduction.signals import error_lines
from holdfast.reduction.testreport import TestCounts, failing_tests, test_counts

_FAILED_ENDS = 400, 1_200
_OTHER_ENDS = 200, 800
"""Characters at the start and at the end that are looked at: more where the run did fail."""
_SUMMARY_CHARS = 800
_TOTAL_CHARS = 400
_CLOSING_CHARS = 200
_COUNTED_CHARS = 200_000
_SHOWN_FAILING = 3

_SHOWS_CONTENT = re.compile(
    r"(?:(?:cd |\w{1,40}=)[^;&|\n]{1,300}(?:&&|;|\n)\s{0,8}){0,3}"
    r"(?:sed -n|nl |wc |ls\b|tree\b|rg |grep |egrep |find |fd "
    r"|git (?:-C \S{1,200} )?(?:diff|show|log|grep|blame|ls-files|status|branch)\b"
    r"|(?:cat|head|tail|less|bat)\b(?![^;&\n]{0,300}\.log))"
    r"[^;&\n]{0,2000}(?:2>&1[^;&\n]{0,400}){0,2}\Z"
)
"""A single command that shows files, diffs or hits, and no log."""
_SUCCESS = ("tests passed", "checks passed", "tests ok", "specs passed", "all passed", "succeeded",
            "successful", " 0 issues", " 0 errors", " 0 problems")  # fmt: skip
_COMMIT = re.compile(r"\[([\w./-]{1,100}(?: \([\w-]{1,20}\))? [0-9a-f]{7,40})\] ([^\n]{1,200})")
_TOTALS = (" changed, ", " issues", " errors", " problems", "ests passed")
"""What the last lines of a run that went well are read for."""
_GO_PACKAGE = "ok  \t"
_PARTS = (_GO_PACKAGE, "FAIL\t", "test result: ")
_COUNTS = ("pass", "FAILED", "ests:", "ests ", "xample", "Ran ")
_SIGNS = ("rror", "FAIL", "ailed", "fail", "ERR", "atal: ", "not found", "denied", "No such",
          "xception", "panic", "imed out")  # fmt: skip
_PLACE = re.compile(r":\d{1,7}:\d{1,5}: ")
_TEST_LINES = ("FAIL", "--- FAIL", "ERROR ")
_BARE = re.compile(
    r"\W{0,80}(?:(?:FAIL(?:ED|URES?)?|ERRORS?|Error:?)\W{0,80}\Z|\d{1,6} (?:fail|pass|error))"
)
"""A heading or a summary: says that something failed, which is known, and not what."""


def ending_of(output: str, command: str = "") -> str:
    """Return e.g. "exit 1, 212 lines; 2 failed, 40 passed; failing: test_a, test_b; Error: …".

    Only the ends of a long output are looked at, and not for errors where the command only shows
    a file, a diff or a search, whose content may well be about errors.
    """
    result = printed(output)
    body, status = result.body, result.status
    told = size_of(body)
    if status is not None:
        told = f"exit {status}, {told}"
    elif result.running is not None:
        told = f"{f'still running {result.running}'.rstrip()}, {told}"
    if not status and _SHOWS_CONTENT.match(command):
        return "; ".join([told, *_totals(body, _TOTALS[:1])])
    start, end = _FAILED_ENDS if status else _OTHER_ENDS
    ends = body if len(body) <= start + end else f"{body[:start]}\n{body[-end:]}"
    counts = _tests(body)
    well = status == 0 or (status is None and _went_well(body, counts))
    news = _failures(ends) if status or not (well or _nothing_failed(ends)) else []
    pieces = [told, *_counted(counts), *news]
    return "; ".join(pieces if len(pieces) > 1 else [told, *_outcome(ends, command)])


def _tests(body: str) -> TestCounts | None:
    """Return the counts of the last lines; of the whole where each part of a run has its own."""
    tail = body[-_SUMMARY_CHARS:]
    if _GO_PACKAGE in tail and "--- " not in body:
        return TestCounts(
            body.count(_GO_PACKAGE), body.count("FAIL\t"), body.count("[no test files]")
        )
    for sign in _PARTS:
        if sign in tail:
            return test_counts(body) if len(body) <= _COUNTED_CHARS else None
    for sign in _COUNTS:
        if sign in tail:
            return test_counts(tail)
    return None


def _counted(counts: TestCounts | None) -> list[str]:
    if counts is None:
        return []
    told = ((counts.failed, "failed"), (counts.passed, "passed"), (counts.skipped, "skipped"))
    words = ", ".join(f"{count:,} {word}" for count, word in told if count)
    return [words] if words else []


def _went_well(body: str, counts: TestCounts | None) -> bool:
    """Return whether a run that gives no status says itself that all is well."""
    if counts is not None:
        return not counts.failed
    closing = body[-_CLOSING_CHARS:].rstrip().rpartition("\n")[2]
    said = f" {closing.lower()}"
    return any(words in said for words in _SUCCESS)


def _nothing_failed(text: str) -> bool:
    """Return whether a closer look would find no failure; it is spared for most that went well."""
    for sign in _SIGNS:
        if sign in text:
            return False
    return text.isascii() and _PLACE.search(text) is None


def _failures(text: str) -> list[str]:
    """Return the tests that failed and the first error beyond them."""
    news: list[str] = []
    failing = failing_tests(text, 20)
    if failing:
        more = f" and {len(failing) - _SHOWN_FAILING} more" if len(failing) > _SHOWN_FAILING else ""
        shown = ", ".join(clip(name, 60) for name in failing[:_SHOWN_FAILING])
        news.append(f"failing: {shown}{more}")
    lines = [line for line in error_lines(text, 2 if failing else 1) if not _BARE.match(line)]
    beyond = [line for line in lines if not line.startswith(_TEST_LINES)] if failing else lines
    if beyond:
        news.append(clip(beyond[0], 140))
    elif failing and lines and " - " in lines[0]:
        news.append(clip(lines[0].partition(" - ")[2], 140))
    return news


def _outcome(text: str, command: str) -> list[str]:
    """Return what a run that went well reports of itself: its commit, its totals."""
    if "commit" in command:
        found = _COMMIT.search(text[:_SUMMARY_CHARS])
        if found:
            return [f"commit {found[1]}: {clip(found[2], 60)}"]
    return _totals(text, _TOTALS)


def _totals(text: str, signs: tuple[str, ...]) -> list[str]:
    tail = text[-_TOTAL_CHARS:]
    for sign in signs:
        at = tail.rfind(sign)
        if at >= 0:
            start = tail.rfind("\n", 0, at) + 1
            end = tail.find("\n", at)
            line = tail[start : end if end >= 0 else None].strip()
            return [clip(line, 80)] if any(char.isdecimal() for char in line) else []
    return []
