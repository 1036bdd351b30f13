"""Runs of the lab: the same figures every time, gone on with, nothing lost to a wrong file."""

from __future__ import annotations

import gzip
import json
import signal
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from foldaway.cli import run as foldaway
from foldaway.errors import NotReadable, NotWritable
from foldaway.lab.output import read_summary
from foldaway.lab.reading import read_sessions
from foldaway.lab.results import RunManifest, ScoreRow
from foldaway.lab.run_folder import without_interrupts
from foldaway.lab.runs import CUTS, PROGRESS, ROWS, digest_of, read_rows, run
from foldaway.lab.scoring.session import LabSession
from foldaway.lab.scoring.shell import shell_parser
from foldaway.lab.scoring_rows import TrialTerms
from foldaway.lab.strategies import PLAIN, choose_strategies

PATIENCE = 120.0
"""Seconds that a process has on a busy machine."""

FROZEN = Path(__file__).parent / "frozen"
NAMES = ("foldaway", "head+tail", "keep-tail")


def terms() -> TrialTerms:
    """Return few strategies at one budget."""
    return TrialTerms(strategies=choose_strategies(NAMES, PLAIN), budgets=(0.2,), peer_budgets=())


def manifest(sessions: list[LabSession]) -> RunManifest:
    """Return what is asked of these sessions."""
    return RunManifest(
        version="1", strategies=NAMES, budgets=(0.2,), peer_budgets=(), main=0.2, drifting=(),
        asked={}, sessions=tuple(one.id for one in sessions), digest=digest_of(sessions),
    )  # fmt: skip


def without_times(rows: list[ScoreRow]) -> list[Any]:
    """Return rows as values, but for how long they took."""
    return [msgspec.to_builtins(msgspec.structs.replace(row, cpu_ms=0.0)) for row in rows]


@pytest.fixture
def sessions(make_session: Callable[..., LabSession]) -> list[LabSession]:
    """Return three sessions of two projects."""
    return [make_session(f"s/{n}", 20 + n, project=f"p{n % 2}") for n in range(3)]


def quiet(done: int, total: int) -> None:
    """Hear nothing."""


@pytest.mark.soak
def test_two_runs_give_the_same_figures(tmp_path: Path, sessions: list[LabSession]) -> None:
    """One process or two, in whatever order they end: times aside, all rows are equal."""
    asked = manifest(sessions)
    one = run(tmp_path / "one", sessions, asked, terms, known=sessions, jobs=1, tell=quiet)
    told: list[tuple[int, int]] = []
    two = run(
        tmp_path / "two", sessions, asked, terms, known=sessions, jobs=2,
        tell=lambda done, total: told.append((done, total)),
    )  # fmt: skip
    assert told == sorted(told)
    assert (told[0][0], told[-1]) == (0, (9, 9))
    assert without_times(one) == without_times(two)
    assert {row.session for row in one} == {"s/0", "s/1", "s/2"}


@pytest.mark.soak
def test_a_stopped_run_goes_on_where_it_stopped(tmp_path: Path, sessions: list[LabSession]) -> None:
    """Finished sessions are not made again, a torn line is, and the end is the same."""
    asked = manifest(sessions)
    whole = run(tmp_path / "whole", sessions, asked, terms, known=sessions, jobs=1, tell=quiet)
    told: list[int] = []

    class Stop(Exception):
        pass

    def stop_after_two(done: int, total: int) -> None:
        told.append(done)
        if done == 2 * len(CUTS):
            raise Stop

    with pytest.raises(Stop):
        run(tmp_path / "half", sessions, asked, terms, known=sessions, jobs=1, tell=stop_after_two)
    progress = tmp_path / "half" / PROGRESS
    progress.write_bytes(progress.read_bytes() + b'{"session": "s/2", "ro')
    seen: list[int] = []
    rows = run(
        tmp_path / "half",
        sessions,
        asked,
        terms,
        known=sessions,
        jobs=1,
        tell=lambda d, t: seen.append(d),
    )
    assert told == list(range(2 * len(CUTS) + 1))  # every cut, not only every session
    assert seen == list(range(2 * len(CUTS), 3 * len(CUTS) + 1))
    assert without_times(rows) == without_times(whole)
    assert not progress.exists()
    kept = (tmp_path / "half" / ROWS).read_bytes()
    again = run(tmp_path / "half", sessions, asked, terms, known=sessions, jobs=1, tell=quiet)
    assert again == rows
    assert (tmp_path / "half" / ROWS).read_bytes() == kept


@pytest.mark.slow
def test_a_folder_belongs_to_one_run(tmp_path: Path, sessions: list[LabSession]) -> None:
    """Another question in the same folder is refused, and what is there stays."""
    asked = manifest(sessions)
    rows = run(tmp_path, sessions, asked, terms, known=sessions, jobs=1, tell=quiet)
    other = msgspec.structs.replace(asked, budgets=(0.5,))
    with pytest.raises(NotWritable, match="another run"):
        run(tmp_path, sessions, other, terms, known=sessions, jobs=1, tell=quiet)
    assert [row for found in read_rows(tmp_path).values() for row in found] == rows


@pytest.mark.soak
def test_a_wrong_file_is_reported_and_skipped(
    tmp_path: Path, make_session: Callable[..., LabSession], capsys: pytest.CaptureFixture[str]
) -> None:
    """What cannot be read is named with its line; the rest is measured."""
    folder = tmp_path / "in"
    folder.mkdir()
    good = make_session()
    record = {"id": good.id, "family": "made-up", "messages": good.messages}
    with gzip.open(folder / "set.jsonl.gz", "wt", encoding="utf-8") as lines:
        lines.write(json.dumps(record) + "\n{torn\n" + json.dumps({"id": "x"}) + "\n")
    (folder / "other.json").write_text("not JSON at all", encoding="utf-8")
    code = foldaway(
        ["lab", "run", str(folder), "-o", str(tmp_path / "out"), "--budgets", "20", "--jobs", "1",
         "--strategies", "foldaway,head+tail", "--no-drift", "--min-tokens", "100"]
    )  # fmt: skip
    said = capsys.readouterr().err
    assert code == 0
    assert "line 2" in said
    assert "line 3" in said
    assert "other.json" in said
    summary = read_summary(tmp_path / "out")
    assert summary.manifest.sessions == (good.id,)
    assert len(summary.skipped) == 3


@pytest.mark.parametrize(
    "wrong",
    [
        ["--budgets", "none"],
        ["--budgets", "0"],
        ["--strategies", "magic"],
        ["--min-tokens", "100000000"],
        ["--model", "no-such-model"],
    ],
)
def test_a_wrong_wish_is_one_sentence_and_writes_nothing(
    tmp_path: Path, wrong: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """Exit code 2, no folder, no traceback."""
    out = tmp_path / "out"
    code = foldaway(["lab", "run", str(FROZEN / "sessions.jsonl.gz"), "-o", str(out), *wrong])
    assert code == 2
    assert capsys.readouterr().err.count("\n") == 1
    assert not out.exists()


def test_sessions_of_agents_are_read_through_the_importers(tmp_path: Path) -> None:
    """A Claude Code file becomes a session with its folder as project; branches are not whole."""
    lines = [
        {"type": "user", "uuid": "a", "parentUuid": None, "sessionId": "s1", "cwd": "/work/x",
         "message": {"role": "user", "content": "hello there"}},
        {"type": "assistant", "uuid": "b", "parentUuid": "a", "sessionId": "s1", "cwd": "/work/x",
         "message": {"role": "assistant", "content": [{"type": "text", "text": "hi"}]}},
    ]  # fmt: skip
    path = tmp_path / "s1.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    (found,) = read_sessions([tmp_path])
    assert isinstance(found, LabSession)
    assert (found.family, found.project, found.id) == ("claude-code", "/work/x", "claude-code/s1")
    assert [row["role"] for row in found.messages] == ["user", "assistant"]


@pytest.fixture
def without_plots(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make matplotlib look as if it were not installed."""
    for name in ("panels", "plots", "page"):
        monkeypatch.delitem(sys.modules, f"foldaway.lab.report.{name}", raising=False)
    monkeypatch.setitem(sys.modules, "matplotlib", None)


@pytest.mark.soak
@pytest.mark.usefixtures("without_plots")
def test_the_frozen_set_is_not_worse_than_its_baseline(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """No score of Foldaway fell out of its interval, and there is no new fault.

    Nothing is drawn, which test_page.py does; the run says what to install for that.
    """
    out = str(tmp_path / "out")
    asked = ["--budgets", "20", "--strategies", "foldaway", "--jobs", "1"]
    assert foldaway(["lab", "run", str(FROZEN / "sessions.jsonl.gz"), "-o", out, *asked]) == 0
    assert "plots and report.html need foldaway[lab]" in capsys.readouterr().out
    code = foldaway(["lab", "gate", out, "--baseline", str(FROZEN / "baseline.json")])
    assert code == 0, capsys.readouterr().out


def test_without_the_grammar_of_bash_a_run_names_the_extra(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """One sentence before anything is scored or written."""
    shell_parser.cache_clear()
    monkeypatch.setitem(sys.modules, "tree_sitter_bash", None)
    out = tmp_path / "out"
    assert foldaway(["lab", "run", str(FROZEN / "sessions.jsonl.gz"), "-o", str(out)]) == 2
    said = capsys.readouterr().err
    assert "pip install 'foldaway[lab]'" in said
    assert said.count("\n") == 1
    assert not out.exists()


def test_a_summary_that_is_none_is_refused(tmp_path: Path) -> None:
    """A missing or foreign file is named."""
    with pytest.raises(NotReadable, match="does not exist"):
        read_summary(tmp_path)
    (tmp_path / "summary.json").write_text("[]", encoding="utf-8")
    with pytest.raises(NotReadable, match="no summary"):
        read_summary(tmp_path)


@pytest.mark.soak
def test_a_given_summarizer_is_a_strategy_of_its_own(
    tmp_path: Path, make_session: Callable[..., LabSession], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Asked over its real protocol; what it invents is no fact of the view."""
    pytest.importorskip("uvicorn", reason="the model server needs foldaway[testing]")
    pytest.importorskip("openai")
    from foldaway.testing import ModelServer

    monkeypatch.setenv("OPENAI_API_KEY", "k-test")
    session = make_session(turns=40)
    record = {"id": session.id, "family": "made-up", "messages": session.messages}
    source = tmp_path / "set.jsonl"
    source.write_text(json.dumps(record) + "\n", encoding="utf-8")
    said = {"completed": [{"text": "Parts were read; src/made/up_file.py was lost.", "source": ""}]}
    with ModelServer(json.dumps(said)) as server:
        code = foldaway(
            ["lab", "run", str(source), "-o", str(tmp_path / "out"), "--budgets", "20",
             "--strategies", "foldaway,foldaway+model", "--no-drift", "--jobs", "1",
             "--summarizer", "openai:stub", "--summarizer-url", server.openai_url]
        )  # fmt: skip
        assert len(server.requests) >= 1
    assert code == 0
    lines = {line.strategy: line for line in read_summary(tmp_path / "out").lines}
    assert lines["foldaway+model"].counts["invented"] == 0
    assert lines["foldaway+model"].figures["bound"].mean > 0


def test_workers_do_not_hear_ctrl_c() -> None:
    """They would print where they were; the run ends them by itself. Afterwards it hears again."""
    asks = "import signal; print(signal.getsignal(signal.SIGINT) == signal.SIG_IGN)"
    before = signal.getsignal(signal.SIGINT)
    with without_interrupts():
        heard = subprocess.run(
            [sys.executable, "-c", asks], capture_output=True, text=True, check=True
        )
    assert heard.stdout == "True\n"
    assert signal.getsignal(signal.SIGINT) == before


def test_workers_end_with_the_run() -> None:
    """Also if it is told to end, as `timeout` does: a model would go on being asked, and paid."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(PATIENCE)
        address = f"http://127.0.0.1:{server.getsockname()[1]}/"
        run = (
            "from urllib.request import urlopen\n"
            "from foldaway.lab.run_folder import run_in_processes\n"
            f"list(run_in_processes(urlopen, [{address!r}] * 2, 2, int, int))"
        )
        with subprocess.Popen([sys.executable, "-c", run], stderr=subprocess.PIPE) as process:
            held = [server.accept()[0] for _ in range(2)]
            process.terminate()
            for worker in held:
                with worker:
                    worker.settimeout(PATIENCE)
                    while worker.recv(4_096):
                        pass
            assert process.wait(PATIENCE) == 128 + signal.SIGTERM


def test_workers_end_with_a_run_that_has_just_begun() -> None:
    """The others are not started any more, and nobody waits for those that are."""
    run = (
        "import os, signal, time\n"
        "from foldaway.lab.run_folder import run_in_processes\n"
        "class Items(list):\n"
        "    def __iter__(self):\n"
        f"        yield {2 * PATIENCE}\n"
        "        os.kill(os.getpid(), signal.SIGTERM)\n"
        f"        yield {2 * PATIENCE}\n"
        "list(run_in_processes(time.sleep, Items([1, 2]), 2, int, int))"
    )
    ended = subprocess.run([sys.executable, "-c", run], timeout=PATIENCE, check=False)
    assert ended.returncode == 128 + signal.SIGTERM
