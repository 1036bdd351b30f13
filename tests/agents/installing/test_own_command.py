"""The command that is written into the settings of agents: no folder of a project can be in it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

import foldaway

BASE = Path(sys.base_prefix, "bin", f"python{sys.version_info[0]}.{sys.version_info[1]}")
ASK = """
import json, os
from foldaway.agents.installing.programs import own_command
command, *rest = own_command(dict(os.environ), "hook", "claude-code")
print(json.dumps([command, *rest]))
"""


@pytest.fixture
def user_install(tmp_path: Path) -> Path:
    """Return the base of an installation as `pip install --user` makes it, without its script."""
    folder = tmp_path / "base" / "lib" / BASE.name / "site-packages"
    folder.mkdir(parents=True)
    (folder / "foldaway").symlink_to(Path(foldaway.__file__).parent)
    (folder / "rest.pth").write_text(f"{Path(msgspec.__file__).parents[1]}\n")
    return tmp_path / "base"


def ask(base: Path, place: Path) -> list[str]:
    """Return the command that this installation writes."""
    done = subprocess.run([BASE, "-P", "-c", ASK], capture_output=True, text=True, check=True,
                          cwd=place, env=variables(base))  # fmt: skip
    return json.loads(done.stdout)


def variables(base: Path) -> dict[str, str]:
    kept = {name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ}
    return {**kept, "HOME": str(base), "PYTHONUSERBASE": str(base)}


def test_the_script_of_a_user_installation_is_found(user_install: Path, tmp_path: Path) -> None:
    """Its folder is that of the installation, not the one beside the interpreter."""
    script = user_install / "bin" / "foldaway"
    script.parent.mkdir()
    script.write_text("#!/bin/sh\n")
    assert ask(user_install, tmp_path) == [str(script), "hook", "claude-code"]


@pytest.mark.slow
def test_a_file_of_the_project_is_not_run_by_a_hook(user_install: Path, tmp_path: Path) -> None:
    """Without a script the interpreter is called, and not with the folder it is called in."""
    project = tmp_path / "project"
    project.mkdir()
    (project / "msgspec.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')\n")
    command = ask(user_install, tmp_path)
    assert command[1:4] == ["-P", "-m", "foldaway"]
    told = '{"session_id": "s", "hook_event_name": "SessionStart"}'
    subprocess.run(command, input=told, text=True, cwd=project, env=variables(user_install),
                   check=True, capture_output=True)  # fmt: skip
    assert not (tmp_path / "ran").exists()
