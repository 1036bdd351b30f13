"""Source code: definitions first, then the beginnings of their bodies.

The definitions are found by tree-sitter if it is installed, otherwise by words and indentation.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Final, Protocol, cast

from msgspec.structs import replace

from foldaway._core import Regex
from foldaway.reduction.excerpt import read_lines
from foldaway.reduction.lines import WORDS
from foldaway.reduction.ranking import line_render, rank_lines, ranking_of, status_lines
from foldaway.reduction.reduced import ReductionRequest, Render, gap
from foldaway.reduction.signals import error_spans

NO_PARSER = "read by indentation; foldaway[code] reads by syntax"

_NUMBER = Regex(r"^ {0,12}\d{1,7}(?:→|\t)", re.M)
_WORDS = WORDS["definition_words"]
_DEEPEST = 3
"""Definitions indented further are read like other lines."""
_STARTS = ("async def ", "async function ", "impl<", "describe(", "it(", "test(", "data class ")
_METHOD = Regex(
    r"(?:[A-Za-z_][\w<>\[\],.*&:]{0,80} +){1,4}[\w*&~:<>]{1,80}\([^;={}]{0,300}\)[^;=()]{0,60}\{?$"
    r"|[\w$]{1,80}\([^;={}()]{0,300}\)[^;=()]{0,60}\{$"
)
_CONTROL = WORDS["control_words"]
_IMPORTS = frozenset({"import", "from", "use", "#include", "using", "package", "require"})
_NOTABLE = frozenset({"return", "raise", "throw", "panic", "yield", "TODO", "FIXME"})


def reduce_code(text: str, ask: ReductionRequest) -> Render:
    """Read a source file, with or without line numbers before its lines."""
    lines = read_lines(text, ask.room_chars)
    if lines.in_pieces:
        return line_render(rank_lines(lines), ask.reference)
    numbered = _is_numbered(lines.texts)
    bare = _NUMBER.sub("", "\n".join(lines.texts)).split("\n") if numbered else lines.texts
    source = "\n".join(bare[:200])
    parsed = definition_lines(bare, guess_language(source)) if len(text) <= MOST_CHARS else None
    scores = _scores(bare, parsed)
    if len(text) <= MOST_CHARS and not numbered:
        _raise_errors(text, lines.texts, scores)
        for at in status_lines(lines.texts):
            scores[at] = 900.0
    ranking = ranking_of(lines, scores)
    if parsed is None:
        ranking = replace(ranking, notes=(NO_PARSER,))
    return line_render(ranking, ask.reference, mark=_dots if numbered else gap)


def _dots(_absent: int, _noun: str) -> str:
    """Return the mark between numbered lines: the numbers say how much is missing."""
    return "…"


def _is_numbered(texts: Sequence[str]) -> bool:
    some = [line for line in texts[:60] if line.strip()]
    return sum(1 for line in some if _NUMBER.match(line)) > 0.6 * len(some)


def _scores(texts: Sequence[str], parsed: Mapping[int, int] | None) -> list[float]:
    unit = _indent_unit(texts)
    scores: list[float] = []
    imports = inside = 0
    for at, text in enumerate(texts):
        bare = text.lstrip()
        if not bare:
            scores.append(0)
            continue
        if bare[0] in "})]":
            scores.append(3.0)
            continue
        indent = len(text) - len(bare)
        depth = indent if text[0] == "\t" else indent // unit
        word = bare.split(" ", 1)[0]
        known = _depth_of(bare, word, depth) if parsed is None else parsed.get(at)
        if known is not None:
            scores.append(800.0 - 60 * known)
            inside = 0
        elif word in _IMPORTS:
            imports += 1
            scores.append(120.0 if imports <= 3 else 12.0)
        else:
            inside += 1
            score = (90.0 if depth == 0 else 60.0) - inside - 3 * depth
            scores.append((score if score > 8 else 8.0) + (15 if word in _NOTABLE else 0))
    for at in range(min(3, len(scores))):
        scores[at] = max(scores[at], 200.0) if texts[at].strip() else 0
    return scores


def _depth_of(bare: str, word: str, depth: int) -> int | None:
    """Return how deep a definition is nested, None for a line that defines nothing."""
    if depth > _DEEPEST:
        return None
    if word in _WORDS:
        return depth
    if bare[-1] in "{)" and word not in _CONTROL and _METHOD.match(bare[:500]):
        return depth
    return depth if bare.startswith(_STARTS) else None


def _indent_unit(texts: Sequence[str]) -> int:
    widths = {len(text) - len(text.lstrip(" ")) for text in texts[:300]}
    return next((unit for unit in (2, 3, 4, 8) if unit in widths), 4)


def _raise_errors(text: str, texts: Sequence[str], scores: list[float]) -> None:
    """Raise what tells of a failure: a command's output may stand around or among the code."""
    spans = error_spans(text, 40)
    if not spans:
        return
    wanted = {text[start:end].rstrip("\r") for start, end in spans}
    for at, line in enumerate(texts):
        if line in wanted:
            scores[at] = max(scores[at], 850.0)


MOST_CHARS: Final = 100_000
"""tree-sitter reads some 4 MB a second; a longer text is read by indentation."""

_GUESSES: Final[tuple[tuple[str, Regex[str]], ...]] = (
    ("go", Regex(r"^package \w+$|^func (?:\(\w+ \*?\w+\) )?\w+\(", re.M)),
    ("rust", Regex(r"^\s*(?:pub )?fn \w+|^use (?:crate|std|super)::|^impl\b", re.M)),
    ("java", Regex(r"^(?:public|import java)\b.*[;{]$|^\s*@Override", re.M)),
    (
        "typescript",
        Regex(
            r"^(?:export )?(?:interface|type) \w+|: (?:string|number|boolean)\b|^import .* from ",
            re.M,
        ),
    ),
    ("cpp", Regex(r"^#include <\w+>$|^namespace \w+|^template ?<|\bstd::", re.M)),
    ("c", Regex(r"^#include [<\"]|^(?:static|struct|typedef) ", re.M)),
    ("python", Regex(r"^\s*def \w+\(.*\).*:$|^from [\w.]+ import |^class \w+.*:$", re.M)),
    ("ruby", Regex(r"^\s*def \w+[^:]*$|^require '|^end$", re.M)),
    ("javascript", Regex(r"\bfunction\b|=> \{|^const \w+ = |\brequire\(", re.M)),
)


def guess_language(text: str) -> str:
    """Return the language that the start of a source file looks like, "" if none does."""
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
        if depth <= _DEEPEST_NODE:
            inside = body.named_children if defines and body is not None else node.named_children
            if defines or depth == 0 or node.type in _WRAPPERS:
                waiting.extend((child, depth + defines) for child in inside)
    return found or None


_DEEPEST_NODE = 4
"""Definitions nested further are not looked for."""
_DEFINITIONS = ("definition", "declaration", "_item", "method", "class", "module", "_specifier")
_PLAIN_DEFINITIONS = (
    "type_declaration",
    "type_alias_declaration",
    "struct_item",
    "enum_item",
    "interface_declaration",
    "type_item",
)
_BINDINGS = ("lexical_declaration", "variable_declaration")
_FUNCTIONS = ("arrow_function", "function_expression", "class")
_WRAPPERS = frozenset(
    {
        "decorated_definition",
        "export_statement",
        "declaration_list",
        "block",
        "class_body",
        "body_statement",
        "field_declaration_list",
        "statement_block",
        "linkage_specification",
    }
)


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
    if not language:
        return None
    function = "language_tsx" if language == "typescript" else "language"
    try:
        tree_sitter = cast(_TreeSitter, cast(object, import_module("tree_sitter")))
        grammar: object = getattr(import_module(f"tree_sitter_{language}"), function)()
        return tree_sitter.Parser(tree_sitter.Language(grammar))
    except (ImportError, AttributeError, ValueError):
        return None
