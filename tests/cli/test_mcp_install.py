"""`foldaway mcp install` and `uninstall`: shown first, written only if asked, told where."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest


@pytest.fixture
def home(bare_home: Path) -> Path:
    """A user with Cursor and Codex."""
    (bare_home / ".cursor").mkdir()
    (bare_home / ".codex").mkdir()
    (bare_home / ".codex" / "config.toml").write_text('token = "hush"\n')
    return bare_home


def files(home: Path) -> dict[str, bytes]:
    return {
        str(one.relative_to(home)): one.read_bytes() for one in home.rglob("*") if one.is_file()
    }


def test_what_is_found_is_installed_and_removed_again(foldaway: Any, home: Path) -> None:
    """A second time nothing is written; what is shown has only our own lines."""
    before = files(home)
    shown = foldaway("mcp", "install", "--dry-run")
    assert shown.code == 0
    assert "Cursor" in shown.text
    assert "Claude Code" not in shown.text
    assert "hush" not in shown.text
    assert files(home) == before
    done = foldaway("mcp", "install", "--yes")
    assert done.code == 0
    entry = json.loads((home / ".cursor" / "mcp.json").read_text())["mcpServers"]["foldaway"]
    assert os.path.isabs(entry["command"])
    assert entry["args"] == ["mcp", "--home", str(home / "kept"), "--all-projects"]
    assert "--all-projects" not in (home / ".codex" / "config.toml").read_text()
    after = files(home)
    again = foldaway("mcp", "install", "--yes")
    assert again.text.count("installed already") == 2
    assert files(home) == after
    assert foldaway("mcp", "uninstall", "--yes").code == 0
    assert files(home) == before
    assert "Nothing is installed" in foldaway("mcp", "uninstall", "--yes").text


def test_without_a_terminal_it_writes_only_with_yes(foldaway: Any, home: Path) -> None:
    """Exit code 2, and nothing is written."""
    before = files(home)
    refused = foldaway("mcp", "install", "cursor")
    assert refused.code == 2
    assert "--yes" in refused.err
    assert files(home) == before
    assert foldaway("mcp", "install", "emacs").code == 2


@pytest.mark.slow
def test_the_end_of_input_at_a_question_stops_it(home: Path) -> None:
    """As Control-C does: exit code 130 without a word of a bug, and nothing is written."""
    before = files(home)
    main, end = pty.openpty()
    os.write(main, b"\x04")  # Control-D
    command = [sys.executable, "-m", "foldaway", "mcp", "install", "cursor"]
    done = subprocess.run(command, stdin=end, capture_output=True, check=False, timeout=60)
    os.close(end)
    os.close(main)
    assert done.returncode == 130
    assert b"stopped" in done.stderr
    assert b"bug" not in done.stderr
    assert files(home) == before


def test_a_file_that_cannot_be_changed_does_not_stop_the_others(foldaway: Any, home: Path) -> None:
    """It is named with what to do, and the exit code is 2."""
    (home / ".cursor" / "mcp.json").write_text("{foldaway")
    done = foldaway("mcp", "install", "--yes")
    assert done.code == 2
    assert "mcp.json" in done.err
    assert "by hand" in done.err
    assert "Codex: config.toml written" in done.text
    removed = foldaway("mcp", "uninstall", "--yes")
    assert removed.code == 2
    assert "Codex: config.toml, removed" in removed.text
    assert (home / ".cursor" / "mcp.json").read_text() == "{foldaway"
