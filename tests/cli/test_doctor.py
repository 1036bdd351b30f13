"""`doctor`: what stands how, what is broken, no password."""

from __future__ import annotations

import json
from http.server import BaseHTTPRequestHandler, HTTPServer, ThreadingHTTPServer
from pathlib import Path
from threading import Event, Thread
from typing import Any
from unittest.mock import patch

import pytest
from tests.testing.rows import each_row

from foldaway.stores.open import open_store
from foldaway.stores.sqlite.database import draft_file
from foldaway.stores.values import NewSession

pytestmark = pytest.mark.usefixtures("home")
WAIT = "foldaway.cli.doctor._GATEWAY_SECONDS"


def test_doctor_says_how_things_stand(foldaway: Any, talked: str, home: Path) -> None:
    """Store, versions, settings, window, extras, folders; nothing is broken."""
    (found,) = foldaway("doctor", "--deep", "--json").reports
    assert (found["healthy"], found["problems"]) == (True, [])
    assert found["store"]["health"]["messages"] == 41
    assert found["store"]["exists"] is True
    assert found["home"] == str(home / "foldaway")
    assert found["versions"]["apsw"]
    assert {extra["name"] for extra in found["extras"]} >= {"mcp", "postgres", "prices"}
    assert all(extra["remedy"] for extra in found["extras"] if not extra["installed"])
    seen = foldaway("doctor")
    assert seen.code == 0
    assert "nothing is broken" in seen.text
    assert "1 session, 41 messages" in seen.text


@pytest.mark.parametrize("columns", [60, 80, 120])
def test_doctor_has_a_line_for_each_area(
    foldaway: Any, home: Path, monkeypatch: pytest.MonkeyPatch, columns: int
) -> None:
    """The details are shown if they are asked for, or if something is broken."""
    monkeypatch.setenv("COLUMNS", str(columns))
    (home / ".codex" / "sessions").mkdir(parents=True)
    broken = home / "broken.toml"
    broken.write_text('[engine]\nname = "nobody"\n')
    seen = foldaway("doctor").text.splitlines()
    assert len(seen) <= 15
    areas = [line.split()[0] for line in seen[1:] if line.startswith("  ") and line[2] != " "]
    assert areas == ["home", "store", "memory", "settings", "model", "versions", "extras", "agents",
                     "note:", "details:"]  # fmt: skip
    for more in (["--verbose"], ["--config", broken]):
        text = foldaway("doctor", *more).text
        assert len(text.splitlines()) > 40
        assert "\n  versions\n    python " in text
        assert "details:" not in text


def test_doctor_asks_a_gateway(foldaway: Any, home: Path) -> None:
    """One that does not answer is a problem; one that does is asked for its provider."""
    asked: list[str] = []

    class Served(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            self.send_response(401 if self.path == "/v1/models" else 200)
            self.send_header("x-foldaway", "pass; other request")
            self.end_headers()

        def log_message(self, *_: Any) -> None: ...

    with HTTPServer(("127.0.0.1", 0), Served) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        address = f"http://127.0.0.1:{server.server_port}"
        (found,) = foldaway("doctor", "--gateway", address, "--json").reports
        assert (found["healthy"], found["gateway"]["ready"]) == (True, True)
        assert found["gateway"]["provider_status"] == 401
        assert found["gateway"]["note"] == "pass; other request"
        assert asked == ["/healthz", "/readyz", "/v1/models"]
        assert "answers with HTTP 401" in foldaway("doctor", "--gateway", address).text
        server.shutdown()
    seen = foldaway("doctor", "--gateway", address)
    assert seen.code == 1
    assert "no gateway answers" in seen.text


@each_row("late", ["/healthz", "/readyz", "/v1/models"])
def test_doctor_does_not_call_a_slow_gateway_dead(foldaway: Any, home: Path, late: str) -> None:
    """It says who is slow, and how long it waited."""
    is_over = Event()

    class Slow(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            if self.path == late:
                is_over.wait()
                return
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_: Any) -> None: ...

    with ThreadingHTTPServer(("127.0.0.1", 0), Slow) as server, patch(WAIT, 0.2):
        Thread(target=server.serve_forever, daemon=True).start()
        seen = foldaway("doctor", "--gateway", f"http://127.0.0.1:{server.server_port}")
        is_over.set()
        server.shutdown()
    assert seen.code == 1
    assert "is slow: nothing came in" in " ".join(seen.text.split())
    assert "no gateway answers" not in seen.text


def test_doctor_before_there_is_a_store(foldaway: Any, home: Path) -> None:
    """That is no illness, and no store is made."""
    (found,) = foldaway("doctor", "--json").reports
    assert (found["healthy"], found["store"]["exists"]) == (True, False)
    assert "foldaway import" in found["hints"][0]
    assert not (home / "foldaway").exists()


def test_doctor_says_that_no_store_can_be_made(
    foldaway: Any, tmp_path: Path, own_folder: None
) -> None:
    """Exit 1 before anybody has tried to import."""
    (tmp_path / "taken").write_text("a file where a folder should be")
    seen = foldaway("doctor", "--home", tmp_path / "taken" / "foldaway")
    assert seen.code == 1
    assert "nothing is broken" not in seen.text
    assert f"because {tmp_path / 'taken'} may not be changed" in seen.text


def test_doctor_names_what_is_broken(foldaway: Any, tmp_path: Path, own_settings: Path) -> None:
    """A store that cannot be opened, settings that cannot be read: exit 1, each said."""
    (tmp_path / "bad.db").write_bytes(b"no database" * 100)
    seen = foldaway("doctor", "--store", tmp_path / "bad.db")
    assert seen.code == 1
    assert "not an SQLite database" in seen.text
    own_settings.write_text("[sessions]\nmode = 'sideways'\n")
    (found,) = foldaway("doctor", "--json").reports
    assert "sessions.mode" in found["problems"][0]
    assert found["settings"] is None


def test_doctor_knows_the_engines(foldaway: Any, tmp_path: Path) -> None:
    """A name that nothing is registered under is said, with those that there are."""
    config = tmp_path / "engine.toml"
    config.write_text('[engine]\nname = "nobody"\n')
    seen = foldaway("doctor", "--config", config)
    assert seen.code == 1
    assert "unknown engine 'nobody'; known: compressor" in seen.text


def test_doctor_shows_no_password(
    foldaway: Any, monkeypatch: pytest.MonkeyPatch, home: Path
) -> None:
    """Neither that of the store nor that of a summarizer's address."""
    monkeypatch.setenv("FOLDAWAY_STORE", "postgresql://me:hunter2@127.0.0.1:1/x?password=hunter3")
    monkeypatch.setenv("FOLDAWAY_SUMMARIZER_URL", "https://me:hunter4@example.org/v1")
    for arguments in ((), ("--json",)):
        seen = foldaway("doctor", *arguments)
        assert seen.code == 1
        assert "hunter" not in seen.text + seen.err
    json.loads(seen.text)


def test_doctor_says_what_is_remembered(foldaway: Any, own_settings: Path) -> None:
    """Entries by file, and the external memory, of whose options only the names are shown."""
    foldaway("memory", "add", "The database listens on port 5433.")
    options = 'url = "http://127.0.0.1:1/mcp"\nheaders = {Authorization = "Bearer hunter5"}\n'
    own_settings.write_text(f'[memory]\nexternal = "mcp"\n[memory.mcp]\n{options}')
    (found,) = foldaway("doctor", "--json").reports
    assert found["memory"]["entries"] == {"MEMORY.md": 1, "USER.md": 0}
    assert found["memory"]["external"] == "mcp"
    assert found["settings"]["memory_options"] == {"mcp": ["headers", "url"]}
    seen = foldaway("doctor")
    assert "1 entry" in seen.text
    assert "hunter" not in seen.text + json.dumps(found)
    own_settings.write_text('[memory]\nexternal = "elsewhere"\n')
    seen = foldaway("doctor")
    assert seen.code == 1
    assert "elsewhere" in seen.text


def test_doctor_says_how_the_file_of_the_folder_stands(
    foldaway: Any, tmp_path: Path, own_settings: Path
) -> None:
    """A folder that gives orders is no illness; what is ignored is said."""
    own_settings.write_text("[compression]\nthreshold = 0.6\n")
    (tmp_path / "foldaway.toml").write_text('[sessions]\nstore = "evil"\n')
    seen = foldaway("doctor", "--json")
    files = seen.reports[0]["settings_files"]
    assert (seen.code, [file["state"] for file in files]) == (0, ["applied", "restricted"])
    assert files[1]["ignored"][0]["key"] == "sessions.store"
    assert seen.err.count("foldaway config trust .") == 1
    text = " ".join(foldaway("doctor").text.split())
    assert "of this folder foldaway.toml, applies in part" in text


@pytest.mark.slow
def test_doctor_calls_what_is_installed_into_agents(
    foldaway: Any, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The commands that are in the settings files; one that is gone is a problem."""
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.delenv("CLAUDE_CONFIG_DIR", raising=False)
    assert foldaway("install", "claude-code", "--yes").code == 0
    (found,) = foldaway("doctor", "--json").reports
    assert found["problems"] == []
    assert [one["agent"] for one in found["installed"]] == ["claude-code"]
    with patch("foldaway.agents.installing.checking._SECONDS", 0.01):
        (found,) = foldaway("doctor", "--json").reports
    assert len(found["problems"]) == 2
    assert all("is slow: it did not answer within" in one for one in found["problems"])
    for file in (home / ".claude" / "settings.json", home / ".claude.json"):
        now = json.loads(file.read_text())
        command = now["mcpServers"]["foldaway"]["command"] if "mcpServers" in now else ""
        text = file.read_text()
        own = command or now["hooks"]["SessionStart"][0]["hooks"][0]["command"].split()[0]
        file.write_text(text.replace(own, "/nowhere/foldaway"))
    (found,) = foldaway("doctor", "--json").reports
    assert len(found["problems"]) == 2
    assert all("foldaway install claude-code" in one for one in found["problems"])
    assert foldaway("uninstall", "--yes").code == 0
    (found,) = foldaway("doctor", "--json").reports
    assert found["installed"] == []


@pytest.mark.slow
def test_doctor_asks_the_process_behind_a_plug_in(
    foldaway: Any, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As the plug-in does; a command that is gone, or no command at all, is a problem."""
    monkeypatch.setenv("HOME", str(home))
    assert foldaway("install", "pi", "--yes").code == 0
    assert foldaway("doctor", "--json").reports[0]["problems"] == []
    assert not (home / "foldaway" / "sessions").exists()
    file = home / ".pi" / "agent" / "extensions" / "foldaway" / "foldaway.json"
    for command in (["/nowhere/foldaway"], None):
        file.write_text(json.dumps({"package": "foldaway-agents", "command": command}))
        (found,) = foldaway("doctor", "--json").reports
        assert ["foldaway install pi" in one for one in found["problems"]] == [True]


def test_doctor_deletes_what_a_killed_backup_left_beside_the_store(
    foldaway: Any, home: Path, tmp_path: Path
) -> None:
    """And a later backup what is beside its target; a copy that is being written stays."""
    with open_store(home / "foldaway" / "sessions") as store:
        store.create(NewSession(dialect="x"))
    beside = home / "foldaway" / "sessions" / ".foldaway-abcdefgh.backup"
    for name in ("", "-wal", "-journal"):
        beside.with_name(beside.name + name).write_bytes(b"half")
    other = home / "foldaway" / "sessions" / ".foldaway-notes"
    other.write_bytes(b"not ours")
    (found,) = foldaway("doctor", "--json").reports
    assert "deleted 3 files of a backup that was killed" in found["hints"]
    assert [one.name for one in beside.parent.glob(".*")] == [other.name]
    target = tmp_path / "backups"
    target.mkdir()
    (target / beside.name).write_bytes(b"half")
    with draft_file(str(target / "another.db"), ".backup") as busy:
        assert foldaway("sessions", "backup", str(target / "now.db")).code == 0
        assert sorted(map(str, target.iterdir())) == [busy, str(target / "now.db")]


def test_doctor_salvages_a_damaged_store(
    foldaway: Any, talked: str, home: Path, tmp_path: Path
) -> None:
    """A new store, what is lost by session and place, and the damaged file as it was."""
    file = home / "foldaway" / "sessions" / "default.db"
    data = b"\xff" * 100 + file.read_bytes()[100:]
    file.write_bytes(data)
    assert "--salvage" in foldaway("sessions", "list").err
    seen = foldaway("doctor", "--salvage")
    assert (seen.code, file.read_bytes()) == (0, data)
    saved = file.with_name("default-salvaged.db")
    assert f"{saved.name}: 1 session, 41 messages" in seen.text.replace("\n", "")
    assert talked[-8:] in foldaway("sessions", "list", "--store", saved).text
    assert foldaway("doctor", "--salvage", saved).code == 2
    assert foldaway("doctor", "--salvage", "--store", "postgresql://h/x").code == 2
    (found,) = foldaway("doctor", "--salvage", tmp_path / "b.db", "--json").reports
    assert (found["sessions"], found["messages"], found["lost"]) == (1, 41, [])
