"""Stores that cannot be used: one sentence each, exit 2, nothing lost."""

from __future__ import annotations

import os
import shutil
import socket
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.usefixtures("home")
SOURCE = Path(__file__).resolve().parents[2] / "src"


@pytest.mark.parametrize("command", [("sessions", "list"), ("search", "x"), ("import", ".")])
def test_what_is_wrong_with_a_store_is_one_sentence(
    foldaway: Any, talked: str, tmp_path: Path, home: Path, command: tuple[str, ...]
) -> None:
    """Torn, foreign, not a database, a wrong address: exit 2, and the file is as it was."""
    whole = (home / "foldaway" / "sessions" / "default.db").read_bytes()
    torn = tmp_path / "torn.db"
    torn.write_bytes(whole[:4096] + b"\xff" * 4096 + whole[8192:20000])
    text = tmp_path / "text.db"
    text.write_bytes(b"this is no database at all, but a text" * 50)
    foreign = tmp_path / "foreign.db"
    with sqlite3.connect(foreign) as connection:
        connection.execute("CREATE TABLE shopping (what TEXT)")
    connection.close()
    for place in (torn, text, foreign, "mysql://me:pw@host/x", "postgresql://me:pw@127.0.0.1:1/x"):
        before = Path(place).read_bytes() if isinstance(place, Path) else b""
        seen = foldaway(*command, "--store", place)
        assert seen.code == 2, (place, seen)
        assert seen.out == b""
        assert seen.err.count("\n") == 1
        assert "pw" not in seen.err
        assert "unexpected" not in seen.err
        if isinstance(place, Path):
            assert place.read_bytes() == before


def test_a_folder_that_cannot_be_made(foldaway: Any, tmp_path: Path, talked: str) -> None:
    """A file stands where a folder should: said, exit 2."""
    (tmp_path / "file").write_text("x")
    seen = foldaway("import", tmp_path / "talk.json", "--home", tmp_path / "file")
    assert seen.code == 2
    assert "cannot be made" in seen.err


def as_others(*arguments: object) -> subprocess.CompletedProcess[str]:
    """Run the command line without the right of root to write everywhere."""
    command = [sys.executable, "-m", "foldaway", *map(str, arguments)]
    if os.geteuid() == 0:
        if shutil.which("setpriv") is None:
            pytest.skip("root may write everywhere, and there is no setpriv to give that up")
        command = ["setpriv", "--bounding-set=-dac_override,-dac_read_search", *command]
    env = {**os.environ, "PYTHONPATH": str(SOURCE), "PYTHONUTF8": "1"}
    return subprocess.run(command, capture_output=True, text=True, check=False, env=env)


@pytest.mark.slow
def test_a_store_in_a_folder_that_nobody_may_write_is_still_searched(
    talked: str, home: Path, tmp_path: Path
) -> None:
    """Reading needs no leave to write; writing is refused in one sentence, and nothing changes."""
    folder = home / "foldaway" / "sessions"
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    folder.chmod(0o500)
    try:
        found = as_others("search", "module_7.py")
        refused = [
            as_others("sessions", "title", talked, "x"),
            as_others("import", tmp_path / "talk.json"),
        ]
    finally:
        folder.chmod(0o700)
    assert found.returncode == 0, found.stderr
    for seen in refused:
        assert (seen.returncode, seen.stdout) == (2, "")
        assert seen.stderr.count("\n") == 1
        assert "cannot be written" in seen.stderr
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


@pytest.mark.slow
def test_doctor_says_that_nothing_can_be_written(talked: str, home: Path) -> None:
    """A store that can only be read is no store that all is well with."""
    folder = home / "foldaway" / "sessions"
    folder.chmod(0o500)
    try:
        seen = as_others("doctor")
    finally:
        folder.chmod(0o700)
    assert seen.returncode == 1
    assert "nothing can be written" in seen.stdout


def test_the_remedy_for_a_torn_file_leads_out_of_it(foldaway: Any, talked: str, home: Path) -> None:
    """A backup, or a copy of what can be read of the file that it names."""
    (file,) = (home / "foldaway" / "sessions").glob("*.db")
    held = bytearray(file.read_bytes())
    held[4096:] = bytes(len(held) - 4096)
    file.write_bytes(held)
    seen = foldaway("sessions", "list")
    assert seen.code == 2
    assert f"foldaway doctor --store {file} --salvage" in seen.err
    assert "backup" in seen.err


def test_a_port_that_is_taken_is_said_with_what_to_do(foldaway: Any, home: Path) -> None:
    """One sentence, without what the event loop was doing."""
    pytest.importorskip("aiohttp")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        seen = foldaway("serve", "--port", port)
    assert (seen.code, "attempting" in seen.err) == (2, False)
    assert f"127.0.0.1:{port} cannot be listened on" in seen.err
    assert "--port takes another" in seen.err
