"""An import that is killed at any instant: what was taken stays, the next one takes the rest."""

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

from holdfast.config import open_store
from holdfast.stores.values import SessionFilter

pytestmark = pytest.mark.usefixtures("home")
SOURCE = Path(__file__).resolve().parents[2] / "src"
SESSIONS, MESSAGES = 30, 12


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
        [sys.executable, "-m", "holdfast", "import", str(files)],
        env={**os.environ, "PYTHONPATH": str(SOURCE)}, stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )  # fmt: skip


@pytest.mark.parametrize("kills", [4, pytest.param(60, marks=pytest.mark.soak)])
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
def test_nothing_is_lost_or_doubled_wherever_an_import_is_killed(
    holdfast: Any, files: Path, home: Path, kills: int, how: signal.Signals
) -> None:
    """The store is whole after every kill, and in the end holds every message once, in order."""
    chosen = random.Random(kills)
    began = time.monotonic()
    assert holdfast("import", files, "--store", home / "once.db").code == 0
    whole = time.monotonic() - began + 0.5  # a process has to start first
    place = home / "holdfast" / "sessions"
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
    (report,) = holdfast("import", files, "--json").reports
    (agent,) = report["agents"]
    assert agent["messages"] + agent["known"] == SESSIONS * MESSAGES
    with open_store(place) as store:
        infos = store.sessions(SessionFilter(), most=1000).sessions
        assert len(infos) == SESSIONS
        for info in infos:
            number = info.source_id.removeprefix("s")
            keys = [row.key for row in store.read(info.id)]
            assert keys == [f"u{number}-{at}" for at in range(MESSAGES)]
