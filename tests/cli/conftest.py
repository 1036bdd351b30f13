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

from holdfast.cli import run

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
def holdfast(monkeypatch: pytest.MonkeyPatch, capsysbinary: pytest.CaptureFixture[bytes]) -> Run:
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
            [sys.executable, "-m", "holdfast", *map(str, arguments)],
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
        if name.startswith("HOLDFAST_"):
            monkeypatch.delenv(name)


def process_environment() -> dict[str, str]:
    inherited = {key: value for key, value in os.environ.items() if key != "HOLDFAST_DEBUG"}
    return {**inherited, "PYTHONPATH": str(SOURCE), "COLUMNS": "100", "PYTHONUTF8": "1"}
