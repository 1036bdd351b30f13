"""A session of Claude Code in a file, with a compaction in it or without."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

RULE = "Never edit config/prod.toml."
SUMMARY = "This session is being continued from a previous conversation that ran out of context."


@pytest.fixture
def session(tmp_path: Path) -> Callable[..., Path]:
    """Return what writes a session: asks, a command that fails, an edit, then a summary."""

    def write(summary: str | None = None, *, name: str = "s.jsonl") -> Path:
        rows: list[dict[str, Any]] = []

        def add(kind: str, content: Any, **more: Any) -> None:
            at = len(rows)
            rows.append({
                "parentUuid": f"u{at - 1}" if at else None, "uuid": f"u{at}", "sessionId": "s",
                "type": kind, "cwd": str(tmp_path), "timestamp": f"2026-01-01T10:00:{at:02d}Z",
                "message": {"role": kind, "content": content}, **more,
            })  # fmt: skip

        def call(name: str, given: dict[str, str], output: str) -> None:
            at = f"t{len(rows)}"
            add("assistant", [{"type": "tool_use", "id": at, "name": name, "input": given}])
            add("user", [{"type": "tool_result", "tool_use_id": at, "content": output}])

        add("user", f"Fix the parser in src/parse.py. {RULE}")
        call("Bash", {"command": "pytest tests/test_parse.py"}, "FAILED test_a\n1 failed")
        given = {"file_path": "src/parse.py", "old_string": "a", "new_string": "b"}
        call("Edit", given, "The file src/parse.py has been updated.")
        add("assistant", [{"type": "text", "text": "The parser is fixed."}])
        if summary is not None:
            add("user", f"{SUMMARY}\n{summary}", isCompactSummary=True)
            add("assistant", [{"type": "text", "text": "Going on."}])
        path = tmp_path / name
        path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
        return path

    return write
