"""`make soak-faults` in short."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.soak
def test_no_promise_is_broken_by_kills_power_cuts_and_full_disks() -> None:
    """Each kind of fault strikes each kind of operation, and eight processes write together."""
    script = Path(__file__).with_name("run.py")
    done = subprocess.run(
        [sys.executable, str(script), "--kills", "5", "--cuts", "10", "--full", "5",
         "--seconds", "0.2", "--out", ""],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    for fault in ("kill -9", "power cut", "full disk"):
        for kind in ("import", "append", "compact", "memory", "undo"):
            assert f"{fault:<12}{kind}" in done.stdout
