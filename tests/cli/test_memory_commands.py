"""`memory`: what is remembered, from the command line."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import Any

import pytest

from foldaway.memory.files.provider import Bounds, memory_files, memory_folder

pytestmark = pytest.mark.usefixtures("home")
ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def folder(home: Path) -> Path:
    """Where the memory is kept."""
    return memory_folder(home / "foldaway")


@pytest.fixture
def editing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    """Let $EDITOR be a script: it is given the path as `copy`."""

    def script(code: str) -> None:
        file = tmp_path / "editor.py"
        file.write_text(f"import sys\nfrom pathlib import Path\ncopy = Path(sys.argv[1])\n{code}\n")
        monkeypatch.delenv("VISUAL", raising=False)
        monkeypatch.setenv("EDITOR", shlex.join([sys.executable, str(file)]))

    return script


def test_called_with_nothing_the_group_shows_its_help(foldaway: Any) -> None:
    """A newcomer sees the commands."""
    seen = foldaway("memory")
    assert seen.code == 0
    assert all(
        name in seen.text
        for name in ("list", "add", "edit", "remove", "search", "history", "restore")
    )


def test_entries_are_added_listed_found_and_removed(foldaway: Any, folder: Path) -> None:
    """In both files, each its own; in JSON and for people."""
    (tea,) = foldaway("memory", "add", "Likes", "tea", "--user", "--json").reports
    assert tea == {"file": "USER.md", "id": tea["id"], "text": "Likes tea"}
    assert foldaway("memory", "add", "Tests run with make test").text.endswith(
        ": is in MEMORY.md\n"
    )
    (listed,) = foldaway("memory", "list", "--json").reports
    assert [entry["text"] for entry in listed["entries"]] == ["Tests run with make test"]
    assert listed["path"] == str(folder / "MEMORY.md")
    assert 0 < listed["chars"] < listed["most_chars"]
    assert f"{tea['id']}  Likes tea\n" in foldaway("memory", "list", "--user").text
    (found,) = foldaway("memory", "search", "test", "--json").reports
    assert found["text"] == "Tests run with make test"
    assert foldaway("memory", "search", "giraffe").code == 1
    assert foldaway("memory", "remove", tea["id"], "--user").code == 0
    assert (folder / "USER.md").read_text() == ""
    assert "nothing is remembered yet" in foldaway("memory", "list", "--user").text


def test_an_entry_may_come_from_standard_input(foldaway: Any, folder: Path) -> None:
    """With its lines."""
    assert foldaway("memory", "add", "-", stdin=b"one\ntwo\n").code == 0
    assert (folder / "MEMORY.md").read_text() == "- one\n  two\n"


def test_profiles_and_homes_are_apart(foldaway: Any, tmp_path: Path) -> None:
    """By option, by variable, and never out of the folder."""
    foldaway("memory", "add", "mine")
    foldaway("memory", "add", "of work", "--profile", "work")
    foldaway("memory", "add", "elsewhere", "--home", tmp_path / "other")
    assert "of work" in foldaway("memory", "list", "--profile", "work").text
    assert "mine" not in foldaway("memory", "list", "--profile", "work").text
    assert (tmp_path / "other/memory/default/MEMORY.md").read_text() == "- elsewhere\n"
    seen = foldaway("memory", "list", "--profile", "../x")
    assert (seen.code, seen.err.count("\n")) == (2, 1)


def test_history_is_shown_and_a_version_put_back(foldaway: Any, folder: Path) -> None:
    """Who did what, also what an editor did a moment ago."""
    assert "no versions yet" in foldaway("memory", "history").err
    foldaway("memory", "add", "Likes tea")
    (folder / "MEMORY.md").write_text("- Likes tea\n- By hand\n")
    rows = foldaway("memory", "history", "--json").reports
    assert [(row["version"], row["who"], row["what"], row["added"]) for row in rows] == [
        (1, "cli", "add", ["Likes tea"]), (2, "editor", "edit", ["By hand"]),
    ]  # fmt: skip
    shown = foldaway("memory", "history", "--most", 1).text
    assert "editor" in shown
    assert "    + By hand" in shown
    assert foldaway("memory", "restore", 1).text == "MEMORY.md is version 1 again\n"
    assert (folder / "MEMORY.md").read_text() == "- Likes tea\n"
    (done,) = foldaway("memory", "restore", 2, "--json").reports
    assert done == {"file": "MEMORY.md", "restored": 2, "entries": 2}


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["remove", "giraffe"], "list them first"),
        (["restore", "9"], "there is none yet"),
        (["restore", "0"], "not in the range"),
        (["add", " "], "nothing in this entry"),
        (["add", "x" * 7_000], "make it shorter"),
    ],
)
def test_a_mistake_is_one_sentence(foldaway: Any, arguments: list[str], told: str) -> None:
    """Exit code 2, the remedy, nothing written."""
    seen = foldaway("memory", *arguments)
    assert (seen.code, seen.out, seen.err.count("\n")) == (2, b"", 1)
    assert told in seen.err


def test_an_edit_goes_into_the_file(foldaway: Any, folder: Path, editing: Any) -> None:
    """As a version of the command's, without secrets; without a change nothing happens."""
    foldaway("memory", "add", "Likes tea")
    secret = "ghp_" + "aB3dE5fG7hJ9kL1mN3pQ5rS7tU9vW1xY3zA5"
    editing(f"copy.write_text('# Mine\\n' + copy.read_text() + '- key {secret}\\n')")
    assert foldaway("memory", "edit").text == "MEMORY.md: 2 entries\n"
    text = (folder / "MEMORY.md").read_text()
    assert text.startswith("# Mine\n- Likes tea\n- key ")
    assert secret not in text
    editing("")
    assert foldaway("memory", "edit").text == "MEMORY.md: nothing changed\n"
    assert [row["who"] for row in foldaway("memory", "history", "--json").reports] == ["cli"] * 2


@pytest.mark.slow
def test_what_an_agent_adds_while_somebody_edits_is_kept(
    foldaway: Any, folder: Path, editing: Any
) -> None:
    """Both are there."""
    foldaway("memory", "add", "Likes tea")
    editing(
        f"sys.path.insert(0, {str(ROOT / 'src')!r})\n"
        "from foldaway.memory.files.provider import Bounds, memory_files\n"
        f"memory_files(Path({str(folder)!r}), Bounds())['memory'].add('By an agent', 'tool')\n"
        "copy.write_text('- By hand\\n' + copy.read_text())"
    )
    (done,) = foldaway("memory", "edit", "--json").reports
    assert done == {"file": "MEMORY.md", "changed": True, "entries": 3}
    assert (folder / "MEMORY.md").read_text() == "- By hand\n- Likes tea\n- By an agent\n"


def test_a_conflict_is_shown_and_both_are_kept(foldaway: Any, folder: Path, editing: Any) -> None:
    """Exit code 1; theirs stays in the file, yours is in one beside it."""
    file = memory_files(folder, Bounds())["memory"]
    file.add("Likes tea", "tool")
    editing(
        f"sys.path.insert(0, {str(ROOT / 'src')!r})\n"
        "from foldaway.memory.files.provider import Bounds, memory_files\n"
        f"file = memory_files(Path({str(folder)!r}), Bounds())['memory']\n"
        "file.replace('tea', 'Likes coffee ' + str(len(file.history())), 'tool')\n"
        "copy.write_text('- Likes milk\\n')"
    )
    seen = foldaway("memory", "edit")
    assert (seen.code, seen.out) == (1, b"")
    assert "yours:\nLikes milk\n" in seen.err
    assert "theirs:\nLikes coffee 1\n" in seen.err
    assert str(folder / "MEMORY.conflict-1.md") in seen.err
    assert (folder / "MEMORY.conflict-1.md").read_text() == "- Likes milk\n"
    assert file.text() == "- Likes coffee 1\n"


def test_an_editor_that_fails_changes_nothing(foldaway: Any, folder: Path, editing: Any) -> None:
    """One sentence."""
    foldaway("memory", "add", "Likes tea")
    editing("copy.write_text('')\nraise SystemExit(1)")
    seen = foldaway("memory", "edit")
    assert (seen.code, seen.err.count("\n")) == (2, 1)
    assert (folder / "MEMORY.md").read_text() == "- Likes tea\n"


def test_what_was_edited_is_not_lost_where_it_cannot_be_written(
    foldaway: Any, folder: Path, editing: Any
) -> None:
    """The message says where it is."""
    foldaway("memory", "add", "Likes tea")
    editing(
        f"Path({str(folder / 'MEMORY.md')!r}).unlink()\n"
        f"Path({str(folder / 'MEMORY.md')!r}).mkdir()\n"
        "copy.write_text('- By hand\\n')"
    )
    seen = foldaway("memory", "edit")
    assert seen.code == 2
    kept = Path(seen.err.split("what you wrote is in ")[1].strip())
    assert kept.read_text() == "- By hand\n"
    kept.unlink()
    kept.parent.rmdir()
