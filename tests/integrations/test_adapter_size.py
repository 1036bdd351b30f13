"""Adapters stay thin: what two of them need is in one place, and each says only what differs."""

from __future__ import annotations

import ast
from pathlib import Path

from tests.testing.rows import each_row

ADAPTERS = Path(__file__).resolve().parents[2] / "src" / "foldaway" / "integrations"
SHARED = {"argument_models", "host_items", "host_messages", "host_sessions", "payloads"}
MOST_STATEMENTS = 55
"""Of code, however it is wrapped: without imports and docstrings."""
LARGER = {
    "claude_agent": (64, "a store of lines, and hooks around the compactions of its program"),
    "clients": (121, "a transport of HTTP for six clients, sync and async, that rebuilds requests"),
    "openhands": (81, "tools are classes there, and a message is several events or one"),
}
"""Adapters that need more, how much, and why."""


def count_statements(source: str) -> int:
    """Return how many statements of a module are code of its own."""
    return sum(
        isinstance(node, ast.stmt)
        and not isinstance(node, (ast.Import, ast.ImportFrom))
        and not (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant))
        for node in ast.walk(ast.parse(source))
    )


def test_statements_are_counted_without_what_is_no_code() -> None:
    """A statement counts once, on however many lines it is."""
    source = '"""Doc."""\n\nimport os\n\n# why\nx = [\n    os,\n]\n"""Of x."""\nif x:\n    x = []\n'
    assert count_statements(source) == 3


@each_row("name", sorted({one.stem for one in ADAPTERS.glob("*.py")} - SHARED - {"__init__"}))
def test_an_adapter_is_small(name: str) -> None:
    """What an adapter has of its own is the translation; a larger one is named, with its reason."""
    most, reason = LARGER.get(name, (MOST_STATEMENTS, ""))
    found = count_statements((ADAPTERS / f"{name}.py").read_text())
    assert found <= most
    assert not reason or found > MOST_STATEMENTS, "it is no exception any more"
