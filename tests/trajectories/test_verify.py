"""Verification beside the input: one shard in memory, and other input is said to be that."""

from __future__ import annotations

import json
import tracemalloc
from collections.abc import Sequence
from pathlib import Path

import pytest

from foldaway.trajectories.batch import compress_batch
from foldaway.trajectories.policy import BatchSettings, TrajectoryPolicy
from foldaway.trajectories.reading import find_sources
from foldaway.trajectories.verification import find_over_target, verify_batch

JOB = BatchSettings(policy=TrajectoryPolicy(target_tokens=100_000), shard_records=10)


def _lines(numbers: Sequence[int], size: int = 10) -> str:
    records = (
        {"conversations": [{"from": "human", "value": f"{number} " * size},
                           {"from": "gpt", "value": "Done."}]}
        for number in numbers
    )  # fmt: skip
    return "".join(json.dumps(record) + "\n" for record in records)


def _batch(folder: Path, text: str) -> Path:
    folder.mkdir(parents=True)
    source = folder / "in.jsonl"
    source.write_text(text)
    compress_batch(find_sources([str(source)]), folder / "out", JOB)
    return source


def _least_peak(folder: Path, records: int) -> int:
    """Of three: threads that other tests left behind may allocate meanwhile."""
    return min(_peak_bytes(folder / str(number), records) for number in range(3))


def _peak_bytes(folder: Path, records: int) -> int:
    source = _batch(folder, _lines(range(1_000, 1_000 + records), size=2_000))
    tracemalloc.start()
    try:
        assert list(verify_batch(folder / "out", find_sources([str(source)]))) == []
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.slow
def test_memory_does_not_grow_with_the_input(tmp_path: Path):
    """Eight times the records, the same peak: the input is read along with the output."""
    _peak_bytes(tmp_path / "first", 20)  # what is loaded once
    assert _least_peak(tmp_path / "many", 320) < 1.3 * _least_peak(tmp_path / "few", 40)


@pytest.mark.parametrize("other", ["changed", "longer", "shorter"])
def test_other_input_is_said_to_be_that(tmp_path: Path, other: str):
    """Once a shard, not once a record; shards whose input is the same are not named."""
    source = _batch(tmp_path / "a", _lines(range(30)))
    lines = source.read_text().splitlines(keepends=True)
    now = {"changed": [*lines[:15], *lines[16:]], "longer": [*lines, *lines],
           "shorter": lines[:20]}[other]  # fmt: skip
    source.write_text("".join(now))
    found = list(verify_batch(tmp_path / "a/out", find_sources([str(source)])))
    where = {"changed": ["part-00001", "part-00002"], "longer": ["report.json"],
             "shorter": ["part-00002"]}[other]  # fmt: skip
    assert [fault.where for fault in found if "other input" in fault.what
            or "input has more" in fault.what] == where  # fmt: skip
    assert not any("which is not in the input" in fault.what for fault in found)


def test_sources_of_one_name_are_kept_apart(tmp_path: Path):
    """Two files called the same, in one shard: each record is held against its own."""
    for name, numbers in (("x", range(4)), ("y", range(4, 8))):
        (tmp_path / name).mkdir()
        (tmp_path / name / "runs.jsonl").write_text(_lines(numbers))
    sources = find_sources([str(tmp_path / name / "runs.jsonl") for name in ("x", "y")])
    compress_batch(sources, tmp_path / "out", JOB)
    assert list(verify_batch(tmp_path / "out", sources)) == []
    first = next(verify_batch(tmp_path / "out", sources[::-1]))
    assert first.where == "part-00000"


def test_without_its_marks_a_record_that_is_not_in_the_input_is_named(tmp_path: Path):
    """Output that was copied without its hidden folder is verified too."""
    source = _batch(tmp_path / "a", _lines(range(10)))
    for mark in (tmp_path / "a/out/.foldaway").glob("part-*"):
        mark.unlink()
    source.write_text("".join(source.read_text().splitlines(keepends=True)[:-1]))
    found = list(verify_batch(tmp_path / "a/out", find_sources([str(source)])))
    assert [fault.what for fault in found] == ["comes from in.jsonl:10, which is not in the input"]


def test_a_record_over_its_target_is_named_with_the_reason(tmp_path: Path):
    """It is no fault of the batch, and it is said what of the record cannot be folded."""
    source = tmp_path / "in.jsonl"
    source.write_text(_lines([1]) + _lines([2], size=2_000))
    job = BatchSettings(policy=TrajectoryPolicy(target_tokens=1_000))
    done = compress_batch(find_sources([str(source)]), tmp_path / "out", job)
    (found,) = verify_batch(tmp_path / "out", find_sources([str(source)]))
    assert (found.where, found.over_target) == ("part-00000.jsonl:2", True)
    assert "tokens of 1,000: it needs at least" in found.what
    assert "of which $.conversations[0] (user)" in found.what
    assert found.what.endswith("(in.jsonl:2)")
    (over,) = find_over_target(tmp_path / "out", done.report)
    assert over.where == "in.jsonl:2"


@pytest.mark.slow
@pytest.mark.parametrize("at", [0, 3, 4, 6, -1])
def test_a_turn_that_was_changed_beside_several_folds_is_found(tmp_path: Path, at: int):
    """Turns before, between and after the folds are compared with those of the input."""
    turns = [{"from": who, "value": f"{number} " * 300 if number in (3, 4, 8, 9, 10) else "x"}
             for number, who in enumerate(["human", "gpt", *["human", "gpt"] * 2, "tool",
                                           *["gpt", "human"] * 3, "gpt"])]  # fmt: skip
    source, out = tmp_path / "in.jsonl", tmp_path / "out"
    source.write_text(json.dumps({"conversations": turns}) + "\n")
    policy = TrajectoryPolicy(target_tokens=400, keep_last=1)
    compress_batch(find_sources([str(source)]), out, BatchSettings(policy=policy))
    assert list(verify_batch(out, find_sources([str(source)]))) == []
    record = json.loads((out / "part-00000.jsonl").read_text())
    summaries = [n for n, one in enumerate(record["conversations"]) if "foldaway" in one["value"]]
    assert len(summaries) == 2
    assert at not in summaries
    record["conversations"][at]["value"] = "y"
    (out / "part-00000.jsonl").write_text(json.dumps(record) + "\n")
    found = [fault.what for fault in verify_batch(out, find_sources([str(source)]))]
    assert [what for what in found if what.startswith("differs from its input")]
