"""A venv for a peer; most tests put a small script in the place of its Python."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "bench"))

from peers.worker import Failure, interpreter

pytestmark = pytest.mark.skipif(os.name != "posix", reason="the scripts are for a POSIX shell")

WANTED = ("one==1", "two==2")


def python_that(folder: Path, script: str) -> Path:
    python = folder / "bin" / "python"
    python.parent.mkdir(exist_ok=True)
    python.write_text(f"#!/bin/sh\n{script}\n")
    python.chmod(0o755)
    return python


def test_what_is_missing_is_installed_once(tmp_path: Path) -> None:
    """All requirements go to one pip, and the second call starts nothing."""
    python = python_that(tmp_path, f'echo "$@" >> {tmp_path}/asked')
    told: list[str] = []
    for _ in range(2):
        assert interpreter(tmp_path, WANTED, told.append) == python
    assert told == [f"installing one==1, two==2 into {tmp_path}"]
    asked = (tmp_path / "asked").read_text().splitlines()
    assert asked == ["-m pip install --quiet --disable-pip-version-check one==1 two==2"]


def test_other_versions_are_installed_again(tmp_path: Path) -> None:
    """What stands in the folder is what the table pins."""
    python_that(tmp_path, "exit 0")
    told: list[str] = []
    interpreter(tmp_path, ("one==1",), told.append)
    interpreter(tmp_path, ("one==2",), told.append)
    assert len(told) == 2


def test_a_package_that_cannot_be_had_is_a_failure(tmp_path: Path) -> None:
    """It names the package and pip's last word; the next call tries again."""
    python_that(tmp_path, "echo 'trying' >&2; echo 'ERROR: no such package' >&2; exit 1")
    told: list[str] = []
    for _ in range(2):
        found = interpreter(tmp_path, WANTED, told.append)
        error = "one==1 two==2 could not be installed: ERROR: no such package"
        assert found == Failure(error)
    assert len(told) == 2


def test_a_failed_change_leaves_no_stamp_of_the_old_version(tmp_path: Path) -> None:
    """Half of a new version is not taken for the old one."""
    python_that(tmp_path, "exit 0")
    interpreter(tmp_path, ("one==1",))
    python_that(tmp_path, "exit 1")
    assert isinstance(interpreter(tmp_path, ("one==2",)), Failure)
    assert isinstance(interpreter(tmp_path, ("one==1",)), Failure)


def test_a_relative_folder_gives_an_absolute_python(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A worker is started from another folder than the one that was meant."""
    python = python_that(tmp_path, "exit 0")
    monkeypatch.chdir(tmp_path.parent)
    assert interpreter(Path(tmp_path.name), WANTED) == python


def test_a_folder_that_is_no_venv_is_left_alone(tmp_path: Path) -> None:
    """Somebody's own checkout may have the name of a peer."""
    (tmp_path / "work.py").write_text("mine")
    told: list[str] = []
    found = interpreter(tmp_path, WANTED, told.append)
    assert isinstance(found, Failure)
    assert found.error.endswith(f"{tmp_path} holds something else; give another folder")
    assert (tmp_path / "work.py").read_text() == "mine"
    assert told == []


def test_a_folder_that_cannot_be_made_is_a_failure(tmp_path: Path) -> None:
    """A file in the place of the folder is told in a sentence."""
    (tmp_path / "file").touch()
    found = interpreter(tmp_path / "file" / "venv", WANTED)
    assert isinstance(found, Failure)
    assert "could not be installed" in found.error
