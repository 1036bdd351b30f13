"""Installed, uninstalled: files as before, whatever they are and whoever else writes."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.errors import NotReadable, NotWritable
from holdfast.installing.changes import (
    FileChange,
    apply_install,
    apply_uninstall,
    plan_install,
    plan_uninstall,
)
from holdfast.installing.clients import Client, client_named, clients, server_command

KINDS = {
    "json": [
        None, b"", b"{}", b'{"mcpServers": {}}', b'{"a": 1}', b"// x\r\n{\r\n\t\"a\": 1 // y\r\n}",
        b'\xef\xbb\xbf{"a": {"b": [1, 2,],},}', b'{"mcpServers": {"x": {"command": "y"}}}\n\n',
    ],
    "toml": [None, b"", b"a = 1", b"a = 1\r\n[b]\r\nc = 2", b"[mcp_servers.x]\ncommand = 'y'\n#\n"],
    "yaml": [None, b"", b"a: 1", b"extensions:\n", b"a: 1\r\nextensions:\r\n  x:\r\n    y: 1\r\n"],
}  # fmt: skip


def surroundings(home: Path) -> dict[str, str]:
    return {"HOME": str(home), "PATH": ""}


def plan(client: Client, home: Path) -> FileChange | None:
    return plan_install(client, client.entry_for("/bin/holdfast", ["mcp"]), surroundings(home))


def begin(home: Path, client: Client, content: bytes | None) -> Path:
    file = client.settings_file(surroundings(home))
    file.parent.mkdir(parents=True, exist_ok=True)
    if content is None:
        file.unlink(missing_ok=True)
    else:
        file.write_bytes(content)
    return file


@pytest.mark.parametrize("name", clients())
def test_uninstall_leaves_the_bytes_of_before_and_twice_is_once(name: str, tmp_path: Path) -> None:
    """For every client and every kind of file; nothing of ours is left anywhere."""
    client, kept = client_named(name), tmp_path / "kept"
    for content in KINDS[client.form]:
        file = begin(tmp_path, client, content)
        change = plan(client, tmp_path)
        assert change is not None
        assert client.is_here(surroundings(tmp_path)) or (name, content) == ("claude-code", None)
        backup = apply_install(change, kept)
        assert (None if backup is None else backup.read_bytes()) == content
        written = file.read_bytes()
        assert plan(client, tmp_path) is None
        assert file.read_bytes() == written
        back = plan_uninstall(client, kept, surroundings(tmp_path))
        assert back is not None
        apply_uninstall(back, kept)
        assert (file.read_bytes() if file.exists() else None) == content
        assert plan_uninstall(client, kept, surroundings(tmp_path)) is None
        assert list((kept / "installed").iterdir()) == []


@given(st.sampled_from(["json", "toml", "yaml"]), st.data())
def test_uninstall_keeps_what_somebody_else_has_written_since(
    form: str, data: st.DataObject
) -> None:
    """Only our entry goes; the backup is older than the file and is not used."""
    import tempfile

    with tempfile.TemporaryDirectory() as place:
        home = Path(place)
        client = next(one for one in clients().values() if one.form == form)
        content = data.draw(st.sampled_from(KINDS[form]))
        file = begin(home, client, content)
        change = plan(client, home)
        assert change is not None
        apply_install(change, home)
        comment = b"// late\n" if form == "json" else b"# late\n"
        file.write_bytes(file.read_bytes().rstrip(b"\n") + b"\n" + comment)
        back = plan_uninstall(client, home, surroundings(home))
        assert back is not None
        assert not back.is_restored
        apply_uninstall(back, home)
        left = file.read_bytes()
        assert left.endswith(comment)
        assert b"holdfast" not in left


def test_a_link_stays_a_link_and_a_mode_stays(tmp_path: Path) -> None:
    """What it leads to is changed; nobody else may read it afterwards who could not before."""
    client = client_named("cursor")
    file = begin(tmp_path, client, None)
    real = tmp_path / "dotfiles.json"
    real.write_bytes(b"{}")
    real.chmod(0o640)
    file.symlink_to(real)
    change = plan(client, tmp_path)
    assert change is not None
    apply_install(change, tmp_path / "kept")
    assert file.is_symlink()
    assert b"holdfast" in real.read_bytes()
    assert real.stat().st_mode & 0o777 == 0o640
    assert [one.name for one in file.parent.iterdir()] == [file.name]


def test_a_file_that_changes_at_the_same_moment_keeps_the_other_change(tmp_path: Path) -> None:
    """Also if the other program wrote after it was read; the user is told to try again."""
    client = client_named("cursor")
    file = begin(tmp_path, client, b"{}")
    change = plan(client, tmp_path)
    assert change is not None
    file.write_bytes(b'{"theirs": 1}')
    with pytest.raises(NotWritable, match="run the same command again"):
        apply_install(change, tmp_path / "kept")
    assert file.read_bytes() == b'{"theirs": 1}'
    assert [one.name for one in file.parent.iterdir()] == [file.name]


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b'{"mcpServers": {"holdfast": {"command": "mine"}}}', "uninstall cursor"),
        (b"{nonsense", "by hand"),
        (b"\xff\xfe{}", "UTF-8"),
        (b'{"mcpServers": null}', "by hand"),
    ],
)
def test_what_is_not_understood_stays_and_the_error_says_what_to_do(
    content: bytes, says: str, tmp_path: Path
) -> None:
    """An entry that somebody else made is not replaced."""
    client = client_named("cursor")
    file = begin(tmp_path, client, content)
    with pytest.raises(NotReadable, match=says) as refusal:
        plan(client, tmp_path)
    assert str(file) in str(refusal.value)
    assert file.read_bytes() == content


def test_a_place_that_cannot_be_written_is_an_error(tmp_path: Path) -> None:
    """With what to do; nobody may make a folder there, not even root."""
    client, home = client_named("cursor"), Path("/proc")
    if not home.is_dir():
        pytest.skip("only Linux has /proc")
    change = plan(client, home)
    assert change is not None
    with pytest.raises(NotWritable, match="permissions"):
        apply_install(change, tmp_path / "kept")


def test_a_file_that_is_a_folder_is_an_error(tmp_path: Path) -> None:
    """With its place, and nothing is written."""
    client = client_named("cursor")
    client.settings_file(surroundings(tmp_path)).mkdir(parents=True)
    with pytest.raises(NotReadable, match="mcp"):
        plan(client, tmp_path)


def test_the_command_is_found_without_our_environment(tmp_path: Path) -> None:
    """It is a full path, and says what our variables say."""
    home = {"HOLDFAST_HOME": "/data/holdfast", "PATH": ""}
    command, args = server_command(home)
    assert os.path.isabs(command)
    assert args[-3:] == ["mcp", "--home", "/data/holdfast"]
    assert Path(command).exists() or command == sys.executable


def test_a_variable_moves_the_settings_of_its_program() -> None:
    """As the program itself reads it."""
    environment = {"HOME": "/home/me", "CODEX_HOME": "/x", "XDG_CONFIG_HOME": "/etc/me", "PATH": ""}
    places = {name: str(one.settings_file(environment)) for name, one in clients().items()}
    assert places["codex"] == "/x/config.toml"
    assert places["goose"] == "/etc/me/goose/config.yaml"
    assert places["cursor"] == "/home/me/.cursor/mcp.json"
