"""`import`: what agents left is found, taken once, and told."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from pathlib import Path
from typing import Any, get_args

import pytest

from foldaway.agents.importers.imported import NoteKind
from foldaway.cli.import_sessions import NOTE_WORDS

SOURCE = Path(__file__).resolve().parents[2] / "src"
pytestmark = pytest.mark.usefixtures("home")


def line(session: str, uuid: str, text: str) -> bytes:
    return json.dumps({
        "type": "user", "uuid": uuid, "parentUuid": None, "sessionId": session,
        "message": {"role": "user", "content": text},
    }).encode() + b"\n"  # fmt: skip


@pytest.fixture
def claude(home: Path) -> Path:
    """A project of Claude Code with one session."""
    folder = home / ".claude" / "projects" / "app"
    folder.mkdir(parents=True)
    (folder / "s1.jsonl").write_bytes(line("s1", "u1", "why is the build red?"))
    return folder


def test_the_usual_folders_are_found(foldaway: Any, claude: Path) -> None:
    """Without a path, what the agents of this machine left."""
    seen = foldaway("import")
    assert (seen.code, seen.err) == (0, "")
    assert "Imported 1 new message, 1 new session" in seen.text
    assert "claude-code" in seen.text
    (hit,) = foldaway("search", "red", "build", "--json").reports
    assert (hit["source"], hit["source_id"], hit["position"]) == ("claude-code", "s1", 0)


def test_again_takes_only_what_is_new(foldaway: Any, claude: Path) -> None:
    """Counted by agent: new, known, and what was survived."""
    foldaway("import")
    path = claude / "s1.jsonl"
    path.write_bytes(path.read_bytes() + line("s1", "u2", "and now?") + b'{"type":"user", "uu')
    (report,) = foldaway("import", "--json").reports
    (agent,) = report["agents"]
    assert (agent["agent"], agent["sessions"], agent["new_sessions"]) == ("claude-code", 1, 0)
    assert (agent["messages"], agent["known"], agent["notes"]) == (1, 1, {"torn": 1})
    (row,) = report["sessions"]
    assert (row["source_id"], row["new"], row["path"]) == ("s1", False, str(path))


def test_a_dry_run_writes_nothing(foldaway: Any, claude: Path, home: Path) -> None:
    """Not even the folder of the store."""
    (report,) = foldaway("import", "--dry-run", "--json").reports
    assert (report["dry_run"], report["agents"][0]["messages"]) == (True, 1)
    assert report["sessions"][0]["session"] is None
    assert not (home / "foldaway").exists()
    foldaway("import")
    assert "Would import 0 new messages" in foldaway("import", "--dry-run").text


def test_a_file_that_cannot_be_read_does_not_stop_it(foldaway: Any, claude: Path) -> None:
    """It is reported, and the exit code is still 0."""
    (claude / "a.jsonl").write_bytes(b"no json at all\n")
    seen = foldaway("import", claude)
    assert seen.code == 0
    assert "not read:" in seen.text
    (report,) = foldaway("import", claude, "--json").reports
    assert [row["path"] for row in report["unreadable"]] == [str(claude / "a.jsonl")]


def test_a_path_that_is_not_there_is_refused(foldaway: Any, claude: Path, home: Path) -> None:
    """One sentence, exit 2, and nothing of the other paths is taken."""
    seen = foldaway("import", claude, claude / "nowhere")
    assert (seen.code, seen.out) == (2, b"")
    assert seen.err.count("\n") == 1
    assert "does not exist" in seen.err
    assert not (home / "foldaway").exists()


def test_a_file_alone_that_is_no_session_is_refused(foldaway: Any, put: Any) -> None:
    """Nothing could be read: exit 2."""
    assert foldaway("import", put("x.txt", b"hello")).code == 2


def test_no_agent_on_this_machine(foldaway: Any) -> None:
    """That is said, with what to do."""
    seen = foldaway("import")
    assert (seen.code, seen.out) == (1, b"")
    assert "name a file or a folder" in seen.err


def test_substrings_are_indexed_at_once(foldaway: Any, claude: Path) -> None:
    """The first search need not wait for it."""
    foldaway("import")
    (found,) = foldaway("doctor", "--json").reports
    assert found["store"]["health"]["unindexed"] == 0


@pytest.mark.slow
def test_a_terminal_sees_how_far_it_is_and_the_time_left(claude: Path) -> None:
    """On standard error: bytes done of all, speed and time left; the report is clean."""
    main, end = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "foldaway", "import", "--json"], stdout=subprocess.PIPE, stderr=end,
        env={**os.environ, "PYTHONPATH": str(SOURCE), "TERM": "xterm", "COLUMNS": "120"},
    )  # fmt: skip
    out = process.communicate()[0]
    os.close(end)
    with os.fdopen(main, "rb", buffering=0) as terminal:
        seen = b""
        while piece := _read(terminal):
            seen += piece
    assert json.loads(out)["agents"][0]["messages"] == 1
    size = (claude / "s1.jsonl").stat().st_size
    assert f"{size}/{size} bytes".encode() in seen
    assert b"1 sessions, 1 messages" in seen
    assert b"0:00:00" in seen


def _read(terminal: Any) -> bytes:
    try:
        return terminal.read(65_536)
    except OSError:  # the other end is closed
        return b""


def test_limits_are_settings(foldaway: Any, claude: Path, put: Any) -> None:
    """A variable or a file sets them; what may not be is refused with the key."""
    config = put("c.toml", b"[input]\nmax_line_mb = 1\n")
    path = claude / "s1.jsonl"
    path.write_bytes(path.read_bytes() + line("s1", "u2", "x" * 1_000_000))
    (report,) = foldaway("import", "--json", "--config", config).reports
    assert report["agents"][0]["notes"] == {"too long": 1}
    assert report["unreadable"][0]["path"] == str(path)
    assert f"{path.name}, line 2: is longer than 1 MB" in report["unreadable"][0]["problem"]
    said = foldaway("import", "--config", config).out.replace(b"\n", b"")
    assert f"{path.name}, line 2".encode() in said
    (report,) = foldaway("import", "--json").reports
    assert (report["agents"][0]["messages"], report["agents"][0]["notes"]) == (1, {})
    most = put("e.toml", b"[input]\n" + b"max_line_mb = 9223372036854775807\n")
    assert foldaway("import", "--config", most).code == 0
    seen = foldaway("import", "--config", put("d.toml", b"[input]\nmax_line_mb = 0\n"))
    assert (seen.code, "input.max_line_mb" in seen.err) == (2, True)


def test_the_legend_names_what_was_skipped_or_repaired(foldaway: Any, put: Any) -> None:
    """Every kind of note that the table counts, and no other."""
    lines = [
        {"type": "user", "uuid": "u1", "sessionId": "s",
         "message": {"role": "user", "content": "go"}},
        {"type": "assistant", "uuid": "u2", "parentUuid": "u1", "sessionId": "s",
         "message": {"role": "assistant", "content": [
             {"type": "tool_use", "id": "c1", "name": "Bash", "input": {}}]}},
    ]  # fmt: skip
    data = b"".join(json.dumps(line).encode() + b"\n" for line in lines)
    seen = foldaway("import", put("s.jsonl", data)).text
    assert "1 unanswered" in seen
    assert "unanswered: calls without a result" in seen
    assert "torn" not in seen
    assert set(NOTE_WORDS) == set(get_args(NoteKind))
