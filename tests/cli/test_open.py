"""`foldaway open` as a program: what it opens, what it refuses, and what it leaves behind."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from foldaway.cli import run
from foldaway.dialects.jsontext import dump_text

TALK = [{"role": "user", "content": "Repair the parser."},
        {"role": "assistant", "content": "It is repaired."}]  # fmt: skip


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A file with one session."""
    path = tmp_path / "talk.json"
    path.write_text(dump_text(TALK))
    return path


@contextmanager
def opened(home: Path, *arguments: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """Run it until its address is known."""
    command = [sys.executable, "-m", "foldaway", "open", "--no-browser", "--home", str(home)]
    environment = {**os.environ, "TMPDIR": str(home)}
    with subprocess.Popen(
        [*command, *arguments], stderr=subprocess.PIPE, text=True, env=environment
    ) as process:
        assert process.stderr is not None
        line = process.stderr.readline()
        found = re.search(r"http://\S+", line)
        assert found, line + process.stderr.read()
        try:
            yield process, found[0]
        finally:
            process.kill()


def visit(address: str) -> str:
    """Return the page that somebody sees who is let in."""
    import httpx

    with httpx.Client(follow_redirects=True) as client:
        found = client.get(address)
        assert found.status_code == 200, found.text
        return found.text


@pytest.mark.slow
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
def test_a_file_is_shown_and_nothing_stays_behind(tmp_path: Path, file: Path, how: int) -> None:
    """The copy of its session is deleted with the page, however that is stopped."""
    home = tmp_path / "home"
    home.mkdir()
    before = file.read_bytes()
    with opened(home, str(file)) as (process, address):
        assert "Repair the parser." in visit(address)
        assert list(home.glob("foldaway-open-*"))
        process.send_signal(how)
        process.wait(30)
    assert not list(home.glob("foldaway-open-*"))
    assert not (home / "sessions").exists()
    assert file.read_bytes() == before


@pytest.mark.slow
def test_copies_of_a_killed_page_are_deleted_by_the_next(tmp_path: Path, file: Path) -> None:
    """Those of a page that runs stay."""
    with opened(tmp_path, str(file)) as (process, address):
        visit(address)
        process.kill()
        process.wait(30)
    (left,) = tmp_path.glob("foldaway-open-*")
    with opened(tmp_path, str(file)) as (_, address):
        visit(address)
        assert not left.exists()
        assert len(list(tmp_path.glob("foldaway-open-*"))) == 1


def test_wrong_input_is_refused_with_a_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nothing is started and nothing is written."""
    empty = tmp_path / "notes.txt"
    empty.write_text("not a session")
    home = tmp_path / "home"
    for arguments, said in [
        (["nosuch"], "no session 'nosuch'"),
        ([str(empty)], "no session of an agent is in it"),
        (["--host", "0.0.0.0"], "can be reached from other machines"),
    ]:
        assert run(["open", "--no-browser", "--home", str(home), *arguments]) == 2
        assert said in capsys.readouterr().err
    assert not (home / "sessions").exists()
