"""Codex, Pi, OpenCode, OpenHands, SWE-agent, tau-bench, aider: what is theirs alone."""

from __future__ import annotations

import json
import shutil
import sqlite3
import time
from pathlib import Path
from typing import Any

import pytest

from foldaway.agents.importers import ImportedSession, Lineage, read_bytes, read_file, sessions_in
from foldaway.transcript import Media, Text, Thinking, ToolCall, ToolResult, survey, texts

HERE = Path(__file__).parent / "data"


def read(value: Any, name: str = "file.json") -> list[ImportedSession]:
    return list(read_bytes(json.dumps(value).encode(), name))


def kinds(session: ImportedSession) -> list[list[type]]:
    return [[type(part) for part in message.parts] for message in session.transcript.messages]


def test_codex_items_are_taken_once_and_a_compaction_takes_nothing_away() -> None:
    """Events repeat items; the summary is one message more, and the log before it stays."""
    (session,) = read_file(HERE / "codex.jsonl")
    assert session.source_id == "019d-0001"
    assert len(session.transcript.messages) == 11
    (at,) = session.summaries
    assert texts(session.transcript.messages[at]) == ["Two tests failed; a patch was applied."]
    assert session.transcript.system is not None
    assert texts(session.transcript.system) == ["You are a coding agent."]
    assert [note.kind for note in session.notes] == ["unanswered"]
    assert session.model == "gpt-5.4"


def test_the_first_rollouts_had_no_payload() -> None:
    """Their lines are the items themselves, behind one with the instructions."""
    lines = [
        {"id": "c1", "timestamp": "2025-05-07T17:24:21Z", "instructions": "Be brief."},
        {"record_type": "state"},
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Hi"}]},
    ]
    data = "\n".join(map(json.dumps, lines)).encode()
    (session,) = read_bytes(data, "rollout.jsonl")
    assert (session.agent, session.source_id) == ("codex", "c1")
    assert kinds(session) == [[Text]]


def test_pi_branches_at_an_entry_that_has_a_child() -> None:
    """Summaries of branches and compactions are known; an aborted turn is left out."""
    main, branch = read_file(HERE / "pi.jsonl")
    assert kinds(main) == [[Text], [Thinking, ToolCall], [ToolResult], [Text]]
    assert main.title == "The plan"
    assert [note.kind for note in main.notes] == ["left out"]
    assert branch.lineage == Lineage("pi-0001", "branch", "e4")
    assert [branch.entry_ids[at] for at in branch.summaries] == ["e7", "e10"]
    result = main.transcript.messages[2].parts[0]
    assert isinstance(result, ToolResult)
    assert isinstance(result.parts[0], Media)


def test_an_opencode_step_is_its_words_and_calls_and_then_the_results() -> None:
    """A running call has no result, an error is one, a picture comes along."""
    (session,) = read_file(HERE / "opencode.json")
    assert kinds(session) == [
        [Text, Media], [Thinking, ToolCall, ToolCall], [ToolResult, ToolResult],
        [Text, ToolCall], [Text],
    ]  # fmt: skip
    assert [result.is_error for _, result in survey(session.transcript.messages).results] == [
        False, True,
    ]  # fmt: skip
    assert session.summaries == (4,)
    assert [note.kind for note in session.notes] == ["left out", "unanswered"]
    assert (session.parent_id, session.title) == ("ses_0", "List the files")


def test_opencodes_own_folder_and_database_give_what_the_export_gives(tmp_path: Path) -> None:
    """The three forms hold the same session."""
    export = json.loads((HERE / "opencode.json").read_text())
    storage = tmp_path / "storage"
    put(storage / "session" / "project" / "ses_1.json", export["info"])
    database = sqlite3.connect(tmp_path / "opencode.db")
    database.executescript(
        "CREATE TABLE session (id TEXT, parent_id TEXT, title TEXT, directory TEXT);"
        "CREATE TABLE message (id TEXT, session_id TEXT, data TEXT);"
        "CREATE TABLE part (id TEXT, message_id TEXT, session_id TEXT, data TEXT);"
    )
    info = export["info"]
    row = ("ses_1", info["parentID"], info["title"], info["directory"])
    database.execute("INSERT INTO session VALUES (?, ?, ?, ?)", row)
    for message in export["messages"]:
        own = message["info"]["id"]
        put(storage / "message" / "ses_1" / f"{own}.json", message["info"])
        data = json.dumps(message["info"])
        database.execute("INSERT INTO message VALUES (?, ?, ?)", (own, "ses_1", data))
        for number, part in enumerate(message["parts"]):
            name = f"prt_{own}_{number:03}"
            put(storage / "part" / own / f"{name}.json", part)
            row = (name, own, "ses_1", json.dumps({**part, "id": name}))
            database.execute("INSERT INTO part VALUES (?, ?, ?, ?)", row)
    database.commit()
    database.close()
    (exported,) = read_file(HERE / "opencode.json")
    (stored,) = sessions_in(storage)
    (kept,) = read_file(tmp_path / "opencode.db")
    for other in (stored, kept):
        assert isinstance(other, ImportedSession)
        assert other.transcript == exported.transcript
        assert (other.title, other.cwd, other.lineage) == (
            exported.title, exported.cwd, exported.lineage,
        )  # fmt: skip


def put(path: Path, value: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value))


def test_openhands_events_of_both_formats_are_conversations() -> None:
    """Each event that says something is a message; results find their calls."""
    (new,) = read_file(HERE / "openhands-events.json")
    assert kinds(new) == [
        [Text, Media], [Thinking, Text, ToolCall], [ToolCall], [ToolResult], [ToolResult], [Text],
        [Text],
    ]  # fmt: skip
    assert new.summaries == (5,)
    (old,) = read_file(HERE / "openhands-events-old.json")
    assert kinds(old) == [
        [Text], [Text, ToolCall], [ToolResult], [ToolCall], [ToolResult], [Text],
    ]  # fmt: skip
    for session in (new, old):
        assert -1 not in survey(session.transcript.messages).answer_of
        assert session.transcript.system is not None


def test_a_folder_of_openhands_events_is_one_conversation(tmp_path: Path) -> None:
    """Events are in the order of their numbers, whatever their names sort like."""
    events = json.loads((HERE / "openhands-events-old.json").read_text())
    for number, event in enumerate(events):
        put(tmp_path / "conv-1" / "events" / f"{number + 5}.json", event)
    (session,) = sessions_in(tmp_path)
    assert isinstance(session, ImportedSession)
    assert (session.source_id, session.entry_ids) == ("conv-1", ("1", "3", "4", "5", "6", "7"))


def test_a_log_of_openhands_prefers_what_stood_before_the_calls_became_text() -> None:
    """`raw_messages` hold calls; the answer follows them."""
    call = {"id": "c", "type": "function", "function": {"name": "run", "arguments": "{}"}}
    raw = [
        {"role": "user", "content": "go"},
        {"role": "assistant", "content": "", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c", "content": "done"},
    ]
    flat = [{"role": "user", "content": "go"}, {"role": "assistant", "content": "<function=run>"}]
    answer = {"choices": [{"message": {"role": "assistant", "content": "ok"}}], "model": "m"}
    (session,) = read({"messages": flat, "raw_messages": raw, "response": answer})
    assert kinds(session) == [[Text], [ToolCall], [ToolResult], [Text]]


def test_a_run_without_history_is_read_from_its_steps() -> None:
    """SWE-agent's trajectory alone has what was answered and seen."""
    steps = [{"response": "ls", "observation": "a"}, {"response": "cat a", "observation": ""}]
    (session,) = read({"trajectory": steps, "info": {}}, "run.traj")
    assert [texts(message) for message in session.transcript.messages] == [["ls"], ["a"], ["cat a"]]
    assert session.source_id == "run"


def test_the_tools_of_a_simulated_user_are_not_the_agents() -> None:
    """They are left out, and noted; several results in one entry are several messages."""
    tool = {"role": "tool", "requestor": "assistant"}
    messages = [
        {"role": "user", "content": "help", "tool_calls": [{"id": "u", "name": "look"}]},
        {"role": "tool", "id": "u", "content": "dark", "requestor": "user"},
        {"role": "assistant", "content": None, "tool_calls": [
            {"id": "a", "name": "one", "arguments": {"x": 1}}, {"id": "b", "name": "two"},
        ]},
        {"role": "tool", "tool_messages": [
            {**tool, "id": "a", "content": "1"}, {**tool, "id": "b", "content": None},
        ]},
    ]  # fmt: skip
    (session,) = read({"simulations": [{"id": "sim", "messages": messages}]})
    assert kinds(session) == [[Text], [ToolCall, ToolCall], [ToolResult], [ToolResult]]
    assert [note.kind for note in session.notes] == ["left out", "left out"]


def test_an_aider_history_is_a_session_a_chat() -> None:
    """What aider printed is marked as such; a chat without words is none."""
    first, second = read_file(HERE / "aider.chat.history.md")
    roles = [message.role for message in first.transcript.messages]
    assert roles == ["user", "user", "assistant", "user"]
    assert texts(first.transcript.messages[1]) == ["add a flag\n\ncalled --dry"]
    assert texts(first.transcript.messages[3])[0].startswith("[console]\nApplied edit")
    assert (first.model, first.started) == ("claude-3-5-sonnet-20240620", 1722886382.0)
    assert second.source_id.endswith("/4 2024-08-05 20:01:00")


def test_an_aider_history_is_in_the_folder_and_the_time_of_its_project(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It has the name that aider gives it, and times without a zone."""
    path = tmp_path / ".aider.chat.history.md"
    path.write_text("\n# aider chat started at 2026-01-15 23:30:00\n\n#### Hi\n\nHello.\n")
    for zone, hour in (("UTC0", 23.5), ("XXX+8", 31.5)):
        monkeypatch.setenv("TZ", zone)
        time.tzset()
        (session,) = read_file(path)
        assert (session.cwd, session.started) == (str(tmp_path), 1768435200 + hour * 3600)
    monkeypatch.undo()
    time.tzset()


def test_plain_transcripts_keep_their_frame_and_ids() -> None:
    """A request of Anthropic, a list of OpenAI, and records a line."""
    call = {"type": "tool_use", "id": "t", "name": "f", "input": {}}
    messages = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": [call]}]
    (body,) = read({"model": "m", "system": "Be brief.", "messages": messages})
    assert (body.agent, body.model) == ("anthropic", "m")
    assert body.transcript.system is not None
    (bare,) = read([{"role": "user", "content": "Hi"}])
    assert bare.agent == "openai-chat"
    data = (
        b'{"id": 7, "messages": [{"role": "user", "content": "a"}]}\n{"messages": []}\n{"no": 1}\n'
    )
    (record,) = read_bytes(data, "records.jsonl")
    assert record.source_id == "7"
    assert [(note.kind, note.where) for note in record.notes] == [
        ("left out", "line 2"), ("left out", "line 3"),
    ]  # fmt: skip


def test_a_name_decides_nothing(tmp_path: Path) -> None:
    """An OpenCode export under a `.jsonl` name is what it is."""
    shutil.copy(HERE / "opencode.json", tmp_path / "full.jsonl")
    (session,) = read_file(tmp_path / "full.jsonl")
    assert session.agent == "opencode"
