"""A batch: the same bytes however it is run, and every bad record in quarantine with its line."""

from __future__ import annotations

import gzip
import json
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from tests.testing.trajectories import MARK, deadly_shard, folder_files

from foldaway.errors import FoldawayError, MissingExtra, NotWritable
from foldaway.trajectories.batch import BatchResult, compress_batch
from foldaway.trajectories.folder import claim_folder, read_report
from foldaway.trajectories.policy import Artifacts, BatchSettings, TrajectoryPolicy
from foldaway.trajectories.reading import cut_shards, find_sources, read_records
from foldaway.trajectories.verification import verify_batch
from foldaway.trajectories.workers import WorkerSetup, do_shards


def _record(number: int, pairs: int = 12) -> dict[str, Any]:
    turns = [{"from": "system", "value": "Be brief."}, {"from": "human", "value": f"Run {number}."}]
    for at in range(pairs):
        call = json.dumps({"name": "bash", "arguments": {"command": f"cat {number}/{at}.py"}})
        turns.append({"from": "gpt", "value": f"<tool_call>\n{call}\n</tool_call>"})
        text = f"def f{at}(): return {number}\n" * 12
        turns.append({"from": "tool", "value": f"<tool_response>\n{text}</tool_response>"})
    return {"id": number, "conversations": [*turns, {"from": "gpt", "value": "Done."}]}


def _lines(records: Sequence[Any]) -> bytes:
    return b"".join(json.dumps(record).encode() + b"\n" for record in records)


BAD: dict[bytes, str] = {
    b"{torn": "not JSON|malformed|is not",
    b'{"conversations": []}': "holds no messages",
    b'{"text": "x"}': "holds no message list",
    b"7": "not a message list",
    b"[" * 4_000 + b"]" * 4_000: "too deep|nested",
    json.dumps({"conversations": [{"from": "human", "value": "x"}] * 41}).encode():
        "has 41 turns, more than 40",
    json.dumps({"conversations": [{"from": "human", "value": "x"}, {"from": "gpt", "value":
        "<tool_call><tool_call>{}</tool_call></tool_call>"}]}).encode(): "opens inside",
    b'{"conversations": [{"from": "human", "value": "\xff"}]}': "UTF-8",
}  # fmt: skip


def _job(artifacts: Artifacts = "keep", **options: Any) -> BatchSettings:
    policy = TrajectoryPolicy(target_tokens=900, max_turns=40, artifacts=artifacts)
    return BatchSettings(**{"policy": policy, "shard_records": 4, **options})


def _run(
    source: Path, folder: Path, job: BatchSettings | None = None, **options: Any
) -> BatchResult:
    return compress_batch(find_sources([str(source)]), folder, job or _job(), **options)


def _read(path: Path) -> list[Any]:
    return [json.loads(line) for line in path.read_bytes().splitlines()]


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """Good and bad records, short and long, in two files."""
    folder = tmp_path / "in"
    folder.mkdir()
    good = [_record(number, pairs=number % 4 * 5) for number in range(18)]
    (folder / "a.jsonl").write_bytes(_lines(good[:9]) + b"\n".join(BAD) + b"\n")
    (folder / "b.jsonl.gz").write_bytes(gzip.compress(_lines(good[9:])))
    return folder


def test_every_bad_record_is_in_quarantine_with_its_line_and_reason(source: Path, tmp_path: Path):
    """All others are written, in order; sums and records agree; the input is found again."""
    done = _run(source, tmp_path / "out")
    rows = _read(tmp_path / "out/quarantine.jsonl")
    assert [(row["source"], row["line"]) for row in rows] == [
        ("a.jsonl", 10 + at) for at in range(8)
    ]
    for row, reason in zip(rows, BAD.values(), strict=True):
        assert any(word in row["reason"] for word in reason.split("|")), row["reason"]
    parts = sorted((tmp_path / "out").glob("part-*.jsonl"))
    ids = [row["id"] for part in parts for row in _read(part)]
    assert ids == list(range(18))
    total = done.report.total
    assert (total.records, total.written, total.quarantined) == (26, 18, 8)
    assert total.outcomes == {"compressed": 8, "under target": 10}
    assert read_report(tmp_path / "out") == done.report
    assert list(verify_batch(tmp_path / "out", find_sources([str(source)]))) == []


def test_a_record_under_the_target_keeps_its_bytes(tmp_path: Path):
    """Spaces, order of keys and escapes stay."""
    line = b'{ "conversations":[ {"value":"\\u00e4","from":"human"}],  "id": 1.50 }'
    (tmp_path / "a.jsonl").write_bytes(line + b"\r\n")
    _run(tmp_path / "a.jsonl", tmp_path / "out")
    assert (tmp_path / "out/part-00000.jsonl").read_bytes() == line + b"\n"


def test_a_redaction_key_is_that_of_the_manifest_when_a_run_goes_on(tmp_path: Path):
    """Its placeholders stay the same without it being named again; no other file tells it."""
    source, out = tmp_path / "a.jsonl", tmp_path / "out"
    records = [_record(number) for number in range(3)]
    for record in records:
        said = {"from": "human", "value": "Log in with password=hunter2024! before you go on."}
        record["conversations"][8:8] = [{"from": "gpt", "value": "How?"}, said]
    source.write_bytes(_lines(records))
    _run(source, out, _job(redaction_key="of this run"))
    before = folder_files(out)
    tags = set(re.findall(rb"\[redacted:password:([0-9a-f]+)\]", before["part-00000.jsonl"]))
    assert [len(tag) for tag in tags] == [8]
    assert [name for name, data in before.items() if b"of this run" in data] == ["manifest.json"]
    (out / ".foldaway/part-00000.json").unlink()
    _run(source, out, _job())
    assert folder_files(out) == before
    with pytest.raises(NotWritable, match="other settings"):
        _run(source, out, _job(redaction_key="another"))
    _run(source, out, _job(), resume=False)
    assert tags.isdisjoint(
        re.findall(rb"password:([0-9a-f]+)", folder_files(out)["part-00000.jsonl"])
    )


def test_the_bytes_depend_on_input_and_settings_alone(source: Path, tmp_path: Path):
    """One process or three, in one run or gone on with."""
    _run(source, tmp_path / "one")
    _run(source, tmp_path / "three", workers=3)
    assert folder_files(tmp_path / "one") == folder_files(tmp_path / "three")
    for name in ("part-00001.jsonl", ".foldaway/part-00001.json", ".foldaway/part-00003.json",
                 "report.json"):  # fmt: skip
        (tmp_path / "three" / name).unlink()
    (tmp_path / "three/.part-00001.jsonl.77.tmp").write_bytes(b"torn")
    done = _run(source, tmp_path / "three")
    assert (done.resumed, done.report.shards) == (5, 7)
    assert folder_files(tmp_path / "one") == folder_files(tmp_path / "three")


def test_a_shard_whose_input_changed_is_done_again(source: Path, tmp_path: Path):
    """The others are taken over; what is of no shard any more is removed."""
    _run(source, tmp_path / "out")
    changed = [_record(number, pairs=number) for number in range(9, 12)]
    (source / "b.jsonl.gz").write_bytes(gzip.compress(_lines(changed)))
    done = _run(source, tmp_path / "out")
    assert (done.resumed, done.report.shards) == (4, 5)
    _run(source, tmp_path / "anew")
    assert folder_files(tmp_path / "out") == folder_files(tmp_path / "anew")


def test_only_the_same_settings_go_on_in_a_folder(source: Path, tmp_path: Path):
    """Others are refused unless they start anew; a folder of something else is never touched."""
    _run(source, tmp_path / "out")
    with pytest.raises(NotWritable, match="other settings; give another folder, or --no-resume"):
        _run(source, tmp_path / "out", _job(shard_records=5))
    _run(source, tmp_path / "out", _job(shard_records=5), resume=False)
    _run(source, tmp_path / "five", _job(shard_records=5))
    assert folder_files(tmp_path / "out") == folder_files(tmp_path / "five")
    before = folder_files(source)
    for resume in (True, False):
        with pytest.raises(NotWritable, match="no output of this command"):
            _run(source, source, resume=resume)
    assert folder_files(source) == before


def test_two_runs_do_not_write_into_one_folder(source: Path, tmp_path: Path):
    """The second one says so and changes nothing."""
    pytest.importorskip("fcntl", reason="only where files can be locked")
    with (
        claim_folder(tmp_path / "out", _job(), resume=True),
        pytest.raises(NotWritable, match="another run is writing into it"),
    ):
        _run(source, tmp_path / "out")


@pytest.mark.parametrize("form", ["jsonl.gz", "jsonl.zst", "parquet"])
def test_every_format_holds_the_same_records(source: Path, tmp_path: Path, form: Any):
    """What is read back from it is what the plain lines hold."""
    if form == "parquet":
        pytest.importorskip("pyarrow", reason="needs foldaway[trajectories]")
    _run(source, tmp_path / "plain")
    _run(source, tmp_path / "out", _job(format=form))
    parts = [sorted((tmp_path / name).glob("part*")) for name in ("plain", "out")]
    plain, packed = (
        [json.loads(entry.data) for entry in read_records(find_sources(list(map(str, paths))))]
        for paths in parts
    )
    assert plain == packed
    assert list(verify_batch(tmp_path / "out")) == []


def test_excluded_records_are_counted_and_not_written(source: Path, tmp_path: Path):
    """Those that would have got a summary are left out."""
    total = _run(source, tmp_path / "out", _job("exclude")).report.total
    assert total.outcomes == {"excluded": 8, "under target": 10}
    assert total.written == 10
    assert list(verify_batch(tmp_path / "out", find_sources([str(source)]))) == []


def test_stripped_records_hold_no_generated_text(source: Path, tmp_path: Path):
    """Records are cut to the target, and nothing stands in the gap."""
    _run(source, tmp_path / "out", _job("strip"))
    assert b"foldaway" not in b"".join(
        path.read_bytes() for path in (tmp_path / "out").glob("part-*")
    )
    assert list(verify_batch(tmp_path / "out", find_sources([str(source)]))) == []


def test_without_the_package_for_parquet_an_earlier_run_is_not_touched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """What is missing is said before anything is removed, for what is read and what is written."""
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    source, table, out = tmp_path / "in.jsonl", tmp_path / "in.parquet", tmp_path / "out"
    source.write_bytes(_lines([_record(1)]))
    table.write_bytes(b"PAR1")
    _run(source, out)
    before = {path: path.read_bytes() for path in out.rglob("*") if path.is_file()}
    for given, form in ((source, "parquet"), (table, "jsonl")):
        with pytest.raises(MissingExtra, match="Parquet"):
            _run(given, out, _job(format=form), resume=False)
    assert {path: path.read_bytes() for path in out.rglob("*") if path.is_file()} == before


@pytest.mark.soak
def test_a_record_that_kills_its_process_costs_that_record_alone(tmp_path: Path):
    """Two of them in one shard: both are in quarantine, every other record is written."""
    records = [_record(number) for number in range(8)]
    for number in (2, 3):
        records[number]["note"] = MARK.decode()
    (tmp_path / "a.jsonl").write_bytes(_lines(records))
    entries = read_records(find_sources([str(tmp_path / "a.jsonl")]))
    folder, job = tmp_path / "out", _job()
    with claim_folder(folder, job, resume=True):
        shards = cut_shards(entries, most_records=4, most_bytes=10**9)
        setup = WorkerSetup(settings=job, folder=folder, work=deadly_shard)
        done = list(do_shards(shards, setup, workers=2))
    assert sorted(one.number for one in done) == [0, 1]
    ids = [row["id"] for path in sorted(folder.glob("part-*")) for row in _read(path)]
    assert ids == [0, 1, 4, 5, 6, 7]
    rows = _read(folder / ".foldaway/part-00000.quarantine.jsonl")
    assert [row["line"] for row in rows] == [3, 4]
    assert all(row["reason"] == "3 processes died on it (SIGKILL)" for row in rows)


def test_a_disk_that_refuses_stops_the_batch_and_keeps_what_is_done(source: Path, tmp_path: Path):
    """One sentence with the remedy; when there is room again the run goes on to the same bytes."""
    out = tmp_path / "out"
    (out / ".foldaway").mkdir(parents=True)
    blocked = out / "part-00002.jsonl"
    blocked.mkdir()
    (blocked / "in the way").write_bytes(b"")
    (out / "manifest.json").write_bytes(b"")
    (out / "manifest.json").unlink()
    with pytest.raises(NotWritable, match="no output of this command"):
        _run(source, out)
    (blocked / "in the way").unlink()
    blocked.rmdir()
    with claim_folder(out, _job(), resume=True):
        blocked.mkdir()
    with pytest.raises(FoldawayError, match="run the same command again to go on"):
        _run(source, out)
    blocked.rmdir()
    assert _run(source, out).resumed >= 1
    _run(source, tmp_path / "undisturbed")
    assert folder_files(out) == folder_files(tmp_path / "undisturbed")


def test_verify_finds_what_was_changed_behind_its_back(source: Path, tmp_path: Path):
    """A turn taken away, a record that is missing, a word that is other."""
    out, given = tmp_path / "out", find_sources([str(source)])
    _run(source, out)
    part = out / "part-00000.jsonl"
    lines = part.read_bytes().splitlines(keepends=True)
    part.write_bytes(b"".join(lines[:-1]))
    assert {"part-00000", "report.json"} <= {fault.where for fault in verify_batch(out)}
    record = json.loads(lines[1])
    record["conversations"][-1]["value"] = "Dane."
    part.write_bytes(lines[0] + json.dumps(record).encode() + b"\n" + b"".join(lines[2:]))
    found = [fault.what for fault in verify_batch(out, given)]
    assert "differs from its input after the fold" in found or "was changed without a fold" in found
    del record["conversations"][-2]
    part.write_bytes(lines[0] + json.dumps(record).encode() + b"\n" + b"".join(lines[2:]))
    assert any("turns, its metrics say" in fault.what for fault in verify_batch(out))
    assert any("parts a call" in fault.what for fault in verify_batch(out, given))
