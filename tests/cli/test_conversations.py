"""Every command that takes a conversation takes a native file, a stored session, a folder."""

from __future__ import annotations

import gzip
import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest
from tests.agents.importers.test_more_agents import database

pytestmark = pytest.mark.usefixtures("home")

DATA = Path(__file__).parents[1] / "agents" / "importers" / "data"
NATIVE = {
    "claude-code.jsonl": "anthropic",
    "codex.jsonl": "openai-responses",
    "gemini-cli.jsonl": "gemini",
    "qwen-code.jsonl": "gemini",
    "copilot-cli.jsonl": "anthropic",
    "cline-task.json": "anthropic",
    "continue.json": "openai-chat",
    "mini-swe-agent.traj.json": "openai-chat",
    "opencode.json": "anthropic",
    "openhands-events.json": "anthropic",
    "pi.jsonl": "anthropic",
}


@pytest.mark.parametrize("name", NATIVE)
def test_inspect_sees_what_import_sees(foldaway: Any, name: str) -> None:
    """The messages of the session, and their tokens: not the lines of the file."""
    (taken, *_) = foldaway("import", DATA / name, "--dry-run", "--json").reports[0]["sessions"]
    first, *_ = foldaway("inspect", "--json", DATA / name).reports
    assert first["dialect"] == NATIVE[name]
    assert first["messages"] == taken["messages"]
    assert first["tokens"] > 10 * first["messages"]


def test_the_model_is_the_one_that_the_session_names(foldaway: Any) -> None:
    """Window and prices need no --model for a file of an agent or a kept session of it."""
    path = DATA / "claude-code.jsonl"
    foldaway("import", path)
    for name in (path, "last"):
        (planned, *_) = foldaway("plan", "--json", name).reports
        assert planned["model"] == "claude-opus-4-5-20251101"
        assert not planned["notes"]
        assert "window of claude-opus-4-5-20251101 " in foldaway("inspect", name).text
        simulated = foldaway("simulate", name)
        assert simulated.code == 0
        assert "of claude-opus-4-5-20251101," in simulated.text
    (planned, *_) = foldaway("plan", "--json", path, "--model", "gpt-5.1").reports
    assert planned["model"] == "gpt-5.1"


def test_a_stored_session_is_named_by_its_id(foldaway: Any) -> None:
    """Also if it was asked for as `last` or by its title, so that it is found in the list."""
    foldaway("import", DATA / "claude-code.jsonl")
    (listed, *_) = foldaway("sessions", "list", "--json").reports[0]["sessions"]
    short = listed["session"][-8:]
    for name in ("last", listed["title"]):
        assert foldaway("inspect", "--json", name).reports[0]["file"] == short
        assert short in foldaway("inspect", name).text


def test_a_native_session_has_its_real_size(foldaway: Any, tmp_path: Path) -> None:
    """4 tokens a line is what a list of unknown messages costs; the words are what is counted."""
    words = "word " * 4_000
    lines = [
        {"type": "user", "uuid": "u1", "sessionId": "s",
         "message": {"role": "user", "content": words}},
        {"type": "assistant", "uuid": "u2", "parentUuid": "u1", "sessionId": "s",
         "message": {"role": "assistant", "id": "m", "usage": {"input_tokens": 4_000},
                     "content": [{"type": "text", "text": "Yes."}]}},
    ]  # fmt: skip
    path = tmp_path / "session.jsonl"
    path.write_text("\n".join(map(json.dumps, lines)))
    (seen,) = foldaway("inspect", "--json", path).reports
    assert seen["messages"] == 2
    assert seen["tokens"] > 4_000
    checked = foldaway("check", "--json", path)
    assert (checked.code, checked.reports[0]["violations"]) == (0, [])


def test_an_answer_on_several_lines_breaks_no_rule(foldaway: Any, tmp_path: Path) -> None:
    """Claude Code writes parallel calls on lines of their own, with results between them, and sends
    them as one message. As a list of messages the same is broken."""
    use = [{"type": "tool_use", "id": f"c{n}", "name": "Bash", "input": {}} for n in range(2)]
    said = [{"type": "tool_result", "tool_use_id": f"c{n}", "content": "ok"} for n in range(2)]
    messages = [
        {"role": "user", "content": "go"}, {"role": "assistant", "id": "m", "content": [use[0]]},
        {"role": "assistant", "id": "m", "content": [use[1]]},
        {"role": "user", "content": [said[1]]}, {"role": "user", "content": [said[0]]},
        {"role": "assistant", "id": "m2", "content": [{"type": "text", "text": "Done."}]},
    ]  # fmt: skip
    lines = [
        {"type": one["role"], "uuid": f"u{n}", "parentUuid": f"u{n - 1}" if n else None,
         "sessionId": "s", "message": one}
        for n, one in enumerate(messages)
    ]  # fmt: skip
    path = tmp_path / "session.jsonl"
    path.write_text("\n".join(map(json.dumps, lines)))
    checked = foldaway("check", "--json", path)
    assert (checked.code, checked.reports[0]["violations"]) == (0, [])
    path.write_text(json.dumps(messages))
    assert foldaway("check", path).code == 1


@pytest.mark.parametrize("name", ["goose", "openclaw", "llm"])
def test_a_database_of_an_agent_is_a_conversation(foldaway: Any, name: str, tmp_path: Path) -> None:
    """One session is read like a file with one transcript."""
    (seen,) = foldaway("inspect", "--json", database(name, tmp_path)).reports
    assert seen["messages"] >= 4


def test_every_command_takes_a_native_file(foldaway: Any, tmp_path: Path) -> None:
    """And what it writes is a plain conversation that `check` accepts."""
    file, out = DATA / "qwen-code.jsonl", tmp_path / "out.json"
    for command in (
        ("check",), ("inspect",), ("plan",), ("repair", "-o", out),
        ("convert", "--to", "openai-chat", "-o", out), ("compress", "-o", out),
        ("simulate", "--model", "claude-sonnet-4-5", "--context-length", "100000"),
    ):  # fmt: skip
        seen = foldaway(command[0], file, *command[1:])
        assert seen.code == 0, (command, seen.err)
        if out.exists():
            assert foldaway("check", out).code == 0, command
            out.unlink()
    assert foldaway("diff", file, file).code == 0


def test_standard_input_and_gzip_are_told_by_their_content(
    foldaway: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a name decides nothing, neither does the lack of one."""
    packed = tmp_path / "x"
    packed.write_bytes(gzip.compress((DATA / "codex.jsonl").read_bytes()))
    (named,) = foldaway("inspect", "--json", packed).reports
    (piped,) = foldaway("inspect", "--json", "-", stdin=packed.read_bytes()).reports
    assert named["messages"] == piped["messages"] == 11


def test_a_list_without_a_known_role_is_no_conversation(foldaway: Any, put: Any) -> None:
    """Nothing about it is right, whatever a command would count in it."""
    file = put("rows.jsonl", None)
    file.write_text("\n".join(json.dumps({"type": "row", "n": n}) for n in range(8)))
    assert foldaway("check", file).code == 1
    for command in (("inspect",), ("plan",), ("convert", "--to", "anthropic")):
        seen = foldaway(command[0], file, *command[1:])
        assert seen.code == 2, command
        assert "no message with a known role" in seen.err
        assert "✓" not in seen.text


def test_branches_are_left_out_and_named(foldaway: Any) -> None:
    """A branch holds only what came after its parent's messages: alone it is no conversation."""
    seen = foldaway("inspect", DATA / "pi.jsonl")
    assert "1 branch" in seen.text + seen.err


def test_a_folder_is_all_its_sessions_and_what_is_none_is_named(
    foldaway: Any, tmp_path: Path
) -> None:
    """Each with the agent and the id that it has."""
    folder = tmp_path / "mine"
    folder.mkdir()
    for name in ("codex.jsonl", "qwen-code.jsonl"):
        shutil.copy(DATA / name, folder / name)
    (folder / "notes.json").write_text("{}")
    seen = foldaway("inspect", folder)
    assert seen.code == 0
    assert "codex 019d-0001" in seen.text
    assert "notes.json" in seen.text + seen.err
    assert [row["dialect"] for row in foldaway("inspect", "--json", folder).reports] == [
        "openai-responses", "gemini",
    ]  # fmt: skip


def test_a_stored_session_is_named_by_id_title_or_last(foldaway: Any, tmp_path: Path) -> None:
    """By its own id, the end of it, the agent's id, the beginning of that, its title, or `last`."""
    foldaway("import", DATA / "codex.jsonl")
    (row,) = foldaway("sessions", "list", "--json").reports[0]["sessions"]
    assert foldaway("sessions", "title", row["session"], "Two tests").code == 0
    (native,) = foldaway("inspect", "--json", DATA / "codex.jsonl").reports
    for name in (row["session"], row["session"][-6:], "019d-0001", "019d", "Two tests", "last"):
        (seen,) = foldaway("inspect", "--json", name).reports
        assert (seen["messages"], seen["tokens"]) == (native["messages"], native["tokens"]), name
    out = tmp_path / "small.json"
    assert foldaway("compress", "last", "-o", out).code == 0
    assert out.stat().st_mode & 0o077 == 0
    seen = foldaway("inspect", "nobody")
    assert (seen.code, "nor a kept session" in seen.err) == (2, True)


def test_a_file_wins_over_a_session_of_the_same_name(foldaway: Any, put: Any) -> None:
    """What lies in the folder is what was meant."""
    foldaway("import", DATA / "codex.jsonl")
    put("last", [{"role": "user", "content": "Hi"}])
    (seen,) = foldaway("inspect", "--json", "last").reports
    assert seen["messages"] == 1


@pytest.mark.parametrize("command", ["inspect", "brief", "check"])
def test_without_a_stored_session_last_is_the_newest_file_of_an_agent(
    foldaway: Any, home: Path, command: str
) -> None:
    """As `watch` finds it, before anything is imported; afterwards it is a stored session."""
    assert foldaway(command, "last").code == 2
    folder = home / ".codex" / "sessions"
    folder.mkdir(parents=True)
    for number, name in enumerate(("old", "new")):
        data = (DATA / "codex.jsonl").read_bytes().replace(b"Run the tests.", name.encode())
        (folder / f"{name}.jsonl").write_bytes(data)
        os.utime(folder / f"{name}.jsonl", (1e9 + number, 1e9 + number))
    seen = foldaway(command, "last", "--json")
    named = foldaway(command, folder / "new.jsonl", "--json")
    assert seen.code == named.code != 2
    assert [{**row, "file": ""} for row in seen.reports] == [
        {**row, "file": ""} for row in named.reports
    ]
    foldaway("import", DATA / "claude-code.jsonl")
    assert foldaway(command, "last", "--json").reports != named.reports
