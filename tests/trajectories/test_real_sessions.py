"""Real sessions, as chat and as ShareGPT records, made to fit: `verify` finds nothing."""

from __future__ import annotations

import gzip
import json
import os
from pathlib import Path
from typing import Any

import pytest

from foldaway import convert
from foldaway.trajectories.batch import compress_batch
from foldaway.trajectories.policy import BatchSettings, TrajectoryPolicy
from foldaway.trajectories.reading import find_sources
from foldaway.trajectories.verification import verify_batch

ROOT = Path(__file__).resolve().parents[2]
DATA = Path(os.environ.get("FOLDAWAY_DATA", ROOT.parent / "shared" / "data")) / "sessions"
SOME = {"sharegpt__glaive-en": 12, "tau-bench__gpt-4o-airline": 12, "swe-agent__SWE-agent": 6}
pytestmark = [
    pytest.mark.shared,
    pytest.mark.skipif(not DATA.is_dir(), reason="no shared data: set FOLDAWAY_DATA"),
]


def _records(name: str, most: int, dialect: str) -> list[Any]:
    with gzip.open(DATA / f"{name}.jsonl.gz") as lines:
        rows = [json.loads(line) for number, line in enumerate(lines) if number < most]
    if dialect == "openai-chat":
        return [{"id": row["id"], "messages": row["messages"]} for row in rows]
    made = [convert(row["messages"], dialect).messages for row in rows]
    return [one if isinstance(one, dict) else {"conversations": one} for one in made]


def _verified(tmp_path: Path, names: dict[str, int], dialect: str, target: int) -> Any:
    source = tmp_path / "runs.jsonl"
    with source.open("w") as out:
        for name, most in names.items():
            out.writelines(json.dumps(one) + "\n" for one in _records(name, most, dialect))
    job = BatchSettings(policy=TrajectoryPolicy(target_tokens=target), shard_records=200)
    done = compress_batch(find_sources([str(source)]), tmp_path / "out", job, workers=2)
    found = list(verify_batch(tmp_path / "out", find_sources([str(source)])))
    assert [one for one in found if not one.over_target] == []
    assert len(found) == done.report.total.still_over_limit
    assert all("it needs at least" in one.what for one in found)
    return done.report.total


@pytest.mark.parametrize("dialect", ["openai-chat", "sharegpt", "anthropic"])
def test_some_sessions_fit_4096_tokens_and_verify_finds_nothing(tmp_path: Path, dialect: str):
    """Some are compressed, some are not; none is quarantined."""
    total = _verified(tmp_path, SOME, dialect, 4_096)
    assert (total.records, total.quarantined) == (30, 0)
    assert total.outcomes["compressed"] >= 8
    assert total.outcomes["under target"] >= 8


@pytest.mark.soak
@pytest.mark.parametrize("target", [4_096, 16_384, 32_768])
@pytest.mark.parametrize("dialect", ["openai-chat", "sharegpt", "anthropic"])
def test_all_sessions_fit_and_verify_finds_nothing(tmp_path: Path, dialect: str, target: int):
    """Every family, at the three sizes of training windows."""
    names = {path.name.removesuffix(".jsonl.gz"): 1_000 for path in sorted(DATA.glob("*.gz"))}
    assert _verified(tmp_path, names, dialect, target).quarantined == 0
