"""Placeholders are those of the store: one tag a secret, whoever writes it, in any process."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foldaway import Redactor
from foldaway._core.policy import Policy
from foldaway.config import Settings, open_memory
from foldaway.memory.files.provider import FilesProvider
from foldaway.memory.manager import MemoryManager
from foldaway.redaction import RedactionPolicy
from foldaway.sessions import SessionOptions, internals
from foldaway.sessions.chat import Chat
from foldaway.sessions.finding import recall_from
from foldaway.sessions.hiding import redactor_of
from foldaway.sessions.session import Session
from foldaway.stores.open import open_store
from foldaway.stores.store import Store
from foldaway.stores.values import NewSession

SMALL = Policy(floor_tokens=500)
SECRET = "ghp_" + "a1B2c3D4e5" * 3 + "f6G7h8"
_TAG = re.compile(r"\[redacted:github-token:([0-9a-f]+)\]")
_RESUMES = """
import json, sys
from foldaway.engine import Compressor
from foldaway._core.policy import Policy
from foldaway.sessions.session import Session
from foldaway.stores.open import open_store

where, tenant, name, more = sys.argv[1:]
small = Policy(floor_tokens=500)
with open_store(where, tenant=tenant) as store:
    session = Session.open(store, name, context_length=8_000, policy=small)
    before = session.messages
    session.append(*json.loads(more))
    session.compact(force=True)
    print(json.dumps([before, session.messages]))
"""


WINDOW: Any = {"context_length": 8_000, "policy": SMALL}


def talk(count: int, *secrets: str) -> list[Any]:
    found: list[Any] = []
    for number in range(count):
        secret = secrets[number % len(secrets)] if number < 6 and secrets else ""
        words = f"Question {number} on module_{number}.py, use {secret}. " + "word " * 80
        answer = f"Answer {number}. " + "so on " * 90
        found += [{"role": "user", "content": words}, {"role": "assistant", "content": answer}]
    return found


def compacted(store: Store, messages: list[Any], **settings: Any) -> Session:
    session = Session(
        store, **WINDOW, **settings, options=SessionOptions(new=NewSession(dialect="openai-chat"))
    )
    session.append({"role": "system", "content": "You help."}, *messages)
    assert session.compact(force=True).status == "compacted"
    return session


def tags(shown: Any) -> set[str]:
    return set(_TAG.findall(shown if isinstance(shown, str) else json.dumps(shown)))


@contextmanager
def a_store() -> Generator[Store]:
    with TemporaryDirectory() as folder, open_store(folder) as store:
        yield store


@pytest.mark.slow
def test_another_process_goes_on_with_the_same_placeholders(home: Any) -> None:
    """It sees the same bytes, and what it writes about the same secret has the same tag."""
    session = compacted(home.open(), talk(20, SECRET))
    was, before = session.messages, tags(session.messages)
    assert [len(tag) for tag in before] == [8]
    made = subprocess.run(
        [sys.executable, "-c", _RESUMES, home.where, home.tenant, session.id,
         json.dumps(talk(20, SECRET))],
        capture_output=True, text=True, timeout=300, check=True,
    )  # fmt: skip
    shown, after = json.loads(made.stdout)
    assert shown == was
    assert tags(after) == before


@given(st.lists(st.from_regex(r"ghp_[A-Za-z0-9]{36}", fullmatch=True), min_size=1, max_size=3,
                unique=True))  # fmt: skip
def test_a_store_has_one_tag_for_a_secret_and_another_store_another(secrets: list[str]) -> None:
    """Two sessions of one store show the same bytes for the same messages; no tag is in both."""
    said = talk(20, *secrets)
    with a_store() as store, a_store() as other:
        first = compacted(store, said)
        assert first.messages == compacted(store, said).messages
        assert tags(first.messages).isdisjoint(tags(compacted(other, said).messages))
        known = tags(redactor_of(store)("\n".join(secrets)))
        assert tags(first.messages) <= known
        assert bool(tags(first.messages)) == bool(known)


def test_what_the_caller_says_wins(store: Store) -> None:
    """A redactor of its own, or none at all."""
    own = Redactor(RedactionPolicy(key="of the caller", personal=False))

    said = talk(20, SECRET)
    session = compacted(store, said, redact=own)
    assert tags(session.messages) == tags(own(SECRET))
    plain = compacted(store, said, redact=str)
    assert SECRET in json.dumps(plain.messages)


def test_memory_recall_and_summary_agree(store: Store, tmp_path: Path) -> None:
    """Also where the host has made the memory itself and gave it no redactor."""
    expected = tags(redactor_of(store)(SECRET))
    session = compacted(store, talk(20, SECRET))
    project = tmp_path / "project"
    project.mkdir()
    (project / "AGENTS.md").write_text(f"The token is {SECRET}.\n")
    by_host = MemoryManager(FilesProvider(tmp_path / "a", project=project))
    opened = open_memory(
        store, project=project, settings=Settings(),
        environment={"FOLDAWAY_HOME": str(tmp_path / "b")},
    )  # fmt: skip
    for memory in (by_host, opened):
        with memory, Chat(store, memory, system="Be brief.", **WINDOW) as chat:
            chat.call("memory", {"action": "add", "target": "memory", "content": f"x {SECRET}"})
            internals(chat.session).conversation.render_system()
            assert len(_TAG.findall(chat.system)) == 2
            assert tags(chat.system) == expected
    assert tags(session.messages) == expected
    assert tags(recall_from(store)(f"module_1.py {SECRET}", "")) == expected


def test_a_memory_that_has_a_redactor_keeps_it(store: Store, tmp_path: Path) -> None:
    """Given by the caller, or taken from the first store that it served."""
    own = Redactor(RedactionPolicy(key="of the caller"))
    with MemoryManager(FilesProvider(tmp_path, redact=own), redact=own) as memory:
        memory.hide_with(redactor_of(store))
        said = memory.call("memory", {"action": "add", "target": "memory", "content": SECRET})
        assert tags(said) | tags(memory.system_text()) == tags(own(SECRET))


def test_a_store_that_is_only_read_and_has_no_key_is_hidden_by_the_public_one(home: Any) -> None:
    """Reading such a store is no error, and nothing is written."""
    home.open()
    reader = home.open(read_only=True)
    public = Redactor(RedactionPolicy(personal=False))
    assert redactor_of(reader).policy == public.policy
    assert recall_from(reader)("anything", "") == ""
    assert reader.redaction_key() == ""
