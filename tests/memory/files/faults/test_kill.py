"""kill -9 at random instants of a write."""

from __future__ import annotations

import random
import select
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from foldaway.errors import MemoryRefused
from foldaway.memory.files.shared_file import hold_lock

pytestmark = pytest.mark.slow


def killed_at(process: subprocess.Popen[str], lines: int, seconds: float) -> list[str]:
    """Let a worker say some lines and work a little longer, then kill it."""
    assert process.stdout is not None
    said = [process.stdout.readline() for _ in range(lines)]
    select.select([], [], [], seconds)
    process.kill()
    rest = process.stdout.read()
    whole = rest.rpartition("\n")[0]  # a torn line was not acknowledged
    return [line.rstrip("\n") for line in (*said, *whole.splitlines()) if line.strip()]


def run(path: Path, start: Any, verify: Any, kills: int) -> Counter[str]:
    """Kill worker after worker on one file; it holds what was acknowledged."""
    chance = random.Random(11)
    said: list[str] = []
    for number in range(kills):
        process = start("worker.py", path, f"k{number}", number, 0)
        said += killed_at(process, chance.randint(1, 12), chance.uniform(0.0, 0.03))
        if number % 8 == 0:
            verify(path, said)
    return verify(path, said)


def test_nothing_acknowledged_is_lost_when_a_writer_is_killed(
    tmp_path: Path, start: Any, verify: Any
) -> None:
    """The file is always one of its versions, and what was being written is there or is not."""
    counts = run(tmp_path / "MEMORY.md", start, verify, kills=8)
    assert counts["add"] > 8


@pytest.mark.soak
def test_nothing_acknowledged_is_lost_at_200_instants(
    tmp_path: Path, start: Any, verify: Any
) -> None:
    """The long form; its counts are shown with `-s`."""
    counts = run(tmp_path / "MEMORY.md", start, verify, kills=200)
    sys.stdout.write(f"killed 200 times: {dict(counts)}\n")


def test_a_lock_that_is_never_let_go_is_told(tmp_path: Path) -> None:
    """An error in a sentence, after a while, instead of waiting for ever."""
    lock = tmp_path / ".MEMORY.md.lock"
    with (
        hold_lock(lock, "MEMORY.md"),
        pytest.raises(MemoryRefused, match="held its lock"),
        hold_lock(lock, "MEMORY.md", wait_seconds=0.05),
    ):
        pass
