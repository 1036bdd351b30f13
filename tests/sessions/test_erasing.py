"""A person's and a project's words: taken out everywhere, and nothing else with them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import psycopg
import pytest
from tests.sessions.conftest import WINDOW, talk

import holdfast
from holdfast.sessions.erasing import erase_words
from holdfast.sessions.session import Session
from holdfast.sessions.wording import ERASED
from holdfast.stores.store import Store

SECRET = "xylophonequuxberlin"
ADDRESS = f"My address is 17 {SECRET} Road, and please keep it to yourself."


def said(text: str, name: str = "", role: str = "user") -> dict[str, Any]:
    return {"role": role, "content": text, **({"name": name} if name else {})}


def shared_chat(store: Store, key: str = "group:1", *more: Any) -> Session:
    """Begin a conversation of two persons that is long enough to be compacted."""
    session = Session(store, key, **WINDOW)
    session.append(said("You help.", role="system"), *talk(0, 8))
    session.append(said(ADDRESS, "alice"), said("Noted.", role="assistant"))
    session.append(*talk(8, 12), *more)
    return session


def bodies(store: Store, session_id: str) -> list[bytes]:
    return [row.body for row in store.read(session_id)]


def found_on_disk(home: Any, request: pytest.FixtureRequest, words: Sequence[str]) -> list[str]:
    """Return the files of the store that have one of the words, or six bytes of it in a row."""
    if home.backend == "sqlite":
        files = [path for path in Path(home.where).iterdir() if path.is_file()]
    else:
        with psycopg.connect(home.where, autocommit=True) as connection:
            connection.execute("CHECKPOINT")
        server = request.getfixturevalue("server")
        files = [path for path in (server.folder / "data" / "base").rglob("*") if path.is_file()]
    pieces = {word[at : at + 6].encode() for word in words for at in range(len(word) - 5)}
    return [str(path) for path in files if any(piece in path.read_bytes() for piece in pieces)]


def test_a_persons_messages_say_that_they_were_erased(home: Any, request: Any) -> None:
    """In a shared conversation, with all that quotes them; everything else is byte for byte as it
    was, and no file has the words.
    """
    store = home.open()
    session = shared_chat(store)
    before = bodies(store, session.id)
    session.compact(force=True)
    store.complete_index()
    branch = store.create(store.session(session.id).branch("x"), parent_id=session.id,
                          descent="branch")  # fmt: skip
    done = erase_words(store, person="alice")
    assert [(one.position, one.why) for one in done.messages] == [(17, "author")]
    assert done.proof is not None
    assert (done.proof.left, done.proof.words, done.proof.lines) == ((), 0, 1)
    after = bodies(store, session.id)
    assert json.loads(after[17]) == {"role": "user", "content": ERASED}
    assert after[:17] + after[18:] == before[:17] + before[18:]
    assert bodies(store, branch.id) == after
    again = Session(store, "group:1", **WINDOW)
    assert not holdfast.check(again.messages)
    assert not any(SECRET in json.dumps(one) for one in again.messages)
    assert found_on_disk(home, request, [SECRET]) == []
    assert store.health(deep=True).problems == ()
    assert erase_words(store, person="alice").messages == ()
