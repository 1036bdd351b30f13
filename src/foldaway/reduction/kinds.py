"""What a text is, detected from its name or its first lines."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

from foldaway._core import Regex
from foldaway.reduction.lines import WORDS, plain, read_raw_json
from foldaway.reduction.reduced import Kind

BY_SUFFIX: Final[dict[str, Kind]] = {
    **dict.fromkeys(("json", "geojson", "ipynb", "har", "application/json"), "json"),
    **dict.fromkeys(("jsonl", "ndjson", "application/x-ndjson"), "jsonl"),
    **dict.fromkeys(("log", "out", "err"), "log"),
    **dict.fromkeys(("diff", "patch", "text/x-diff"), "diff"),
    **dict.fromkeys(("csv", "tsv", "text/csv"), "csv"),
    **dict.fromkeys(("html", "htm", "xhtml", "text/html"), "html"),
    **dict.fromkeys(("md", "rst", "txt", "adoc", "tex", "text/markdown"), "prose"),
    **dict.fromkeys(WORDS["code_suffixes"], "code"),
}
"""File endings and media types."""


def detect_kind(text: str, hint: str = "") -> Kind:
    """Return what a text is. `hint` is the name of a file or a media type, if there is one.

    Only the first 16,000 characters are looked at, and whether the whole is JSON if it begins
    so. What nothing speaks for is a log: it has lines.
    """
    named = BY_SUFFIX.get(hint.rpartition(".")[2].lower()) or BY_SUFFIX.get(hint.lower())
    if named in ("json", "jsonl"):
        named = None
    if is_json(text):
        return "json"
    if is_json_lines(text):
        return "jsonl"
    if named is not None:
        return named
    start = body_start(text)
    looked_at = plain(text[start : start + _LOOKED_AT_CHARS]).split("\n")
    lines = [line[:_LINE_CHARS] for line in looked_at if line.strip()]
    for kind, speaks in _TESTS:
        if speaks(lines):
            return kind
    return "log"


def body_start(text: str) -> int:
    """Return where the output begins behind the lines that a shell tool puts before it."""
    found = _ENVELOPE.match(text[:600])
    return found.end() if found else 0


def is_json(text: str) -> bool:
    """Return whether a text is one JSON object or list."""
    if text[:200].lstrip()[:1] not in _JSON_OPENS or text[-200:].rstrip()[-1:] not in _JSON_ENDS:
        return False
    return read_raw_json(text) is not None


def is_json_lines(text: str) -> bool:
    """Return whether nearly all of the first lines are JSON objects or lists."""
    if text[:200].lstrip()[:1] not in _JSON_OPENS:
        return False
    lines = [line for line in text[:_LINES_CHARS].split("\n")[:21] if line.strip()]
    whole = lines if len(text) <= _LINES_CHARS and len(lines) <= 20 else lines[:-1]
    return len(lines) > 1 and sum(map(is_json, whole)) >= max(1, 0.8 * len(whole))


_JSON_OPENS = frozenset("{[")
_JSON_ENDS = frozenset("]}")
_LOOKED_AT_CHARS = 16_000
_LINES_CHARS = 200_000
_LINE_CHARS = 400
_LINES = 80
_LEAST_LINES = 5
"""In fewer lines outside a long string there is nothing to judge a program by."""
_ENVELOPE = Regex(
    r"(?:(?:Command|Chunk ID|Wall time|Process exited with code|Exit code|Original token count"
    r"|Total output lines)\b[^\n]*\n){1,8}(?:Output:\n)?"
)


def _share(pattern: str) -> Callable[[list[str]], float]:
    matches = Regex(pattern).match

    def share(lines: list[str]) -> float:
        some = lines if len(lines) <= 2 * _LINES else lines[:_LINES] + lines[-_LINES:]
        return sum(1 for line in some if matches(line)) / max(len(some), 1)

    return share


_changed_lines = _share(r"[+-](?![+-]{2})|@@ |diff --git |index [0-9a-f]+\.\.|--- |\+\+\+ ")
_frames = _share(
    r"\s+at \S|\s+File \"[^\"]+\", line \d+|\s+\d+: +\S+::|\s*\^+\s*$|\t\S+\.go:\d+|goroutine \d+"
    r"|Traceback |Caused by: |\s+\.\.\. \d+ more"
)
_test_lines = _share(
    r"\s*(?:--- (?:PASS|FAIL|SKIP)|=== (?:RUN|PAUSE|CONT|NAME)|ok  \t|FAIL\b|PASS\b|\?   \t"
    r"|[✓✔√✕✗]|test \S+ \.\.\. |\S+::\S+ (?:PASSED|FAILED|SKIPPED|ERROR)|ok \d+ |not ok \d+ "
    r"|\((?:pass|fail)\)|\S+\.py [.FEsx]+|test_\w+ \(|[.FEsx]{20,})"
)
_test_marks = Regex(
    r"^(?:=+ (?:test session starts|FAILURES|short test summary)|running \d+ tests?$|Test Suites?:"
    r"|Tests?: +\d|Ran \d+ tests? in|test result: |--- FAIL: |FAIL\t| Test Files  )"
    r"|^(?:=+ )?(?:\d+ \w+, )*\d+ (?:passed|failed)\b.* in \d",
    re.M,
)
_diagnostics = _share(r"(?:\[[^\]]{1,30}\] )?[^\s:]{1,200}(?::\d+:\d+|\(\d+,\d+\)): \S")
_matches = _share(
    r"[^\s:]{1,300}:\d{1,7}[:-]|\S{1,300}\.\w{1,8}-\d{1,7}-|\d{1,7}[:-](?!\d)"
    r"|[^\s:]{0,200}/[^\s:]{1,200}:|--$"
)
_paths = _share(
    r"(?:[\w@%+=~.,\[\]() -]{0,80}/){1,40}[\w@%+=~.,\[\]() -]{0,120}/?$"
    r"|[\w@.+-]{1,60}(?:\.\w{1,8}|/)?$|[-dlcbps][rwxsStT-]{9}[@+.]?\s|total \d+$"
    r"|[\s│|]*[├└`][─-]{2} |[ MADRCU?!]{2} \S+$|\s?\d+ files? changed|\s?\S.* \| +\d+ [+-]*$"
)
_stamped = _share(
    r"\S{0,40}\s?\S{0,40}\s?\[?"
    r"(?:\d{4}[-/]\d\d[-/]\d\d[T ]|\d\d:\d\d:\d\d|[A-Z][a-z]{2} [ \d]\d \d\d:)"
    r"|\[?(?:DEBUG|INFO|WARN|WARNING|ERROR|TRACE|FATAL)\b|(?:time|ts|level)=\S"
)
_built = _share(
    r"\s*(?:Compiling|Downloading|Checking|Building|Finished|Collecting|Requirement already"
    r"|Installing|make(?:\[\d+\])?:|npm (?:ERR!|WARN|error|warn)|warning\b|error\b|\[\d+/\d+\]"
    r"|Step \d+/|#\d+ |gcc |g\+\+ |cc |\[(?:INFO|WARNING|ERROR)\])|\s*\d+:\d+\s+(?:error|warning)\s"
)
_coded = _share(
    r"\s*(?:\d+[→\t|:])?\s*(?:(?:import|from|package|use|using|#include|def|class|func|fn|function"
    r"|return|if|for|while|else|elif|switch|case|try|except|catch|const|let|var|type|struct|enum"
    r"|interface|impl|pub|public|private|protected|static|async|export|module|namespace|defer|go"
    r"|await|raise|throw)\b|[})\]]|//|/\*|\*|#|@\w|.*[{;(,:\[]\s*$|[\w.\[\]\"']+\s*:?=\s"
    r"|[\w.$]+\(.*\)[;,]?\s*$|<[\w/!]|(?:[\w.\[\]]+: )?[\w.\[\], |\"']+ = )"
)
_declared = _share(
    r"\s*(?:\d+[→\t|:])?\s*(?:(?:async )?def \w+[(\[]"
    r"|class \w+(?:[(:\[]| extends | implements | \{)"
    r"|from [\w.]+ import |import [\w.]+(?: as \w+)?(?:,|;|\s*$)|import .{1,200} from ['\"]"
    r"|(?:export |default |async )*function\b\*? ?[\w$]*\(|(?:export )?(?:const|let|var) [\w${\[]"
    r"|module\.exports\b|exports\.\w|(?:pub(?:\(\w+\))? )?(?:fn|struct|enum|impl|trait|mod) \w"
    r"|func [\w(]|package [\w.]+;?\s*$|#include [<\"]|use [\w:]+|using [\w.]+;|namespace \w"
    r"|(?:public|private|protected|static) [\w<>\[\] ]+[({;=]|type \w+ (?:=|struct|interface)"
    r"|(?:self|this|cls)\.\w+ ?[=(.]|return\b[^.]*$|(?:el)?if .{1,300}(?::|\{)\s*$|else ?[:{]\s*$"
    r"|[A-Z][A-Z_0-9]* ?(?::[^=]{1,80})?= ?\S|@[\w.]+(?:\(.*)?$)"
)
"""Lines that say something in the syntax of a language: declarations, imports, branches."""
_literal = _share(r"\s+(?:[rbu]?(?:'[^']*'|\"[^\"]*\")|0x[\da-fA-F]+)(?::|,|\s+#|\s*$)")
"""Elements of a table of a program."""
_opens_string = _share(r"[rbu]?(?:\"{3}|'{3})")
_numbered = _share(r"\s*\d+[→\t]")
_sentences = _share(r"(?:[^\W\d_]{1,30}[,;:.!?)\"']* ){7}|.{0,100}[。！？]")
_markdown = _share(r"#{1,6} |[-*] |\d+\. |> |```|\*\*|\|.*\|$|---+$")


def _is_diff(lines: list[str]) -> bool:
    hunks = any(line.startswith("@@ -") for line in lines)
    files = any(line.startswith(("diff --git ", "*** Update File: ", "+++ ")) for line in lines)
    return (hunks and files) or ((hunks or files) and _changed_lines(lines) > 0.1)


def _is_html(lines: list[str]) -> bool:
    head = " ".join(lines[:5]).lstrip().lower()
    return head.startswith(("<!doctype html", "<html")) or ("<body" in head and "</" in head)


def _is_trace(lines: list[str]) -> bool:
    return _frames(lines) > 0.4


def _is_test(lines: list[str]) -> bool:
    return _test_lines(lines) > 0.15 or bool(_test_marks.search("\n".join(lines)))


def _is_code(lines: list[str]) -> bool:
    """Return whether a text speaks in declarations. What is inside a long string, such as the
    documentation of a function, says nothing of that.
    """
    if any(line.startswith("```") for line in lines):
        return False
    outside = _without_strings(lines)
    if _is_minified(lines) or (_opens_string(lines[:1]) and len(outside) < _LEAST_LINES):
        return True
    return _declared(outside) > 0.05 and _coded(outside) + _literal(outside) > 0.4


def _without_strings(lines: list[str]) -> list[str]:
    """Return the lines that are outside strings of several lines."""
    found: list[str] = []
    closing = ""
    for line in lines:
        if closing:
            closing = "" if closing in line else closing
            continue
        found.append(line)
        for quotes in ('"""', "'''"):
            closing = quotes if line.count(quotes) % 2 else closing
    return found


def _is_minified(lines: list[str]) -> bool:
    """Return whether a text is a program without line breaks."""
    longest = max(lines, key=len, default="")
    marks = sum(longest.count(mark) for mark in "{}();=")
    return (
        len(longest) == _LINE_CHARS
        and marks > _LINE_CHARS // 10
        and any(word in longest for word in ("=>", "function(", "function ", "return "))
    )


def _is_csv(lines: list[str]) -> bool:
    rows = lines[:20]
    if len(rows) < 3:
        return False
    for mark in ("\t", ",", ";", "|"):
        counts = [row.count(mark) for row in rows]
        if counts[0] >= 2 and counts.count(counts[0]) >= 0.9 * len(rows):
            return True
    return False


_TESTS: Final[tuple[tuple[Kind, Callable[[list[str]], bool]], ...]] = (
    ("html", _is_html),
    ("diff", _is_diff),
    ("code", lambda lines: _numbered(lines) > 0.6),
    ("test", _is_test),
    ("build", lambda lines: _diagnostics(lines) > 0.12),
    ("search", lambda lines: _matches(lines) > 0.6),
    ("trace", _is_trace),
    ("listing", lambda lines: _paths(lines) > 0.7),
    ("log", lambda lines: _stamped(lines) > 0.4),
    ("build", lambda lines: _built(lines) > 0.3),
    ("csv", _is_csv),
    ("code", _is_code),
    ("prose", lambda lines: _markdown(lines) > 0.25),
    ("code", lambda lines: _coded(lines) > 0.5),
    ("prose", lambda lines: _sentences(lines) > 0.3),
)
"""In this order; the first that speaks for a text wins."""
