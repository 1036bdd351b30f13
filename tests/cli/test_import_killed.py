"""An import that is killed, meets another one or a full disk: nothing is lost or doubled."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from foldaway.config import open_store
from foldaway.stores.values import SessionFilter

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("home")]
SOURCE = Path(__file__).resolve().parents[2] / "src"
SESSIONS, MESSAGES = 30, 12
FULL = """
import os, resource, sys
from foldaway.cli import run
from foldaway.config import open_store
from foldaway.stores.values import SessionFilter
folder, place = sys.argv[1:]
for room in range(8_192, 600_000, 65_536):
    size = max(entry.stat().st_size for entry in os.scandir(place))
    resource.setrlimit(resource.RLIMIT_FSIZE, (size + room, resource.RLIM_INFINITY))
    code = run(["import", folder])
    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY,) * 2)
    with open_store(place) as store:
        print([code, [info.length for info in store.sessions(SessionFilter()).sessions]])
"""
"""A process whose files may not grow by more than a little, which is what a full disk is."""


@pytest.fixture
def files(tmp_path: Path) -> Path:
    """Sessions of Claude Code, a file each."""
    folder = tmp_path / "files"
    folder.mkdir()
    for session in range(SESSIONS):
        lines = [
            json.dumps({
                "type": "user", "uuid": f"u{session}-{at}", "sessionId": f"s{session}",
                "parentUuid": f"u{session}-{at - 1}" if at else None,
                "message": {"role": "user", "content": f"word{session}x{at} " + "so on " * 50},
            })
            for at in range(MESSAGES)
        ]  # fmt: skip
        (folder / f"{session}.jsonl").write_text("\n".join(lines) + "\n")
    return folder


def started(files: Path) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-m", "foldaway", "import", str(files)],
        env={**os.environ, "PYTHONPATH": str(SOURCE)}, stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )  # fmt: skip


@pytest.mark.parametrize("kills", [4, pytest.param(60, marks=pytest.mark.soak)])
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
def test_nothing_is_lost_or_doubled_wherever_an_import_is_killed(
    foldaway: Any, files: Path, home: Path, kills: int, how: signal.Signals
) -> None:
    """The store is whole after every kill, and in the end holds every message once, in order."""
    chosen = random.Random(kills)
    began = time.monotonic()
    assert foldaway("import", files, "--store", home / "once.db").code == 0
    whole = time.monotonic() - began + 0.5  # a process has to start first
    place = home / "foldaway" / "sessions"
    for _ in range(kills):
        process = started(files)
        try:
            process.wait(timeout=chosen.uniform(0.0, whole))
        except subprocess.TimeoutExpired:
            process.send_signal(how)
            process.wait()
        if (place / "default.db").exists():
            with open_store(place) as store:
                assert store.health(deep=True).problems == ()
    (report,) = foldaway("import", files, "--json").reports
    (agent,) = report["agents"]
    assert agent["messages"] + agent["known"] == SESSIONS * MESSAGES
    with open_store(place) as store:
        infos = store.sessions(SessionFilter(), most=1000).sessions
        assert len(infos) == SESSIONS
        for info in infos:
            number = info.source_id.removeprefix("s")
            keys = [row.key for row in store.read(info.id)]
            assert keys == [f"u{number}-{at}" for at in range(MESSAGES)]


def test_two_imports_at_once_both_finish(files: Path, home: Path) -> None:
    """Both exit with 0 and report every message, taken by the one or known from the other."""
    command = [sys.executable, "-m", "foldaway", "import", str(files), "--json"]
    both = [
        subprocess.Popen(command, env={**os.environ, "PYTHONPATH": str(SOURCE)},
                         stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        for _ in range(2)
    ]  # fmt: skip
    told = [process.communicate() for process in both]
    assert [(process.returncode, err) for process, (_, err) in zip(both, told, strict=True)] == [
        (0, b""), (0, b""),
    ]  # fmt: skip
    reports = [json.loads(out) for out, _ in told]
    assert [report["unreadable"] for report in reports] == [[], []]
    agents = [report["agents"][0] for report in reports]
    assert sum(agent["messages"] for agent in agents) == SESSIONS * MESSAGES
    assert sum(agent["known"] for agent in agents) == SESSIONS * MESSAGES
    assert sum(agent["new_sessions"] for agent in agents) == SESSIONS
    with open_store(home / "foldaway" / "sessions") as store:
        infos = store.sessions(SessionFilter(), most=1000).sessions
        assert sorted(info.length for info in infos) == [MESSAGES] * SESSIONS


def test_a_full_disk_leaves_no_empty_session(tmp_path: Path, home: Path, foldaway: Any) -> None:
    """Wherever it is full: a session is there with all of its messages, or not at all."""
    chosen = random.Random(1)
    folder = tmp_path / "long"
    folder.mkdir()
    for session in range(3):
        size = 6_000 if session else 6
        said = [{"role": "user", "content": chosen.randbytes(size).hex()} for _ in range(60)]
        (folder / f"{session}.json").write_text(json.dumps({"id": f"s{session}", "messages": said}))
    foldaway("import", folder / "0.json")
    done = subprocess.run(
        [sys.executable, "-c", FULL, str(folder), str(home / "foldaway" / "sessions")],
        env={**os.environ, "PYTHONPATH": str(SOURCE)}, capture_output=True, text=True, check=True,
    )  # fmt: skip
    rounds = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("[")]
    assert [code for code, _ in rounds].count(2) >= 3
    assert [length for _, lengths in rounds for length in lengths if length != 60] == []
    assert foldaway("import", folder).code == 0
    with open_store(home / "foldaway" / "sessions") as store:
        assert [info.length for info in store.sessions(SessionFilter()).sessions] == [60, 60, 60]
