"""Power cuts and full disks, on SQLite files."""

from __future__ import annotations

import shutil
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from foldaway.stores.open import open_store

pytestmark = pytest.mark.slow


def cut(folder: Path, start: Any, verify: Any, cuts: int, seed: int) -> Counter[str]:
    """Let the power fail `cuts` times in one run; hold each image against what was said."""
    assert start("power.py", str(folder), str(cuts), str(seed)).wait() == 0
    total: Counter[str] = Counter()
    for number in range(cuts):
        image = folder / str(number)
        said = (image / "acknowledged").read_text().splitlines()
        if not said and not (image / "default.db").exists():
            continue
        store = open_store(image)
        total += verify(store, said)
        total["cuts"] += 1
        store.close()
    return total


def test_nothing_acknowledged_is_lost_in_a_power_cut(
    tmp_path: Path, start: Any, verify: Any
) -> None:
    """Whatever of the unsynced writes survives, whole, in part or torn."""
    assert cut(tmp_path, start, verify, cuts=10, seed=1)["cuts"] >= 8


@pytest.mark.soak
def test_nothing_acknowledged_is_lost_in_400_power_cuts(
    tmp_path: Path, start: Any, verify: Any
) -> None:
    """The long form; its counts are shown with `-s`."""
    total: Counter[str] = Counter()
    for seed in range(20):
        folder = tmp_path / str(seed)
        folder.mkdir()
        total += cut(folder, start, verify, cuts=20, seed=seed)
        shutil.rmtree(folder)
    sys.stdout.write(f"power cuts: {dict(total)}\n")


def test_a_full_disk_is_told_and_nothing_is_lost(tmp_path: Path, start: Any, verify: Any) -> None:
    """One sentence; what was acknowledged stays, and the store goes on once there is room."""
    process = start("full.py", str(tmp_path))
    lines = process.communicate()[0].splitlines()
    assert process.returncode == 0
    refusals = [line for line in lines if line.startswith("refused")]
    assert len(refusals) >= 3
    assert all("default.db: " in line and "disk" in line for line in refusals)
    said = [line for line in lines if not line.startswith("refused")]
    store = open_store(tmp_path)
    assert verify(store, said)["append"] > 20
    store.close()
