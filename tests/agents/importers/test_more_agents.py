"""The agents that came later, on files that the programs themselves wrote; and what answers used.

`data/README.md` says how the files were made.
"""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from tests.testing.rows import each_row

from foldaway.agents.importers import (
    AnswerUsage,
    ImportedSession,
    message_keys,
    read_bytes,
    read_file,
    sessions_in,
)
from foldaway.agents.importers.take import take
from foldaway.agents.importers.usage import usage_of
from foldaway.stores import open_store
from foldaway.transcript import ToolCall, ToolResult, survey, texts

HERE = Path(__file__).parent / "data"

FILES = {
    # messages, calls, results, model, (input, output, read) of the last answer, whose position
    "gemini-cli.jsonl": ("gemini-cli", 9, 2, 2, "gemini-2.5-pro", (12887, 14, 12672), 8),
    "qwen-code.jsonl": ("qwen-code", 6, 2, 2, "qwen3-coder-plus", (20130, 22, 19968), 5),
    "copilot-cli.jsonl": ("copilot-cli", 6, 2, 2, "gpt-4.1", (12264, 22, 12160), 5),
    "cline-task.json": ("cline", 6, 3, 2, "gpt-5.1", (10323, 59, 9856), 5),
    "cline.messages.json": ("cline", 6, 2, 2, "stub-model", (2067, 22, 1920), 5),
    "continue.json": ("continue", 6, 2, 2, "gpt-4.1", (2468, 22, 2304), 5),
    "mini-swe-agent.traj.json": ("mini-swe-agent", 8, 3, 3, "openai/stub-model", (1632, 58, 0), 6),
    "goose.sql": ("goose", 16, 4, 4, "gpt-4.1", (4716, 22, 4608), 15),
    "openclaw.sql": ("openclaw", 4, 2, 1, "stub-model", (10552, 54, 10112), 3),
    "llm.sql": ("llm", 6, 2, 2, "stub", (227, 22, 0), 5),
}


def database(name: str, folder: Path) -> Path:
    """Return the database that a text of SQL makes."""
    path = folder / f"{name}.db"
    with sqlite3.connect(path) as connection:
        connection.executescript((HERE / f"{name}.sql").read_text())
    connection.close()
    return path


def session_in(name: str, folder: Path) -> ImportedSession:
    path = database(name[:-4], folder) if name.endswith(".sql") else HERE / name
    (session,) = read_file(path)
    return session


@pytest.mark.parametrize("name", FILES)
def test_what_a_program_wrote_is_read(name: str, tmp_path: Path) -> None:
    """Messages, calls with their results, the model, and what each answer used."""
    agent, messages, calls, results, model, (given, spoken, read), at = FILES[name]
    session = session_in(name, tmp_path)
    found = survey(session.transcript.messages)
    assert (session.agent, session.model) == (agent, model)
    assert len(session.transcript.messages) == messages
    assert (len(found.calls), len(found.results)) == (calls, results)
    assert -1 not in found.call_of
    last = session.usage[-1]
    assert (last.input_tokens, last.output_tokens, last.cache_read_tokens) == (given, spoken, read)
    assert (last.position, last.model) == (at, model)
    answers = [n for n, one in enumerate(session.transcript.messages) if one.role == "assistant"]
    assert {one.position for one in session.usage} <= set(answers)
    assert len(set(message_keys(session))) == messages


WITHOUT_FOLDER = {"gemini-cli.jsonl", "cline.messages.json", "llm.sql"}
WITHOUT_TIMES = {"continue.json"}


@pytest.mark.parametrize("name", FILES)
def test_folder_and_times_are_those_of_the_file(name: str, tmp_path: Path) -> None:
    """Some say them only in a file beside; llm has no folder."""
    session = session_in(name, tmp_path)
    assert session.cwd == ("" if name in WITHOUT_FOLDER else "/home/me/project")
    assert (session.started is None) == (name in WITHOUT_TIMES)


def test_what_is_said_beside_a_session_belongs_to_it(tmp_path: Path) -> None:
    """Titles, folders and dates; and the files that say so are no sessions themselves."""
    home = tmp_path / "home"
    put(home / "g/chats/session-1.jsonl", (HERE / "gemini-cli.jsonl").read_text())
    put(home / "g/.project_root", "/home/me/project")
    put(home / "g/logs.json", "[]")
    put(home / "c/events.jsonl", (HERE / "copilot-cli.jsonl").read_text())
    put(home / "c/workspace.yaml", "id: x\nname: Adding numbers\n")
    own = "1794887889117_17arr"
    put(home / f"l/{own}.messages.json", (HERE / "cline.messages.json").read_text())
    about = {"session_id": own, "cwd": "/home/me/project", "metadata": {"title": "Numbers"}}
    put(home / f"l/{own}.json", json.dumps(about))
    put(home / "t/17/api_conversation_history.json", (HERE / "cline-task.json").read_text())
    put(home / "t/17/ui_messages.json", json.dumps([{"ts": 1, "type": "say", "text": "Hi"}]))
    put(home / "n/one.json", (HERE / "continue.json").read_text())
    named = json.loads((HERE / "continue.json").read_text())["sessionId"]
    put(
        home / "n/sessions.json", json.dumps([{"sessionId": named, "dateCreated": "1794887880000"}])
    )
    found = list(sessions_in(home))
    assert all(isinstance(one, ImportedSession) for one in found)
    facts = {
        one.agent + one.source_id[:2]: (one.title, one.cwd, one.started)
        for one in found
        if isinstance(one, ImportedSession)
    }
    assert facts["gemini-cli1b"][1] == "/home/me/project"
    assert facts["copilot-cli7e"][0] == "Adding numbers"
    assert facts["cline17"] == ("What does this project do?", "/home/me/project", 1794887916.832)
    assert facts["continue" + named[:2]][2] == 1794887880.0
    assert [
        one.source_id
        for one in found
        if isinstance(one, ImportedSession) and one.title == "Numbers"
    ] == [own]


def put(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def test_a_message_that_gemini_writes_again_gives_only_what_is_new() -> None:
    """Words first, then the calls; a result that comes twice is one."""
    (session,) = read_file(HERE / "gemini-cli.jsonl")
    roles = [message.role for message in session.transcript.messages]
    assert roles == ["user", "user", *(["assistant", "assistant", "user"] * 2), "assistant"]
    kinds = [{type(part) for part in message.parts} for message in session.transcript.messages]
    assert (kinds[3], kinds[4]) == ({ToolCall}, {ToolResult})


def test_going_back_in_gemini_starts_a_branch() -> None:
    """What was said before stays; what comes after is a session of its own."""
    lines = [
        {"sessionId": "s", "projectHash": "p", "startTime": "2026-01-01T00:00:00Z"},
        {"id": "a", "type": "user", "content": "one"},
        {"id": "b", "type": "gemini", "content": "two"},
        {"id": "c", "type": "user", "content": "three"},
        {"$rewindTo": "c"},
        {"id": "d", "type": "user", "content": "four"},
    ]
    main, branch = read_bytes("\n".join(map(json.dumps, lines)).encode(), "s.jsonl")
    assert (main.entry_ids, branch.entry_ids) == (("a", "b", "c"), ("d",))
    assert branch.lineage is not None
    assert (branch.lineage.parent_id, branch.lineage.at) == ("s", "b")


def test_a_session_of_gemini_in_one_document_is_read() -> None:
    """The form until 2026: results are only with their calls, thoughts with their words."""
    call = {"id": "x", "name": "ls", "args": {"path": "."}, "result": [
        {"functionResponse": {"id": "x", "name": "ls", "response": {"output": "a.py"}}},
    ]}  # fmt: skip
    answer = {
        "id": "b", "type": "gemini", "content": "Done.", "model": "gemini-2.5-pro",
        "thoughts": [{"subject": "Look", "description": "at the folder"}], "toolCalls": [call],
        "tokens": {"input": 10, "output": 4, "cached": 2, "thoughts": 3, "tool": 0, "total": 17},
    }  # fmt: skip
    value = {"sessionId": "s", "projectHash": "p", "messages": [
        {"id": "a", "type": "user", "content": "Hi"}, answer, {"id": "e", "type": "error"},
    ]}  # fmt: skip
    (session,) = read_bytes(json.dumps(value).encode(), "s.json")
    assert [len(message.parts) for message in session.transcript.messages] == [1, 3, 1]
    assert session.usage == (
        AnswerUsage(position=1, model="gemini-2.5-pro", input_tokens=10, output_tokens=7,
                    cache_read_tokens=2, reasoning_tokens=3),
    )  # fmt: skip


def test_a_compaction_of_qwen_is_one_message_more() -> None:
    """The history that it wrote begins with the summary."""
    data = (HERE / "qwen-code.jsonl").read_bytes()
    last = json.loads(data.splitlines()[-1])
    summary = {"role": "user", "parts": [{"text": "The user asked what it does."}]}
    line = {
        **{key: last[key] for key in ("sessionId", "timestamp", "cwd")}, "uuid": "u",
        "parentUuid": last["uuid"], "type": "system", "subtype": "chat_compression",
        "systemPayload": {"info": {}, "compressedHistory": [summary, {"role": "model"}]},
    }  # fmt: skip
    (session,) = read_bytes(data + json.dumps(line).encode() + b"\n", "q.jsonl")
    assert session.summaries == (6,)
    assert texts(session.transcript.messages[6]) == ["The user asked what it does."]


def test_what_a_compaction_of_goose_adds_is_marked_and_a_copy_is_not_taken(tmp_path: Path) -> None:
    """The database was written by goose, which had compacted in between."""
    session = session_in("goose.sql", tmp_path)
    assert session.summaries == (8, 9)
    assert [note.kind for note in session.notes] == ["duplicate"]


def test_what_goose_used_for_a_compaction_is_in_the_sum_of_its_session(tmp_path: Path) -> None:
    """No message says it; of an older database all of it is known only as a sum."""
    session = session_in("goose.sql", tmp_path)
    rest = session.total_usage
    assert rest is not None
    assert sum(one.input_tokens for one in (*session.usage, rest)) == 28_456
    assert sum(one.output_tokens for one in (*session.usage, rest)) == 270
    assert sum(one.cost or 0 for one in (*session.usage, rest)) == pytest.approx(0.025664)
    with sqlite3.connect(tmp_path / "goose.db") as connection:
        connection.execute("UPDATE messages SET metadata_json = '{}'")
    connection.close()
    (older,) = read_file(tmp_path / "goose.db")
    assert older.usage == ()
    assert older.total_usage is not None
    assert (older.total_usage.input_tokens, older.total_usage.cost) == (
        28_456,
        0.025664000000000003,
    )


def test_an_export_of_goose_is_what_its_database_holds(tmp_path: Path) -> None:
    """Both forms give the same messages under the same ids."""
    kept = session_in("goose.sql", tmp_path)
    connection = sqlite3.connect(tmp_path / "goose.db")
    rows = connection.execute(
        "SELECT message_id, role, created_timestamp, content_json, metadata_json FROM messages"
    ).fetchall()
    connection.row_factory = sqlite3.Row
    (about,) = connection.execute("SELECT * FROM sessions")
    connection.close()
    conversation = [
        {"id": own, "role": role, "created": at, "content": json.loads(content),
         "metadata": json.loads(metadata)}
        for own, role, at, content, metadata in rows
    ]  # fmt: skip
    value = {**dict(about), "id": kept.source_id, "working_dir": kept.cwd, "name": kept.title,
             "model_config": {"model_name": kept.model}, "conversation": conversation}  # fmt: skip
    (exported,) = read_bytes(json.dumps(value).encode(), str(tmp_path / "goose.db"))
    assert exported == kept


def test_an_older_database_of_llm_is_read(tmp_path: Path) -> None:
    """Until version 0.35 a prompt and its response were one row, with calls beside it."""
    path = database("llm", tmp_path)
    with sqlite3.connect(path) as connection:
        connection.execute("INSERT INTO conversations VALUES ('c', 'Old', 'gpt-4o')")
        columns = "id, model, prompt, system, response, conversation_id, datetime_utc, input_tokens"
        connection.execute(
            f"INSERT INTO responses ({columns}) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            ("r1", "gpt-4o", "List it", "Be brief.", "", "c", "2025-05-01T10:00:00", 40),
        )
        connection.execute(
            "INSERT INTO tool_calls (id, response_id, name, arguments, tool_call_id)"
            " VALUES (1, 'r1', 'ls', '{}', 'x')"
        )
        connection.execute(
            f"INSERT INTO responses ({columns}) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            ("r2", "gpt-4o", "", "", "Two files.", "c", "2025-05-01T10:00:01", 60),
        )
        connection.execute(
            "INSERT INTO tool_results (id, response_id, name, output, tool_call_id)"
            " VALUES (1, 'r2', 'ls', 'a b', 'x')"
        )
    connection.close()
    old, new = read_file(path)
    assert [message.role for message in old.transcript.messages] == [
        "system", "user", "assistant", "tool", "assistant",
    ]  # fmt: skip
    assert -1 not in survey(old.transcript.messages).answer_of
    assert [one.input_tokens for one in old.usage] == [40, 60]
    assert (old.title, new.agent) == ("Old", "llm")


def test_a_damaged_entry_of_openclaw_takes_nothing_else_with_it(tmp_path: Path) -> None:
    """Long entries are packed; one that cannot be unpacked is a result that is missing."""
    path = database("openclaw", tmp_path)
    with sqlite3.connect(path) as connection:
        packed = connection.execute(
            "UPDATE transcript_events SET event_zstd = X'28b52ffd00' WHERE event_zstd IS NOT NULL"
        )
        assert packed.rowcount == 1
    connection.close()
    sessions = list(read_file(path))
    assert sum(len(one.transcript.messages) for one in sessions) == 3


REPORTS: list[tuple[dict[str, Any], bool, tuple[int, int, int, int, int]]] = [
    ({"input_tokens": 3, "output_tokens": 5, "cache_read_input_tokens": 70,
      "cache_creation_input_tokens": 20}, True, (93, 5, 70, 20, 0)),
    ({"prompt_tokens": 90, "completion_tokens": 5, "total_tokens": 95, "prompt_tokens_details":
      {"cached_tokens": 64}, "completion_tokens_details": {"reasoning_tokens": 2}}, False,
     (90, 5, 64, 0, 2)),
    ({"input_tokens": 90, "cached_input_tokens": 64, "output_tokens": 5,
      "reasoning_output_tokens": 2, "total_tokens": 95}, False, (90, 5, 64, 0, 2)),
    ({"promptTokenCount": 90, "candidatesTokenCount": 3, "thoughtsTokenCount": 2,
      "cachedContentTokenCount": 64, "totalTokenCount": 95}, False, (90, 5, 64, 0, 2)),
    ({"total": 95, "input": 26, "output": 5, "reasoning": 2, "cache": {"read": 64, "write": 0}},
     True, (90, 5, 64, 0, 2)),
]  # fmt: skip


@each_row(("report", "apart", "figures"), REPORTS)
def test_reports_of_all_providers_mean_the_same(
    report: dict[str, Any], apart: bool, figures: tuple[int, ...]
) -> None:
    """The whole prompt, all that was written, and what of both was cached or reasoned."""
    found = usage_of(report, cached_apart=apart)
    assert found is not None
    assert (found.input_tokens, found.output_tokens, found.cache_read_tokens,
            found.cache_write_tokens, found.reasoning_tokens) == figures  # fmt: skip


def test_a_report_without_figures_is_none() -> None:
    """Turns that were aborted, and values of any kind."""
    for value in (None, {}, [], {"input_tokens": 0}, {"input_tokens": "7"}, {"input": True}):
        assert usage_of(value) is None


def test_the_first_agents_keep_what_their_answers_used() -> None:
    """Each report once, however often the file repeats it."""
    count = {"type": "token_count", "info": {
        "total_token_usage": {"total_tokens": 15},
        "last_token_usage": {"input_tokens": 10, "cached_input_tokens": 8, "output_tokens": 5},
    }}  # fmt: skip
    said = {
        "type": "message",
        "role": "assistant",
        "content": [{"type": "output_text", "text": "a"}],
    }
    codex = [
        {"type": "session_meta", "payload": {"id": "s"}},
        {"type": "response_item", "payload": said},
        {"type": "event_msg", "payload": count},
        {"type": "event_msg", "payload": count},
    ]
    assert used(codex) == [(0, 10, 5, 8)]
    message = {"role": "assistant", "id": "m", "usage": {"input_tokens": 1, "output_tokens": 2,
               "cache_read_input_tokens": 8}}  # fmt: skip
    claude = [
        {"type": "assistant", "uuid": uuid, "sessionId": "s", "message": {
            **message, "content": [{"type": "text", "text": uuid}]}}
        for uuid in ("u1", "u2")
    ]  # fmt: skip
    assert used(claude) == [(0, 9, 2, 8)]


def test_an_answer_without_words_counts_too() -> None:
    """What it used was paid: it was aborted, or it only thought."""
    ask = {"type": "user", "uuid": "u0", "sessionId": "s", "message": {
        "role": "user", "content": "Hi"}}  # fmt: skip
    message = {"role": "assistant", "id": "m", "content": [], "usage": {"input_tokens": 7}}
    assert used([ask, {"type": "assistant", "uuid": "u1", "sessionId": "s", "message": message}])
    pi = [{"type": "session", "id": "s", "timestamp": "2026-01-01T00:00:00Z", "cwd": "/"},
          {"type": "message", "id": "e1", "message": {"role": "user", "content": "Hi"}},
          {"type": "message", "id": "e2", "message": {
              "role": "assistant", "content": [], "usage": {"input": 7}}}]  # fmt: skip
    assert used(pi) == [(0, 7, 0, 0)]
    finish = {"type": "step-finish", "tokens": {"input": 7, "output": 0}}
    export = {"info": {"id": "s"}, "messages": [
        {"info": {"role": "user"}, "parts": [{"type": "text", "text": "Hi"}]},
        {"info": {"role": "assistant"}, "parts": [{"type": "step-start"}, finish]}]}  # fmt: skip
    assert used([export]) == [(0, 7, 0, 0)]
    copilot = [json.loads(line) for line in (HERE / "copilot-cli.jsonl").read_text().splitlines()]
    last = max(at for at, one in enumerate(copilot) if one["type"] == "assistant.message")
    assert len(used(copilot[:last])) == len(used(copilot))


def test_a_report_that_comes_again_keeps_the_time_of_the_first() -> None:
    """Codex repeats the last one when the user comes back, maybe on another day."""
    info = {"total_token_usage": {"total_tokens": 15}, "last_token_usage": {"input_tokens": 10}}
    lines: list[Any] = [
        {"type": "session_meta", "payload": {"id": "s"}},
        {"type": "response_item", "payload": {"type": "message", "role": "user", "content": "Hi"}},
    ]
    for day in ("01", "02"):
        count = {"type": "token_count", "info": info}
        when = f"2026-01-{day}T10:00:00Z"
        lines.append({"type": "event_msg", "timestamp": when, "payload": count})
    (session,) = read_bytes("\n".join(map(json.dumps, lines)).encode(), "file.jsonl")
    assert [one.time for one in session.usage] == [1767261600.0]


def used(lines: list[dict[str, Any]]) -> list[tuple[int, int, int, int]]:
    (session,) = read_bytes("\n".join(map(json.dumps, lines)).encode(), "file.jsonl")
    return [
        (one.position, one.input_tokens, one.output_tokens, one.cache_read_tokens)
        for one in session.usage
    ]


def test_a_store_keeps_what_answers_used_and_only_once(tmp_path: Path) -> None:
    """A second import of a file that grew adds the reports of what is new."""
    whole = (HERE / "qwen-code.jsonl").read_bytes().splitlines(keepends=True)
    store = open_store(tmp_path / "store.db")
    for data in (b"".join(whole[:-1]), b"".join(whole), b"".join(whole)):
        (session,) = read_bytes(data, "q.jsonl")
        taken = take(store, session)
    assert taken.session is not None
    kept = store.usage(taken.session.id)
    assert [(one.position, one.input_tokens) for one in kept] == [
        (1, 19903),
        (3, 20017),
        (5, 20130),
    ]
    assert {one.model for one in kept} == {"qwen3-coder-plus"}


def test_a_session_that_was_imported_without_usage_gets_it_with_the_next_import(
    tmp_path: Path,
) -> None:
    """Older versions did not keep it; all of it counts, and only once."""
    (session,) = read_file(HERE / "qwen-code.jsonl")
    store = open_store(tmp_path / "store.db")
    taken = take(store, replace(session, usage=()))
    assert taken.session is not None
    assert not store.usage(taken.session.id)
    for _ in range(2):
        take(store, session)
        assert len(store.usage(taken.session.id)) == len(session.usage)


def test_a_summary_of_cline_is_one() -> None:
    """The result of its tool for summaries; a compaction is seen by whoever reads the session."""
    messages = [
        {"role": "user", "ts": 1, "content": [{"type": "text", "text": "<task>\nGo.\n</task>"}]},
        {"role": "assistant", "ts": 2, "content": [{"type": "text", "text": "<summarize_task>"}]},
        {"role": "user", "ts": 3, "content": [
            {"type": "text", "text": "[summarize_task] Result:\n\nThis session is being continued"}
        ]},
    ]  # fmt: skip
    (one,) = read_bytes(json.dumps(messages).encode(), "api_conversation_history.json")
    assert list(one.summaries) == [2]
