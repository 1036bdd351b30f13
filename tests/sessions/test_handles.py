"""Several handles on one conversation, and handles on conversations that are not begun."""

from __future__ import annotations

import copy
import pickle
import threading
from pathlib import Path
from typing import Any

import pytest
from tests.sessions.talking import WINDOW, talk

from foldaway import Session
from foldaway.errors import UnknownReference, UnknownSession
from foldaway.sessions import SessionOptions, internals
from foldaway.sessions.hooks import Hooks, SessionEvent
from foldaway.stores.open import open_store
from foldaway.stores.store import Store
from foldaway.stores.values import NewSession, SessionFilter

ASK = {"role": "user", "content": "What is a sextant?"}
ANSWER = {"role": "assistant", "content": "It measures angles."}


def count(store: Store) -> int:
    """Return how many sessions there are, of every kind."""
    return store.count(SessionFilter(kind="any"))


def test_reading_a_conversation_that_is_not_begun_writes_nothing(kept: Store) -> None:
    """A dashboard may look up keys that nobody used: all is empty, and the store as it was."""
    session = Session(
        kept, "nobody", **WINDOW, options=SessionOptions(new=NewSession(title="A title"))
    )
    assert (session.id, session.key) == ("", "nobody")
    assert (session.messages, session.request(), session.notes) == ([], {"messages": []}, {})
    assert (session.pins, session.delegated, session.undo()) == ((), (), False)
    info = session.info
    assert (info.id, info.length, info.title, info.source_id) == ("", 0, "A title", "nobody")
    assert session.compact(force=True).status == "unchanged"
    assert session.compact(before=ASK).status == "unchanged"
    assert session.breakdown().tokens == 0
    assert internals(session).follower.preview(request={"messages": [ASK]}).messages == [ASK]
    assert internals(session).follower.record(text="anything") == ""
    with pytest.raises(UnknownReference):
        session.recall("m0")
    copy.deepcopy(session)
    session.close()
    assert count(kept) == 0


def test_a_conversation_is_begun_by_its_first_message_or_by_hand(kept: Store) -> None:
    """A host that needs an id before the first message asks for it."""
    session = Session(kept, "mine")
    name = session.change().id
    assert (name, session.id, session.change().id) == (session.info.id, name, name)
    other = Session(kept, "yours")
    other.append(ASK)
    assert (other.id != "", count(kept)) == (True, 2)


def test_a_copy_of_a_conversation_that_is_not_begun_is_the_same_one(kept: Store) -> None:
    """What is said through a copy is said in the conversation, whoever begins it."""
    for session in (Session(kept, "k"), Session(kept)):
        other = copy.deepcopy(session)
        other.append(ASK)
        assert (session.id, session.messages) == (other.id, [ASK])


def test_a_handle_shows_what_was_said_through_another_one(kept: Store, tmp_path: Path) -> None:
    """Messages and facts are those of the store: also after another handle appended, compacted,
    took that back or gave it a title.
    """
    first = Session(kept, "talk", **WINDOW)
    second = Session(kept, "talk", **WINDOW)
    third = copy.copy(first)
    second.append(ASK)
    assert first.messages == third.messages == [ASK]
    third.append(ANSWER, *talk(0, 20))
    assert first.messages == [ASK, ANSWER, *talk(0, 20)]
    assert (first.info.length, first.info.tokens) == (42, kept.session(first.id).tokens)
    assert second.compact(force=True).status == "compacted"
    assert first.messages == second.messages != [ASK, ANSWER, *talk(0, 20)]
    third.undo()
    third.change(title="Angles", goal="Learn")
    assert (first.info.title, first.info.view) == ("Angles", 0)
    assert first.messages == [ASK, ANSWER, *talk(0, 20)]
    with open_store(tmp_path) as store:
        here = Session(store, "there")
        here.append(ASK)
        there = pickle.loads(pickle.dumps(here))
        there.append(ANSWER)
        assert here.messages == [ASK, ANSWER]


def test_a_handle_reads_the_log_again_only_if_it_changed(kept: Store) -> None:
    """Reading what did not change asks for one row, not for the log."""
    session = Session(kept, "talk")
    session.append(*talk(0, 3))
    engine = internals(session).engine
    for _ in range(3):
        assert session.messages
        assert session.info.length == 6
    assert internals(session).engine is engine


def test_many_threads_share_one_handle(kept: Store) -> None:
    """They take turns: all that was appended is there once, and nothing raises."""
    session, errors = Session(kept, "busy", **WINDOW), list[BaseException]()

    def work(number: int) -> None:
        try:
            for at in range(8):
                session.append({"role": "user", "content": f"{number}:{at} " + "word " * 30})
                assert session.messages
                if at == 4:
                    session.compact()
                assert session.info.length
        except BaseException as error:  # noqa: BLE001 told to the test
            errors.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(32)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    said = [row.body for row in kept.read(session.id)]
    assert len(said) == len(set(said)) == 256


def test_no_key_opens_a_session_by_its_id(kept: Store) -> None:
    """Keys may come from users: a key that is the id of a session is a key like any other."""
    secret = Session(kept, "alice")
    secret.append(ASK)
    other = Session(kept, secret.id)
    assert (other.id, other.messages) == ("", [])
    other.append(ANSWER)
    assert other.id != secret.id
    assert Session(kept, secret.id).messages == [ANSWER]
    assert Session.open(kept, secret.id).messages == [ASK]
    with pytest.raises(UnknownSession):
        Session.open(kept, "20260101-000000-00000000")


def told_by(store: Store, turns: int, *, is_kept: bool) -> list[str]:
    """Return the kinds of events of a talk whose host keeps its handle, or opens one each turn."""
    heard: list[SessionEvent] = []
    options: Any = {**WINDOW, "hooks": Hooks(event=heard.append)}
    session = Session(store, f"kept {is_kept}", **options)
    for ask, answer in zip(talk(0, turns)[::2], talk(0, turns)[1::2], strict=True):
        if not is_kept:
            session = Session(store, f"kept {is_kept}", **options)
        session.append(ask)
        session.compact()
        session.append(answer)
    return [event.kind for event in heard]


def test_what_lasts_is_told_once_a_conversation_however_many_handles(kept: Store) -> None:
    """A host that opens a handle for each turn hears what one hears that keeps it."""
    whole = told_by(kept, 24, is_kept=True)
    assert "pressure" in whole
    assert told_by(kept, 24, is_kept=False) == whole
