"""Processes, and what must hold of a file after them."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TypeAlias

import pytest

from foldaway.memory.files.entries import entries_of
from foldaway.memory.files.history import History
from foldaway.memory.files.memory_file import Limit, MemoryFile

_FOLDER = Path(__file__).parent
Start: TypeAlias = Callable[..., "subprocess.Popen[str]"]
Verify: TypeAlias = Callable[[Path, Iterable[str]], "Counter[str]"]


@pytest.fixture
def start() -> Iterator[Start]:
    """Start a script of this folder; it is killed at the latest when the test ends."""
    running: list[subprocess.Popen[str]] = []

    def run(script: str, *arguments: object) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [sys.executable, str(_FOLDER / script), *map(str, arguments)],
            stdout=subprocess.PIPE, text=True,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        )  # fmt: skip
        running.append(process)
        return process

    yield run
    for process in running:
        process.kill()
        process.wait()
        if process.stdout is not None:
            process.stdout.close()


@pytest.fixture
def verify() -> Verify:
    """Hold a file and its history against what was acknowledged; return the counts."""
    return _verify


def _verify(path: Path, lines: Iterable[str]) -> Counter[str]:
    said = [line.split(" ", 1) for line in lines if " " in line]
    told = {kind: [text for one, text in said if one == kind] for kind in ("add", "remove")}
    tried = {text for kind, text in said if kind in ("add", "try")}
    unsure = {text for kind, text in said if kind == "drop"} - set(told["remove"])
    file = MemoryFile(path, Limit(chars=900_000, tokens=900_000))
    file.notice("cli")
    found = [entry.text for entry in file.entries()]
    assert len(set(found)) == len(found)
    wanted = set(told["add"]) - set(told["remove"])
    assert wanted - set(found) <= unsure
    assert not set(found) & set(told["remove"])
    assert set(found) <= tried
    _verify_history(file, told, tried)
    return Counter(kind for kind, _ in said)


def _verify_history(file: MemoryFile, told: dict[str, list[str]], tried: set[str]) -> None:
    """Every change is in it, and no version holds a torn entry; the last is the file."""
    changes = file.history()
    assert [change.version.number for change in changes] == list(range(1, len(changes) + 1))
    assert {text for change in changes for text in change.added} >= set(told["add"])
    assert {text for change in changes for text in change.removed} >= set(told["remove"])
    kept = ""
    for one in History(file.path.with_name(f".{file.name}.history")).versions():
        assert one.text is not None
        kept = one.text
        assert {entry.text for entry in entries_of(kept)} <= tried
    assert kept == file.text()
