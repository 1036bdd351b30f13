"""`trajectories`: batches from the command line, killed and gone on with."""

from __future__ import annotations

import json
import os
import random
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from tests.testing.trajectories import folder_files, run_record

ROOT = Path(__file__).resolve().parents[2]


def _record(number: int, pairs: int) -> bytes:
    return json.dumps(run_record(number, pairs)).encode()


def test_input_without_a_readable_record_is_said_and_has_exit_code_2(
    foldaway: Any, put: Any, tmp_path: Path
) -> None:
    """Each reason by its count; what `compress` could not read lies in the quarantine. A folder
    that does not exist is called so."""
    for name, data in (("empty", b""), ("torn", b"{torn\n{also"), ("roles", b'[{"content": "x"}]')):
        path = put(f"{name}.jsonl", data)
        seen = foldaway("trajectories", "stats", path)
        assert seen.code == 2
        assert seen.text.startswith("0 records")
        assert "bug" not in seen.err
    out = tmp_path / "out"
    given = ("trajectories", "compress", put("torn.jsonl", b"{torn\n{also"), "-o", out)
    seen = foldaway(*given, "--target-tokens", 900, "--workers", 1)
    assert (seen.code, "in quarantine.jsonl" in seen.text) == (2, True)
    seen = foldaway("trajectories", "verify", tmp_path / "nowhere")
    assert (seen.code, "does not exist" in seen.err) == (2, True)


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file of 60 records, every third of them long, and one that is no record."""
    path = tmp_path_factory.mktemp("runs") / "runs.jsonl"
    lines = [_record(number, 16 if number % 3 == 0 else 2) for number in range(60)]
    path.write_bytes(b"\n".join([*lines[:7], b"{torn", *lines[7:]]) + b"\n")
    return path


def test_a_batch_is_compressed_described_sampled_and_verified(
    foldaway: Any, runs: Path, tmp_path: Path
) -> None:
    """The four commands after each other; run again, everything is taken over."""
    out = tmp_path / "out"
    given = ("trajectories", "compress", runs, "-o", out, "--target-tokens", 900, "--workers", 1)
    seen = foldaway(*given)
    assert seen.code == 0
    for words in ("61 records", "compressed", "quarantine.jsonl", "tokens are estimates"):
        assert words in seen.text
    again = foldaway(*given, "--json")
    assert json.loads(again.out)["total"]["outcomes"] == {"compressed": 20, "under target": 40}
    assert "taken over" in foldaway(*given).text
    verified = foldaway("trajectories", "verify", out, "--against", runs)
    assert (verified.code, verified.text) == (0, f"{out}: all is well\n")
    stats = foldaway("trajectories", "stats", runs, "--target-tokens", 900, "--json")
    found = json.loads(stats.out)
    assert (found["records"], found["unreadable"], found["over"]) == (60, 1, {"900": 20})
    shown = foldaway("trajectories", "stats", out).text
    assert "with text that a compaction wrote: 20" in shown
    drawn = foldaway("trajectories", "sample", runs, "-n", 5)
    lines = drawn.out.splitlines()
    assert len(lines) == 5
    assert set(lines) <= set(runs.read_bytes().splitlines())
    assert foldaway("trajectories", "sample", runs, "-n", 5).out == drawn.out


def test_records_that_cannot_fit_are_named_and_are_no_failure(
    foldaway: Any, tmp_path: Path
) -> None:
    """`compress` names the first ten by their place in the input and counts the others, `verify`
    names all by their place in the output; both exit with 0, as all that could fit does. A fault
    counts: 1."""
    source, out = tmp_path / "runs.jsonl", tmp_path / "out"
    source.write_bytes(b"\n".join(_record(number, 2 if number else 1) for number in range(13)))
    given = ("trajectories", "compress", source, "-o", out, "--target-tokens", 200, "--workers", 1)
    seen = foldaway(*given)
    assert seen.code == 0
    lines = [line for line in seen.text.splitlines() if "over the target: " in line]
    assert len(lines) == 10
    assert lines[0].startswith("over the target: runs.jsonl:2 costs ")
    assert "it needs at least" in lines[0]
    assert "and 2 more over the target" in seen.text
    assert "raise --target-tokens or lower --keep-last" in seen.text
    again = foldaway(*given, "--json")
    assert again.code == 0
    assert [one["where"] for one in json.loads(again.out)["over_target"]] == [
        f"runs.jsonl:{line}" for line in range(2, 14)
    ]
    verified = foldaway("trajectories", "verify", out, "--against", source)
    assert verified.code == 0
    assert "part-00000.jsonl:2: costs" in verified.text
    assert f"{out}: 12 records over the target\n" in verified.text
    assert "all is well" not in verified.text
    (out / "metrics/part-00000.jsonl").write_bytes(b"")
    assert foldaway("trajectories", "verify", out).code == 1


def test_several_sources_stand_behind_one_against(
    foldaway: Any, runs: Path, tmp_path: Path
) -> None:
    """As they do behind `compress`; each with its own works too, both at once would lose their
    order and is refused."""
    out, other = tmp_path / "out", tmp_path / "other.jsonl"
    other.write_bytes(b"\n".join(runs.read_bytes().splitlines()[:3]))
    assert foldaway("trajectories", "compress", runs, other, "-o", out, "--target-tokens", 900,
                    "--workers", 1).code == 0  # fmt: skip
    for given in (("--against", runs, other), ("--against", runs, "--against", other)):
        seen = foldaway("trajectories", "verify", out, *given)
        assert (seen.code, seen.text) == (0, f"{out}: all is well\n")
    assert foldaway("trajectories", "verify", out, "--against", other, runs).code == 1
    for given in ((runs,), ("--against", runs, other, "--against", runs)):
        seen = foldaway("trajectories", "verify", out, *given)
        assert (seen.code, seen.err.count("\n")) == (2, 1)
        assert "behind one --against" in seen.err


def test_a_mistake_is_one_sentence_and_nothing_is_written(
    foldaway: Any, runs: Path, tmp_path: Path
) -> None:
    """Exit 2, and no folder is made."""
    out = tmp_path / "out"
    given = ("trajectories", "compress", runs, "-o", out, "--target-tokens", 900)
    for more, words in (
        (("--strip-artifacts", "--exclude-compacted"), "contradict each other"),
        (("--tokenizer", tmp_path / "no.json"), "does not exist"),
        (("--summary-tokens", 3), "--summary-tokens"),
        (("--engine", "ray", "--summarizer", "openai:m"), "--engine ray cannot ask a model"),
    ):
        seen = foldaway(*given, *more)
        assert (seen.code, seen.out) == (2, b"")
        assert seen.err.count("\n") == 1
        assert words in seen.err
        assert not out.exists()
    seen = foldaway("trajectories", "compress", tmp_path / "no.jsonl", "-o", out,
                    "--target-tokens", 900)  # fmt: skip
    assert (seen.code, out.exists()) == (2, False)
    assert "does not exist" in seen.err
    seen = foldaway("trajectories", "verify", tmp_path)
    assert seen.code == 2
    assert "holds no finished batch" in seen.err


@pytest.mark.skipif(find_spec("ray") is not None, reason="Ray is installed")
def test_without_ray_the_engine_is_one_sentence_that_names_the_extra(
    foldaway: Any, runs: Path, tmp_path: Path
) -> None:
    """Exit 2, and no folder is made."""
    out = tmp_path / "out"
    seen = foldaway("trajectories", "compress", runs, "-o", out, "--target-tokens", 900,
                    "--engine", "ray")  # fmt: skip
    assert (seen.code, seen.out, out.exists()) == (2, b"", False)
    assert (
        seen.err
        == "foldaway: --engine ray needs an optional package: pip install 'foldaway[ray]'\n"
    )


def _start(
    runs: Path, out: Path, before: Callable[[], None] | None = None
) -> subprocess.Popen[bytes]:
    line = [sys.executable, "-m", "foldaway", "trajectories", "compress", str(runs), "-o", str(out),
            "--target-tokens", "900", "--workers", "2", "--shard-records", "3"]  # fmt: skip
    env = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    return subprocess.Popen(
        line, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, preexec_fn=before
    )


@pytest.fixture(scope="module")
def undisturbed(runs: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """The files of a run that nothing happens to."""
    out = tmp_path_factory.mktemp("undisturbed") / "out"
    assert _start(runs, out).communicate()[1] == b""
    return folder_files(out)


def _workers_of(pid: int) -> list[int]:
    """Return the processes below this one that do the work: those with no child of their own."""
    found: list[int] = []
    for child in _children(pid):
        below = _workers_of(child)
        found += below
        if not below and b"forkserver" in Path(f"/proc/{child}/cmdline").read_bytes():
            found.append(child)
    return found


def _children(pid: int) -> list[int]:
    try:
        return list(map(int, Path(f"/proc/{pid}/task/{pid}/children").read_text().split()))
    except OSError:
        return []


def _killed_now_and_then(runs: Path, out: Path, chance: random.Random, kills: int) -> int:
    """Run the batch, killing now the parent, now a worker; return how many kills hit something."""
    hits = 0
    for number in range(kills):
        done_before = len(list(out.glob(".foldaway/part-*.json")))
        running = _start(runs, out)
        wanted = done_before + chance.randrange(1, 5)
        while running.poll() is None and len(list(out.glob(".foldaway/part-*.json"))) < wanted:
            time.sleep(0.005)
        if number % 2 == 0:
            hits += running.poll() is None
            running.kill()
            running.communicate()
        else:
            for worker in _workers_of(running.pid)[:1]:
                hits += 1
                os.kill(worker, signal.SIGKILL)
            _, said = running.communicate()
            assert (running.returncode, said) == (0, b"")
    return hits


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="needs /proc to find workers")
@pytest.mark.parametrize(
    ("seed", "kills"), [pytest.param(seed, 6, marks=pytest.mark.soak) for seed in range(1, 22)]
)
def test_killed_anywhere_and_gone_on_with_the_output_is_the_same(
    runs: Path, undisturbed: dict[str, bytes], tmp_path: Path, seed: int, kills: int
) -> None:
    """kill -9 of the parent and of workers at random points, then a resume: byte for byte what an
    undisturbed run writes.
    """
    out = tmp_path / "out"
    hits = _killed_now_and_then(runs, out, random.Random(seed), kills)
    assert hits
    last = _start(runs, out)
    _, said = last.communicate()
    assert (last.returncode, said) == (0, b"")
    assert folder_files(out) == undisturbed


def test_progress_says_rate_and_time_left() -> None:
    """By the share of the input that was read; records taken over do not make it faster."""
    from foldaway.trajectories.batch import Progress

    line = Progress(5_000, 2_000, 3, 250, 1_000, 100.0).sentence
    assert line == "5,000 records, 20/s, 0:05:00 left, 3 quarantined"
    assert re.fullmatch(r"1 record, 0/s", Progress(1, 0, 0, 0, 0, 0.0).sentence)


def test_progress_is_said_in_lines_where_there_is_no_bar() -> None:
    """After ten seconds and then each minute, with the time that is left."""
    from foldaway.cli.trajectories import ProgressLines
    from foldaway.trajectories.batch import Progress

    lines = ProgressLines()
    said = [lines.due(Progress(n, n, 0, n, 200, float(n))) for n in range(1, 150)]
    assert [at for at, line in enumerate(said, 1) if line] == [10, 70, 130]
    assert said[9] == "10 records, 1/s, 0:03:10 left (5%)"


@pytest.mark.parametrize("words", ["Old turns are told in brief.", ""])
def test_the_notice_is_set_in_words(foldaway: Any, tmp_path: Path, words: str) -> None:
    """It keeps its mark, so that it is taken out again; words on two lines are refused."""
    source, out = tmp_path / "runs.jsonl", tmp_path / "out"
    said = [{"from": ("human", "gpt")[n % 2], "value": f"word {n} " * 40} for n in range(30)]
    turns = [{"from": "system", "value": "Be kind."}, *said]
    source.write_text(json.dumps({"conversations": turns}))
    given = ("trajectories", "compress", source, "-o", out, "--target-tokens", 900, "--workers", 1)
    assert foldaway(*given, "--notice", words).code == 0
    (made,) = (json.loads(line) for line in (out / "part-00000.jsonl").read_text().splitlines())
    system = made["conversations"][0]["value"]
    assert system.startswith("Be kind.\n\n[foldaway notice] ")
    assert system.endswith(words or "which is marked as such.")
    assert system.count("[foldaway notice]") == 1
    bad = foldaway(*given, "--notice", "one\ntwo", "--no-resume")
    assert (bad.code, "on one line" in bad.err) == (2, True)
    assert foldaway(*given, "--notice", "x", "--no-notice").code == 2


@pytest.mark.soak
def test_a_disk_without_room_is_said_and_the_run_goes_on_later(
    runs: Path, undisturbed: dict[str, bytes], tmp_path: Path
) -> None:
    """Files over 4 KB are refused, as by a full disk: one sentence, exit 2, no drafts; with room
    again the same bytes as those of an undisturbed run.
    """
    resource = pytest.importorskip("resource", reason="only where files can be limited")
    out = tmp_path / "out"

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (4_096, resource.RLIM_INFINITY))

    refused = _start(runs, out, before=limit)
    said = refused.communicate()[1].decode()
    assert (refused.returncode, said.count("\n")) == (2, 1)
    assert "cannot be written" in said
    assert "run the same command again to go on" in said
    assert not list(out.rglob("*.tmp"))
    assert _start(runs, out).communicate()[1] == b""
    assert folder_files(out) == undisturbed


@pytest.mark.slow
def test_an_interrupt_ends_the_workers_too(runs: Path, tmp_path: Path) -> None:
    """Exit 130, and nobody is left."""
    running = _start(runs, tmp_path / "out")
    while not list(tmp_path.glob("out/.foldaway/part-*.json")):
        assert running.poll() is None
        time.sleep(0.005)
    workers = _workers_of(running.pid)
    running.send_signal(signal.SIGINT)
    said = running.communicate()[1]
    assert running.returncode in (0, 130)
    assert said.endswith(b"run the same command again to continue\n") or not running.returncode
    assert not [pid for pid in workers if Path(f"/proc/{pid}").exists()]
