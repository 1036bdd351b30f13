"""What hosts of long conversations expect beside a compaction, each through a session."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from tests.sessions.talking import WINDOW, talk

from foldaway import Redactor, reduce
from foldaway.caching import cache_hints, with_breakpoints
from foldaway.config.settings import read_settings
from foldaway.errors import Conflict, UnknownSession
from foldaway.sessions import SessionOptions
from foldaway.sessions.finding import discover
from foldaway.sessions.hooks import current_session, session_environment, switch_to
from foldaway.sessions.library import Library
from foldaway.sessions.session import Session
from foldaway.sessions.tools import answer
from foldaway.stores.store import Store
from foldaway.stores.values import NewSession, SessionFilter

ROTATING = NewSession(dialect="openai-chat", title="Modules", mode="rotate")


def test_programs_that_an_agent_starts_know_the_session_of_now(store: Store) -> None:
    """Also after a rotation; no setting is meant by it, and without a session there is none."""
    session = Session(store, **WINDOW, options=SessionOptions(new=ROTATING))
    session.append(*talk(0, 20))
    session.compact(force=True)
    script = "import os; print(os.environ['FOLDAWAY_SESSION'])"
    environment = {**os.environ, **session_environment()}
    done = subprocess.run(
        [sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == session.id == current_session()
    assert read_settings(environment=session_environment()).warnings == ()
    switch_to("")
    assert session_environment() == {}


def test_any_ancestor_goes_on_again_as_it_was(store: Store) -> None:
    """With what the model saw then; what became of it since stays as it is."""
    session = Session(store, **WINDOW, options=SessionOptions(new=ROTATING))
    session.append(*talk(0, 20))
    session.compact(force=True)
    middle, seen = session.id, session.messages
    session.append(*talk(20, 20))
    session.compact(force=True)
    leaf, shown = session.id, session.messages
    again = session.branch(of=middle)
    assert again.messages[: len(seen)] == seen
    assert again.info.parent_id == middle
    again.append(*talk(90, 1))
    assert Session.open(store, leaf, **WINDOW).messages == shown
    with pytest.raises(UnknownSession):
        session.branch(of="nobody")


def test_an_undo_of_a_session_that_goes_on_elsewhere_says_where(store: Store) -> None:
    """Its child is named; the handle of the parent goes there by itself."""
    session = Session(store, **WINDOW, options=SessionOptions(new=ROTATING))
    session.append(*talk(0, 20))
    parent = session.id
    session.compact(force=True)
    with pytest.raises(Conflict, match=session.id):
        store.undo(parent)
    assert Session.open(store, parent, **WINDOW).undo()


def test_a_parent_is_known_by_its_branches_and_stays_open(store: Store) -> None:
    """Both go on; the lineage says which came from which."""
    session = Session(store, **WINDOW)
    session.append(*talk(0, 2))
    branch = session.branch(2)
    assert store.session(session.id).ended is None
    made = [one for one in store.lineage(session.id) if one.parent_id == session.id]
    assert [(one.id, one.descent, one.forked_at) for one in made] == [(branch.id, "branch", 2)]


def test_after_a_reset_the_old_talk_is_still_among_recent_sessions(store: Store) -> None:
    """In lists of the store and of the tools of agents; the new one has no goal."""
    session = Session(
        store,
        "key",
        **WINDOW,
        options=SessionOptions(new=NewSession(dialect="openai-chat", goal="ship")),
    )
    session.append(*talk(0, 2))
    fresh = session.switch()
    fresh.append(*talk(50, 1))
    listed = store.sessions(SessionFilter(only_leaves=True)).sessions
    assert {one.id for one in listed} == {session.id, fresh.id}
    said = answer(Library(store), "foldaway_sessions_read", {}).text
    assert session.id in said
    assert fresh.id in said
    assert store.session(fresh.id).goal == ""
    assert Session(store, "key", **WINDOW).id == fresh.id


def test_a_search_goes_on_with_the_next_page(store: Store) -> None:
    """No session twice and none left out."""
    for number in range(12):
        session = Session(store, f"chat-{number}", **WINDOW)
        session.append({"role": "user", "content": f"zebra number {number}"})
    whole = [hit.session for hit in discover(store, "zebra", sort="newest", most=12)]
    pages = [
        hit.session
        for skip in (0, 5, 10, 15)
        for hit in discover(store, "zebra", sort="newest", most=5, skip=skip)
    ]
    assert pages == whole
    assert len(set(pages)) == 12


def test_cache_hints_are_the_marks_that_would_be_set() -> None:
    """As data: what, which one, which block, for how long."""
    request = {
        "system": [{"type": "text", "text": "You help."}],
        "messages": [
            {"role": "user", "content": "One."},
            {"role": "assistant", "content": [{"type": "text", "text": "Two."}]},
        ],
    }
    hints = cache_hints(request, ttl="1h")
    assert [(one.part, one.index, one.block, one.ttl) for one in hints] == [
        ("system", 0, 0, "1h"), ("messages", 0, None, "1h"), ("messages", 1, 0, "1h"),
    ]  # fmt: skip
    assert cache_hints(with_breakpoints(request, ttl="1h")) == ()
    assert cache_hints([]) == ()


def test_what_is_reduced_has_no_secrets_if_that_is_asked_for() -> None:
    """They are hidden before anything is cut, so that none is cut in two."""
    key = "ghp_" + "a1B2c3D4e5" * 4
    text = f'{{"status": "failed", "pushed_with": "{key}", "rows": {list(range(900))}}}'
    assert key in reduce(text, budget_tokens=200).text
    hidden = reduce(text, budget_tokens=200, redact=Redactor())
    assert key[:20] not in hidden.text
    assert "failed" in hidden.text
