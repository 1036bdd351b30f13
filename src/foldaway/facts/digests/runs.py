"""Commands, processes and code cells: what was run, how it ended, what failed."""

from __future__ import annotations

import re
from collections.abc import Mapping
from json import JSONDecoder
from typing import Any, cast

from msgspec import Struct

from foldaway.facts.digests.fields import READ_WHOLE_CHARS
from foldaway.facts.digests.line import clip, failure_in, first_of, path_of, size_of, words_of
from foldaway.facts.tools import ARGUMENTS
from foldaway.reduction.signals import (
    TestCounts,
    error_lines,
    exit_status,
    failing_tests,
    test_counts,
)
from foldaway.regex import Regex

_HEADS = ("Chunk ID:", "Command:", "Exit code:", "Wall time:")
_OUTPUT = "\nOutput:\n"
_INLINE = "\nOutput: "
_NO_ERROR = "\nError: (none)\n"
_CODE = Regex(r"\nExit Code: (-?\d{1,10})\b")
_HEAD_CHARS = 4_000
"""Of a result, where a runner's own lines end and the output begins; chosen."""
_STATUS_CHARS = 400
"""Next to the output, where the exit code is; chosen."""
_TEXTS = ("output", "stdout", "stderr", "error", "traceback")
_STATUS = ("exit_code", "exitCode", "returncode", "return_code", "exit_status")
_JSON = JSONDecoder()
_RUNNING = Regex(
    r"(?:[Pp]rocess running with session ID|running in (?:the )?background(?: with)? ID:?|"
    r"<status>running</status>|still running)\W{0,3}(\w{0,40})"
)


class Printed(Struct, frozen=True):
    """What a command printed, without what the tool says around it."""

    body: str
    status: int | None
    """The exit status; None where the tool gives none."""
    running: str | None = None
    """The name under which it still runs, "" where it has none; None where it has ended."""


def read_printed(output: str) -> Printed:
    """Return the body and the state of a command's result.

    Forms that are known: a head of lines before `Output:`, a JSON object with `output` or
    `stdout`, and words at the start or end of the text itself.
    """
    wrapped = _wrapped(output)
    if wrapped is not None:
        return Printed(wrapped.body, wrapped.status)
    if output.startswith(_HEADS):
        at = output.find(_OUTPUT, 0, _HEAD_CHARS)
        if at >= 0:
            head = output[max(0, at - _STATUS_CHARS) : at]
            status = exit_status(head)
            return Printed(output[at + len(_OUTPUT) :], status, _running(head, status))
        at = output.find(_INLINE, 0, _HEAD_CHARS)
        found = _CODE.search(output[-_STATUS_CHARS:])
        if at >= 0 and found:
            body = output[at + len(_INLINE) :].replace(_NO_ERROR, "\n", 1)
            return Printed(body, int(found[1]))
    status = _status(output)
    return Printed(output, status, _running(output, status))


def without_wrapper(output: str) -> str:
    """Return a command's result as lines: if it is an object of JSON, what was printed, then what
    the host added after the object, and the exit status.
    """
    wrapped = _wrapped(output)
    if wrapped is None:
        return output
    ended = () if wrapped.status is None else (f"exit code: {wrapped.status}",)
    return "\n".join((wrapped.body, *wrapped.added, *ended))


class _Wrapped(Struct, frozen=True):
    body: str
    status: int | None
    added: tuple[str, ...]


def _wrapped(output: str) -> _Wrapped | None:
    """Return what a JSON object with `output` or `stdout` holds; a host may add a note after it."""
    if output[:1] != "{" or len(output) > READ_WHOLE_CHARS:
        return None
    try:
        value, end = _JSON.raw_decode(output)
    except (ValueError, RecursionError):
        return None
    found = cast("dict[str, Any]", value)
    if "output" not in found and "stdout" not in found:
        return None
    texts = [text for key in _TEXTS if isinstance(text := found.get(key), str) and text]
    note = output[end:].strip()
    return _Wrapped("\n".join(texts), _status_in(found), (note,) if note else ())


def _status(text: str) -> int | None:
    """Return the exit status; the closer look is spared where nothing reads like one."""
    ends = text if len(text) <= 2 * _STATUS_CHARS else text[:_STATUS_CHARS] + text[-_STATUS_CHARS:]
    if "xit" not in ends and "eturn" not in ends:
        return None
    return exit_status(text) if "ode" in ends or "tatus" in ends or "xited" in ends else None


def _running(text: str, status: int | None) -> str | None:
    if status is not None:
        return None
    for piece in (text[:_STATUS_CHARS], text[-_STATUS_CHARS:]):
        found = _RUNNING.search(piece) if "unning" in piece else None
        if found:
            return found[1]
    return None


def _status_in(fields: Mapping[str, Any]) -> int | None:
    for key in _STATUS:
        found = fields.get(key)
        if isinstance(found, int):
            return int(found)
    inner = fields.get("metadata")
    return _status_in(cast("dict[str, Any]", inner)) if isinstance(inner, dict) else None


_FAILED_ENDS = 400, 1_200
_OTHER_ENDS = 200, 800
"""Characters at the start and at the end that are looked at: more where the run did fail."""
_SUMMARY_CHARS = 800
"""Of the end, where a test runner sums up; chosen."""
_TOTAL_CHARS = 400
"""Of the end, where a total is; chosen."""
_CLOSING_CHARS = 200
"""Of the end, where the last line is; chosen."""
_COUNTED_CHARS = 200_000
"""A longer output is not counted test by test; chosen, it bounds the time."""
_SHOWN_FAILING = 3
"""Failing tests that are named; chosen, 60 characters each."""

_SHOWS_CONTENT = Regex(
    r"(?:(?:cd |\w{1,40}=)[^;&|\n]{1,300}(?:&&|;|\n)\s{0,8}){0,3}"
    r"(?:sed -n|nl |wc |ls\b|tree\b|rg |grep |egrep |find |fd "
    r"|git (?:-C \S{1,200} )?(?:diff|show|log|grep|blame|ls-files|status|branch)\b"
    r"|(?:cat|head|tail|less|bat)\b(?![^;&\n]{0,300}\.log))"
    r"[^;&\n]{0,2000}(?:2>&1[^;&\n]{0,400}){0,2}\Z"
)
"""A single command that shows files, diffs or hits, and no log."""
_SUCCESS = ("tests passed", "checks passed", "tests ok", "specs passed", "all passed", "succeeded",
            "successful", " 0 issues", " 0 errors", " 0 problems")  # fmt: skip
_COMMIT = Regex(r"\[([\w./-]{1,100}(?: \([\w-]{1,20}\))? [0-9a-f]{7,40})\] ([^\n]{1,200})")
_TOTALS = (" changed, ", " issues", " errors", " problems", "ests passed")
"""What the last lines of a run that went well are read for."""
_GO_PACKAGE = "ok  \t"
_PARTS = (_GO_PACKAGE, "FAIL\t", "test result: ")
_COUNTS = ("pass", "FAILED", "ests:", "ests ", "xample", "Ran ")
_SIGNS = ("rror", "FAIL", "ailed", "fail", "ERR", "atal: ", "not found", "denied", "No such",
          "xception", "panic", "imed out")  # fmt: skip
_PLACE = Regex(r":\d{1,7}:\d{1,5}: ")
_TEST_LINES = ("FAIL", "--- FAIL", "ERROR ")
_BARE = Regex(
    r"\W{0,80}(?:(?:FAIL(?:ED|URES?)?|ERRORS?|Error:?)\W{0,80}\Z|\d{1,6} (?:fail|pass|error))"
)
"""A heading or a summary: says that something failed, which is known, and not what."""


def ending_of(output: str, command: str = "") -> str:
    """Return e.g. "exit 1, 212 lines; 2 failed, 40 passed; failing: test_a, test_b; Error: …".

    Only the ends of a long output are looked at, and not for errors where the command only shows
    a file, a diff or a search, whose content may well be about errors.
    """
    result = read_printed(output)
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


_COMMANDS = ARGUMENTS["commands"]
_RUNS_A_LINE = Regex(r"-\w{0,4}c\Z|/c\Z", re.I)
_WRAPPED = 3
"""Words of `bash -c LINE`."""


def digest_shell(name: str, arguments: Mapping[str, Any], output: str) -> str:
    """Return e.g. "Bash ran `npm test`: exit 1, 212 lines; failing: test_a, test_b; Error: …"."""
    command = command_of(arguments)
    return f"{name} ran `{clip(command, 140)}`: {ending_of(output, command)}"


def command_of(arguments: Mapping[str, Any]) -> str:
    """Return the command line of a call; of `bash -lc LINE` as a list, the line."""
    for key in _COMMANDS:
        found = arguments.get(key)
        if isinstance(found, str) and found:
            return found
        if isinstance(found, list) and found:
            words = [word if isinstance(word, str) else words_of(word) for word in
                     cast("list[Any]", found)]  # fmt: skip
            if len(words) == _WRAPPED and _RUNS_A_LINE.match(words[1]):
                return words[2]
            return " ".join(words)
    return ""


_IDS = ARGUMENTS["process_ids"]
_COMMAND = Regex(
    r"Command: (?:\S{1,100} -\w{0,4}c )?"
    r"(?:'([^\n]{1,2000})'|\"([^\n]{1,2000})\"|([^\n]{1,2000}))(?=\n)"
)
_SENT = ARGUMENTS["sent"]


def digest_process(name: str, arguments: Mapping[str, Any], output: str) -> str:
    """Return e.g. "write_stdin sent 'y' to 4711: exit 0, 12 lines"."""
    which = next((found for key in _IDS if (found := words_of(arguments.get(key), 40))), "")
    action = clip(first_of(arguments, "action", "signal"), 30)
    sent = clip(first_of(arguments, *_SENT).strip("\r\n"), 60)
    done = f" {action}" if action else ""
    if sent:
        done += f" sent {sent!r}{f' to {which}' if which else ''}"
    elif which:
        done += f" looked at {which}" if not action else f" {which}"
    command = _command(output)
    if command:
        done += f" (`{clip(command, 100)}`)"
    return f"{name}{done}: {failure_in(output) or ending_of(output, command or sent)}"


def _command(output: str) -> str:
    """Return the command that an output names in its first line, out of the shell around it."""
    found = _COMMAND.match(output)
    return found[1] or found[2] or found[3] if found else ""


_CODE_KEYS = ARGUMENTS["code"]
_CELLS = ARGUMENTS["cells"]
_MODES = ARGUMENTS["cell_modes"]


def digest_notebook(name: str, arguments: Mapping[str, Any], output: str) -> str:
    """Return e.g. "execute_code ran `import os` (12 lines): exit 1, 8 lines; NameError: …"."""
    code = first_of(arguments, *_CODE_KEYS)
    size = f" ({size_of(code)})" if "\n" in code.strip() else ""
    cell = next((words for key in _CELLS if (words := words_of(arguments.get(key), 40))), "")
    path = path_of(arguments)
    if not path:
        place = f" cell {cell}" if cell else ""
        return f"{name}{place} ran `{clip(_first_code(code), 100)}`{size}: {ending_of(output)}"
    mode = clip(first_of(arguments, *_MODES), 20)
    where = f"{path}{f' cell {cell}' if cell else ''}{f' ({mode})' if mode else ''}"
    failed = failure_in(output)
    if failed:
        return f"{name} failed on {where}: {failed}"
    return f"{name} {'changed' if code else 'used'} {where}{size}: {ending_of(output)}"


def _first_code(code: str) -> str:
    """Return the first line that is not an import or a remark, the first at all otherwise."""
    lines = [line for line in code[:4_000].split("\n") if line.strip()]
    told = (line for line in lines if not line.startswith(("import ", "from ", "#", "//", "%")))
    return next(told, lines[0] if lines else "").strip()
