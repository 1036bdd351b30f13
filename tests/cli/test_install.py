"""`foldaway install`, `install --list` and `uninstall`, as people call them."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.testing.rows import each_row

from foldaway.agents.installing import clients

ROOT = Path(__file__).resolve().parents[2]
PATH = os.environ["PATH"]
BASH = shutil.which("bash")


@pytest.fixture
def home(bare_home: Path) -> Path:
    """A user with Claude Code and Qwen Code."""
    (bare_home / ".claude").mkdir()
    (bare_home / ".claude" / "settings.json").write_text('{"statusLine": {"command": "mine"}}')
    (bare_home / ".qwen").mkdir()
    return bare_home


def files(home: Path) -> dict[str, bytes]:
    return {
        str(one.relative_to(home)): one.read_bytes() for one in home.rglob("*") if one.is_file()
    }


def test_all_agents_that_are_found_are_installed_into_and_restored(
    foldaway: Any, home: Path
) -> None:
    """What is shown first is what is written; what the user has stays, and is named."""
    before = files(home)
    shown = foldaway("install", "--dry-run")
    assert shown.code == 0
    assert "+ hook PreCompact" in shown.text
    assert "status line: left out" in shown.text
    assert "Codex" not in shown.text
    assert files(home) == before
    assert foldaway("install").code == 2  # nobody to ask
    assert foldaway("install", "--yes", "--facts", "500").code == 0
    now = json.loads((home / ".claude" / "settings.json").read_text())
    assert now["statusLine"] == {"command": "mine"}
    (group,) = now["hooks"]["SessionStart"]
    command = group["hooks"][0]["command"]
    assert "hook claude-code --facts 500 --home" in command
    again = foldaway("install", "--yes", "--facts", "500")
    assert again.text.count("installed already") == 2
    assert foldaway("uninstall", "--yes").code == 0
    assert files(home) == before


def test_the_list_says_what_is_there_and_what_is_not(foldaway: Any, home: Path) -> None:
    """For people the agents on this machine, for programs all."""
    assert foldaway("install", "qwen-code", "--yes").code == 0
    seen = foldaway("install", "--list").text
    assert "installed: MCP server, hook PreCompact" in seen
    assert "not found on this machine" in seen
    rows = {row["agent"]: row for row in foldaway("install", "--list", "--json").reports}
    assert rows["qwen-code"]["missing"] == []
    assert rows["claude-code"]["installed"] == []
    assert not rows["codex"]["found"]


def test_a_file_that_cannot_be_changed_does_not_stop_the_others(foldaway: Any, home: Path) -> None:
    """It is named with what to do, nothing in it changes, and the exit code is 2."""
    (home / ".claude" / "settings.json").write_text('{"hooks": []}')
    done = foldaway("install", "--yes")
    assert done.code == 2
    assert "settings.json" in done.err
    assert "by hand" in done.err
    assert "Qwen Code: settings.json written" in done.text
    assert (home / ".claude" / "settings.json").read_text() == '{"hooks": []}'


def test_what_would_be_written_fits_a_screen_before_the_question(foldaway: Any, home: Path) -> None:
    """A line for each agent, at most 15 with all that there are; a dry run has every line."""
    for names in (["claude-code"], list(clients())):
        asked = foldaway("install", *names)
        lines = asked.text.splitlines()
        assert (asked.code, files(home).keys()) == (2, {".claude/settings.json"})  # nobody to ask
        assert len(lines) <= 15
        assert "Claude Code: MCP server, 4 hooks (2 files in ~); left out: status line" in lines
        assert all(clients()[name].title in asked.text for name in names)
        every = foldaway("install", *names, "--dry-run").text
        assert every.splitlines()[: len(lines) - 1] == lines[:-1]  # without the hint of a dry run
        assert len(every.splitlines()) > 15
        assert "  + hook PreCompact" in every
    assert max(map(len, lines)) <= 80


@each_row("shell", ["bash", "fish", "zsh"])
def test_a_shell_gets_its_completions(foldaway: Any, home: Path, shell: str) -> None:
    """One file, which says how to ask the program; a shell that is here reads it."""
    before = files(home)
    seen = foldaway("install", shell, "--yes")
    assert seen.code == 0
    assert ("fpath" in seen.text) == (shell == "zsh")
    file = clients()[shell].install.path({"HOME": str(home)})
    assert f"foldaway completion {shell}" in file.read_text()
    assert foldaway("uninstall", shell, "--yes").code == 0
    assert files(home) == before


@pytest.mark.slow
@pytest.mark.skipif(BASH is None, reason="there is no bash")
def test_bash_completes_with_what_is_installed(foldaway: Any, home: Path) -> None:
    """The shell knows the function, and the function asks the program."""
    assert foldaway("install", "bash", "--yes").code == 0
    program = home / "bin" / "foldaway"
    program.parent.mkdir()
    command = f'PYTHONPATH="{ROOT}/src" exec "{sys.executable}" -m foldaway "$@"'
    program.write_text(f"#!/bin/sh\n{command}\n")
    program.chmod(0o755)
    file = clients()["bash"].install.path({"HOME": str(home)})
    script = (
        f'. "{file}"; COMP_WORDS=(foldaway und); COMP_CWORD=1; _foldaway_completion foldaway; '
        'echo "${COMPREPLY[@]}"'
    )
    done = subprocess.run(
        [str(BASH), "--norc", "-c", script],
        env={"HOME": str(home), "PATH": f"{program.parent}:{PATH}"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.stdout, done.returncode) == ("undo\n", 0), done.stderr
