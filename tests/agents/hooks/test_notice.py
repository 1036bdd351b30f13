"""The notice before a compaction: once in each window, with the next result of a tool."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from foldaway.agents.hooks.notice import last_fill

WINDOW, LIMIT = 200_000, 167_000
"""Of Claude Code, and from where on it compacts by default."""


def answered(tokens: int, **more: Any) -> str:
    """Return a line with what a request used, as Claude Code writes it."""
    usage = {
        "input_tokens": 10, "cache_creation_input_tokens": 990,
        "cache_read_input_tokens": tokens - 1_000,
        "cache_creation": {"ephemeral_5m_input_tokens": 990}, "output_tokens": 7,
    }  # fmt: skip
    said: dict[str, Any] = {
        "role": "assistant",
        "model": "claude-opus-4-5",
        "content": [],
        "usage": usage,
    }
    row = {"isSidechain": False, "type": "assistant", "message": said, **more}
    return json.dumps(row, separators=(",", ":")) + "\n"


SUMMARY = '{"type":"user","isCompactSummary":true,"message":{"role":"user","content":"So far"}}\n'


class Session:
    """A file of Claude Code, and its hook as a process."""

    def __init__(self, folder: Path) -> None:
        self.file, self.home = folder / "s.jsonl", folder / "home"
        self.file.write_text("")

    def add(self, line: str) -> None:
        with self.file.open("a") as file:
            file.write(line)

    def told(self, **environment: str) -> str:
        """Return what the model is told beside the short result of a tool."""
        given = {
            "hook_event_name": "PostToolUse", "session_id": "s", "cwd": "/p",
            "transcript_path": str(self.file), "tool_name": "Bash", "tool_use_id": "t",
            "tool_response": {"stdout": "ok", "stderr": ""},
        }  # fmt: skip
        kept = {key: value for key, value in os.environ.items() if not key.startswith("CLAUDE")}
        done = subprocess.run(
            [sys.executable, "-m", "foldaway", "hook", "claude-code"],
            input=json.dumps(given).encode(),
            env={**kept, "FOLDAWAY_HOME": str(self.home), **environment},
            capture_output=True,
            check=True,
        )
        if not done.stdout:
            return ""
        said = json.loads(done.stdout)["hookSpecificOutput"]
        assert set(said) == {"hookEventName", "additionalContext"}
        return said["additionalContext"]


@pytest.fixture
def session(tmp_path: Path) -> Session:
    return Session(tmp_path)


def test_the_model_is_told_once_in_each_window(session: Session) -> None:
    """How full it is, what will be folded, and what brings it back."""
    session.add(answered(LIMIT // 2))
    assert session.told() == ""
    session.add(answered(150_000))
    said = session.told()
    assert "75 % full; at about 84 %" in said
    assert "folded into a summary" in said
    assert "recall" in said
    assert "search" in said
    session.add(answered(155_000))
    assert session.told() == ""
    session.add(SUMMARY)
    assert session.told() == ""
    session.add(answered(20_000))
    assert session.told() == ""
    session.add(answered(160_000))
    assert "80 % full" in session.told()


def test_a_larger_window_is_told_later(session: Session) -> None:
    """If the user set one, or the prompt is longer than the usual one."""
    session.add(answered(150_000))
    assert session.told(CLAUDE_CODE_AUTO_COMPACT_WINDOW="1000000") == ""
    assert "75 % full" in session.told()
    session.add(SUMMARY)
    session.add(answered(250_000))
    assert session.told(CLAUDE_CODE_AUTO_COMPACT_WINDOW="1000000") == ""


def test_the_prompt_of_a_subagent_is_not_that_of_the_session(tmp_path: Path) -> None:
    """Nor does a half written line, or a long one at the beginning of what is read, count."""
    file = tmp_path / "s.jsonl"
    lines = ["x" * 70_000 + "\n", answered(40_000), answered(190_000, isSidechain=True), '{"usa']
    file.write_text("".join(lines))
    assert last_fill(str(file)) == (40_000, "claude-opus-4-5")
    assert last_fill(str(tmp_path / "nowhere")) == (0, "")
    file.write_text(answered(150_000) + SUMMARY)
    assert last_fill(str(file)) == (0, "")
