"""`foldaway sessions erase`, and retention by the age of a project."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from foldaway.stores.open import open_store
from foldaway.stores.values import NewMessage, NewSession

WORD = "xylophonequux"


@pytest.fixture
def group(home: Path) -> str:
    """A conversation of two persons, and one that alice has alone."""
    with open_store(home / "foldaway" / "sessions") as store:
        for key in ("group:1", "telegram:42"):
            store.create(NewSession(dialect="openai-chat", id=key.replace(":", "-"), source_id=key))
        rows = [{"role": "user", "name": "alice", "content": f"I am {WORD} of Berlin."},
                {"role": "user", "name": "bob", "content": "Hello, everybody."}]  # fmt: skip
        made = [NewMessage(body=json.dumps(one).encode(), role="user", text=one["content"])
                for one in rows]  # fmt: skip
        store.append("group-1", made)
        store.append("telegram-42", made[1:])
    return "group-1"


def test_a_person_is_erased_and_it_is_proven(foldaway: Any, group: str, home: Path) -> None:
    """It says what was looked at; without --yes and a terminal nothing is done."""
    assert foldaway("sessions", "erase", "--person", "alice").code == 2
    plan = foldaway("sessions", "erase", "--person", "alice", "--dry-run")
    assert (plan.code, plan.text.endswith("would be erased; nothing was\n")) == (0, True)
    assert "group-1  m0  author" in plan.err
    foldaway("memory", "add", f"alice is {WORD}")
    seen = foldaway("sessions", "erase", "--person", "alice", "--words", WORD, "--yes")
    assert seen.code == 0
    erased, looked, found = seen.text.splitlines()
    assert erased.startswith("erased: 0 sessions with 0 messages, the words of 1 message in 1 ")
    assert erased.endswith("1 note; 0 views dropped")
    assert looked.startswith("looked for: 1 text and 1 of 1 line of what is gone, in all tables, ")
    assert found == "✓ found nowhere"
    for path in (home / "foldaway").rglob("*"):
        assert path.is_dir() or WORD.encode() not in path.read_bytes()


def test_what_is_left_ends_with_1(foldaway: Any, group: str, home: Path, tmp_path: Path) -> None:
    """A backup beside the store is found without being named; no mark says that all is well."""
    copy = home / "foldaway" / "sessions" / "old.db"
    assert foldaway("sessions", "backup", copy).code == 0
    export = tmp_path / "export.json"
    export.write_text(WORD.upper())
    seen = foldaway("sessions", "erase", "--words", "-", "--also", export, "--yes",
                    stdin=f"{WORD}\n".encode())  # fmt: skip
    assert seen.code == 1
    assert "✓" not in seen.text
    assert f"left: {copy}: session group-1, m0" in seen.err
    assert f"left: {export}: 1 of them as bytes" in seen.err
    os.unlink(copy)
    (again,) = foldaway("sessions", "erase", "--words", WORD, "--yes", "--json").reports
    assert (again["proof"]["left"], again["messages"]) == ([], [])


def test_a_key_is_a_person(foldaway: Any, group: str) -> None:
    """The conversation that has it goes whole, and no other."""
    (done,) = foldaway("sessions", "erase", "--person", "telegram:42", "--yes", "--json").reports
    assert (done["sessions"], done["whole_messages"], done["messages"]) == (["telegram-42"], 1, [])
    (left,) = foldaway("sessions", "list", "--json").reports
    assert [row["session"] for row in left["sessions"]] == [group]


@pytest.mark.parametrize("given", [(), ("--words", "ab"), ("--words", " ")])
def test_what_cannot_be_meant_is_refused(foldaway: Any, group: str, given: Any) -> None:
    """With a sentence and exit 2."""
    seen = foldaway("sessions", "erase", *given, "--yes")
    assert (seen.code, seen.out) == (2, b"")


def test_an_external_memory_that_cannot_forget_is_named(
    foldaway: Any, group: str, own_settings: Path
) -> None:
    """Everything else is erased, and the exit code is 1."""
    own_settings.write_text('[memory]\nexternal = "nobody-has-it"\n')
    seen = foldaway("sessions", "erase", "--words", WORD, "--yes")
    assert seen.code == 1
    assert "the memory nobody-has-it cannot forget" in seen.err
    assert seen.text.splitlines()[-1] == "✓ found nowhere"


def test_a_project_has_an_age_of_its_own(
    foldaway: Any, home: Path, own_settings: Path, tmp_path: Path
) -> None:
    """The nearest folder counts; what would go is shown with its size, its age and why."""
    with open_store(home / "foldaway" / "sessions") as store:
        for name, folder in (("a", "secret"), ("b", "secret/public"), ("c", "other")):
            cwd = str(tmp_path / folder)
            store.create(NewSession(dialect="openai-chat", id=name, cwd=cwd, started=1e9))
    secret = tmp_path / "secret"
    own_settings.write_text(
        f'[sessions]\nretention_projects = {{ "{secret}" = 7, "{secret}/public" = 0 }}\n'
    )
    (plan,) = foldaway("sessions", "delete", "--expired", "--dry-run", "--json").reports
    (expiring,) = plan["expiring"]
    assert (expiring["sessions"], expiring["why"]) == (["a"], "project")
    shown = foldaway("sessions", "delete", "--expired", "--dry-run")
    assert "days old, older than its project is kept" in shown.text
    asked = ("sessions", "delete", "--older-than", 1, "--project", tmp_path / "other")
    (gone,) = foldaway(*asked, "--yes", "--json").reports
    assert [row["session"] for row in gone["sessions"]] == ["c"]
    assert foldaway("sessions", "delete", "--expired", "--yes", "--json").code == 0
    (left,) = foldaway("sessions", "list", "--json").reports
    assert [row["session"] for row in left["sessions"]] == ["b"]


@pytest.mark.parametrize("given", ["{ secret = 7 }", '{ "/work/secret" = -1 }'])
def test_a_project_is_an_absolute_folder_with_days(
    foldaway: Any, group: str, own_settings: Path, given: str
) -> None:
    """A relative one would be another in every folder; nothing is deleted."""
    own_settings.write_text(f"[sessions]\nretention_projects = {given}\n")
    seen = foldaway("sessions", "delete", "--expired", "--yes")
    assert (seen.code, seen.out) == (2, b"")
    assert "days of at least 0 by absolute names of folders" in seen.err
