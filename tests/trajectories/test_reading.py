"""Records come out of every file as they stand in it, and what is broken says where."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from foldaway.errors import NotReadable
from foldaway.trajectories.reading import RawRecord, cut_shards, find_sources, read_records
from foldaway.trajectories.stats import sample

RECORD = b'{"conversations":[{"from":"human","value":"a"}]}'


def _read(path: Path, **options: int) -> list[RawRecord]:
    return list(read_records(find_sources([str(path)]), **options))


@pytest.mark.parametrize("name", ["a.jsonl", "a.jsonl.gz", "a.jsonl.zst", "a.ndjson"])
def test_lines_are_read_whatever_they_are_packed_in(tmp_path: Path, name: str):
    """A byte order mark, CRLF and blank lines are no part of a record; lines are counted."""
    data = b"\xef\xbb\xbf" + RECORD + b"\r\n\n  \n" + RECORD + b" \nnot json"
    if name.endswith(".gz"):
        data = gzip.compress(data[:60]) + gzip.compress(data[60:])
    elif name.endswith(".zst"):
        pack = zstandard.ZstdCompressor().compress
        data = pack(data[:60]) + pack(data[60:])
    (tmp_path / name).write_bytes(data)
    assert _read(tmp_path / name) == [
        RawRecord(name, 1, RECORD), RawRecord(name, 4, RECORD), RawRecord(name, 5, b"not json"),
    ]  # fmt: skip


def test_a_json_file_is_one_record_or_a_list_of_them(tmp_path: Path):
    """A list of turns is one record; a list of objects that hold turns is many."""
    one, many, turns = tmp_path / "one.json", tmp_path / "many.json", tmp_path / "turns.json"
    one.write_bytes(b"\n" + RECORD + b"\n")
    many.write_bytes(b"[" + RECORD + b",\n " + RECORD + b"]")
    turns.write_bytes(b'[{"from":"human","value":"a"}]')
    assert _read(one) == [RawRecord("one.json", 1, RECORD)]
    assert _read(many) == [RawRecord("many.json", 1, RECORD), RawRecord("many.json", 2, RECORD)]
    assert _read(turns) == [RawRecord("turns.json", 1, b'[{"from":"human","value":"a"}]')]
    (tmp_path / "torn.json").write_bytes(b"[" + RECORD)
    assert [entry.problem != "" for entry in _read(tmp_path / "torn.json")] == [True]


def test_a_file_that_breaks_off_keeps_what_came_before(tmp_path: Path):
    """The rest is one entry with the problem, under the line that could not be read."""
    lines = b"".join(b'{"n":%d,"x":"%d"}\n' % (n, n * 7919) for n in range(5_000))
    for name, packed in (("a.jsonl.gz", gzip.compress(lines)),
                         ("a.jsonl.zst", zstandard.ZstdCompressor().compress(lines))):  # fmt: skip
        (tmp_path / name).write_bytes(packed[:-20])
        found = _read(tmp_path / name)
        assert all(not entry.problem for entry in found[:-1])
        assert b"\n".join(entry.data for entry in found[:-1]) in lines
        assert "cannot be unpacked" in found[-1].problem
        assert found[-1].line == len(found)


def test_a_record_that_is_too_long_is_passed_over(tmp_path: Path):
    """It is never held in memory; the records after it are read."""
    path = tmp_path / "a.jsonl"
    path.write_bytes(RECORD + b"\n" + b"x" * 500 + b"\n" + RECORD + b"\n" + b"y" * 500)
    found = _read(path, most_bytes=100)
    assert [(entry.line, bool(entry.problem)) for entry in found] == [
        (1, False), (2, True), (3, False), (4, True),
    ]  # fmt: skip


def test_a_folder_gives_its_files_in_order_and_by_their_path(tmp_path: Path):
    """Hidden files and files of other kinds are passed over; names say no place on this machine."""
    for name in ("b/z.jsonl", "b/a.jsonl.gz", "a.json", ".c.jsonl", "readme.md", ".d/e.jsonl"):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(RECORD)
    assert [one.name for one in find_sources([str(tmp_path)])] == [
        "a.json", "b/a.jsonl.gz", "b/z.jsonl",
    ]  # fmt: skip


def test_of_the_folder_of_a_batch_only_the_records_are_read(tmp_path: Path):
    """Its metrics, report and quarantine are JSON too; other files of these names are records."""
    for name in ("x/manifest.json", "x/part-00000.jsonl", "x/metrics/part-00000.jsonl",
                 "x/report.json", "x/quarantine.jsonl", "x/.foldaway/part-00000.json",
                 "y/manifest.json", "y/metrics/a.jsonl"):  # fmt: skip
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(RECORD)
    assert [one.name for one in find_sources([str(tmp_path)])] == [
        "x/part-00000.jsonl", "y/manifest.json", "y/metrics/a.jsonl",
    ]  # fmt: skip
    assert [one.name for one in find_sources([str(tmp_path / "x")])] == ["part-00000.jsonl"]


def test_what_is_not_there_or_says_no_format_is_refused(tmp_path: Path):
    """One sentence with the place and the remedy."""
    (tmp_path / "a.csv").write_text("x")
    cases = {
        tmp_path / "no.jsonl": "does not exist",
        tmp_path / "a.csv": "says no format",
        tmp_path: "holds no records",
    }
    for path, what in cases.items():
        with pytest.raises(NotReadable, match=what):
            find_sources([str(path)])


def test_parquet_rows_are_records(tmp_path: Path):
    """Rows come out as JSON, in order."""
    pyarrow = pytest.importorskip("pyarrow", reason="needs foldaway[trajectories]")
    from pyarrow import parquet

    rows = [json.loads(RECORD) | {"id": n} for n in range(3)]
    parquet.write_table(pyarrow.Table.from_pylist(rows), tmp_path / "a.parquet")
    found = _read(tmp_path / "a.parquet")
    assert [json.loads(entry.data) for entry in found] == rows
    assert [entry.line for entry in found] == [1, 2, 3]
    (tmp_path / "b.parquet").write_bytes(b"no")
    with pytest.raises(NotReadable, match="cannot be read as Parquet"):
        _read(tmp_path / "b.parquet")


_ENTRIES = st.lists(st.builds(RawRecord, st.just("a"), st.integers(1, 99), st.binary(max_size=30)))


@given(_ENTRIES, st.integers(1, 5), st.integers(1, 60))
def test_shards_are_the_input_cut_by_position(entries: list[RawRecord], records: int, size: int):
    """Together they are all of it, in order; none is empty or too long; each has its own digest."""
    found = list(cut_shards(entries, most_records=records, most_bytes=size))
    assert [entry for shard in found for entry in shard.records] == entries
    assert [shard.number for shard in found] == list(range(len(found)))
    for shard in found:
        assert 1 <= len(shard.records) <= records
        assert sum(len(entry.data) for entry in shard.records[:-1]) < size
    assert found == list(cut_shards(iter(entries), most_records=records, most_bytes=size))


@given(st.lists(st.integers(1, 10**6), unique=True), st.integers(1, 8), st.integers(0, 3))
def test_a_sample_is_in_order_and_always_the_same(lines: list[int], number: int, seed: int):
    """It has as many records as were asked for, as far as there are so many."""
    entries = [RawRecord("a", line, b"{}") for line in lines]
    drawn = sample(iter(entries), number, seed)
    assert len(drawn) == min(number, len(entries))
    places = [entries.index(entry) for entry in drawn]
    assert places == sorted(places)
    assert drawn == sample(iter(entries), number, seed)
    assert set(drawn) <= set(sample(iter(entries), number + 3, seed))


NATIVE = Path(__file__).parents[1] / "agents" / "importers" / "data"


@pytest.mark.parametrize(
    ("name", "agent", "turns"),
    [("codex.jsonl", "codex", 11), ("opencode.json", "opencode", 5),
     ("aider.chat.history.md", "aider", 4), ("continue.json", "continue", 6)],
)  # fmt: skip
def test_a_session_of_an_agent_is_a_record(name: str, agent: str, turns: int):
    """What `import` reads is read: as chat messages, under the agent and its id."""
    first = json.loads(_read(NATIVE / name)[0].data)
    assert first["id"].startswith(f"{agent}/")
    assert len(first["messages"]) == turns
    assert {message["role"] for message in first["messages"]} >= {"user", "assistant"}


def test_names_that_import_knows_are_read_and_others_are_named(tmp_path: Path):
    """A folder gives the runs of SWE-agent and messages a line; what is no record is told."""
    run = {"trajectory": [{"response": "ls", "observation": "a"}], "info": {}}
    (tmp_path / "run.traj").write_text(json.dumps(run))
    (tmp_path / "talk.jsonl").write_text(
        '{"role": "user", "content": "Hi"}\n{"role": "assistant", "content": "Yes?"}\n'
    )
    (tmp_path / "notes.txt").write_text("x")
    skipped: list[str] = []
    found = list(read_records(find_sources([str(tmp_path)], skipped.append)))
    assert [len(json.loads(one.data)["messages"]) for one in found] == [2, 2]
    assert skipped == ["notes.txt"]


def test_a_branch_is_quarantined_and_not_forgotten():
    """It holds only what came after another session's messages."""
    whole, branch = _read(NATIVE / "pi.jsonl")
    assert (whole.problem, whole.line, branch.line) == ("", 1, 2)
    assert "branch" in branch.problem
