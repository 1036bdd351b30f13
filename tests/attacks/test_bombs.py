"""Inputs that are small on the disk and huge in memory: refused with the limit and the setting."""

from __future__ import annotations

import gzip
import json
import os
import resource
import sqlite3
import subprocess
import sys
import tracemalloc
from collections.abc import Callable
from contextlib import closing
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest

from foldaway.agents.importers import read_file
from foldaway.agents.importers.imported import SessionDraft, refuse_too_many
from foldaway.dialects.limits import Limits
from foldaway.errors import NotReadable

SOURCE = Path(__file__).resolve().parents[2] / "src"
MEMORY = 1_000_000_000
"""Address space of a command. An idle one takes about 300 MB of it; what the bombs hold does not
fit."""
PIECE = 8_000_000


def bomb(piece: bytes, times: int, *, before: bytes = b"", after: bytes = b"") -> bytes:
    """Return gzip of a piece that comes many times, made from one compressed piece."""
    return gzip.compress(before) + gzip.compress(piece) * times + gzip.compress(after)


ONE_LINE = bomb(b"a" * PIECE, 40, before=b'{"role":"user","content":"', after=b'"}')
"""320 MB in one line, 310 kB as gzip."""


def limited(*arguments: object, home: Path, **more: str) -> subprocess.CompletedProcess[str]:
    """Run a command with little memory."""
    places = {"HOME": str(home), "FOLDAWAY_HOME": str(home / "h"), "PYTHONPATH": str(SOURCE)}
    return subprocess.run(
        [sys.executable, "-m", "foldaway", *map(str, arguments)],
        env={**os.environ, **places, **more}, cwd=home, capture_output=True, text=True,
        check=False, stdin=subprocess.DEVNULL,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY)),
    )  # fmt: skip


@pytest.fixture
def put(tmp_path: Path) -> Callable[[str, bytes], Path]:
    """Write a file."""

    def write(name: str, data: bytes) -> Path:
        (tmp_path / name).write_bytes(data)
        return tmp_path / name

    return write


@pytest.mark.soak
def test_an_import_of_a_bomb_is_refused_and_the_rest_is_taken(tmp_path: Path, put: Any) -> None:
    """One line of 320 MB; the file beside it is taken, the report names the limit and setting."""
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "a.jsonl.gz").write_bytes(ONE_LINE)
    (folder / "b.json").write_text(json.dumps([{"role": "user", "content": "hi"}]))
    seen = limited("import", folder, "--json", home=tmp_path)
    assert (seen.returncode, seen.stderr) == (0, "")
    report = json.loads(seen.stdout)
    assert [row["messages"] for row in report["agents"]] == [1]
    (refused,) = report["unreadable"]
    assert refused["problem"].endswith(
        "a.jsonl.gz: is larger than 128 MB; split it, write it as JSON lines, or raise "
        "input.max_file_mb"
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    ("command", "limit"),
    [
        (("check",), "max_file_mb"),
        (("compress", "--preview"), "max_file_mb"),
        (("inspect",), "max_file_mb"),
        (("reduce",), "max_file_mb"),
        (("redact", "--check"), "max_stream_mb"),
    ],
)  # fmt: skip
def test_every_command_refuses_a_bomb(
    command: tuple[str, ...], limit: str, tmp_path: Path, put: Any
) -> None:
    """The same limits and words everywhere; memory stays far below what it unpacks to."""
    path = put("bomb.json.gz", ONE_LINE)
    seen = limited(*command, path, home=tmp_path, FOLDAWAY_INPUT_MAX_STREAM_MB="16")
    assert seen.returncode == 2
    assert seen.stderr.count("\n") == 1
    assert f"raise input.{limit}" in seen.stderr


def test_a_long_line_is_skipped_and_the_others_are_read(put: Any) -> None:
    """The note names the line, the limit and the setting; the numbers of lines stay right."""
    small = b'{"role":"user","content":"%s"}\n'
    path = put("x.jsonl", small % b"one" + small % (b"x" * 1_000_000) + small % b"two")
    (session,) = read_file(path, Limits(max_line_mb=1))
    said = [message.wire["content"] for message in session.transcript.messages]
    assert said == ["one", "two"]
    (note,) = session.notes
    assert (note.kind, note.where) == ("too long", "line 2")
    assert note.said == "is longer than 1 MB and was skipped; raise input.max_line_mb"


def test_a_file_whose_first_line_is_too_long_is_still_told_by_the_next(put: Any) -> None:
    """Whatever stands first."""
    line = {"type": "user", "uuid": "u", "sessionId": "s", "message": {"role": "user",
                                                                     "content": "hi"}}  # fmt: skip
    path = put("x.jsonl", b'{"a":"' + b"x" * 2_000_000 + b'"}\n' + json.dumps(line).encode())
    (session,) = read_file(path, Limits(max_line_mb=1, max_file_mb=1))
    assert (session.agent, len(session.times)) == ("claude-code", 1)


def test_a_compressed_stream_is_measured_before_anything_is_taken(put: Any) -> None:
    """Whole small lines up to the limit and beyond: nothing is given, not even the first."""
    lines = b'{"role":"user","content":"hi"}\n' * 50_000
    path = put("x.jsonl.gz", gzip.compress(lines))
    assert len(list(read_file(path, Limits(max_stream_mb=2)))) == 1
    with pytest.raises(NotReadable, match=r"decompresses to more than 1 MB; .*max_stream_mb"):
        read_file(path, Limits(max_stream_mb=1))


@pytest.mark.soak
@pytest.mark.parametrize("name", ["x.json.gz", "x.jsonl.gz"])
@pytest.mark.parametrize("command", ["import", "check"])
def test_lists_of_nothing_are_refused_before_they_are_parsed(
    command: str, name: str, tmp_path: Path, put: Any
) -> None:
    """Three bytes on the disk and 64 in memory, as a document and as a line."""
    start = b'{"role":"user","content":"hi"}\n' if name == "x.jsonl.gz" else b""
    lists = bomb(b"[]," * 1_000_000, 20, before=start + b'{"messages":[', after=b"[]]}")
    seen = limited(command, put(name, lists), "--json", home=tmp_path)
    told = seen.stdout + seen.stderr
    assert "16,000,000 values" in told or '"left out":1' in told
    assert seen.returncode == (0 if command == "import" and start else 2)


def test_a_file_of_holes_is_refused_unread(tmp_path: Path) -> None:
    """Five gigabytes that take no room on the disk."""
    path = tmp_path / "x.jsonl"
    path.write_bytes(b'{"role":"user","content":"hi"}\n')
    os.truncate(path, 5_000_000_000)
    with pytest.raises(NotReadable, match=r"is larger than 4,096 MB; .*max_stream_mb"):
        read_file(path)


def test_limits_are_exact() -> None:
    """As much as the limit passes; one byte more does not."""
    limits = Limits(max_line_mb=1, max_file_mb=1)
    assert len(limits.unpack(gzip.compress(b"x" * 1_000_000))) == 1_000_000
    with pytest.raises(NotReadable, match="max_file_mb"):
        limits.unpack(gzip.compress(b"x" * 1_000_001))
    skipped: dict[int, str] = {}
    text = b"x" * 999_999 + b"\n" + b"y" * 1_000_000 + b"\n" + b"z"
    found = [line[:1] for line in limits.read_lines(BytesIO(text), skipped.__setitem__)]
    assert (found, [*skipped]) == ([b"x", b"\n", b"z"], [2])


def test_a_session_has_a_limit_of_messages() -> None:
    """Thirty bytes a message, and a kilobyte when it is read: a stream of them is bounded too."""
    with pytest.raises(NotReadable, match="1,000,000 messages in one session; split the file"):
        refuse_too_many(1_000_001)
    draft = SessionDraft()
    draft.rows = [None] * 1_000_000  # pyright: ignore[reportAttributeAccessIssue]
    with pytest.raises(NotReadable):
        draft.add({"role": "user", "content": "one more"})


def hermes_database(path: Path, computed: str = "", content: str = "hi") -> Path:
    """Return a state.db with a session of 40 messages whose `content` is a default."""
    with closing(sqlite3.connect(path)) as made, made:
        made.execute("CREATE TABLE sessions (id TEXT, source TEXT)")
        made.execute(
            f"CREATE TABLE messages (id INTEGER PRIMARY KEY, session_id TEXT, role TEXT{computed})"
        )
        made.execute("INSERT INTO sessions VALUES ('s', 'cli')")
        made.executemany("INSERT INTO messages (session_id, role) VALUES ('s', ?)", ["u"] * 40)
        made.execute("UPDATE messages SET role = 'user'")
        made.execute(f"ALTER TABLE messages ADD COLUMN content TEXT DEFAULT '{content}'")
    return path


def test_a_database_computes_nothing(tmp_path: Path) -> None:
    """16 kB with a computed column of 20 MB in each of 40 rows: it is not read."""
    computed = ", bomb TEXT GENERATED ALWAYS AS (hex(zeroblob(10000000))) VIRTUAL"
    file = hermes_database(tmp_path / "state.db", computed)
    assert file.stat().st_size < 50_000
    tracemalloc.start()
    (session,) = read_file(file)
    assert tracemalloc.get_traced_memory()[1] < 10_000_000
    tracemalloc.stop()
    assert len(session.times) == 40


def test_a_session_of_a_database_has_a_limit(tmp_path: Path) -> None:
    """100 kB that stand in the file once, and in each of 40 rows: 4 MB, refused as a session."""
    file = hermes_database(tmp_path / "state.db", content="a" * 100_000)
    with pytest.raises(NotReadable, match="session of more than 3 MB; raise input"):
        list(read_file(file, Limits(max_file_mb=3)))
    (session,) = read_file(file, Limits(max_file_mb=5))
    assert len(session.times) == 40
