"""`holdfast sessions erase`, and retention by the age of a project."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from holdfast.stores.open import open_store
from holdfast.stores.values import NewMessage, NewSession

WORD = "xylophonequux"


@pytest.fixture
def group(home: Path) -> str:
    """A conversation of two persons, and one that alice has alone."""
    with open_store(home / "holdfast" / "sessions") as store:
        for key in ("group:1", "telegram:42"):
            store.create(NewSession(dialect="openai-chat", id=key.replace(":", "-"), source_id=key))
        rows = [{"role": "user", "name": "alice", "content": f"I am {WORD} of Berlin."},
                {"role": "user", "name": "bob", "content": "Hello, everybody."}]  # fmt: skip
        made = [NewMessage(body=json.dumps(one).encode(), role="user", text=one["content"])
                for one in rows]  # fmt: skip
        store.append("group-1", made)
        store.append("telegram-42", made[1:])
    return "group-1"


def test_a_person_is_erased_and_it_is_proven(holdfast: Any, group: str, home: Path) -> None:
    """It says what was looked at; without --yes and a terminal nothing is done."""
    assert holdfast("sessions", "erase", "--person", "alice").code == 2
    plan = holdfast("sessions", "erase", "--person", "alice", "--dry-run")
    assert (plan.code, plan.text.endswith("would be erased; nothing was\n")) == (0, True)
    assert "group-1  m0  author" in plan.err
    holdfast("memory", "add", f"alice is {WORD}")
    seen = holdfast("sessions", "erase", "--person", "alice", "--words", WORD, "--yes")
    assert seen.code == 0
    erased, looked, found = seen.text.splitlines()
    assert erased.startswith("erased: 0 sessions with 0 messages, the words of 1 message in 1 ")
    assert erased.endswith("1 note; 0 views dropped")
    assert looked.startswith("looked for: 1 text and 1 of 1 line of what is gone, in all tables, ")
    assert found == "✓ found nowhere"
    for path in (home / "holdfast").rglob("*"):
        assert path.is_dir() or WORD.encode() not in path.read_bytes()


def test_what_is_left_ends_with_1(holdfast: Any, group: str, home: Path, tmp_path: Path) -> None:
    """A backup beside the store is found without being named; no mark says that all is well."""
    copy = home / "holdfast" / "sessions" / "old.db"
    assert holdfast("sessions", "backup", copy).code == 0
    export = tmp_path / "export.json"
    export.write_text(WORD.upper())
    seen = holdfast("sessions", "erase", "--words", "-", "--also", export, "--yes",
                    stdin=f"{WORD}\n".encode())  # fmt: skip
    assert seen.code == 1
    assert "✓" not in seen.text
    assert f"left: {copy}: session group-1, m0" in seen.err
    assert f"left: {export}: 1 of them as bytes" in seen.err
    os.unlink(copy)
    (again,) = holdfast("sessions", "erase", "--words", WORD, "--yes", "--json").reports
    assert (again["proof"]["left"], again["messages"]) == ([], [])


def test_a_key_is_a_person(holdfast: Any, group: str) -> None:
    """The conversation that has it goes whole, and no other."""
    (done,) = holdfast("sessions", "erase", "--person", "telegram:42", "--yes", "--json").reports
    assert (done["sessions"], done["whole_messages"], done["messages"]) == (["telegram-42"], 1, [])
    (left,) = holdfast("sessions", "list", "--json").reports
    assert [row["session"] for row in left["sessions"]] == [group]


@pytest.mark.parametrize("given", [(), ("--words", "ab"), ("--words", " ")])
def test_what_cannot_be_meant_is_refused(holdfast: Any, group: str, given: Any) -> None:
    """With a sentence and exit 2."""
    seen = holdfast("sessions", "erase", *given, "--yes")
    assert (seen.code, seen.out) == (2, b"")


def test_an_external_memory_that_cannot_forget_is_named(
    holdfast: Any, group: str, own_settings: Path
) -> None:
    """Everything else is erased, and the exit code is 1."""
    own_settings.write_text('[memory]\nexternal = "nobody-has-it"\n')
    seen = holdfast("sessions", "erase", "--words", WORD, "--yes")
    assert seen.code == 1
    assert "the memory nobody-has-it cannot forget" in seen.err
    assert seen.text.splitlines()[-1] == "✓ found nowhere"


def test_a_project_has_an_age_of_its_own(
    holdfast: Any, home: Path, own_settings: Path, tmp_path: Path
) -> None:
    """The nearest folder counts; what would go is shown with its size, its age and why."""
    with open_store(home / "holdfast" / "sessions") as store:
        for name, folder in (("a", "secret"), ("b", "secret/public"), ("c", "other")):
            cwd = str(tmp_path / folder)
            store.create(NewSession(dialect="openai-chat", id=name, cwd=cwd, started=1e9))
    secret = tmp_path / "secret"
    own_settings.write_text(
        f'[sessions]\nretention_projects = {{ "{secret}" = 7, "{secret}/public" = 0 }}\n'
    )
    (plan,) = holdfast("sessions", "delete", "--expired", "--dry-run", "--json").reports
    (expiring,) = plan["expiring"]
    assert (expiring["sessions"], expiring["why"]) == (["a"], "project")
    shown = holdfast("sessions", "delete", "--expired", "--dry-run")
    assert "days old, older than its project is kept" in shown.text
    asked = ("sessions", "delete", "--older-than", 1, "--project", tmp_path / "other")
    (gone,) = holdfast(*asked, "--yes", "--json").reports
    assert [row["session"] for row in gone["sessions"]] == ["c"]
    assert holdfast("sessions", "delete", "--expired", "--yes", "--json").code == 0
    (left,) = holdfast("sessions", "list", "--json").reports
    assert [row["session"] for row in left["sessions"]] == ["b"]
