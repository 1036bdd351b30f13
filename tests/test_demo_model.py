"""The demo with a model on this machine, without the model."""

from __future__ import annotations

import json
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

pytest.importorskip("uvicorn", reason="the model server needs foldaway[testing]")
pytest.importorskip("openai", reason="the demo asks through the openai SDK")

from foldaway.testing import ModelServer

pytestmark = pytest.mark.slow

SCRIPT = Path(__file__).parent.parent / "bench" / "demo_model.py"
NOTE = {
    "task": [{"text": "Publish the package to the registry", "source": "m183"}],
    "completed": [{"text": "The comment in auto_commit_checkpoint_fix_test.go was restored.",
                   "source": "m185"}],
    "files": [{"text": "cmd/entire/cli/invented_test.go: created", "source": ""}],
}  # fmt: skip


def _run(*options: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(SCRIPT), *options]
    return subprocess.run(command, capture_output=True, text=True, timeout=100, check=False)


@pytest.mark.skipif(find_spec("xllamacpp") is not None, reason="the demo's packages are installed")
def test_without_its_packages_the_demo_says_what_to_do() -> None:
    """What is not in the default install is named, with the way to it; no traceback."""
    done = _run()
    assert done.returncode == 2
    assert "23 packages are not installed (xllamacpp, …)" in done.stderr
    assert "make demo-model" in done.stderr
    assert "Traceback" not in done.stderr


def test_the_packages_are_named_with_their_versions() -> None:
    """`make demo-model` installs what the script names, each at one version."""
    named = _run("--packages").stdout.split()
    assert len(named) == 23
    assert all(line.count("==") == 1 for line in named)


@pytest.mark.soak
def test_the_demo_shows_what_the_gate_took_away() -> None:
    """Every entry of the answer is listed with what became of it."""
    with ModelServer(json.dumps(NOTE)) as server:
        done = _run("--url", server.openai_url)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    gone = [line.split()[1] for line in lines if line.startswith("dropped ")]
    assert gone == ["task", "files"]
    assert any(line.startswith("verified     completed") for line in lines)
    summary = done.stdout.partition("# The summary")[2].partition("# The gate")[0]
    assert "The comment in auto_commit_checkpoint_fix_test.go was restored." in summary
    assert "invented_test.go" not in summary
