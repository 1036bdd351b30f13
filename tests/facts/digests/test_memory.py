"""Memories: what was done with which one."""

from __future__ import annotations

from typing import Any

import pytest

from foldaway.facts.digests import digest

EXAMPLES: list[tuple[str, dict[str, Any], str, str]] = [
    (
        "save_memory",
        {"fact": "prefers tabs"},
        "Okay, I've remembered that.",
        "save_memory 'prefers tabs': 27 characters; begins \"Okay, I've remembered that.\"",
    ),
    (
        "mcp__memory__search_nodes",
        {"query": "deploy"},
        '{"entities": [{"name": "deploy-key", "entityType": "fact"}], "relations": []}',
        "mcp__memory__search_nodes 'deploy': entities=[1: deploy-key], relations=[0]",
    ),
]


@pytest.mark.parametrize(("tool", "arguments", "output", "line"), EXAMPLES)
def test_a_memory_keeps_what_it_is_about(
    tool: str, arguments: dict[str, Any], output: str, line: str
) -> None:
    """And what came of it."""
    assert digest(tool, arguments, output) == line
