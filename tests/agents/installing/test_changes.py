"""Installed, uninstalled: files as before, whatever they are and whoever else writes."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from foldaway.agents.installing.changes import FileChange, plan_install, plan_uninstall
from foldaway.agents.installing.checking import problems_of
from foldaway.agents.installing.programs import (
    COMMAND_FILE,
    Addition,
    clients,
    list_additions,
    list_server_additions,
    own_command,
    package_file,
)
from foldaway.agents.known import KnownAgent, agent_named
from foldaway.errors import NotReadable, NotWritable

KINDS: dict[str, list[bytes | None]] = {
    "json": [
        None, b"", b"{}", b'{"mcpServers": {}}', b'{"a": 1}', b"// x\r\n{\r\n\t\"a\": 1 // y\r\n}",
        b'\xef\xbb\xbf{"a": {"b": [1, 2,],},}', b'{"mcpServers": {"x": {"command": "y"}}}\n\n',
        b'{"hooks": {"PreCompact": [], "SessionStart": [{"hooks": [{"command": "mine"}]}]}}',
        b'{\r\n  "hooks": { // mine\r\n    "PreCompact": [\r\n      {"a": 1},\r\n    ]\r\n  }\r\n}',
        b'{"statusLine": {"type": "command", "command": "mine"}}',
    ],
    "toml": [None, b"", b"a = 1", b"a = 1\r\n[b]\r\nc = 2", b"[mcp_servers.x]\ncommand = 'y'\n#\n",
             b"\xef\xbb\xbf# x\n[b]\nc = 2", b"compact_prompt = 'mine'\n"],
    "yaml": [None, b"", b"a: 1", b"extensions:\n", b"a: 1\r\nextensions:\r\n  x:\r\n    y: 1\r\n"],
    "whole": [None],
}  # fmt: skip


def surroundings(home: Path) -> dict[str, str]:
    return {"HOME": str(home), "PATH": ""}


def server(client: KnownAgent, home: Path) -> list[Addition]:
    return list_server_additions(client, surroundings(home))


def everything(client: KnownAgent, home: Path) -> list[Addition]:
    return list_additions(client, surroundings(home))


def plan(client: KnownAgent, home: Path) -> FileChange | None:
    return next(iter(plan_install(client, server(client, home))), None)


def install(client: KnownAgent, home: Path, additions: list[Addition]) -> None:
    for change in plan_install(client, additions):
        if change.additions:
            change.install(home / "kept")


def uninstall(client: KnownAgent, home: Path, additions: list[Addition]) -> list[FileChange]:
    found = plan_uninstall(client, additions, home / "kept")
    for change in found:
        change.uninstall(home / "kept")
    return found


def contents(additions: list[Addition]) -> dict[Path, bytes | None]:
    return {
        one.file: one.file.read_bytes() if one.file.exists() else None for one in additions
    }  # fmt: skip


def write(file: Path, content: bytes | None) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    if content is None:
        file.unlink(missing_ok=True)
    else:
        file.write_bytes(content)


def begin(home: Path, client: KnownAgent, content: bytes | None) -> Path:
    file = client.install.path(surroundings(home))
    write(file, content)
    return file


@pytest.mark.slow
@pytest.mark.parametrize("name", clients())
def test_uninstall_leaves_the_bytes_of_before_and_twice_is_once(name: str, tmp_path: Path) -> None:
    """For every client, every file of it and every kind of content; nothing of ours is left."""
    client = agent_named(name)
    additions = everything(client, tmp_path)
    forms = {one.file: one.form for one in additions}
    for turn in range(max(len(KINDS[form]) for form in forms.values())):
        for file, form in forms.items():
            write(file, KINDS[form][turn % len(KINDS[form])])
        before = contents(additions)
        install(client, tmp_path, additions)
        written = contents(additions)
        assert all(written.values())
        assert not any(change.additions for change in plan_install(client, additions))
        back = uninstall(client, tmp_path, additions)
        assert all(change.is_restored for change in back)
        assert contents(additions) == before
        assert uninstall(client, tmp_path, additions) == []
        assert list((tmp_path / "kept" / "installed").iterdir()) == []


@pytest.mark.parametrize("name", clients())
def test_the_server_alone_before_or_after_all_of_it(name: str, tmp_path: Path) -> None:
    """Whatever is installed first or removed first, in the end every byte is as before."""
    client = agent_named(name)
    additions, alone = everything(client, tmp_path), server(client, tmp_path)
    forms = {one.file: one.form for one in additions}
    for file, form in forms.items():
        write(file, KINDS[form][1 % len(KINDS[form])])
    before = contents(additions)
    install(client, tmp_path, alone)
    install(client, tmp_path, additions)
    uninstall(client, tmp_path, additions)
    assert contents(additions) == before
    install(client, tmp_path, additions)
    uninstall(client, tmp_path, alone)
    left = [one for one in additions if one not in alone]
    assert not any(change.additions for change in plan_install(client, left))
    uninstall(client, tmp_path, left)
    assert contents(additions) == before


def test_files_of_one_client_have_different_names(tmp_path: Path) -> None:
    """What was before is kept under the name of the file."""
    for client in clients().values():
        files = {one.file for one in everything(client, tmp_path)}
        assert len({file.name for file in files}) == len(files)


def test_what_the_user_has_there_stays(tmp_path: Path) -> None:
    """A status line of their own is left alone, and so is a hook of their own beside ours."""
    client = agent_named("claude-code")
    additions = everything(client, tmp_path)
    file = tmp_path / ".claude" / "settings.json"
    own = {"hooks": [{"type": "command", "command": "/home/me/foldaway/hook.sh"}]}
    mine = {"statusLine": {"type": "command", "command": "mine"}, "hooks": {"PreCompact": [own]}}
    write(file, json.dumps(mine).encode())
    changes = plan_install(client, additions)
    assert [one.what for change in changes for one in change.left] == ["status line"]
    install(client, tmp_path, additions)
    now = json.loads(file.read_bytes())
    assert now["statusLine"] == mine["statusLine"]
    assert now["hooks"]["PreCompact"][0] == own
    assert len(now["hooks"]["PreCompact"]) == 2
    file.write_bytes(file.read_bytes() + b"\n")  # somebody saved it again
    uninstall(client, tmp_path, additions)
    assert json.loads(file.read_bytes()) == mine


def test_secrets_are_hidden_in_results_of_all_tools(tmp_path: Path) -> None:
    """Only what can be long is shortened; without shortening and hiding there is no such hook."""
    client = agent_named("claude-code")

    def matchers(*options: str, shortens: bool = True) -> list[Any]:
        found = list_additions(client, surroundings(tmp_path), options, shortens=shortens)
        return [one.value.get("matcher") for one in found if one.path[-1:] == ("PostToolUse",)]

    assert ["Bash" in one for one in matchers()] == [True]
    assert matchers("--redact") == [None]
    assert matchers(shortens=False) == []


def test_a_program_of_the_user_stays_and_ours_can_be_started(tmp_path: Path) -> None:
    """Cline has one file for each hook."""
    client = agent_named("cline")
    additions = everything(client, tmp_path)
    file = tmp_path / ".cline" / "hooks" / "TaskComplete.sh"
    write(file, b"#!/bin/sh\nmine\n")
    install(client, tmp_path, additions)
    uninstall(client, tmp_path, additions)
    assert file.read_bytes() == b"#!/bin/sh\nmine\n"
    file.unlink()
    install(client, tmp_path, additions)
    programs = [one.file for one in additions if one.is_program]
    assert all(os.access(one, os.X_OK) and b" hook cline" in one.read_bytes() for one in programs)
    assert {one.parent for one in programs} == {file.parent, tmp_path / "Documents/Cline/Hooks"}


@pytest.mark.parametrize(
    ("said", "place"),
    [
        ('# x\nXDG_DOCUMENTS_DIR="$HOME/Dokumente"\n', "Dokumente/Cline"),
        ("", "Cline"),
        (None, "Cline"),
    ],
)
def test_documents_are_where_the_desktop_says(said: str | None, place: str, tmp_path: Path) -> None:
    """As `xdg-user-dir` prints it, which is the home folder if nothing is set."""
    program = tmp_path / "bin" / "xdg-user-dir"
    write(program, b"#!/bin/sh\n")
    program.chmod(0o755)
    write(tmp_path / ".config" / "user-dirs.dirs", None if said is None else said.encode())
    environment = {"HOME": str(tmp_path), "PATH": str(program.parent)}
    files = [one.file for one in list_additions(agent_named("cline"), environment)]
    assert tmp_path / place / "Hooks" / "PreCompact" in files


def test_a_plug_in_is_a_copy_of_the_package_in_a_folder_that_goes_with_it(tmp_path: Path) -> None:
    """A file of the user in our folder, or in the place of one of ours, stays, and so does the
    folder then.
    """
    client = agent_named("pi")
    additions = everything(client, tmp_path)
    folder = additions[0].file.parent
    install(client, tmp_path, additions)
    for one in additions:
        if one.is_copy:
            assert one.file.read_bytes() == package_file(one.file.name).read_bytes()
    command = json.loads((folder / COMMAND_FILE).read_text())["command"]
    assert command[-2:] == ["follow", "pi"]
    uninstall(client, tmp_path, additions)
    assert not folder.exists()
    assert folder.parent.exists()
    write(folder / "pi.js", b"export default () => {};")
    install(client, tmp_path, additions)
    uninstall(client, tmp_path, additions)
    assert [one.name for one in folder.iterdir()] == ["pi.js"]
    assert (folder / "pi.js").read_bytes() == b"export default () => {};"


def test_a_file_of_ours_that_is_somebody_elses_is_refused(tmp_path: Path) -> None:
    """Nothing is written over it."""
    client = agent_named("copilot-cli")
    additions = everything(client, tmp_path)
    file = tmp_path / ".copilot" / "hooks" / "foldaway.json"
    write(file, b'{"hooks": {}}')
    with pytest.raises(NotReadable, match="by hand"):
        plan_install(client, additions)
    assert plan_uninstall(client, additions, tmp_path / "kept") == []


def test_a_hook_of_an_older_installation_is_replaced(tmp_path: Path) -> None:
    """There is one of ours for each event, with the options of today."""
    client = agent_named("qwen-code")
    install(client, tmp_path, everything(client, tmp_path))
    newer = list_additions(client, surroundings(tmp_path), ["--facts", "500"])
    install(client, tmp_path, newer)
    now = json.loads((tmp_path / ".qwen" / "settings.json").read_bytes())
    assert [len(rows) for rows in now["hooks"].values()] == [1] * len(now["hooks"])
    assert all("--facts 500" in json.dumps(rows) for rows in now["hooks"].values())
    uninstall(client, tmp_path, everything(client, tmp_path))
    assert not (tmp_path / ".qwen" / "settings.json").exists()


@pytest.mark.parametrize("name", clients())
def test_a_link_stays_a_link_and_a_mode_stays(name: str, tmp_path: Path) -> None:
    """What it leads to is changed; nobody else may read it afterwards who could not before."""
    client = agent_named(name)
    additions = everything(client, tmp_path)
    for file in contents(additions):
        write(file, None)
        real = tmp_path / f"dotfiles-{file.name}"
        real.write_bytes(b"")
        real.chmod(0o640)
        file.symlink_to(real)
    install(client, tmp_path, additions)
    for file in contents(additions):
        assert file.is_symlink()
        assert b"foldaway" in file.read_bytes()
        assert file.stat().st_mode & 0o777 == 0o640
        assert not list(file.parent.glob(".foldaway-*"))
    uninstall(client, tmp_path, additions)
    assert set(contents(additions).values()) == {b""}


@pytest.mark.parametrize("name", clients())
def test_a_file_that_changes_at_the_same_moment_keeps_the_other_change(
    name: str, tmp_path: Path
) -> None:
    """Also if the other program wrote after it was read; the user is told to try again."""
    client = agent_named(name)
    additions = everything(client, tmp_path)
    for file in contents(additions):
        write(file, b"")
    changes = plan_install(client, additions)
    for change in changes:
        change.path.write_bytes(b"theirs")
        with pytest.raises(NotWritable, match="run the same command again"):
            change.install(tmp_path / "kept")
        assert change.path.read_bytes() == b"theirs"
        assert not list(change.path.parent.glob(".foldaway-*"))
        change.path.write_bytes(b"")
    install(client, tmp_path, additions)
    for change in plan_uninstall(client, additions, tmp_path / "kept"):
        change.path.write_bytes(b"theirs")
        with pytest.raises(NotWritable, match="run the same command again"):
            change.uninstall(tmp_path / "kept")
        assert change.path.read_bytes() == b"theirs"


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b'{"mcpServers": {"foldaway": {"command": "mine"}}}', "uninstall cursor"),
        (b"{nonsense", "by hand"),
        (b"\xff\xfe{}", "UTF-8"),
        (b'{"mcpServers": null}', "by hand"),
    ],
)
def test_what_is_not_understood_stays_and_the_error_says_what_to_do(
    content: bytes, says: str, tmp_path: Path
) -> None:
    """An entry that somebody else made is not replaced."""
    client = agent_named("cursor")
    file = begin(tmp_path, client, content)
    with pytest.raises(NotReadable, match=says) as refusal:
        plan(client, tmp_path)
    assert str(file) in str(refusal.value)
    assert file.read_bytes() == content


@pytest.mark.parametrize("name", clients())
def test_a_place_that_cannot_be_written_is_an_error(name: str, tmp_path: Path) -> None:
    """With what to do; nobody may make a folder there, not even root."""
    client, home = agent_named(name), Path("/proc")
    if not home.is_dir():
        pytest.skip("only Linux has /proc")
    for change in plan_install(client, everything(client, home)):
        with pytest.raises(NotWritable, match="permissions"):
            change.install(tmp_path / "kept")


@pytest.mark.parametrize("name", clients())
def test_a_file_that_is_a_folder_is_an_error(name: str, tmp_path: Path) -> None:
    """With its place, and nothing is written."""
    client = agent_named(name)
    additions = everything(client, tmp_path)
    additions[-1].file.mkdir(parents=True)
    with pytest.raises(NotReadable, match=additions[-1].file.name):
        plan_install(client, additions)


def test_the_command_is_found_without_our_environment(tmp_path: Path) -> None:
    """It is a full path, and says what our variables say."""
    home = {"FOLDAWAY_HOME": "/data/foldaway", "PATH": ""}
    command, *args = own_command(home, "mcp")
    assert os.path.isabs(command)
    assert args[-3:] == ["mcp", "--home", "/data/foldaway"]
    assert Path(command).exists() or command == sys.executable


def test_a_variable_moves_the_settings_of_its_program() -> None:
    """As the program itself reads it."""
    environment = {"HOME": "/home/me", "CODEX_HOME": "/x", "XDG_CONFIG_HOME": "/etc/me", "PATH": ""}
    places = {name: str(one.install.path(environment)) for name, one in clients().items()}
    assert places["codex"] == "/x/config.toml"
    assert places["goose"] == "/etc/me/goose/config.yaml"
    assert places["cursor"] == "/home/me/.cursor/mcp.json"
    plugin = agent_named("pi").install.plugin
    assert plugin is not None
    folder = plugin.path({**environment, "PI_CODING_AGENT_DIR": "/pi"})
    assert str(folder) == "/pi/extensions/foldaway"


@pytest.mark.parametrize(
    ("written", "wanted"),
    [
        ("context:\n  engine: compressor  # the default\n", "foldaway"),
        ("context:\n  engine: lcm\n", "lcm"),
        ("context:\n  other: 1\n", "foldaway"),
    ],
)
def test_hermes_own_engine_gives_way_and_another_one_stays(
    written: str, wanted: str, tmp_path: Path
) -> None:
    """If somebody changed the file since, only our lines go: Hermes' own engine is the default."""
    client = agent_named("hermes")
    additions = [one for one in everything(client, tmp_path) if one.what != "MCP server"]
    file = begin(tmp_path, client, written.encode())
    install(client, tmp_path, additions)
    now = yaml.safe_load(file.read_text())
    assert (now["context"]["engine"], now["plugins"]["enabled"]) == (wanted, ["foldaway"])
    file.write_text(f"{file.read_text()}more: 1\n")
    uninstall(client, tmp_path, additions)
    left = yaml.safe_load(file.read_text())
    assert left["more"] == 1
    assert "plugins" not in left
    assert left.get("context", {}).get("engine") in (None, "lcm")
    assert "foldaway" not in file.read_text()


@pytest.mark.slow
def test_a_hermes_without_us_in_its_python_is_found(tmp_path: Path) -> None:
    """It goes on with its own engine, and says so in its log only."""
    client = agent_named("hermes")
    engine = [one for one in everything(client, tmp_path) if one.what == "context engine"]
    begin(tmp_path, client, b"context:\n  engine: foldaway\n")
    program = tmp_path / "bin" / "hermes"
    write(program, f"#!{sys.executable}\n".encode())
    program.chmod(0o755)
    around = {"PATH": str(program.parent), "PYTHONPATH": str(tmp_path / "site")}
    (found,) = problems_of(client, engine, around)
    assert f"{sys.executable} -m pip install 'foldaway[hermes]'" in found
    for name in ("__init__.py", "agents/__init__.py", "agents/hermes_plugin.py"):
        write(tmp_path / "site" / "foldaway" / name, b"")
    assert list(problems_of(client, engine, around)) == []
