"""Batches on a real Ray on this machine: `make test-ray`. Each start of it takes some ten seconds.

What is written is the same folder, byte for byte, that processes write; sorting is not needed.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import re
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import time
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from tests.testing.trajectories import MARK, deadly_shard, folder_files, meeting_shard, run_record

from foldaway.trajectories.folder import claim_folder
from foldaway.trajectories.policy import BatchSettings, TrajectoryPolicy
from foldaway.trajectories.ray_engine import do_on_ray
from foldaway.trajectories.reading import find_sources

ROOT = Path(__file__).resolve().parents[2]
pytestmark = [
    pytest.mark.soak,
    pytest.mark.skipif(find_spec("ray") is None, reason="needs foldaway[ray]"),
]


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file of 240 records, every third of them long, and one that is no record."""
    path = tmp_path_factory.mktemp("in") / "runs.jsonl"
    records = [run_record(number, 16 if number % 3 == 0 else 2) for number in range(240)]
    lines = [json.dumps(record).encode() for record in records]
    path.write_bytes(b"\n".join([*lines[:7], b"{torn", *lines[7:]]) + b"\n")
    return path


@pytest.fixture(scope="module")
def undisturbed(runs: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """What processes write."""
    out = tmp_path_factory.mktemp("undisturbed") / "out"
    assert _ended(_start(runs, out, "--engine", "processes")) == (0, b"")
    return folder_files(out)


def _line(runs: Path, out: Path, *more: str) -> list[str]:
    return [sys.executable, "-m", "foldaway", "trajectories", "compress", str(runs), "-o", str(out),
            "--target-tokens", "900", "--workers", "2", "--shard-records", "3", "--engine", "ray",
            *more]  # fmt: skip


def _environment() -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("RAY_")}
    return {**kept, "PYTHONPATH": os.pathsep.join((str(ROOT / "src"), str(ROOT)))}


def _start(runs: Path, out: Path, *more: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        _line(runs, out, *more), env=_environment(), stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )  # fmt: skip


_PROGRESS = re.compile(rb"^[\d,]+ records, [^\n]*\n", re.MULTILINE)
"""What a batch that takes long says; on a busy machine each start of Ray takes so long."""


def _ended(running: subprocess.Popen[bytes]) -> tuple[int, bytes]:
    _, said = running.communicate(timeout=900)
    return running.returncode, _PROGRESS.sub(b"", said)


def _marks(out: Path) -> int:
    return len(list(out.glob(".foldaway/part-*.json")))


def _workers_of(pid: int) -> list[int]:
    """Return the processes below this one that Ray gives tasks and actors to."""
    try:
        children = map(int, Path(f"/proc/{pid}/task/{pid}/children").read_text().split())
        found = [one for child in children for one in (child, *_workers_of(child))]
    except OSError:
        return []
    return [one for one in found if _is_worker(one)]


def _is_worker(pid: int) -> bool:
    try:
        name = Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return False
    return name.startswith(b"ray::") and b"Agent" not in name


def test_a_batch_that_processes_began_is_ended_by_ray_to_the_same_bytes(
    runs: Path, undisturbed: dict[str, bytes], tmp_path: Path
):
    """What is done is not done again: its files are not touched. Nothing is said on the screen."""
    out = tmp_path / "out"
    assert _ended(_start(runs, out, "--engine", "processes")) == (0, b"")
    for number in (0, 3, 4, 79):
        (out / f".foldaway/part-{number:05d}.json").unlink()
        (out / f"part-{number:05d}.jsonl").unlink()
    before = {path.name: path.stat().st_mtime_ns for path in out.glob("part-*")}
    assert _ended(_start(runs, out)) == (0, b"")
    assert folder_files(out) == undisturbed
    after = {path.name: path.stat().st_mtime_ns for path in out.glob("part-*")}
    assert {name: after[name] for name in before} == before


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="needs /proc to find workers")
@pytest.mark.parametrize("seed", range(3))
def test_killed_anywhere_and_gone_on_with_the_output_is_the_same(
    runs: Path, undisturbed: dict[str, bytes], tmp_path: Path, seed: int
):
    """kill -9 of the driver, then of workers of Ray, whatever they do just then."""
    out, chance = tmp_path / "out", random.Random(seed)
    running = _start(runs, out)
    _wait_for_marks(running, out, chance.randrange(1, 20))
    assert running.poll() is None
    running.kill()
    running.communicate()
    running = _start(runs, out)
    hits = 0
    for _ in range(4):
        _wait_for_marks(running, out, _marks(out) + chance.randrange(1, 12))
        workers = _workers_of(running.pid)
        if workers:
            os.kill(chance.choice(workers), signal.SIGKILL)
            hits += 1
    assert _ended(running) == (0, b"")
    assert hits
    assert folder_files(out) == undisturbed


def _wait_for_marks(running: subprocess.Popen[bytes], out: Path, wanted: int) -> None:
    while running.poll() is None and _marks(out) < wanted:
        time.sleep(0.005)


def test_a_record_that_kills_its_process_costs_that_record_alone(tmp_path: Path):
    """Two of them in one shard: both are in quarantine, every other record is written."""
    records = [run_record(number, 3) for number in range(8)]
    for number in (2, 3):
        records[number]["note"] = MARK.decode()
    (tmp_path / "a.jsonl").write_text("".join(json.dumps(one) + "\n" for one in records))
    folder = tmp_path / "out"
    job = BatchSettings(policy=TrajectoryPolicy(target_tokens=900), shard_records=4)
    with claim_folder(folder, job, resume=True):
        sources = find_sources([str(tmp_path / "a.jsonl")])
        assert do_on_ray(sources, job, folder, workers=2, work=deadly_shard) == 2
    ids = [
        json.loads(line)["id"]
        for path in sorted(folder.glob("part-*"))
        for line in path.read_bytes().splitlines()
    ]
    assert ids == [0, 1, 4, 5, 6, 7]
    refused = (folder / ".foldaway/part-00000.quarantine.jsonl").read_bytes().splitlines()
    rows = [json.loads(line) for line in refused]
    assert [(row["line"], row["reason"]) for row in rows] == [
        (3, "3 processes died on it"),
        (4, "3 processes died on it"),
    ]


def test_as_many_shards_are_done_at_a_time_as_was_said(tmp_path: Path):
    """From the start, and beside shards that are done: each waits until the other is begun."""
    records = [json.dumps(run_record(number, 3)) + "\n" for number in range(8)]
    source, folder = tmp_path / "a.jsonl", tmp_path / "out"
    job = BatchSettings(policy=TrajectoryPolicy(target_tokens=900), shard_records=2)
    for shards in (2, 4):
        source.write_text("".join(records[: 2 * shards]))
        with claim_folder(folder, job, resume=True):
            sources = find_sources([str(source)])
            assert do_on_ray(sources, job, folder, workers=2, work=meeting_shard) == shards
        assert _marks(folder) == shards


def test_a_disk_that_refuses_stops_the_batch_and_keeps_what_is_done(
    runs: Path, undisturbed: dict[str, bytes], tmp_path: Path
):
    """One sentence with the remedy; afterwards the run goes on to the same bytes."""
    out = tmp_path / "out"
    settings = BatchSettings(policy=TrajectoryPolicy(target_tokens=900), shard_records=3)
    with claim_folder(out, settings, resume=True):
        (out / "part-00020.jsonl").mkdir()
    code, said = _ended(_start(runs, out))
    assert (code, said.count(b"\n")) == (2, 1)
    assert b"part-00020.jsonl: cannot be written" in said
    assert b"run the same command again to go on" in said
    assert 0 < _marks(out) < 80
    (out / "part-00020.jsonl").rmdir()
    assert _ended(_start(runs, out)) == (0, b"")
    assert folder_files(out) == undisturbed


def test_a_full_disk_stops_the_batch_and_room_lets_it_go_on(
    runs: Path, undisturbed: dict[str, bytes], tmp_path: Path
):
    """A file system of 400 KB, later a larger one; the output is the same in the end."""
    if not shutil.which("unshare") or subprocess.run(
        ["unshare", "-rm", "mount", "-t", "tmpfs", "none", str(tmp_path)],
        capture_output=True, check=False,
    ).returncode:  # fmt: skip
        pytest.skip("no file system can be mounted here")
    disk, kept = tmp_path / "disk", tmp_path / "kept"
    disk.mkdir()
    given = " ".join(_line(runs, disk / "out"))
    script = f"""
        mount -t tmpfs -o size=400k none {disk}
        {given}; echo code $?
        ls {disk}/out/.foldaway | grep -c 'part-.*[0-9].json$'
        mount -o remount,size=50m {disk}
        {given} > /dev/null; echo code $?
        cp -r {disk}/out {kept}
    """
    done = subprocess.run(
        ["unshare", "-rm", "sh", "-c", script], env=_environment(), capture_output=True,
        check=False, timeout=900,
    )  # fmt: skip
    stopped, marks, went_on = done.stdout.decode().splitlines()
    assert (stopped, went_on) == ("code 2", "code 0")
    assert 0 < int(marks) < 80
    said = _PROGRESS.sub(b"", done.stderr)
    assert b"No space left on device" in said
    assert said.count(b"\n") == 1
    assert folder_files(kept) == undisturbed


def test_a_cluster_that_is_not_there_is_one_sentence(runs: Path, tmp_path: Path):
    """Exit 2; it says where to look, and no folder is made."""
    code, said = _ended(_start(runs, tmp_path / "out", "--ray-address", "127.0.0.1:1"))
    assert (code, said.count(b"\n")) == (2, 1)
    assert b"127.0.0.1:1: no Ray can be used there" in said
    assert b"check --ray-address" in said
    assert not (tmp_path / "out").exists()


def test_a_cluster_of_two_nodes_does_the_batch(
    runs: Path, undisturbed: dict[str, bytes], tmp_path: Path
):
    """Named in the environment, with a token of its own, as Ray wants it; as many shards at a time
    as it has processors.
    """
    ray, port = Path(sys.executable).with_name("ray"), _free_port()
    where = f"127.0.0.1:{port}"
    more = ["--block", "--num-cpus", "2", "--temp-dir", f"/tmp/foldaway-ray-{port}"]
    head = [ray, "start", "--head", "--port", str(port), "--include-dashboard", "false", *more]
    env = {**_environment(), "RAY_USAGE_STATS_ENABLED": "0", "RAY_AUTH_MODE": "token",
           "RAY_AUTH_TOKEN": secrets.token_hex(32)}  # fmt: skip
    nodes = [_node(head, env)]
    try:
        _wait_for_port(nodes[0], port)
        nodes.append(_node([ray, "start", "--address", where, "--block", "--num-cpus", "2"], env))
        line = [word for word in _line(runs, tmp_path / "out") if word not in ("--workers", "2")]
        done = subprocess.run(line, env={**env, "RAY_ADDRESS": where}, capture_output=True,
                              timeout=300, check=False)  # fmt: skip
        assert (done.returncode, _PROGRESS.sub(b"", done.stderr)) == (0, b"")
        assert folder_files(tmp_path / "out") == undisturbed
    finally:
        for node in reversed(nodes):
            os.killpg(node.pid, signal.SIGTERM)
            node.wait(60)
        shutil.rmtree(f"/tmp/foldaway-ray-{port}", ignore_errors=True)


def _node(line: list[Any], env: dict[str, str]) -> subprocess.Popen[bytes]:
    nowhere = subprocess.DEVNULL
    return subprocess.Popen(line, env=env, stdout=nowhere, stderr=nowhere, start_new_session=True)


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return server.getsockname()[1]


def _wait_for_port(node: subprocess.Popen[bytes], port: int) -> None:
    while node.poll() is None:
        with contextlib.suppress(OSError):
            socket.create_connection(("127.0.0.1", port), 5).close()
            return
        time.sleep(0.1)
    raise AssertionError("the head of the cluster ended")
