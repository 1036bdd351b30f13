"""How lines that tell of a failure look: a literal that finds them, a pattern that confirms them.

Plain search for the literal runs at a gigabyte a second, where a pattern of alternatives does not
reach a tenth of that; the pattern then sees one line.
"""

from __future__ import annotations

from typing import Final

from msgspec import Struct

from foldaway._core import Regex


class Shape(Struct, frozen=True):
    """One way in which a failure is written, with lines that it must and must not match."""

    sign: str
    """A literal that every such line holds."""
    pattern: Regex[str]
    """What the line must look like beyond that; searched, not matched from the start."""
    examples: tuple[str, ...]
    harmless: tuple[str, ...] = ()
    follow: Regex[str] = Regex("")
    """What must come right after the sign; spares most source code the look at its line."""


_ERROR = Regex(
    r"^[ \t>│|*-]{0,24}(?:\[[^\]\n]{0,40}\] ?){0,3}"
    r"(?:(?:[\w$]{1,60}\.){0,8}[A-Z]\w{0,60}Error|Error|[Ff]atal error|[Ss]yntax error)"
    r"(?:\[\w{1,12}\]|: |:$|!|$| \[\w{1,40}\]: | (?:from|in|while|when|executing|running|calling"
    r"|response|reading|writing|opening|loading|parsing|occurred|fetching|code|near|\d))"
    r"|^error(?:\[\w{1,12}\]|  ?[A-Z]{1,6}\d{1,6})?: |^\s{0,8}error {2,8}\S"
    r"|^[Ee]rror (?!handling|logging|reporting|checking|wrapping)[a-z]{2,20}ing \S"
    r"|[:)\]-] (?:fatal )?error(?:\[[\w-]{1,40}\]| [A-Z]{1,5}\d{1,6})?: "
    r"|(?:^|[\s:(])(?<!except )(?:\w{1,60}\.){0,6}[A-Z]\w{0,60}Error: \S"
    r"|^\s{1,12}\d{1,7}:\d{1,5}\s{1,8}error\s"
    r"|\blevel=error\b|\[error\]|^npm error |\*\*\* .{0,200}Error \d"
    r"|\\?\"error(?:s|_message|Message|_msg|_code|Code)?\\?\" ?: ?+"
    r"(?!null|\\?\"\\?\"|\[\]|\{\}|false|0\b|[,}]|$)"
    r"|\\?\"(?:status|type|state|level|severity|result|outcome)\\?\" ?: ?\\?\"[Ee]rror"
    r"|<tool_use_error>|<error>|(?:Uncaught|Unhandled) .{0,60}rror"
)
_ERR = Regex(r"(?:^|[\s\[|<:(])(?:ERROR|ERR!?)(?:[\s\]|>:)]|$)(?!\W{0,3}0\b)")
_FAIL = Regex(
    r"(?:^|[\s\[|:>(])(?:FAIL|FAILED|FAILURES?)(?:[\s\]|:!.)=]|$)(?!\W{0,3}(?:0\b|NOT\b))"
)
_FAILED = Regex(
    r"(?:^|[\s\]:>*•-] ?)[Ff]ailed (?:to|with|because|after) "
    r"|^\s{0,8}[Ff]ailed(?:: +(?!0\b)\S| [1-9]| \S{0,200}[/.]\w)"
    r"|\b(?i:build|compilation|command|job|task|tests?|checks?|process|step|install(?:ation)?"
    r"|request|lint|authentication|connection|validation|verification|push|merge|deploy\w{0,6}"
    r"|assertion)(?: [^\s\"']{1,80}){0,8} failed\b"
    r"|(?:^|[^\d.,])[1-9]\d{0,6} (?:\w{1,20} )?failed\b"
    r"|\\?\"(?:status|state|result|outcome|conclusion)\\?\" ?: ?\\?\"[Ff]ail"
)
_EXCEPTION = Regex(
    r"(?:^|[\s:])(?:[\w$]{1,60}\.){0,10}\w{0,60}Exception(?:: \S|:?$| in thread )"
    r"|^Caused by: |(?:Uncaught|Unhandled) .{0,60}xception|^\s{0,8}exception: \S"
)
_DIAGNOSTIC = Regex(
    r"^\s*(?:vet: )?[^\s:\"'()]{1,200}\.\w{1,8}:\d{1,7}:\d{1,5}:? "
    r"(?!warning|note|info|remark|hint)\S"
)
_NOT_FOUND = Regex(
    r": (?:command )?not found\b|\bcommand not found"
    r"|^(?:\W{0,8}\w{0,20}: )?[\w .'\"/@-]{1,100} not found(?:$|[:.;] ?)"
)
_ANY = Regex("")

SHAPES: Final = (
    Shape(
        "rror",
        _ERROR,
        (
            "TypeError: x is not a function",
            "requests.exceptions.ConnectionError: HTTPSConnectionPool(host='h', port=443)",
            "E   AssertionError: assert 3 == 4",
            "AssertionError",
            "Error: Cannot find module './a'",
            "Error response from daemon: conflict",
            "error[E0308]: mismatched types",
            "error: pathspec 'x' did not match any file(s) known to git",
            "src/a.c:12:5: error: expected ';'",
            "src/a.ts(12,5): error TS2345: Argument of type 'string'",
            "src/a.ts:12:5 - error TS2345: Argument of type 'string'",
            "a.py:12: error: Incompatible types in assignment  [assignment]",
            "  12:5  error  'x' is not defined  no-undef",
            'time=12:00 level=error msg="no route"',
            "make: *** [Makefile:12: all] Error 2",
            '{"code": 3, "error": "no such user"}',
            '{"status":"error","detail":"quota"}',
            "│ Error: Invalid provider configuration",
            "Syntax error near line 3",
            'TypeError [ERR_INVALID_ARG_TYPE]: The "path" argument must be of type string',
            "error connecting to api.example.org",
            "error TS5023: Unknown compiler option 'x'.",
            "error  Unexpected token  no-undef",
            "FAILED tests/test_a.py::test_b - ValueError: bad",
        ),
        (
            "    except ValueError:",
            'return fmt.Errorf("failed to read: %w", err)',
            "  error: string | null;",
            "class ParseError(Exception):",
            "0 errors, 2 warnings",
            '{"error": null, "errors": [], "value": 3}',
            "logger.error('no')",
            "## Error handling",
            "error handling is done in one place",
        ),
        Regex(r"[:\[!\]>\x1b]|s?\\?\"|_|Message|Code| (?:[a-z]|[A-Z]{1,5}\d|\d)|\s|\Z"),
    ),
    Shape(
        "ERR",
        _ERR,
        ("2026-01-01 12:00:00 ERROR db: no route", "[ERROR] no", "npm ERR! code E404", "ERROR: x"),
        ("log.ERROR(x)", 'LEVELS = ["ERROR"]', "ERRORS", "HTTP_ERROR = 3", "ERROR: 0"),
    ),
    Shape(
        "FAIL",
        _FAIL,
        (
            "FAIL\tpkg/a\t0.6s",
            "--- FAIL: TestA (0.00s)",
            "FAILED (failures=1)",
            "BUILD FAILED",
            "test a::b ... FAILED",
            "FAILURE: Build failed with an exception.",
        ),
        ('STATES = ("FAIL", "PASS")', "FAILED: 0", "FAILOVER"),
    ),
    Shape(
        "ailed",
        _FAILED,
        (
            "Failed to compile.",
            "WARN failed to delete branch",
            "Build failed",
            "3 failed, 1 passed",
            "assertion `left == right` failed",
            '{"conclusion":"failed"}',
            "Failed: 3 of 20 steps",
            "failed tests/unit/test_a.py",
        ),
        ('errors.New("failed to read")', "0 failed, 4 passed", "failed_count = 3", "Failed: 0"),
        Regex(r" (?:to|with|because|after) |\\?\"|[.,;:!)\x1b]|\s|\Z"),
    ),
    Shape(
        "xception",
        _EXCEPTION,
        (
            "java.lang.NullPointerException: x",
            'Exception in thread "main" java.lang.Error',
            "Caused by: java.io.IOException: closed",
            "System.InvalidOperationException: no",
            "exception: out of memory",
        ),
        ("try { } catch (Exception e) {", "class A extends Exception {"),
    ),
    Shape(
        "atal",
        Regex(r"(?:^|[\s\[:(])[Ff]atal(?: error)?[:\]!]"),
        ("fatal: not a git repository", "a.c:1:2: fatal error: x.h: No such file"),
        ("the catalog: fatal or not",),
    ),
    Shape(
        "panic",
        Regex(r"(?:^|\s)panic: |panicked at"),
        ("panic: runtime error: index out of range", "thread 'main' panicked at src/main.rs:2:5:"),
        ("func dontPanic() { panic(err) }",),
    ),
    Shape(
        "o such file",
        Regex(r"\b[Nn]o such file"),
        ("cat: x: No such file or directory", "(eval):cd:1: no such file or directory: src/x"),
    ),
    Shape(
        "command not found",
        _ANY,
        ("zsh:1: command not found: timeout", "bash: foo: command not found"),
    ),
    Shape(
        "ermission denied",
        Regex(r"(?:^\s*|[:\]] |[a-z] )[Pp]ermission denied"),
        (
            "bash: ./x: Permission denied",
            "    permission denied while connecting",
            "git@host: Permission denied (publickey).",
        ),
        ('errors.New("permission denied")',),
    ),
    Shape(
        "ailure",
        Regex(r"^\s{0,8}(?:\[[^\]\n]{0,40}\] ?)?[Ff]ailure(?:: \S| (?:in|while|when|to) )"),
        ("Failure: expected 3, got 4", "failure in step deploy"),
        ("Failure modes are listed below", "0 failures"),
    ),
    Shape(
        "ERR_",
        Regex(r"(?:^|[\s\[])ERR_[A-Z][A-Z_]{1,60}(?:[\s\]:]|$)(?!\s*=)"),
        ("\u2009ERR_PNPM_UNSUPPORTED_ENGINE\u2009 Unsupported environment", "  code: ERR_X_Y"),
        ("ERR_FIRST = 3", 'codes["ERR_FIRST"]'),
    ),
    Shape(
        "not ok ",
        Regex(r"^\s{0,8}not ok \d"),
        ("not ok 3 - parses dates",),
        ("it is not ok 3 times",),
    ),
)
"""Looked for in the whole of a text."""

END_SHAPES: Final = (
    Shape(
        "not found",
        _NOT_FOUND,
        ("bash: foo: command not found", "Module not found: a"),
        ("a file that was not found in the index is skipped by the second pass (see below)",),
    ),
    Shape("onnection refused", _ANY, ("ssh: connect to host h port 22: Connection refused",)),
    Shape(
        "borted",
        Regex(r"^\s{0,8}(?:\S{1,60}: )?[Aa]borted(?:[:!]| \(core|$)"),
        ("Aborted (core dumped)", "Aborted!", "aborted: transaction rolled back"),
        ("aborted runs are kept",),
    ),
    Shape("imed out", _ANY, ("Command timed out after 120 s",)),
    Shape("egmentation fault", _ANY, ("Segmentation fault (core dumped)",)),
    Shape(
        "Killed",
        Regex(r"(?:^|\s)Killed\s*(?:$|:)"),
        ("Killed", "sh: line 1: 12 Killed"),
        ("Killed processes are listed below",),
    ),
    Shape(
        "FATAL", Regex(r"(?:^|[\s\[|:(])FATAL(?:[\s\]|:)]|$)"), ('FATAL:  role "x"',), ('"FATAL"',)
    ),
    Shape(
        "CRITICAL",
        Regex(r"(?:^|[\s\[|:(])CRITICAL(?:[\s\]|:)]|$)"),
        ("CRITICAL:root:x",),
        ('"CRITICAL"',),
    ),
    Shape("CONFLICT (", _ANY, ("CONFLICT (content): Merge conflict in a.py",)),
    Shape("[rejected]", _ANY, (" ! [rejected]        main -> main (fetch first)",)),
    Shape("o space left", _ANY, ("write: No space left on device",)),
    Shape("ndefined reference", _ANY, ("a.o: undefined reference to `f'",)),
)
"""Looked for at the ends of a text only, where the message of a command that died stands."""

GLYPHS: Final = "✗✘✕✖❌×"
"""How test runners mark what failed, at the start of a line."""
GLYPH: Final = Regex(rf"^\s*[{GLYPHS}]\s?\S")

DETAIL_SIGN: Final = "\nE  "
DETAIL: Final = Regex(r"^E {2,}\S")
"""How pytest shows what was wrong."""

DIAGNOSTIC_PLACE: Final = Regex(r":(?<=[A-Za-z]:)\d{1,7}:\d{1,5}:? ")
DIAGNOSTIC: Final = _DIAGNOSTIC
"""`path.go:12:5: message`, which needs no word for error."""

CODE_LINE: Final = Regex(
    r"[+-]?\s*(?:\d{1,7}[\t→:|]?[ \t]*)?(?:(?:except|catch|throws?|raise|import|from|class|def|func"
    r"|fn|function|return|if|elif|else|export|const|let|var|case|public|private|protected|static"
    r"|interface|async|await|assert|expect)\b[ (]|[\w.]{1,80}\((?!\d)|//|/\*|\* |[})@`]"
    r"|\((?!eval\)))"
)
"""Source code that mentions failures; a line that begins so tells of none."""
