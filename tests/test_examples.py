"""The examples run, and show what they say."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def test_a_day_with_memory() -> None:
    """After a compaction and after a restart the port is known, and the note is in the prompt."""
    env = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    ran = subprocess.run(
        [sys.executable, str(ROOT / "examples" / "memory_day.py")], env=env, capture_output=True,
        text=True, timeout=120, check=False,
    )  # fmt: skip
    assert ran.returncode == 0, ran.stderr
    morning, _, afternoon = ran.stdout.partition("afternoon\n")
    assert "compacted:" in morning
    assert "answer: Port 5433." in morning
    assert "answer: Port 5433." in afternoon
    assert "- Likes short answers." in afternoon
