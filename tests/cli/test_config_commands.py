"""`foldaway config`: what is in effect, where it comes from, and which folders are trusted."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
from msgspec import json
from msgspec.structs import replace

from foldaway.config import Settings, read_settings
from foldaway.config.sections import SECTIONS

pytestmark = pytest.mark.usefixtures("home")


def test_show_says_where_each_setting_comes_from_and_what_was_ignored(
    foldaway: Any, tmp_path: Path, own_settings: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """For people and for programs; no password and no option of a memory is printed."""
    own_settings.write_text(
        '[sessions]\nstore = "postgresql://me:hunter2@127.0.0.1:1/x?password=hunter3"\n'
        '[memory.mcp]\nurl = "http://hunter4.example"\n[compression]\narrival_tools = {Bash = 5}\n'
    )
    (tmp_path / "foldaway.toml").write_text(
        '[compression]\nthreshold = 0.6\nevil = 1\n[summarizer]\nmodel = "openai:evil"\n'
    )
    monkeypatch.setenv("FOLDAWAY_PROTECT_LAST", "9")
    (found,) = foldaway("config", "show", "--json").reports
    settings = found["settings"]
    folder = found["files"][1]
    assert [file["whose"] for file in found["files"]] == ["own", "folder"]
    assert [one["key"] for one in folder["ignored"]] == ["summarizer.model", "compression.evil"]
    assert settings["compression.threshold"] == {
        "value": 0.6,
        "origin": "foldaway.toml: compression.threshold",
    }
    assert settings["compression.protect_last"] == {"value": 9, "origin": "FOLDAWAY_PROTECT_LAST"}
    assert settings["compression.arrival_tools"]["value"] == {"Bash": 5}
    assert settings["summarizer.model"] == {"value": "none", "origin": "default"}
    assert settings["memory.mcp"]["value"] == {"url": "…"}
    assert len(found["warnings"]) == 2
    seen = foldaway("config", "show")
    assert "ignored summarizer.model" in seen.text
    assert "FOLDAWAY_PROTECT_LAST" in seen.text
    assert "hunter" not in seen.text + seen.err + str(found)


@pytest.mark.parametrize("columns", ["60", "80", "120"])
def test_show_names_every_setting_in_full(
    foldaway: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, columns: str
) -> None:
    """A name that is cut off cannot be told from its neighbors, however narrow the terminal."""
    monkeypatch.setenv("COLUMNS", columns)
    (tmp_path / "foldaway.toml").write_text("[compression]\nthreshold = 0.6\n")
    lines = foldaway("config", "show", "--all").text.splitlines()
    names = [f"{section}.{key}" for section, keys in SECTIONS.items() for key in keys]
    assert [line.split()[0] for line in lines[1:] if line.split()[0] in names] == names
    assert max(map(len, lines[1:])) <= int(columns)
    (row,) = (line.split() for line in lines if " compression.threshold " in line)
    assert row[:2] == ["compression.threshold", "0.6"]
    assert "foldaway.toml".startswith(row[2])


def test_what_cannot_be_read_is_named_once(foldaway: Any, tmp_path: Path) -> None:
    """A broken file is ignored as a whole; a folder in its place, or none, cannot be trusted."""
    file = tmp_path / "foldaway.toml"
    assert "foldaway.toml: does not exist; check the folder" in foldaway("config", "trust", ".").err
    file.mkdir()
    seen = foldaway("config", "trust", ".")
    assert (seen.code, "it is not a file" in seen.err) == (2, True)
    file.rmdir()
    file.write_bytes(b"\xff")
    assert "  ignored it is not UTF-8" in foldaway("config", "show").text.splitlines()


class Terminal:
    """Standard input of somebody who answers."""

    def __init__(self, answer: str) -> None:
        self._answer = answer

    def isatty(self) -> bool:
        return True

    def readline(self, *_: object) -> str:
        return self._answer


@pytest.mark.parametrize(("answer", "code", "engine"), [("n\n", 1, "compressor"), ("y\n", 0, "x")])
def test_trust_asks_on_a_terminal(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    answer: str, code: int, engine: str,
) -> None:  # fmt: skip
    """What the file would set is shown, and only a yes counts."""
    from foldaway.cli import run
    from foldaway.config import read_settings

    (tmp_path / "foldaway.toml").write_text('[engine]\nname = "x"\n')
    monkeypatch.setattr(sys, "stdin", Terminal(answer))
    assert run(["config", "trust", "."]) == code
    assert 'engine.name = "x"' in capsys.readouterr().out
    assert read_settings().engine == engine


def test_what_needs_no_trust_is_not_recorded(foldaway: Any, tmp_path: Path, home: Path) -> None:
    """It applies already; and what was never trusted cannot be taken back."""
    (tmp_path / "foldaway.toml").write_text("[compression]\nthreshold = 0.6\n")
    seen = foldaway("config", "trust", ".", "--yes")
    assert (seen.code, "applies already" in seen.text) == (0, True)
    assert not (home / "foldaway").exists()
    seen = foldaway("config", "untrust", ".")
    assert (seen.code, "was not trusted" in seen.err) == (1, True)
    assert foldaway("config", "trust", tmp_path / "missing").code == 2
    (tmp_path / "empty").mkdir()
    seen = foldaway("config", "trust", tmp_path / "empty")
    assert (seen.code, "foldaway.toml" in seen.err) == (2, True)


def test_a_settings_file_begins_with_all_that_there_is(foldaway: Any, own_settings: Path) -> None:
    """`init` names every setting, sets none, is right, and replaces nothing."""
    assert foldaway("config", "init").code == 0
    text = own_settings.read_text()
    for section, keys in SECTIONS.items():
        assert f"[{section}]" in text
        assert all(f"\n# {key} = " in text for key in keys)
    seen = foldaway("config", "check")
    assert (seen.code, seen.err) == (0, "")
    assert "0 settings given, 0 ignored" in seen.text
    again = foldaway("config", "init")
    assert again.code == 1
    assert own_settings.read_text() == text


def test_each_default_of_the_settings_file_is_a_value_that_it_takes(
    foldaway: Any, own_settings: Path
) -> None:
    """Without its mark every line of it can be read, and changes nothing."""
    foldaway("config", "init")
    lines = own_settings.read_text().split("\n[", 1)
    rows = [line for line in f"[{lines[1]}".splitlines() if " =   # " not in line]
    given = [line.removeprefix("# ") for line in rows]
    own_settings.write_text("\n".join(given))
    assert foldaway("config", "check").code == 0
    read = replace(read_settings(), files=(), origins={})
    assert json.encode(read) == json.encode(Settings())


def test_check_names_what_is_wrong(foldaway: Any, own_settings: Path) -> None:
    """Exit 2 with the setting and what it may be."""
    own_settings.write_text("[compression]\nthreshhold = 0.3\n")
    seen = foldaway("config", "check")
    assert seen.code == 2
    assert "threshold" in seen.err


def test_the_schema_describes_every_setting(foldaway: Any) -> None:
    """As JSON Schema: what is unknown is refused, defaults and choices are there."""
    schema = json.decode(foldaway("config", "schema").out)
    sections = schema["properties"]
    assert {name: set(one["properties"]) for name, one in sections.items()} == {
        name: set(keys) for name, keys in SECTIONS.items()
    }
    assert sections["compression"]["additionalProperties"] is False
    assert sections["compression"]["properties"]["threshold"]["default"] == 0.5
    assert sections["caching"]["properties"]["ttl"]["enum"] == ["5m", "1h"]
