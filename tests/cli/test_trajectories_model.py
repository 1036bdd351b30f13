"""`trajectories compress --summarizer`: what it costs is said first, and nothing is paid twice."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from foldaway.testing import ModelRequest, ModelServer

ROOT = Path(__file__).resolve().parents[2]
NOTE = json.dumps({"decisions": [{"text": "It was settled to read with care", "source": ""}]})
PRICES = ("--price", "input=1000", "--price", "output=1000")
LONG = 4


def _record(number: int) -> bytes:
    turns = [{"from": "human", "value": f"Read the {number} files."}]
    for at in range(20):
        words = f"def f{at}(): return {number}. " * 12
        turns.append({"from": "gpt", "value": f"I read {number}/{at}.py: {words}"})
    return json.dumps({"conversations": turns}).encode()


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModelServer]:
    """A model that always says the same."""
    pytest.importorskip("uvicorn", reason="needs foldaway[testing]")
    pytest.importorskip("openai", reason="needs foldaway[openai]")
    from foldaway.testing import ModelServer

    monkeypatch.setenv("OPENAI_API_KEY", "sk-planted")
    with ModelServer(NOTE) as found:
        yield found


@pytest.fixture
def given(tmp_path: Path, server: ModelServer) -> list[str]:
    """What every call here has in common; the output is `out` beside the input."""
    runs = tmp_path / "runs.jsonl"
    runs.write_bytes(b"".join(_record(number) + b"\n" for number in range(LONG)))
    return ["trajectories", "compress", str(runs), "-o", str(tmp_path / "out"),
            "--target-tokens", "900", "--summarizer", "openai:model-x",
            "--summarizer-url", server.openai_url, "--workers", "1",
            "--shard-records", "2"]  # fmt: skip


def test_an_estimate_says_what_would_be_asked_and_stops(
    foldaway: Any, given: list[str], tmp_path: Path, server: ModelServer
) -> None:
    """In words and as JSON, with the price where it is known; nobody is asked, nothing written."""
    seen = foldaway(*given, "--estimate", *PRICES)
    assert (seen.code, seen.err) == (0, "")
    assert seen.text.startswith(f"{LONG} calls of openai:model-x for {LONG} records: about ")
    assert "out, at most $" in seen.text
    row = foldaway(*given, "--estimate", "--json", *PRICES).reports[0]
    assert (row["calls"], row["records"], row["kept"]) == (LONG, LONG, 0)
    assert row["usd"] == pytest.approx((row["input_tokens"] + row["output_tokens"]) / 1_000)
    row = foldaway(*given, "--estimate", "--json").reports[0]
    assert row["usd"] is None
    assert "model-x" in row["notes"][0]
    assert not (tmp_path / "out").exists()
    assert not server.requests


@pytest.mark.soak
def test_a_dear_run_needs_a_word(
    foldaway: Any, given: list[str], tmp_path: Path, server: ModelServer
) -> None:
    """Without a terminal: exit 2 and nothing written, where it may cost more than was allowed or
    nobody knows; --yes and --max-cost let it begin, and then kept answers cost nothing.
    """
    for more, words in (
        ((), "is not known"), (PRICES, "may be more than $1"),
        ((*PRICES, "--max-cost", 0.5), "may be more than $0.5"),
    ):  # fmt: skip
        seen = foldaway(*given, *more)
        assert (seen.code, seen.out) == (2, b"")
        assert words in seen.err.splitlines()[-1]
        assert "--yes" in seen.err
        assert not (tmp_path / "out").exists()
    assert not server.requests
    seen = foldaway(*given, *PRICES, "--max-cost", 1_000)
    assert seen.code == 0
    assert seen.err.startswith(f"{LONG} calls of openai:model-x")
    assert f"{LONG} calls of the summarizer" in seen.text
    assert len(server.requests) == LONG
    seen = foldaway(*given, *PRICES, "--no-resume", "--json")
    assert (seen.code, seen.err) == (0, "")
    assert seen.reports[0]["asked"]["calls"] == 0
    assert len(server.requests) == LONG
    assert foldaway(*given, "--estimate").text.startswith("nothing is to be asked")


def test_yes_asks_nothing(foldaway: Any, given: list[str], server: ModelServer) -> None:
    """Whatever it costs; the figures are said all the same."""
    seen = foldaway(*given, *PRICES, "--yes", "--requests", 2, "--json")
    assert seen.code == 0
    assert "at most $" in seen.err
    total = seen.reports[0]["total"]
    assert (total["summary_calls"], total["errors"]) == (LONG, 0)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("answer", "written"), [(b"n\n", False), pytest.param(b"y\n", True, marks=pytest.mark.soak)]
)
def test_at_a_terminal_it_asks(
    given: list[str], tmp_path: Path, server: ModelServer, answer: bytes, written: bool
) -> None:
    """Before the first call; no is no."""
    pty = pytest.importorskip("pty", reason="needs a terminal")
    ours, theirs = pty.openpty()
    os.write(ours, answer)
    said = bytearray()
    reader = threading.Thread(target=_read_all, args=(ours, said), daemon=True)
    reader.start()
    done = subprocess.run(
        [sys.executable, "-m", "foldaway", *given, *PRICES], stdin=theirs, stderr=theirs,
        stdout=subprocess.PIPE, env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
        timeout=120, check=False,
    )  # fmt: skip
    os.close(theirs)
    reader.join()
    os.close(ours)
    assert done.returncode == 0
    assert b"Go on? [y/N]" in said
    assert (tmp_path / "out/report.json").exists() == written
    assert len(server.requests) == LONG * written


def test_contradictions_are_said(foldaway: Any, given: list[str], tmp_path: Path) -> None:
    """One sentence, exit 2, nothing written."""
    plain = given[: given.index("--summarizer")]
    for call, words in (
        ((*given, "--summaries", "ledger"), "contradict each other"),
        ((*given, "--summaries", "none"), "contradict each other"),
        ((*plain, "--summaries", "model"), "needs --summarizer"),
        ((*plain, "--estimate"), "needs --summarizer"),
        ((*given, "--price", "input"), "is not NAME=USD"),
        ((*given, "--requests", 0), "--requests"),
    ):
        seen = foldaway(*call)
        assert (seen.code, seen.out) == (2, b"")
        assert words in seen.err
        assert not (tmp_path / "out").exists()


def test_none_leaves_the_frame_alone(foldaway: Any, given: list[str], tmp_path: Path) -> None:
    """And folds no more turns than that needs."""
    plain = given[: given.index("--summarizer")]
    seen = foldaway(*plain, "--summaries", "none", "--json")
    assert seen.code == 0
    assert seen.reports[0]["job"]["policy"]["summary_tokens"] == 120
    assert (tmp_path / "out/part-00000.jsonl").read_bytes().count(b"left out here") == LONG


@pytest.mark.soak
def test_killed_while_it_asks_a_run_goes_on_without_paying_twice(
    given: list[str], tmp_path: Path, server: ModelServer
) -> None:
    """kill -9 of the parent at its third question: the two answers that arrived are not asked for
    again, and the output is that of an undisturbed run.
    """
    from foldaway.testing import Says, Waits

    asked, lock = Counter[bytes](), threading.Lock()
    third, never = threading.Event(), threading.Event()

    def script(request: ModelRequest) -> Any:
        with lock:
            asked[request.raw] += 1
            if asked.total() == 3:
                third.set()
                return Waits(never, Says(NOTE))
        return NOTE

    def start(*more: str) -> subprocess.Popen[bytes]:
        env = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
        line = [sys.executable, "-m", "foldaway", *given, "--yes", "--requests", "1", *more]
        return subprocess.Popen(line, env=env, stdout=subprocess.DEVNULL)

    server.replies(script)
    running = start()
    assert third.wait(120)
    running.kill()
    running.wait()
    again = start()
    assert again.wait(120) == 0
    assert sorted(asked.values()) == [1, 1, 1, 2]
    other = tmp_path / "undisturbed"
    given[given.index("-o") + 1] = str(other)
    assert start().wait(120) == 0
    assert _files(other) == _files(tmp_path / "out")


def _read_all(terminal: int, said: bytearray) -> None:
    """Read until the other end is closed, which a terminal tells by an error."""
    with contextlib.suppress(OSError):
        while data := os.read(terminal, 4_096):
            said += data


def _files(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }
