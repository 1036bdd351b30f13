"""kill -9 at random instants, and many processes on one store."""

from __future__ import annotations

import random
import select
import subprocess
import sys
from collections import Counter
from typing import Any

import pytest

pytestmark = pytest.mark.slow


def killed_at(process: subprocess.Popen[str], lines: int, seconds: float) -> list[str]:
    """Let a worker acknowledge some lines and work a little longer, then kill it."""
    assert process.stdout is not None
    said = [process.stdout.readline() for _ in range(lines)]
    select.select([], [], [], seconds)
    process.kill()
    rest = process.stdout.read()
    whole = rest.rpartition("\n")[0]  # a torn line was not acknowledged
    return [line for line in (*said, *whole.splitlines()) if line.strip()]


def run(home: Any, start: Any, verify: Any, kills: int) -> Counter[str]:
    chance = random.Random(7)
    said: list[str] = []
    for number in range(kills):
        process = start("worker.py", home.where, home.tenant, f"k{number}", str(number))
        said += killed_at(process, chance.randint(0, 12), chance.uniform(0.0, 0.02))
    counts = verify(home.open(), said)
    assert counts["append"] > kills
    return counts


def test_nothing_acknowledged_is_lost_when_a_writer_is_killed(
    home: Any, start: Any, verify: Any
) -> None:
    """At a few instants of append, commit, undo and rotation; nothing is there twice or half."""
    run(home, start, verify, kills=6)


@pytest.mark.soak
def test_nothing_acknowledged_is_lost_at_300_instants(home: Any, start: Any, verify: Any) -> None:
    """The long form; its counts are shown with `-s`."""
    sys.stdout.write(f"killed 300 times: {dict(run(home, start, verify, kills=300))}\n")


def together(home: Any, start: Any, verify: Any, processes: int, seconds: float) -> Counter[str]:
    workers = [
        start("worker.py", home.where, home.tenant, f"p{number}", str(number), str(seconds))
        for number in range(processes)
    ]
    said = [line for worker in workers for line in worker.communicate()[0].splitlines()]
    assert said.count("end") == processes
    return verify(home.open(), said)


@pytest.mark.soak
def test_processes_work_on_one_store_at_a_time(home: Any, start: Any, verify: Any) -> None:
    """Nobody fails because another one writes, and nothing is lost."""
    together(home, start, verify, processes=3, seconds=1.0)


@pytest.mark.soak
def test_eight_processes_work_on_one_store_for_a_minute(home: Any, start: Any, verify: Any) -> None:
    """The long form; its counts are shown with `-s`."""
    counts = together(home, start, verify, processes=8, seconds=60.0)
    sys.stdout.write(f"8 processes, a minute: {dict(counts)}\n")
