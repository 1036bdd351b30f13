"""Lines that each shape of a failure must and must not match, by its sign."""

from __future__ import annotations

EXAMPLES: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "rror": (
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
    ),
    "ERR": (
        ("2026-01-01 12:00:00 ERROR db: no route", "[ERROR] no", "npm ERR! code E404", "ERROR: x"),
        ("log.ERROR(x)", 'LEVELS = ["ERROR"]', "ERRORS", "HTTP_ERROR = 3", "ERROR: 0"),
    ),
    "FAIL": (
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
    "ailed": (
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
    ),
    "xception": (
        (
            "java.lang.NullPointerException: x",
            'Exception in thread "main" java.lang.Error',
            "Caused by: java.io.IOException: closed",
            "System.InvalidOperationException: no",
            "exception: out of memory",
        ),
        ("try { } catch (Exception e) {", "class A extends Exception {"),
    ),
    "atal": (
        ("fatal: not a git repository", "a.c:1:2: fatal error: x.h: No such file"),
        ("the catalog: fatal or not",),
    ),
    "panic": (
        ("panic: runtime error: index out of range", "thread 'main' panicked at src/main.rs:2:5:"),
        ("func dontPanic() { panic(err) }",),
    ),
    "o such file": (
        ("cat: x: No such file or directory", "(eval):cd:1: no such file or directory: src/x"),
        (),
    ),
    "command not found": (
        ("zsh:1: command not found: timeout", "bash: foo: command not found"),
        (),
    ),
    "ermission denied": (
        (
            "bash: ./x: Permission denied",
            "    permission denied while connecting",
            "git@host: Permission denied (publickey).",
        ),
        ('errors.New("permission denied")',),
    ),
    "ailure": (
        ("Failure: expected 3, got 4", "failure in step deploy"),
        ("Failure modes are listed below", "0 failures"),
    ),
    "ERR_": (
        ("\u2009ERR_PNPM_UNSUPPORTED_ENGINE\u2009 Unsupported environment", "  code: ERR_X_Y"),
        ("ERR_FIRST = 3", 'codes["ERR_FIRST"]'),
    ),
    "not ok ": (("not ok 3 - parses dates",), ("it is not ok 3 times",)),
    "not found": (
        ("bash: foo: command not found", "Module not found: a"),
        ("a file that was not found in the index is skipped by the second pass (see below)",),
    ),
    "onnection refused": (("ssh: connect to host h port 22: Connection refused",), ()),
    "borted": (
        ("Aborted (core dumped)", "Aborted!", "aborted: transaction rolled back"),
        ("aborted runs are kept",),
    ),
    "imed out": (("Command timed out after 120 s",), ()),
    "egmentation fault": (("Segmentation fault (core dumped)",), ()),
    "Killed": (("Killed", "sh: line 1: 12 Killed"), ("Killed processes are listed below",)),
    "FATAL": (('FATAL:  role "x"',), ('"FATAL"',)),
    "CRITICAL": (("CRITICAL:root:x",), ('"CRITICAL"',)),
    "CONFLICT (": (("CONFLICT (content): Merge conflict in a.py",), ()),
    "[rejected]": ((" ! [rejected]        main -> main (fetch first)",), ()),
    "o space left": (("write: No space left on device",), ()),
    "ndefined reference": (("a.o: undefined reference to `f'",), ()),
}
