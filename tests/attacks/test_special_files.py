"""Pipes, sockets, devices and links in an imported folder: skipped, named, and never waited for."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.testing.rows import each_row

from foldaway.agents.importers import ImportedSession, sessions_in
from foldaway.errors import NotReadable
from foldaway.lab.reading import read_sessions
from foldaway.trajectories.reading import find_sources

pytestmark = pytest.mark.slow

SOURCE = Path(__file__).resolve().parents[2] / "src"
WAIT_SECONDS = 60
"""What hangs is ended; nothing here takes a second."""


def line(session: str, text: str) -> str:
    message = {"role": "user", "content": text}
    return json.dumps({"type": "user", "uuid": text, "sessionId": session, "message": message})


def told(folder: Path, **options: Any) -> tuple[list[str], dict[str, str]]:
    """Return the ids of the sessions, and what was said about each other name."""
    ids: list[str] = []
    said: dict[str, str] = {}
    for one in sessions_in(folder, **options):
        if isinstance(one, ImportedSession):
            ids.append(one.source_id)
        else:
            said[Path(one.where).name] = one.what
    return ids, said


def foldaway(
    *arguments: object, home: Path, cwd: Path | None = None
) -> subprocess.CompletedProcess[str]:
    """Run a command as a process, so that one that hangs can be ended."""
    places = {"HOME": str(home), "FOLDAWAY_HOME": str(home / "h"), "PYTHONPATH": str(SOURCE)}
    return subprocess.run(
        [sys.executable, "-m", "foldaway", *map(str, arguments)],
        env={**os.environ, **places}, cwd=cwd or home, capture_output=True, text=True,
        timeout=WAIT_SECONDS, check=False, stdin=subprocess.DEVNULL,
    )  # fmt: skip


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with one session."""
    found = tmp_path / "folder"
    found.mkdir()
    (found / "good.jsonl").write_text(line("good", "hello"))
    return found


def test_an_import_skips_pipes_and_sockets_and_says_so(folder: Path, tmp_path: Path) -> None:
    """The rest is taken, with exit code 0; the report names what was skipped and why."""
    os.mkfifo(folder / "a.jsonl")
    os.mkfifo(folder / "notes.md")
    with socket.socket(socket.AF_UNIX) as open_socket:
        open_socket.bind(os.path.relpath(folder / "b.json"))
        seen = foldaway("import", folder, "--json", home=tmp_path)
    report = json.loads(seen.stdout)
    assert (seen.returncode, report["agents"][0]["messages"]) == (0, 1)
    said = {Path(row["path"]).name: row["problem"] for row in report["unreadable"]}
    assert set(said) == {"a.jsonl", "b.json", "notes.md"}
    assert "is a pipe" in said["a.jsonl"]
    assert "is a socket" in said["b.json"]


def test_a_pipe_that_is_named_is_refused_with_a_remedy(tmp_path: Path) -> None:
    """An import reads a file twice: once to see what it is. That is said, and nothing waits."""
    os.mkfifo(tmp_path / "x.jsonl")
    seen = foldaway("import", tmp_path / "x.jsonl", home=tmp_path)
    assert seen.returncode == 2
    assert "is a pipe" in seen.stdout
    assert "save its content to a file" in " ".join(seen.stdout.split())


@each_row("device", ["/dev/zero", "/dev/null", "/dev/tty"])
def test_a_device_is_refused_unopened(device: str) -> None:
    """It might give bytes for ever."""
    (found,) = sessions_in(device)
    assert isinstance(found, NotReadable)
    assert found.what.startswith("is a device")


def test_a_pipe_is_a_good_input_for_a_command_that_reads_once(tmp_path: Path) -> None:
    """`foldaway check <(…)` and standard input still work."""
    body = json.dumps([{"role": "user", "content": "hi"}])
    command = f"{sys.executable} -m foldaway check <(echo '{body}') /dev/stdin"
    seen = subprocess.run(
        ["bash", "-c", command], input=body, text=True, capture_output=True, cwd=tmp_path,
        timeout=WAIT_SECONDS, check=False, env={**os.environ, "PYTHONPATH": str(SOURCE)},
    )  # fmt: skip
    assert seen.returncode == 0


def test_a_device_that_never_ends_is_read_no_further_than_the_limit(tmp_path: Path) -> None:
    """A command that holds its input whole stops at the limit and names the setting."""
    (tmp_path / "c.toml").write_text("[input]\nmax_file_mb = 1\n")
    seen = foldaway("inspect", "/dev/zero", "--config", "c.toml", home=tmp_path)
    assert seen.returncode == 2
    assert "/dev/zero: is larger than 1 MB" in seen.stderr
    assert "input.max_file_mb" in seen.stderr


def test_folders_of_the_lab_and_of_trajectories_may_hold_pipes(tmp_path: Path) -> None:
    """They are passed over there too."""
    record = {"id": "s", "messages": [{"role": "user", "content": "hi"}]}
    (tmp_path / "good.jsonl").write_text(json.dumps(record) + "\n")
    os.mkfifo(tmp_path / "pipe.jsonl")
    found = [one if isinstance(one, NotReadable) else one.id for one in read_sessions([tmp_path])]
    assert found[0] == "s"
    assert [one.what.partition(",")[0] for one in found[1:] if isinstance(one, NotReadable)] == [
        "is a pipe"
    ]
    assert [source.name for source in find_sources([str(tmp_path)])] == ["good.jsonl"]


def test_links_out_of_the_folder_are_skipped_and_named(folder: Path, tmp_path: Path) -> None:
    """A folder that somebody sent may not name files of the one who imports it."""
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret.jsonl").write_text(line("secret", "mine"))
    (folder / "file.jsonl").symlink_to(outside / "secret.jsonl")
    (folder / "packed.jsonl.gz").symlink_to(outside / "secret.jsonl")
    (folder / "sub").symlink_to(outside)
    (folder / "readme.txt").symlink_to(outside / "secret.jsonl")
    ids, said = told(folder)
    assert ids == ["good"]
    assert set(said) == {"file.jsonl", "packed.jsonl.gz", "sub"}
    assert {what.partition(";")[0] for what in said.values()} == {"is a link out of the folder"}
    assert told(folder, follow_links=True) == (["good", "secret"], {})
    seen = foldaway("import", folder, "--follow-links", "--json", home=tmp_path)
    assert [row["source_id"] for row in json.loads(seen.stdout)["sessions"]] == ["good", "secret"]


def test_a_history_that_nobody_named_may_not_be_a_link_out(tmp_path: Path) -> None:
    """A cloned folder may hold what agents leave in projects, but not as links to other places."""
    home, cloned, outside = (tmp_path / name for name in ("home", "cloned", "outside"))
    for one in (home, cloned, outside):
        one.mkdir()
    (outside / "secret.jsonl").write_text(line("secret", "mine"))
    (cloned / "trajectories").symlink_to(outside)
    seen = foldaway("import", home=home, cwd=cloned)
    assert seen.returncode == 2
    assert "trajectories: is a link out of the folder; it was skipped" in seen.stdout
    assert "1 new message" in foldaway("import", "--follow-links", home=home, cwd=cloned).stdout


def test_a_folder_that_is_itself_a_link_is_read(folder: Path, tmp_path: Path) -> None:
    """The user named it."""
    (tmp_path / "home").symlink_to(folder)
    assert told(tmp_path / "home") == (["good"], {})


def test_links_within_the_folder_are_read_once(folder: Path) -> None:
    """Through the name of the file; through a link only if the file has no name of a session."""
    (folder / "again.jsonl").symlink_to("good.jsonl")
    (folder / "loop").symlink_to(folder)
    (folder / "blob").write_text(line("blob", "stored by its hash"))
    (folder / "snapshot.jsonl").symlink_to("blob")
    (folder / "snapshot-2.jsonl").symlink_to("blob")
    assert told(folder) == (["good", "blob"], {})
    assert told(folder, follow_links=True) == (["good", "blob"], {})


def test_a_link_to_nothing_and_to_itself_is_said(folder: Path) -> None:
    """Neither stops the rest."""
    (folder / "gone.jsonl").symlink_to("nowhere")
    (folder / "self.jsonl").symlink_to("self.jsonl")
    ids, said = told(folder)
    assert (ids, set(said)) == (["good"], {"gone.jsonl", "self.jsonl"})


def opencode(folder: Path, session: str, text: str) -> None:
    """Write one session of OpenCode's own folder."""
    for name, value in {
        f"session/p/{session}.json": {"id": session},
        f"message/{session}/m.json": {"id": "m", "role": "user"},
        "part/m/p.json": {"type": "text", "text": text},
    }.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(value))


def test_a_folder_of_many_files_reads_none_outside_itself(tmp_path: Path) -> None:
    """Neither through links nor through ids that are paths, nor does a pipe in it hang."""
    storage, outside = tmp_path / "storage", tmp_path / "outside"
    opencode(outside, "stolen", "mine")
    opencode(storage, "ours", "hello")
    (storage / "message" / "linked").symlink_to(outside / "message" / "stolen")
    for name in ("linked", "../../outside/message/stolen", str(outside / "message" / "stolen")):
        path = storage / "session" / "p" / f"{len(name)}.json"
        path.write_text(json.dumps({"id": name}))
    os.mkfifo(storage / "session" / "p" / "pipe.json")
    os.mkfifo(storage / "message" / "ours" / "pipe.json")
    assert told(storage)[0] == ["ours"]
    events = tmp_path / "talk" / "events"
    events.mkdir(parents=True)
    (events / "1.json").symlink_to(storage / "part" / "m" / "p.json")
    os.mkfifo(events / "2.json")
    assert told(tmp_path / "talk")[0] == []
