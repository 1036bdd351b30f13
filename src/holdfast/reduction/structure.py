"""Where the definitions of a source file are: by tree-sitter where it is installed."""

from __future__ import annotations

import re
from collections.abc import Sequence
from importlib import import_module
from typing import Final, Protocol, cast

__all__ = ["LANGUAGES", "definition_lines", "guess_language"]

LANGUAGES: Final[dict[str, tuple[str, str]]] = {
    "python": ("tree_sitter_python", "language"),
    "javascript": ("tree_sitter_javascript", "language"),
    "typescript": ("tree_sitter_typescript", "language_tsx"),
    "go": ("tree_sitter_go", "language"),
    "rust": ("tree_sitter_rust", "language"),
    "java": ("tree_sitter_java", "language"),
    "c": ("tree_sitter_c", "language"),
    "cpp": ("tree_sitter_cpp", "language"),
    "ruby": ("tree_sitter_ruby", "language"),
}
"""The package of each language's grammar, and its function."""

MOST_CHARS: Final = 100_000
"""tree-sitter reads some 4 MB a second; a longer text is read by indentation."""

_GUESSES: Final[tuple[tuple[str, re.Pattern[str]], ...]] = (
    ("go", re.compile(r"^package \w+$|^func (?:\(\w+ \*?\w+\) )?\w+\(", re.M)),
    ("rust", re.compile(r"^\s*(?:pub )?fn \w+|^use (?:crate|std|super)::|^impl\b", re.M)),
    ("java", re.compile(r"^(?:public|import java)\b.*[;{]$|^\s*@Override", re.M)),
    ("typescript", re.compile(
        r"^(?:export )?(?:interface|type) \w+|: (?:string|number|boolean)\b|^import .* from ", re.M
    )),
    ("cpp", re.compile(r"^#include <\w+>$|^namespace \w+|^template ?<|\bstd::", re.M)),
    ("c", re.compile(r"^#include [<\"]|^(?:static|struct|typedef) ", re.M)),
    ("python", re.compile(r"^\s*def \w+\(.*\).*:$|^from [\w.]+ import |^class \w+.*:$", re.M)),
    ("ruby", re.compile(r"^\s*def \w+[^:]*$|^require '|^end$", re.M)),
    ("javascript", re.compile(r"\bfunction\b|=> \{|^const \w+ = |\brequire\(", re.M)),
)  # fmt: skip


def guess_language(text: str) -> str:
    """Return the language that the start of a source file looks like, "" where none does."""
    head = text[:8_000]
    return next((name for name, pattern in _GUESSES if pattern.search(head)), "")


def definition_lines(lines: Sequence[str], language: str) -> dict[int, int] | None:
    """Return the lines with a definition, and how deep each is nested.

    None where the extra `code` is not installed, has no grammar for the language, or finds none.
    """
    parser = _parser(language)
    if parser is None:
        return None
    source = "\n".join(lines).encode("utf-8", "replace")
    found: dict[int, int] = {}
    waiting = [(parser.parse(source).root_node, 0)]
    while waiting:
        node, depth = waiting.pop()
        body = node.child_by_field_name("body")
        defines = body is not None and node.type.endswith(_DEFINITIONS)
        if defines or node.type.endswith(_PLAIN_DEFINITIONS) or _binds_function(node):
            found.setdefault(node.start_point[0], depth)
        if depth <= _DEEPEST:
            inside = body.named_children if defines and body is not None else node.named_children
            if defines or depth == 0 or node.type in _WRAPPERS:
                waiting.extend((child, depth + defines) for child in inside)
    return found or None


_DEEPEST = 4
_DEFINITIONS = ("definition", "declaration", "_item", "method", "class", "module", "_specifier")
_PLAIN_DEFINITIONS = (
    "type_declaration", "type_alias_declaration", "struct_item", "enum_item",
    "interface_declaration", "type_item",
)  # fmt: skip
_BINDINGS = ("lexical_declaration", "variable_declaration")
_FUNCTIONS = ("arrow_function", "function_expression", "class")
_WRAPPERS = frozenset({
    "decorated_definition", "export_statement", "declaration_list", "block", "class_body",
    "body_statement", "field_declaration_list", "statement_block", "linkage_specification",
})  # fmt: skip


def _binds_function(node: _Node) -> bool:
    """Return whether a node gives a name to a function, as `const f = () => …` does."""
    if node.type not in _BINDINGS:
        return False
    bound = [child.child_by_field_name("value") for child in node.named_children]
    return any(value is not None and value.type in _FUNCTIONS for value in bound)


class _Node(Protocol):
    type: str
    start_point: tuple[int, int]
    named_children: list[_Node]

    def child_by_field_name(self, name: str) -> _Node | None: ...


class _Tree(Protocol):
    root_node: _Node


class _Parser(Protocol):
    def parse(self, source: bytes) -> _Tree: ...


class _TreeSitter(Protocol):
    def Language(self, pointer: object) -> object: ...  # noqa: N802
    def Parser(self, language: object) -> _Parser: ...  # noqa: N802


def _parser(language: str) -> _Parser | None:
    if language not in LANGUAGES:
        return None
    package, function = LANGUAGES[language]
    try:
        tree_sitter = cast(_TreeSitter, cast(object, import_module("tree_sitter")))
        grammar: object = getattr(import_module(package), function)()
        return tree_sitter.Parser(tree_sitter.Language(grammar))
    except (ImportError, AttributeError, ValueError):
        return None
