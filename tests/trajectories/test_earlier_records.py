"""Resume by id: what was made of a record is used again wherever the record now stands."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foldaway.trajectories.compress import CompressionTools
from foldaway.trajectories.policy import BatchSettings, Format, TrajectoryPolicy
from foldaway.trajectories.reading import RawRecord, cut_shards
from foldaway.trajectories.shard import (
    Keeper,
    ShardRun,
    do_shard,
    find_finished,
    keep_earlier,
    open_earlier,
    tools_for,
)

FORMATS: tuple[Format, ...] = ("jsonl", "jsonl.gz", "jsonl.zst")


class _Counter:
    """Counts as the estimate does, and remembers for which records it was asked."""

    name, is_estimate = "noting", True

    def __init__(self) -> None:
        self.asked: set[str] = set()

    def count(self, text: str) -> int:
        """Count."""
        if text.startswith("Run "):
            self.asked.add(text.split()[1])
        return len(text) // 4


@cache
def _record(number: int) -> bytes:
    turns = [{"from": "human", "value": f"Run {number} ."}]
    for at in range(number % 3 * 6):
        turns.append({"from": "gpt", "value": f"Now {at}."})
        turns.append({"from": "human", "value": f"Go on with {at} of {number}. " * 20})
    return json.dumps({"conversations": [*turns, {"from": "gpt", "value": "Done."}]}).encode()


def _entries(numbers: Sequence[int]) -> list[RawRecord]:
    return [RawRecord("a.jsonl", at, _record(number)) for at, number in enumerate(numbers, 1)]


@cache
def _redact() -> Any:
    return tools_for(_job()).redact


def _job(form: Format = "jsonl") -> BatchSettings:
    policy = TrajectoryPolicy(target_tokens=400, summary_tokens=120, keep_last=2)
    return BatchSettings(policy=policy, shard_records=3, format=form)


def _run(
    folder: Path, numbers: Sequence[int], job: BatchSettings, stop_after: int = 10**6
) -> set[str]:
    """Do a batch in this process, as `compress_batch` does; return the records it looked at."""
    for name in (".foldaway", "metrics"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    counter, keeper = _Counter(), Keeper(folder, job.format)
    for shard in cut_shards(_entries(numbers), most_records=job.shard_records, most_bytes=10**9):
        if shard.number >= stop_after:
            break
        if find_finished(folder, shard) is None:
            keeper.make_room(shard)
            tools = CompressionTools(counter, _redact())
            do_shard(shard, ShardRun(settings=job, tools=tools, folder=folder))
    return counter.asked


def _files(folder: Path, shards: int) -> dict[str, bytes]:
    names = {f"part-{number:05d}" for number in range(shards)}
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("part-*"))
        if path.name.partition(".")[0] in names
    }


_numbers = st.lists(st.integers(0, 9), max_size=14)


@given(first=_numbers, killed=_numbers, last=_numbers, stop=st.integers(0, 4))
def test_whatever_became_of_the_input_the_bytes_are_those_of_a_run_from_the_start(
    tmp_path_factory: pytest.TempPathFactory, first: list[int], killed: list[int],
    last: list[int], stop: int,
):  # fmt: skip
    """Through a run that broke off, too; and no record that was done once is done again."""
    folder = tmp_path_factory.mktemp("batch")
    _run(folder / "a", first, _job())
    _run(folder / "a", killed, _job(), stop_after=stop)
    looked_at = _run(folder / "a", last, _job())
    _run(folder / "anew", last, _job())
    shards = -(-len(last) // 3)
    assert _files(folder / "a", shards) == _files(folder / "anew", shards)
    assert not looked_at & set(map(str, first))


@pytest.mark.parametrize("form", FORMATS)
def test_a_record_put_in_at_the_front_is_the_only_one_that_is_done(tmp_path: Path, form: Format):
    """All others have moved by one place, and nearly every shard is another."""
    numbers = list(range(10, 40))
    assert len(_run(tmp_path, numbers, _job(form))) == 30
    assert _run(tmp_path, [99, *numbers], _job(form)) == {"99"}
    _run(tmp_path / "anew", [99, *numbers], _job(form))
    assert _files(tmp_path / "anew", 11) == {
        name: data for name, data in _files(tmp_path, 11).items() if not name.startswith("anew")
    }


def test_records_of_parquet_are_done_again(tmp_path: Path):
    """Its rows do not give back the bytes that were made."""
    _run(tmp_path, [1, 2, 3], _job())
    keep_earlier(tmp_path, "parquet")
    with open_earlier(tmp_path, "parquet") as found:
        assert found is None


def test_files_that_disagree_with_their_metrics_are_not_used(tmp_path: Path):
    """A file of the earlier run that lost a record is done again."""
    _run(tmp_path, [1, 2, 4], _job())
    part = tmp_path / "part-00000.jsonl"
    part.write_bytes(b"".join(part.read_bytes().splitlines(keepends=True)[1:]))
    assert _run(tmp_path, [4, 1, 2], _job()) == {"1", "2", "4"}
