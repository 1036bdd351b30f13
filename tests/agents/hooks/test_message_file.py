"""The file of messages that goose reads before each request."""

from __future__ import annotations

import json
import os
import sqlite3
import tempfile
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from foldaway.agents.hooks.answering import HookHost, HookOptions, answer, event_of
from foldaway.agents.hooks.compactions import refresh_message_file
from foldaway.agents.installing.programs import list_additions
from foldaway.agents.known import agent_named

RULE = "Never edit config/prod.toml."
MARK = "Ours:"


@given(
    before=st.sampled_from([None, "", "mine", f"{MARK} old", "\udcff"]),
    age=st.sampled_from([-10.0, 0.0, 10.0]), compacted=st.booleans(),
    facts=st.sampled_from(["", f"{MARK} new"]),
)  # fmt: skip
def test_only_our_own_file_is_written_and_only_for_a_new_compaction(
    before: str | None, age: float, compacted: bool, facts: str
) -> None:
    """What somebody else has there stays; without a compaction nothing of ours is left."""
    with tempfile.TemporaryDirectory() as place:
        path, now = Path(place) / "a" / "m.md", 1_000_000.0
        path.parent.mkdir()
        if before is not None:
            path.write_text(before, errors="surrogateescape")
            os.utime(path, (now + age, now + age))
        refresh_message_file(str(path), MARK, now if compacted else 0.0, lambda: facts)
        after = path.read_text(errors="surrogateescape") if path.exists() else None
        is_ours = before is None or before.startswith(MARK)
        is_told = before is not None and age >= 0
        if not is_ours or (compacted and is_told):
            assert after == before
        else:
            assert after == (facts if compacted and facts else None)


def goose_sessions(path: Path, *, is_compacted: bool) -> None:
    rows = [
        ("user", f"Fix the parser. {RULE}", {"userVisible": True}),
        ("assistant", "It is fixed.", {"userVisible": True}),
    ]
    if is_compacted:
        hidden = {"userVisible": False, "agentVisible": True}
        rows.append(("user", "The user wanted a parser fixed.", hidden))
        rows.append(("assistant", "Your context was compacted.", hidden))
    with sqlite3.connect(path) as database:
        database.executescript(
            "DROP TABLE IF EXISTS sessions; DROP TABLE IF EXISTS messages;"
            "CREATE TABLE sessions (id TEXT, working_dir TEXT);"
            "CREATE TABLE messages (id INTEGER PRIMARY KEY, session_id TEXT, role TEXT,"
            " content_json TEXT, created_timestamp INTEGER, metadata_json TEXT);"
        )
        for session in ("first", "two"):
            database.execute("INSERT INTO sessions VALUES (?, '/p')", (session,))
            database.executemany(
                "INSERT INTO messages VALUES (NULL, ?, ?, ?, 1700000000, ?)",
                [
                    (session, role, json.dumps([{"type": "text", "text": f"{text} {session}"}]),
                     json.dumps(about))
                    for role, text, about in rows
                ],
            )  # fmt: skip


def test_goose_is_told_after_its_compaction_and_no_longer_at_the_end(tmp_path: Path) -> None:
    """Of the session that the hook names; one that was never compacted is told nothing."""
    database, file = tmp_path / "sessions.db", tmp_path / "goose.md"
    imported: list[str] = []
    host = HookHost(
        keep=lambda *_: True, import_later=lambda agent, path: imported.append(path),
        message_file=str(file),
    )  # fmt: skip

    def tell(event: str) -> str:
        given = {"event": event, "session_id": "two", "transcript_path": str(database)}
        return answer(agent_named("goose"), event_of(given), HookOptions(), host)

    goose_sessions(database, is_compacted=False)
    assert tell("PostToolUse") == ""
    assert not file.exists()
    goose_sessions(database, is_compacted=True)
    assert tell("PostToolUse") == ""
    said = file.read_text()
    assert RULE in said
    assert "first" not in said
    assert tell("SessionEnd") == ""
    assert not file.exists()
    assert imported == [str(database)]


def test_hooks_that_write_the_file_are_installed_only_if_the_user_named_one() -> None:
    """Nothing is called after each tool for nothing."""
    client = agent_named("goose")
    for named in ("", "~/m.md"):
        environment = {"HOME": "/h", "PATH": "", "GOOSE_MOIM_MESSAGE_FILE": named}
        (text,) = [one.value for one in list_additions(client, environment) if one.what == "hooks"]
        assert ("PostToolUse" in text) == bool(named)
        assert "SessionEnd" in text
