"""Stores that cannot be used: one sentence each, exit 2, nothing lost."""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.usefixtures("home")


@pytest.mark.parametrize("command", [("sessions", "list"), ("search", "x"), ("import", ".")])
def test_what_is_wrong_with_a_store_is_one_sentence(
    holdfast: Any, talked: str, tmp_path: Path, home: Path, command: tuple[str, ...]
) -> None:
    """Torn, foreign, not a database, a wrong address: exit 2, and the file is as it was."""
    whole = (home / "holdfast" / "sessions" / "default.db").read_bytes()
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
        seen = holdfast(*command, "--store", place)
        assert seen.code == 2, (place, seen)
        assert seen.out == b""
        assert seen.err.count("\n") == 1
        assert "pw" not in seen.err
        assert "unexpected" not in seen.err
        if isinstance(place, Path):
            assert place.read_bytes() == before


def test_a_folder_that_cannot_be_made(holdfast: Any, tmp_path: Path, talked: str) -> None:
    """A file stands where a folder should: said, exit 2."""
    (tmp_path / "file").write_text("x")
    seen = holdfast("import", tmp_path / "talk.json", "--home", tmp_path / "file")
    assert seen.code == 2
    assert "cannot be made" in seen.err


def test_a_store_in_a_folder_that_nobody_may_write_is_still_searched(
    process: Any, talked: str, home: Path
) -> None:
    """Reading needs no leave to write; writing is refused in one sentence."""
    if os.geteuid() == 0:
        pytest.skip("the owner of everything may write everywhere")
    folder = home / "holdfast" / "sessions"
    folder.chmod(0o500)
    try:
        assert process("search", "module_7.py").code == 0
        seen = process("sessions", "title", talked, "x")
    finally:
        folder.chmod(0o700)
    assert seen.code == 2
    assert seen.err.count("\n") == 1
