"""Notes of attempts: a record is given up when so many processes died on it, and no sooner."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from foldaway.errors import NotWritable
from foldaway.trajectories.folder import DEATHS, METRICS, STATE, note_attempt
from foldaway.trajectories.policy import BatchSettings, TrajectoryPolicy
from foldaway.trajectories.reading import RawRecord, cut_shards
from foldaway.trajectories.shard import ShardRun, do_shard, tools_for


def _killed_at(folder: Path, at: int) -> None:
    """Leave what a process leaves that is killed at this record; -1 is before the first one."""
    note = folder / STATE / ".part-00000.attempt.tmp"
    with note_attempt(folder, "part-00000") as attempt:
        for number in range(at + 1):
            attempt.on_record(number)
        left = note.read_bytes()
    note.write_bytes(left)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder that a batch has claimed."""
    (tmp_path / STATE).mkdir()
    return tmp_path


@given(deaths=st.lists(st.integers(0, 12), max_size=9))
def test_the_poison_is_where_processes_died_often_enough(
    tmp_path_factory: pytest.TempPathFactory, deaths: list[int]
):
    """Deaths are counted by record, whatever order they came in."""
    folder = tmp_path_factory.mktemp("batch")
    (folder / STATE).mkdir()
    for at in deaths:
        _killed_at(folder, at)
    with note_attempt(folder, "part-00000") as attempt:
        assert set(attempt.poison) == {at for at in deaths if deaths.count(at) >= DEATHS}
        assert all(why == "3 processes died on it" for why in attempt.poison.values())


def test_an_attempt_that_ends_leaves_no_note(folder: Path):
    """Neither one that is well nor one that raises: only killed processes count."""
    with pytest.raises(ValueError, match="no"), note_attempt(folder, "part-00000"):
        raise ValueError("no")
    with note_attempt(folder, "part-00000") as attempt:
        attempt.on_record(0)
    assert list((folder / STATE).iterdir()) == []


def test_shards_have_notes_of_their_own(folder: Path):
    """Deaths on one do not count for another."""
    for _ in range(DEATHS):
        _killed_at(folder, 4)
    with note_attempt(folder, "part-00001") as attempt:
        assert attempt.poison == {}


def test_processes_that_die_before_they_begin_stop_the_batch(folder: Path):
    """One sentence with the remedy; the next run counts anew."""
    for _ in range(DEATHS):
        _killed_at(folder, -1)
    with (
        pytest.raises(NotWritable, match="die before they begin; what is finished stays"),
        note_attempt(folder, "part-00000"),
    ):
        pass
    with note_attempt(folder, "part-00000") as attempt:
        assert attempt.poison == {}


def test_processes_that_die_while_they_write_stop_the_batch(folder: Path):
    """No record is at fault then: the shard is not tried for ever, and what is finished stays."""
    shard = next(cut_shards([RawRecord("a.jsonl", 1, b"{}")], most_records=1, most_bytes=1))
    settings = BatchSettings(policy=TrajectoryPolicy(target_tokens=900))
    begun: list[int] = []
    run = ShardRun(settings=settings, tools=tools_for(settings), folder=folder)
    (folder / METRICS).mkdir()
    do_shard(shard, replace(run, on_record=begun.append))
    assert begun == [0, 1]
    with pytest.raises(NotWritable, match="3 processes died on it; what is finished stays"):
        do_shard(shard, replace(run, poison={1: "3 processes died on it"}))
