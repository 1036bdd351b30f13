"""Files that are no sessions, lines that are not whole, folders, and the usual places."""

from __future__ import annotations

import gzip
import json
import tracemalloc
from pathlib import Path
from time import process_time

import pytest

from foldaway.agents.importers import (
    ImportedSession,
    read_bytes,
    read_file,
    sessions_in,
    usual_places,
)
from foldaway.agents.importers.files import entries
from foldaway.agents.importers.imported import Note
from foldaway.errors import NotReadable

HERE = Path(__file__).parent / "data"

NOTHING = {
    "empty": b"", "binary": b"\x7fELF\0\0\1", "latin": "Grüße aus Köln".encode("latin-1") * 900,
    "prose": b"Dear diary\n", "number": b"42\n", "list": b"[1, 2, 3]", "empty list": b"[]",
    "other object": b'{"name": "foldaway", "version": 1}', "other lines": b'{"a": 1}\n{"b": 2}\n',
    "other list": b'{"input": [1, 2]}', "half": b'{"messages": [{"role": "us',
    "half gzip": gzip.compress(b'{"a": 1}' * 100)[:20], "deep": b"[" * 100_000,
}  # fmt: skip


@pytest.mark.parametrize("what", NOTHING)
def test_what_is_no_session_is_refused_with_a_remedy(what: str, tmp_path: Path) -> None:
    """Never a traceback, and never an empty answer that looks like success."""
    path = tmp_path / "file"
    path.write_bytes(NOTHING[what])
    with pytest.raises(NotReadable) as raised:
        list(read_file(path))
    assert raised.value.remedy
    assert str(raised.value).startswith(str(path))


def test_a_folder_and_a_missing_file_are_refused_at_once(tmp_path: Path) -> None:
    """Before anything is asked of the iterator."""
    for path in (tmp_path, tmp_path / "gone.jsonl"):
        with pytest.raises(NotReadable):
            read_file(path)


def test_gzip_that_breaks_off_late_is_refused_too() -> None:
    """Also where its beginning could be read and told."""
    lines = b"".join(b'{"role":"user","content":"%d"}\n' % number for number in range(9_000))
    with pytest.raises(NotReadable, match="gzip"):
        list(read_bytes(gzip.compress(lines)[:-30], "x.jsonl.gz"))


def found_in(data: bytes) -> tuple[list[object], list[str]]:
    notes: list[Note] = []
    values = [entry.value for entry in entries(data.splitlines(keepends=True), notes)]
    return values, [note.kind for note in notes]


def test_a_torn_line_keeps_what_it_begins_and_ends_with() -> None:
    """Whole objects before a piece, and the one that the next writer put behind it."""
    assert found_in(b'{"a":1}{"a":2}{"a"\n') == ([{"a": 1}, {"a": 2}], ["torn"])
    assert found_in(b'{"a":{"b":"c{"a":3}\n') == ([{"a": 3}], ["torn"])
    assert found_in(b'{"a":"\xff\xfe"}\n') == ([{"a": "\ufffd\ufffd"}], ["torn"])
    assert found_in(b'\xef\xbb\xbf{"a":1}\r\n\r\n7\n') == ([{"a": 1}], ["left out"])


def test_a_last_line_that_may_still_grow_gives_nothing_from_its_middle() -> None:
    """What it ends with may be a piece of what is still to be written."""
    assert found_in(b'{"a":{"b":"c{"a":3}') == ([], ["torn"])


def test_a_hostile_line_costs_linear_time() -> None:
    """A megabyte of openings that never close."""
    line = b'{"a":' * 200_000 + b"\n"
    started = process_time()
    assert found_in(line) == ([], ["torn"])
    assert process_time() - started < 2.0


def test_lone_surrogates_and_nul_are_read() -> None:
    """Providers' own tools write them; a rule explains them later."""
    data = b'{"role":"user","content":"\\ud83d \\u0000"}\n{"role":"user","content":"b"}\n'
    (session,) = read_bytes(data, "x.jsonl")
    assert session.transcript.messages[0].wire["content"] == "\ud83d \0"


def test_what_is_held_is_the_conversation_and_not_the_file(tmp_path: Path) -> None:
    """Ten times as much beside the messages takes hardly more memory."""
    path = tmp_path / "big.jsonl"
    with path.open("w") as file:
        for number in range(400):
            message = {"role": "user", "content": f"{number}"}
            file.write(json.dumps({
                "type": "user", "uuid": f"u{number}", "sessionId": "s", "message": message,
                "toolUseResult": "x" * 20_000,
            }) + "\n")  # fmt: skip
    tracemalloc.start()
    (session,) = read_file(path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert len(session.transcript.messages) == 400
    assert peak < path.stat().st_size / 4


def test_a_folder_gives_its_sessions_and_says_what_is_none(tmp_path: Path) -> None:
    """In the order of names; other files and the folders of tools are passed over."""
    (tmp_path / "b.jsonl.gz").write_bytes(gzip.compress((HERE / "codex.jsonl").read_bytes()))
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "one.jsonl").write_bytes((HERE / "pi.jsonl").read_bytes())
    (tmp_path / "c.json").write_text("{}")
    (tmp_path / "notes.txt").write_text("no session")
    (tmp_path / "node_modules").mkdir()
    (tmp_path / "node_modules" / "x.json").write_text("{}")
    found = list(sessions_in(tmp_path))
    assert [type(one).__name__ for one in found] == [
        "ImportedSession", "ImportedSession", "ImportedSession", "NotReadable",
    ]  # fmt: skip
    assert [one.agent for one in found if isinstance(one, ImportedSession)] == [
        "pi", "pi", "codex",
    ]  # fmt: skip
    assert isinstance(next(sessions_in(tmp_path / "gone")), NotReadable)


def test_subagents_are_read_after_the_sessions_that_called_them(tmp_path: Path) -> None:
    """However the sessions are called: a child that comes first has to be held in memory."""
    message = {"role": "user", "content": "hi"}
    for name in ("0-main", "agent-7", "f-main"):
        line = {"type": "user", "uuid": name, "sessionId": name, "message": message}
        (tmp_path / f"{name}.jsonl").write_text(json.dumps(line))
    found = [one.source_id for one in sessions_in(tmp_path) if isinstance(one, ImportedSession)]
    assert found == ["0-main", "f-main", "agent-7"]


def test_the_usual_places_are_those_that_exist(tmp_path: Path) -> None:
    """A variable moves an agent's home; a home that is not there is not named."""
    (tmp_path / ".claude" / "projects").mkdir(parents=True)
    (tmp_path / "elsewhere" / "sessions").mkdir(parents=True)
    (tmp_path / ".hermes").mkdir()
    (tmp_path / ".hermes" / "state.db").write_bytes(b"")
    here = tmp_path / "project"
    here.mkdir()
    (here / ".aider.chat.history.md").write_text("")
    found = list(usual_places(tmp_path, {"CODEX_HOME": str(tmp_path / "elsewhere")}, here))
    assert found == [
        ("claude-code", tmp_path / ".claude" / "projects"),
        ("codex", tmp_path / "elsewhere" / "sessions"),
        ("hermes", tmp_path / ".hermes" / "state.db"),
        ("aider", here / ".aider.chat.history.md"),
    ]
