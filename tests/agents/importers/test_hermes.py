"""Hermes' `state.db`, written by the peer itself; and databases that are not its."""

from __future__ import annotations

import gzip
import sqlite3
from pathlib import Path

import pytest

from foldaway.agents.importers import ImportedSession, Lineage, Note, read_file
from foldaway.agents.importers.hermes import without_copies
from foldaway.errors import NotReadable
from foldaway.transcript import Media, survey

DATA = Path(__file__).parent / "data" / "hermes-state.db.gz"


@pytest.fixture
def database(tmp_path: Path) -> Path:
    path = tmp_path / "state.db"
    path.write_bytes(gzip.decompress(DATA.read_bytes()))
    return path


def by_id(database: Path) -> dict[str, ImportedSession]:
    return {session.source_id[-4:]: session for session in read_file(database)}


def test_a_compaction_in_place_is_undone(database: Path) -> None:
    """Archived rows are the log; the copies of them are not; a question asked twice is."""
    session = by_id(database)["aaaa"]
    assert session.entry_ids == ("system", "1", "2", "3", "4", "5", "6", "8", "11", "12")
    assert [session.entry_ids[at] for at in session.summaries] == ["8"]
    assert [note.kind for note in session.notes] == ["duplicate"]
    assert (session.title, session.model, session.cwd) == (
        "Port check", "some-model", "/work/app",
    )  # fmt: skip


def test_calls_media_and_reasoning_come_along(database: Path) -> None:
    """Rows are chat messages."""
    found = survey(by_id(database)["aaaa"].transcript.messages)
    assert [call.name for _, call in found.calls] == ["read_file"]
    assert found.answer_of == [0]
    assert isinstance(found.media[0][1], Media)
    assert [thought.text for _, thought in found.thinking] == ["The port is read from a file."]


def test_lineage_says_how_a_session_came_to_be(database: Path) -> None:
    """A child of a compacted session goes on from it; others are subagents."""
    found = by_id(database)
    assert found["bbbb"].lineage is None
    assert found["cccc"].lineage == Lineage("20251009_100000_bbbb", "compression")
    assert found["cccc"].summaries == (0,)
    assert found["dddd"].lineage == Lineage("20251009_090000_aaaa", "subagent")


def test_what_the_user_took_back_is_left_out(database: Path) -> None:
    """Rewound rows are not compacted ones."""
    session = by_id(database)["dddd"]
    assert len(session.transcript.messages) == 2
    assert [note.kind for note in session.notes] == ["taken back"]


def test_reading_changes_nothing(database: Path) -> None:
    """The file has the same bytes, and nothing stands beside it."""
    before = database.read_bytes()
    list(read_file(database))
    assert database.read_bytes() == before
    assert [path.name for path in database.parent.iterdir()] == ["state.db"]


def test_what_a_running_agent_has_just_written_is_read(database: Path) -> None:
    """A row that is only in the write-ahead log counts."""
    writer = sqlite3.connect(database)
    writer.execute("PRAGMA wal_autocheckpoint = 0")
    writer.execute(
        "INSERT INTO messages (session_id, role, content, timestamp) "
        "VALUES ('20251009_101000_dddd', 'user', 'Thanks.', 1760000200.0)"
    )
    writer.commit()
    try:
        assert len(by_id(database)["dddd"].transcript.messages) == 3
    finally:
        writer.close()


def test_an_old_database_without_the_newer_columns_is_read(tmp_path: Path) -> None:
    """Columns that are missing are missing facts, no more: without times nothing is a copy."""
    path = tmp_path / "old.db"
    connection = sqlite3.connect(path)
    connection.executescript(
        "CREATE TABLE sessions (id TEXT, source TEXT);"
        "CREATE TABLE messages (id INTEGER, session_id TEXT, role TEXT, content TEXT);"
        "INSERT INTO sessions VALUES ('s', 'cli');"
        "INSERT INTO messages VALUES (1, 's', 'user', 'Hi'), (2, 's', 'session_meta', '{}');"
        "INSERT INTO messages VALUES (3, 's', 'user', 'Hi');"
    )
    connection.close()
    (session,) = read_file(path)
    assert session.entry_ids == ("1", "3")
    assert [note.kind for note in session.notes] == ["left out"]


@pytest.mark.parametrize("how", ["foreign", "torn", "packed"])
def test_other_databases_are_refused_in_one_sentence(how: str, database: Path) -> None:
    """A foreign database, a torn one and one in gzip: the name of the file and what to do."""
    if how == "foreign":
        database.unlink()
        connection = sqlite3.connect(database)
        connection.execute("CREATE TABLE recipes (id TEXT)")
        connection.close()
    elif how == "torn":
        data = database.read_bytes()
        database.write_bytes(data[:100] + b"\xff" * (len(data) - 100))
    else:
        database.write_bytes(DATA.read_bytes())
    with pytest.raises(NotReadable) as raised:
        list(read_file(database))
    assert raised.value.remedy
    assert str(database) in str(raised.value)


def row(own: int, role: str, content: str, stamp: float) -> dict[str, object]:
    return {"id": own, "role": role, "content": content, "timestamp": stamp}


def test_a_copy_is_told_by_its_time_or_by_the_summary_beside_it() -> None:
    """Copies without a time of their own are stamped with the summary, between older ones."""
    mark = "[CONTEXT COMPACTION — REFERENCE ONLY] so far"
    rows = [
        row(1, "user", "go on ", 100.0), row(2, "assistant", "yes", 101.0),
        row(3, "user", "go on", 102.0),
        row(4, "user", mark, 200.0), row(5, "assistant", "yes", 101.0),
        row(6, "user", "go on", 200.000002), row(7, "user", "go on", 300.0),
    ]  # fmt: skip
    notes: list[Note] = []
    kept = [(each["id"], summary) for each, summary in without_copies(rows, notes)]
    assert kept == [(1, False), (2, False), (3, False), (4, True), (7, False)]
    assert [note.said for note in notes] == [
        "2 copies of earlier messages, written by a compaction"
    ]
