"""Definitions found by tree-sitter, where it is installed."""

from __future__ import annotations

import pytest
from tests.testing.rows import each_row

from foldaway import reduce
from foldaway.reduction.code import definition_lines, guess_language

SOURCES = {
    "python": "import os\n\nclass A(B):\n    def f(self):\n        pass\n\ndef g():\n    pass\n",
    "go": "package a\n\ntype T struct {\n\tA int\n}\n\nfunc (t *T) M() error {\n\treturn nil\n}\n",
    "typescript": "import x from 'y';\nexport interface P { a: string }\n"
    "export class C {\n  m(): void { f(); }\n}\nexport const g = (a: string) => { return a; };\n",
    "rust": "use std::fmt;\npub struct S { a: i32 }\nimpl S {\n    pub fn new() -> Self { S }\n}\n",
    "java": "import java.util.List;\npublic class A {\n  public A(int x) { this.x = x; }\n}\n",
    "c": "#include <stdio.h>\nstatic int f(int x) {\n  return x;\n}\n",
    "cpp": "#include <vector>\nnamespace n {\nclass A { void f() {} };\n}\n",
    "ruby": "require 'x'\nclass A\n  def f(x)\n    x\n  end\nend\n",
    "javascript": "const a = require('a');\nfunction f(x) { return x; }\n",
}
DEFINITIONS = {
    "python": {2: 0, 3: 1, 6: 0},
    "go": {2: 0, 6: 0},
    "typescript": {1: 0, 2: 0, 3: 1, 5: 0},
    "rust": {1: 0, 2: 0, 3: 1},
    "java": {1: 0, 2: 1},
    "c": {1: 0},
    "cpp": {1: 0, 2: 1},
    "ruby": {1: 0, 2: 1},
    "javascript": {1: 0},
}


@each_row("language", SOURCES)
def test_a_language_is_known_by_its_first_lines(language: str) -> None:
    """Enough to choose a grammar."""
    assert guess_language(SOURCES[language]) == language


@each_row("language", SOURCES)
def test_definitions_are_found_by_syntax(language: str) -> None:
    """With the line of each and how deep it is nested."""
    pytest.importorskip("tree_sitter_python", reason="the extra `code` is not installed")
    assert definition_lines(SOURCES[language].split("\n"), language) == DEFINITIONS[language]


def test_a_language_without_a_grammar_has_no_definitions() -> None:
    """None, not an error; prose is no language."""
    assert definition_lines(["x"], "klingon") is None
    assert guess_language("Just words, and some more of them.") == ""


def test_with_a_parser_nothing_is_said_of_indentation() -> None:
    """The note is there only where the extra is not."""
    pytest.importorskip("tree_sitter_python", reason="the extra `code` is not installed")
    text = "\n".join(f"def f{n}(x):\n    return x + {n}\n" for n in range(100))
    assert reduce(text, "code", 100).notes == ()
