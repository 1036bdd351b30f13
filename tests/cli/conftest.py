"""The command line as tests call it: in this process, or as a process of its own."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import pytest

from foldaway.cli import run

SOURCE = Path(__file__).resolve().parents[2] / "src"


class Outcome(NamedTuple):
    """What a run left behind."""

    code: int
    out: bytes
    err: str

    @property
    def text(self) -> str:
        return self.out.decode()

    @property
    def reports(self) -> list[Any]:
        return [json.loads(line) for line in self.out.splitlines()]


Run: TypeAlias = Callable[..., Outcome]


@pytest.fixture
def foldaway(monkeypatch: pytest.MonkeyPatch, capsysbinary: pytest.CaptureFixture[bytes]) -> Run:
    """Call the command line in this process; `stdin` is what it may read."""
    monkeypatch.setenv("COLUMNS", "100")

    def call(*arguments: object, stdin: bytes = b"") -> Outcome:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        code = run([str(argument) for argument in arguments])
        seen = capsysbinary.readouterr()
        return Outcome(code, seen.out, seen.err.decode())

    return call


@pytest.fixture
def process() -> Run:
    """Call the command line as a process of its own."""

    def call(*arguments: object, stdin: bytes = b"", **options: Any) -> Outcome:
        done = subprocess.run(
            [sys.executable, "-m", "foldaway", *map(str, arguments)],
            input=stdin, capture_output=True, env=process_environment(), check=False, **options,
        )  # fmt: skip
        return Outcome(done.returncode, done.stdout, done.stderr.decode())

    return call


@pytest.fixture
def put(tmp_path: Path) -> Callable[[str, object], Path]:
    """Write a file: bytes as they are, anything else as JSON."""

    def write(name: str, content: object) -> Path:
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else json.dumps(content).encode())
        return path

    return write


@pytest.fixture
def own_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Run in a folder of its own, without any settings of the machine."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.chdir(tmp_path)
    for name in list(os.environ):
        if name.startswith("FOLDAWAY_"):
            monkeypatch.delenv(name)


@pytest.fixture
def own_settings(own_folder: None, tmp_path: Path) -> Path:
    """The user's own settings file, which is not there yet."""
    path = tmp_path / "config" / "foldaway" / "config.toml"
    path.parent.mkdir(parents=True)
    return path


@pytest.fixture
def home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, own_folder: None) -> Path:
    """A home of sessions and of agents that is empty, and a folder to work in beside it."""
    folder = tmp_path / "home"
    folder.mkdir()
    for name, value in {"FOLDAWAY_HOME": folder / "foldaway", "HOME": folder}.items():
        monkeypatch.setenv(name, str(value))
    for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "XDG_DATA_HOME", "HERMES_HOME"):
        monkeypatch.delenv(name, raising=False)
    return folder


@pytest.fixture
def talked(foldaway: Run, put: Callable[[str, object], Path], home: Path) -> str:
    """The id of a kept session of 41 messages."""
    messages: list[Any] = [{"role": "system", "content": "You help."}]
    for number in range(20):
        words = f"Question {number} on module_{number}.py, at most {number} times. "
        messages += [
            {"role": "user", "content": words + "word " * 80},
            {"role": "assistant", "content": f"Answer {number}. " + "so on " * 90},
        ]
    (report,) = foldaway("import", put("talk.json", messages), "--json").reports
    return report["sessions"][0]["session"]


def process_environment() -> dict[str, str]:
    inherited = {key: value for key, value in os.environ.items() if key != "FOLDAWAY_DEBUG"}
    return {**inherited, "PYTHONPATH": str(SOURCE), "COLUMNS": "100", "PYTHONUTF8": "1"}


@pytest.fixture
def bare_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the home of a user without any agent."""
    for name in ("XDG_CONFIG_HOME", "CODEX_HOME", "CLAUDE_CONFIG_DIR", "COPILOT_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("FOLDAWAY_HOME", str(tmp_path / "kept"))
    monkeypatch.setenv("PATH", "")
    return tmp_path
