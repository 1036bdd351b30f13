"""What `foldaway doctor` says of what is installed, by calling it."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest

from foldaway.agents.installing.changes import plan_install
from foldaway.agents.installing.checking import problems_of
from foldaway.agents.installing.programs import list_additions
from foldaway.agents.known import agent_named


@pytest.mark.slow
def test_hooks_are_called_and_those_that_nobody_trusts_are_told(tmp_path: Path) -> None:
    """Codex notes in its own settings which hooks the user trusts."""
    environment = {"HOME": str(tmp_path), "PATH": os.environ["PATH"]}
    client = agent_named("codex")
    hooks = [one for one in list_additions(client, environment) if one.is_item]
    for change in plan_install(client, hooks):
        change.install(tmp_path / "kept")
    (problem,) = problems_of(client, hooks, environment)
    assert "trust" in problem
    file = hooks[0].file
    (tmp_path / ".codex" / "config.toml").write_text(
        f'[hooks.state."{file}:session_start:0:0"]\ntrusted_hash = "sha256:0"\n'
    )
    assert list(problems_of(client, hooks, environment)) == []
    table = json.loads(file.read_text())
    table["hooks"]["SessionStart"][0]["hooks"][0]["command"] = "true # foldaway hook codex"
    file.write_text(json.dumps(table))
    (problem,) = problems_of(client, hooks, environment)
    assert "do not answer" in problem


def test_doctor_names_an_entry_that_runs_a_module_of_the_project_folder(tmp_path: Path) -> None:
    """`python -m` without `-P` puts the folder of the project first on the path."""
    environment = {"HOME": str(tmp_path), "PATH": os.environ["PATH"]}
    client = agent_named("claude-code")
    installed = list_additions(client, environment)
    for change in plan_install(client, installed):
        change.install(tmp_path / "kept")
    for file in {one.file for one in installed if one.form == "json"}:
        text = file.read_text()
        for old in (str(Path(sys.executable).parent / "foldaway"),):
            text = text.replace(f'"command": "{old}"', f'"command": "{sys.executable}"')
            text = text.replace('"args": [', '"args": ["-m", "foldaway", ')
            text = text.replace(old, f"{sys.executable} -m foldaway")
        file.write_text(text)
    told = [one for one in problems_of(client, installed, environment) if "-P" in one]
    assert told
    assert all("run `foldaway install claude-code` again" in one for one in told)
