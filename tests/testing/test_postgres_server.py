"""A PostgreSQL for tests leaves nothing behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = """
import sys
from tests.testing.postgres_server import ServerUnavailable, postgres_server
try:
    with postgres_server() as server:
        print(server.folder, flush=True)
        sys.stdin.read()
except ServerUnavailable as reason:
    print("none:", reason)
"""


@pytest.mark.slow
@pytest.mark.parametrize("ending", [
    signal.SIGKILL, pytest.param(signal.SIGTERM, marks=pytest.mark.soak),
])  # fmt: skip
def test_a_server_is_gone_with_the_group_of_who_started_it(ending: signal.Signals) -> None:
    """However a run of tests ends, its server and its files go."""
    starter = subprocess.Popen(
        [sys.executable, "-c", SCRIPT],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert starter.stdout is not None
    assert starter.stdin is not None
    place = starter.stdout.readline().strip()
    if place.startswith("none:") or not place:
        starter.communicate()
        pytest.skip(place)
    folder = Path(place)
    postmaster = int((folder / "data" / "postmaster.pid").read_text().splitlines()[0])
    os.killpg(starter.pid, ending)
    starter.stdin.close()
    starter.stdout.close()
    starter.wait()
    while folder.exists():  # the watch stops the server, then removes its files
        pass
    assert not _runs(postmaster)


def _runs(process: int) -> bool:
    """Whether it runs; one that ended may wait for somebody to ask how."""
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    stat = Path(f"/proc/{process}/stat")
    return not stat.exists() or stat.read_text().rpartition(")")[2].split()[0] != "Z"
