"""What a text is, found from its first lines."""

from __future__ import annotations

import json
import sysconfig
from pathlib import Path

from tests.testing.rows import each_row

from foldaway.reduction import Kind, detect_kind

EXAMPLES: list[tuple[Kind, str]] = [
    ("json", '{"a": [1, 2, {"b": null}]}'),
    ("json", "\n [1, 2, 3]\n"),
    ("jsonl", '{"a": 1}\n{"a": 2}\n{"a": 3}\n'),
    ("log", "2026-02-03 11:36:54 INFO started\n2026-02-03 11:36:55 WARN slow\n"),
    ("log", "step one\nstep two\nstep three\n"),
    ("test", "=== RUN   TestA\n--- PASS: TestA (0.0s)\n=== RUN   TestB\n--- FAIL: TestB (0.0s)\n"),
    ("test", "....F..\n=== FAILURES ===\n1 failed, 6 passed in 0.12s\n"),
    ("test", "ok  \tpkg/a\t0.1s\nok  \tpkg/b\t0.1s\nFAIL\tpkg/c\t0.2s\n"),
    ("build", "   Compiling a v0.1.0\n   Compiling b v0.2.0\nerror[E0308]: mismatched types\n"),
    ("build", "a.go:12:5: undefined: x\nb.go:3:1: missing return\n"),
    ("trace", 'Traceback (most recent call last):\n  File "a.py", line 3, in f\n    g()\n'
     '  File "a.py", line 7, in g\n    h()\n  File "b.py", line 1, in h\n    1 / 0\nE: x\n'),
    ("trace", "java.lang.Error: x\n    at a.B.c(D.java:1)\n    at a.B.d(D.java:2)\n"),
    ("diff", "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n"),
    ("diff", "commit abc\nAuthor: A\n\n    words\n\ndiff --git a/x b/x\n@@ -1 +1 @@\n-a\n+b\n"),
    ("code", "     1→package main\n     2→\n     3→func main() {\n     4→}\n"),
    ("code", "import os\n\ndef f(x):\n    if x:\n        return 1\n    return 2\n"),
    ("search", "src/a.py:12:def f():\nsrc/b.py:7:    f()\n--\nsrc/c.py-3-x\n"),
    ("search", "12:def f():\n17:    f()\n"),
    ("listing", "src/a.py\nsrc/b.py\ntests/test_a.py\nREADME.md\n"),
    ("listing", "total 8\ndrwxr-xr-x 2 me me 40 Jan 1 1:00 s\n-rw-r--r-- 1 me me 7 Jan 1 1:00 a\n"),
    ("listing", " src/a.py | 12 +++---\n src/b.py |  3 +\n 2 files changed, 9 insertions(+)\n"),
    ("csv", "id,name,score\n1,a,2.5\n2,b,3.5\n3,c,4.5\n"),
    ("html", "<!DOCTYPE html>\n<html><head><title>x</title></head><body><p>y</p></body></html>"),
    ("prose", "# Title\n\nThis is a sentence of several words about a thing at hand.\n\n- item\n"),
    ("prose", "The second pass reads all of the words in the log and writes them down again.\n"),
]  # fmt: skip


@each_row(("kind", "text"), EXAMPLES)
def test_a_text_is_told_by_its_lines(kind: Kind, text: str) -> None:
    """One small example of each shape that is known."""
    assert detect_kind(text) == kind


@each_row(("kind", "text"), [pair for pair in EXAMPLES if "json" not in pair[0]])
def test_what_a_tool_puts_before_an_output_does_not_count(kind: Kind, text: str) -> None:
    """Exit code, time and the like come from the tool, not from what it ran."""
    header = "Chunk ID: 84a5d2\nWall time: 0.0 seconds\nProcess exited with code 1\nOutput:\n"
    assert detect_kind(header + text) == kind
    assert detect_kind("Exit code 1\n" + text) == kind


@each_row(
    ("hint", "kind"),
    [("a/b.py", "code"), ("server.log", "log"), ("x.patch", "diff"), ("text/html", "html"),
     ("README.md", "prose"), ("data.csv", "csv"), ("A.GO", "code")],
)  # fmt: skip
def test_a_name_helps(hint: str, kind: Kind) -> None:
    """The ending of a file or a media type says what a text is."""
    assert detect_kind("one\ntwo", hint) == kind


def test_a_name_does_not_make_json() -> None:
    """Whether a text is JSON is seen from the text alone, and JSON is JSON under any name."""
    assert detect_kind("{broken", "a.json") != "json"
    assert detect_kind(json.dumps([1]), "a.py") == "json"


SOURCES = Path(sysconfig.get_paths()["stdlib"])


def test_source_files_are_code_without_their_names() -> None:
    """Of the standard library, tables and files that are mostly documentation included; at most
    one in a hundred is taken for something else.
    """
    files = [
        path
        for path in sorted(SOURCES.rglob("*.py"))
        if "site-packages" not in path.parts and path.stat().st_size > 4_000
    ][::5]
    other = [path for path in files if detect_kind(path.read_text("utf-8", "replace")) != "code"]
    assert len(files) > 100
    assert len(other) <= len(files) // 100, other


@each_row(
    ("kind", "text"),
    [
        (
            "code",
            '"""What a long module is for.\n' + "It says so in many words here.\n" * 60 + '"""\n',
        ),
        ("code", '"use strict";var a=(t,e)=>{return e(t)};' * 40),
        ("log", "started\nimport of data failed\nthe loader is ready\n" * 30),
        ("log", "worker {3} took (12 ms)\nif this persists, see the manual\n" * 30),
        (
            "prose",
            "# Use\n\n- one\n- two\n\n```python\nimport os\n\ndef f(x):\n    return os\n```\n",
        ),
    ],
)
def test_words_of_a_language_in_a_line_make_no_program(kind: Kind, text: str) -> None:
    """A program declares, and has no long text around what it declares."""
    assert detect_kind(text) == kind
