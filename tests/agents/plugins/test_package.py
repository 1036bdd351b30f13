"""The npm package: its own tests, and that it says what Foldaway says."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest
from tests.testing.rows import each_row

import foldaway
from foldaway.agents.installing.programs import PACKAGE, clients, package_file
from foldaway.agents.plugins.answering import FORMS
from foldaway.engine.recall_tools import TOOLS

FOLDER = Path(__file__).resolve().parents[3] / "packages" / PACKAGE
PLUGINS = {name: one.install.plugin for name, one in clients().items() if one.install.plugin}
OLDEST_NODE = 20


@pytest.mark.slow
def test_the_ends_hold_their_promises() -> None:
    """In Node: whatever Foldaway does, the agent gets an answer or goes on with its own list."""
    node = shutil.which("node")
    if node is None:
        pytest.skip("node is not on the PATH")
    version = subprocess.run([node, "--version"], capture_output=True, text=True, check=True).stdout
    if int(version[1:].partition(".")[0]) < OLDEST_NODE:
        pytest.skip(f"node {version.strip()} is too old")
    tests = sorted(str(one) for one in FOLDER.glob("test/*.test.js"))
    done = subprocess.run(
        [node, "--test", *tests], capture_output=True, text=True, check=False,
        env={"PATH": os.environ["PATH"]},
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-4000:]


def test_the_package_is_of_this_version_and_offers_our_tools() -> None:
    """A copy in another language would go its own way."""
    package = json.loads((FOLDER / "package.json").read_text())
    assert package["version"] == foldaway.__version__
    text = (FOLDER / "tools.js").read_text()
    assert json.loads(text.partition(" = ")[2].rstrip(";\n")) == list(TOOLS)
    assert "dependencies" not in package


def test_every_agent_with_a_plug_in_is_followed() -> None:
    """The command that a plug-in starts knows the agent."""
    assert set(PLUGINS) == set(FORMS)


@each_row("name", PLUGINS)
def test_every_file_of_a_plug_in_names_the_package(name: str) -> None:
    """By that an installation recognizes its own files, and every import finds its file."""
    plugin = PLUGINS[name]
    assert plugin is not None
    for file in plugin.files:
        text = package_file(file).read_text()
        assert PACKAGE in text
        for other in FOLDER.glob("*.js"):
            assert f'from "./{other.name}"' not in text or other.name in plugin.files
