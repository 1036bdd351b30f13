"""brief: the record of any conversation, printed or given to another agent."""

from __future__ import annotations

import errno
import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from foldaway.agents.installing.programs import clients
from foldaway.cli import brief as command

pytestmark = pytest.mark.usefixtures("home")
DATA = Path(__file__).resolve().parents[1] / "agents" / "importers" / "data"
SECRET = "ghp_" + "a1B2c3D4e5" * 3 + "f6G7h8"
TALK = [
    {"role": "user", "content": f"Fix the parser with {SECRET}. Never touch legacy.py."},
    {"role": "assistant", "content": "Parser \x1b[31mfixed\x1b[0m in\x00 parser.py \ud800."},
]


def test_a_file_and_what_was_imported_of_it_have_the_same_record(foldaway: Any) -> None:
    """As Markdown, with the sources of its entries; nothing is stored by it."""
    plain = foldaway("brief", DATA / "codex.jsonl")
    assert (plain.code, plain.err) == (0, "")
    assert plain.text.startswith("## ")
    assert "[m" in plain.text
    assert foldaway("sessions", "list").code == 1
    foldaway("import", DATA / "codex.jsonl")
    for name in ("last", "019d"):
        assert foldaway("brief", name).text == plain.text
    assert foldaway("brief", "-", stdin=(DATA / "codex.jsonl").read_bytes()).text == plain.text


def test_programs_get_one_object_for_each_session(foldaway: Any, tmp_path: Path) -> None:
    """And people a heading; what could not be read is named."""
    folder = tmp_path / "mine"
    folder.mkdir()
    for name in ("codex.jsonl", "qwen-code.jsonl"):
        shutil.copy(DATA / name, folder / name)
    (folder / "notes.json").write_text("{}")
    rows = foldaway("brief", "--json", folder, "--tokens", 300).reports
    assert [set(row) for row in rows] == [{"file", "record", "text", "tokens", "messages"}] * 2
    assert all(0 < row["tokens"] <= 300 for row in rows)
    seen = foldaway("brief", folder)
    assert "# codex 019d-0001\n" in seen.text
    assert "notes.json" in seen.err


def test_secrets_and_control_codes_are_not_shown(foldaway: Any, put: Any) -> None:
    """It goes to other people, terminals and command lines."""
    seen = foldaway("brief", put("t.json", TALK))
    assert "Never touch legacy.py." in seen.text
    assert SECRET not in seen.text
    assert not {"\x1b", "\x00"} & set(seen.text)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["nobody"], "neither a file nor a kept session"),
        (["last"], "no session is stored, and no agent has left one"),
        (["t.json", "--to", "claude", "--json"], "contradict each other"),
        (["-", "--to", "claude"], "the agent needs standard input"),
        (["t.json", "--to", "claude"], "Claude Code is not installed: no command 'claude'"),
        (["t.json", "--to", "vim"], "'vim' is not one of"),
        (["t.json", "--tokens", "0"], "0 is not in the range"),
    ],
)  # fmt: skip
def test_what_cannot_be_done_is_one_sentence(
    foldaway: Any, put: Any, monkeypatch: pytest.MonkeyPatch, arguments: list[str], said: str
) -> None:
    """With exit 2, before anything is printed."""
    put("t.json", TALK)
    monkeypatch.setenv("PATH", "/nowhere")
    seen = foldaway("brief", *arguments)
    assert (seen.code, seen.out) == (2, b"")
    assert said in seen.err


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of programs that write down how they were called."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for client in command.opening_clients().values():
        script = folder / client.program
        script.write_text('#!/bin/sh\nprintf "%s\\0" "$@" > called\nexit 7\n')
        script.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
    return folder


@pytest.mark.slow
def test_the_agent_takes_the_place_of_the_command(
    process: Any, put: Any, program: Path, tmp_path: Path
) -> None:
    """With the record as its first prompt, in this folder, and its own exit code."""
    seen = process("brief", put("t.json", TALK), "--to", "goose", cwd=tmp_path)
    assert (seen.code, seen.out, seen.err) == (7, b"", "")
    *options, prompt, _ = (tmp_path / "called").read_text().split("\0")
    assert options == ["run", "-s", "-t"]
    assert "Never touch legacy.py." in prompt
    assert prompt.endswith("wait for me.")


def test_every_agent_has_its_own_way_to_take_a_prompt(
    foldaway: Any, put: Any, program: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By its command and by the name that other commands use."""
    called: list[list[Any]] = []

    def keep(path: str, argv: list[Any]) -> int:
        called.append([path, *argv])
        return 0

    monkeypatch.setattr(command.os, "execv", keep)
    file = put("t.json", TALK)
    for name, client in command.opening_clients().items():
        foldaway("brief", file, "--to", name)
        path, _, *options, prompt = called.pop()
        assert path == str(program / client.program)
        assert tuple(options) == client.install.prompt
        assert prompt.startswith(b"[foldaway summary")
    programs = {"claude", "codex", "copilot", "gemini", "goose", "opencode", "qwen"}
    found = set(command.opening_clients())
    assert found == programs | (found & set(clients()))


def test_one_session_is_given_to_an_agent(
    foldaway: Any, put: Any, program: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not several, and none that a command line has no room for."""

    def refuse(*_: Any) -> None:
        raise OSError(errno.E2BIG, "Argument list too long")

    monkeypatch.setattr(command.os, "execv", refuse)
    lines = b"\n".join([json.dumps({"messages": TALK}).encode()] * 2)
    seen = foldaway("brief", put("two.jsonl", lines), "--to", "codex")
    assert (seen.code, "there are 2 sessions; name the file of one" in seen.err) == (2, True)
    seen = foldaway("brief", put("t.json", TALK), "--to", "codex")
    assert (seen.code, "too long); give fewer --tokens" in seen.err) == (2, True)


@pytest.mark.parametrize("columns", [60, 80, 120])
def test_a_terminal_gets_lines_that_fit(
    foldaway: Any, monkeypatch: pytest.MonkeyPatch, columns: int
) -> None:
    """Every word of the record is there."""
    piped = foldaway("brief", DATA / "codex.jsonl").text
    monkeypatch.setenv("COLUMNS", str(columns))
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("TERM", "dumb")
    monkeypatch.setattr(command.sys.stdout, "isatty", lambda: True)
    first, *lines = foldaway("brief", DATA / "codex.jsonl").text.splitlines()
    assert "codex.jsonl  11 messages in " in first
    assert max(map(len, lines)) <= columns
    assert "".join(piped.replace("#", "").split()) == "".join("".join(lines).split())
