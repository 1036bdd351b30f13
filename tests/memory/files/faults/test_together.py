"""Agents and an editor on one file."""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest


def together(path: Path, start: Any, verify: Any, seconds: float) -> Counter[str]:
    """Two agents and an editor for some time; return what they did."""
    path.write_text("# Memory\n\n")
    running = [
        start("worker.py", path, "one", 1, seconds),
        start("worker.py", path, "two", 2, seconds),
        start("editor.py", path, 3, seconds),
    ]
    said = [line for process in running for line in process.communicate()[0].splitlines()]
    assert said.count("end") == 2
    counts = verify(path, said)
    assert path.read_text().startswith("# Memory\n")
    return counts


@pytest.mark.soak
def test_two_agents_and_an_editor_lose_nothing(tmp_path: Path, start: Any, verify: Any) -> None:
    """Every entry is there once, nothing that was removed came back, every version is whole."""
    together(tmp_path / "MEMORY.md", start, verify, seconds=4.0)


@pytest.mark.soak
def test_two_agents_and_an_editor_lose_nothing_in_a_minute(
    tmp_path: Path, start: Any, verify: Any
) -> None:
    """The long form; its counts are shown with `-s`."""
    counts = together(tmp_path / "MEMORY.md", start, verify, seconds=60.0)
    sys.stdout.write(f"two agents and an editor, a minute: {dict(counts)}\n")
