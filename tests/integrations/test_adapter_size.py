"""Adapters stay thin: what two of them need is in one place, and each says only what differs."""

from __future__ import annotations

import ast
import io
import tokenize
from pathlib import Path

from tests.testing.rows import each_row

ADAPTERS = Path(__file__).resolve().parents[2] / "src" / "foldaway" / "integrations"
SHARED = {
    "argument_models", "host_items", "host_messages", "host_sessions", "payloads",
}  # fmt: skip
MOST_LINES = 60
"""Of code: without imports, docstrings, comments and blank lines."""
LARGER = {
    "clients": (151, "a transport of HTTP for six clients, sync and async, that rebuilds requests"),
    "openhands": (88, "tools are classes there, and a message is several events or one"),
    "converse": (65, "the blocks of Bedrock's Converse, a wire format that Strands alone has"),
}
"""Adapters that need more, how much, and why."""
NO_CODE = (
    tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT,
    tokenize.ENDMARKER,
)  # fmt: skip


def code_lines(source: str) -> int:
    """Return how many lines of a module are code of its own."""
    code: set[int] = set()
    for one in tokenize.generate_tokens(io.StringIO(source).readline):
        if one.type not in NO_CODE:
            code |= set(range(one.start[0], one.end[0] + 1))
    for node in ast.walk(ast.parse(source)):
        is_text = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        if is_text or isinstance(node, (ast.Import, ast.ImportFrom)):
            code -= set(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    return len(code)


def test_lines_are_counted_without_what_is_no_code() -> None:
    """A statement counts by its lines."""
    assert code_lines('"""Doc."""\n\nimport os\n\n# why\nx = [\n    os,\n]\n"""Of x."""\n') == 3


@each_row("name", sorted({one.stem for one in ADAPTERS.glob("*.py")} - SHARED - {"__init__"}))
def test_an_adapter_is_small(name: str) -> None:
    """What an adapter has of its own is the translation; a larger one is named, with its reason."""
    most, reason = LARGER.get(name, (MOST_LINES, ""))
    found = code_lines((ADAPTERS / f"{name}.py").read_text())
    assert found <= most
    assert not reason or found > MOST_LINES, "it is no exception any more"
