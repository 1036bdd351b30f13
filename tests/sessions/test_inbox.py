"""What was put is in the log once, in its order, whoever is killed; one process answers at a time.

A test's host says "done" to every user message, after a call of a tool.
"""

from __future__ import annotations

import itertools
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.conftest import Home
from tests.sessions.talking import SMALL, talk

from foldaway import Session, check, open_store
from foldaway.errors import InvalidSetting, LeaseLost
from foldaway.sessions import Inbox, InboxTurn, InboxWorker, waiting_inboxes
from foldaway.sessions.finding import discover
from foldaway.stores.store import Store
from foldaway.stores.values import SessionFilter

T = TypeVar("T")
KEY = "chat-7"


def texts(store: Store, key: str = KEY, session_id: str = "") -> list[str]:
    """Return what the user said, paragraph by paragraph, in the log of a conversation."""
    found: list[str] = []
    for message in (
        Session.open(store, session_id) if session_id else Session(store, key)
    ).messages:
        found += message["content"].split("\n\n") if message["role"] == "user" else []
    return found


def calling(session: Session) -> dict[str, Any]:
    """Return an answer that calls a tool."""
    function = {"name": "look", "arguments": "{}"}
    call = {"id": f"c{len(session.messages)}", "type": "function", "function": function}
    return {"role": "assistant", "content": None, "tool_calls": [call]}


def answer(session: Session, turn: InboxTurn) -> None:
    """Go on from where the log ends: a call, its result, what came meanwhile, an answer."""
    while True:
        last = session.messages[-1]
        if calls := last.get("tool_calls"):
            session.append({"role": "tool", "tool_call_id": calls[0]["id"], "content": "seen"})
            turn.take(session)
        elif last["role"] == "user":
            session.append(calling(session))
        elif last["role"] == "tool":
            session.append({"role": "assistant", "content": "done"})
        else:
            return


def work(store: Store, inbox: Inbox) -> None:
    """Do what a host does after it put a message."""
    for turn in inbox.turns():
        session = Session(store, inbox.key)
        if turn.command:
            session.switch()
        elif turn.take(session):
            answer(session, turn)


def inbox_id(store: Store) -> str:
    found = store.by_source("inbox", f"inbox of {KEY}")
    assert found is not None
    return found.id


def test_many_threads_put_and_answer_and_nothing_is_lost(store: Store) -> None:
    """Each message is in the log once, those of a thread in its order, and nothing waits, though
    some found that another had the turn: that one looks again after it let go."""
    threads, each = 6, 5
    start = threading.Barrier(threads)

    def run(name: int) -> None:
        start.wait()
        for number in range(each):
            inbox = Inbox(store, KEY)
            assert inbox.put(f"{name}:{number}", message_id=f"{name}:{number}")
            work(store, inbox)

    running = [threading.Thread(target=run, args=(name,)) for name in range(threads)]
    for one in running:
        one.start()
    for one in running:
        one.join()
    said = texts(store)
    for name in range(threads):
        own = [one for one in said if one.startswith(f"{name}:")]
        assert own == [f"{name}:{number}" for number in range(each)]
    assert Inbox(store, KEY).waiting() == 0
    log = Session(store, KEY).messages
    assert check(log, dialect="openai-chat") == []
    assert log[-1]["content"] == "done"


def test_a_message_that_comes_before_the_turn_ends_has_the_next_one(store: Store) -> None:
    """Its own process finds the turn taken and leaves it to who has it."""
    here, there = Inbox(store, KEY), Inbox(store, KEY)
    here.put("first")
    turns = 0
    for turn in here.turns():
        session = Session(store, KEY)
        assert turn.take(session)
        assert not turn.take(session)
        turns += 1
        if turns == 1:
            there.put("second")
            assert list(there.turns()) == []
    assert turns == 2
    assert [one["content"] for one in Session(store, KEY).messages] == ["first", "second"]


class DyingStore(Store):
    """A store whose process is killed after its nth change of the database."""

    left = 0

    def _write(self, work: Callable[[Any], T]) -> T:
        done = super()._write(work)
        DyingStore.left -= 1
        if DyingStore.left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return done


@pytest.mark.slow
def test_a_kill_at_any_point_loses_and_repeats_nothing(home: Home) -> None:
    """After every change that a turn with several messages and a command makes, on a server after
    every fifth; then another process goes on."""
    store = home.open()
    for point in itertools.count(1, 1 if home.backend == "sqlite" else 5):
        key = f"chat-{point}"
        for number, text in enumerate(("a", "b", "/new", "c")):
            Inbox(store, key).put(text, message_id=str(number), is_command=text == "/new")
        store.close()
        if not (pid := os.fork()):
            child = home.open()
            child.__class__, DyingStore.left = DyingStore, point
            work(child, Inbox(child, key))
            os._exit(0)
        ended = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        Inbox(store, key).put("d", message_id="4")
        assert not Inbox(store, key).put("a", message_id="0")
        work(store, Inbox(store, key))
        first = store.by_source("", key)
        assert first is not None
        before = texts(store, session_id=first.id)
        after = texts(store, key)
        # a command whose process was killed is not done again
        assert (before, after) in ((["a", "b"], ["c", "d"]), (["a", "b", "c", "d"],) * 2), point
        assert Inbox(store, key).waiting() == 0
        for name in (first.id, ""):
            log = (Session.open(store, name) if name else Session(store, key)).messages
            assert check(log, dialect="openai-chat") == []
            assert log[-1]["content"] == "done"
        if ended == 0:
            break
    assert point > 15


def test_what_comes_in_the_middle_of_a_turn_steers_it(store: Store) -> None:
    """It is one user message after the results, and none of it is handed out again."""
    inbox, session = Inbox(store, KEY), Session(store, KEY)
    inbox.put("Fix the build.")
    for turn in inbox.turns():
        turn.take(session)
        session.append(calling(session))
        inbox.put("Only on Linux.")
        inbox.put("And quickly.")
        answer(session, turn)
    said = [message["content"] for message in session.messages]
    assert said == ["Fix the build.", None, "seen", "Only on Linux.\n\nAnd quickly.", None, "seen",
                    "done"]  # fmt: skip
    assert not inbox.waiting()


def test_a_command_in_the_middle_of_a_turn_waits_for_its_end(store: Store) -> None:
    """What came before it is answered in the old conversation, what came after it in the new."""
    inbox, session = Inbox(store, KEY), Session(store, KEY)
    inbox.put("first")
    turn = next(turns := inbox.turns())
    turn.take(session)
    session.append(calling(session))
    inbox.put("/new", is_command=True)
    inbox.put("second")
    assert not turn.take(session)
    answer(session, turn)
    turn = next(turns)
    assert turn.command == "/new"
    fresh = session.switch()
    assert not turn.take(fresh)
    turn = next(turns)
    assert turn.command == ""
    assert turn.take(fresh)
    answer(fresh, turn)
    assert list(turns) == []
    assert texts(store, session_id=session.id) == ["first"]
    assert texts(store) == ["second"]


def test_an_error_leaves_the_message_for_the_next_turn(store: Store) -> None:
    """It is in the log once, the next turn goes on from there, and anybody may take it at once."""
    inbox, session = Inbox(store, KEY), Session(store, KEY)
    inbox.put("first")

    def fail() -> None:
        for turn in inbox.turns():
            turn.take(session)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert inbox.waiting() == 1
    for turn in Inbox(store, KEY).turns():
        assert turn.take(session)
        assert not turn.take(session)
    assert texts(store) == ["first"]
    assert inbox.waiting() == 0


def test_a_host_that_takes_nothing_has_one_turn(store: Store) -> None:
    """Also if the turn before was cut off; what waits still waits."""
    inbox, session = Inbox(store, KEY), Session(store, KEY)
    inbox.put("first")
    assert len(list(inbox.turns())) == 1
    for turn in inbox.turns():
        turn.take(session)
        break
    assert len(list(inbox.turns())) == 1
    assert inbox.waiting() == 1


def test_a_process_that_lost_the_turn_takes_and_ends_nothing(store: Store) -> None:
    """As one that slept for longer than its lease."""
    inbox, session = Inbox(store, KEY), Session(store, KEY)
    inbox.put("first")
    turn = next(turns := inbox.turns())
    held = store.acquire(inbox_id(store), "b", 60)
    store.acquire(inbox_id(store), "b", 60, gone=getattr(held, "holder", ""))
    with pytest.raises(LeaseLost, match="another process"):
        turn.take(session)
    with pytest.raises(LeaseLost):
        next(turns)
    assert inbox.waiting() == 1
    assert texts(store) == []


_OPEN = """
import sys, threading
from foldaway import Session, open_store
sys.setswitchinterval(1e-6)
store, start = open_store(sys.argv[1]), threading.Barrier(16)
def run():
    start.wait()
    said.append(len(Session(store, "long").messages))
said = []
threads = [threading.Thread(target=run) for _ in range(16)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(said)
"""


@pytest.mark.slow
def test_the_first_sessions_of_a_process_may_be_opened_by_many_threads(tmp_path: Path) -> None:
    """None of them sees a type that another has only begun to read."""
    with open_store(tmp_path / "one.db") as store:
        session = Session(store, "long", context_length=8_000, policy=SMALL)
        session.append(*talk(0, 20))
        assert session.compact(force=True).status == "compacted"
        shown = len(session.messages)
    done = subprocess.run(
        [sys.executable, "-c", _OPEN, str(tmp_path / "one.db")], capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout == f"{[shown] * 16}\n"


def test_an_inbox_shows_nowhere(store: Store) -> None:
    """Not in lists, not in a search; the key leads to the conversation."""
    inbox = Inbox(store, KEY)
    inbox.put("xylophone")
    assert store.sessions(SessionFilter()).sessions == ()
    assert len(discover(store, "xylophone")) == 0
    work(store, inbox)
    (only,) = store.sessions(SessionFilter()).sessions
    assert store.find(KEY).id == only.id
    assert len(discover(store, "xylophone")) == 1


def test_inboxes_with_something_to_answer_are_found(store: Store) -> None:
    """By any process, whoever put it."""
    for key in ("a", "b", "c"):
        Inbox(store, key).put("hello")
    work(store, Inbox(store, "b"))
    assert sorted(one.key for one in waiting_inboxes(store)) == ["a", "c"]
    assert list(waiting_inboxes(store, since=4e9)) == []


def test_a_worker_answers_what_was_left_behind(store: Store) -> None:
    """One that fails does not keep the others from it, and is tried again; what it is woken for is
    answered at once."""
    for key in ("a", "b", "c"):
        Inbox(store, key).put("hello")
    failed: list[str] = []
    failed_again, answered = threading.Event(), threading.Event()

    def once(inbox: Inbox) -> None:
        if inbox.key == "b":
            failed.append(inbox.key)
            if len(failed) > 1:
                failed_again.set()
            raise ZeroDivisionError
        work(store, inbox)
        if inbox.key == "d":
            answered.set()

    worker = InboxWorker(store, once, threads=2, sweep_seconds=0.01)
    assert failed_again.wait(60)
    Inbox(store, "d").put("hello")
    worker.wake(Inbox(store, "d"))
    assert answered.wait(60)
    worker.close()
    assert [one.key for one in waiting_inboxes(store)] == ["b"]


@given(contents=st.lists(st.one_of(st.text(min_size=1), st.lists(st.sampled_from(
    [{"type": "text", "text": "see"}, {"type": "image_url", "image_url": {"url": "data:,"}}]
), min_size=1)), min_size=1, max_size=4))  # fmt: skip
def test_messages_are_merged_whole(contents: list[Any]) -> None:
    """Texts become paragraphs; if one has parts, all parts follow each other."""
    session = Session(key=KEY)
    inbox = Inbox(session.store, KEY)
    for content in contents:
        inbox.put({"role": "user", "content": content})
    for turn in inbox.turns():
        turn.take(session)
    (message,) = session.messages
    if all(isinstance(one, str) for one in contents):
        assert message["content"] == "\n\n".join(contents)
    elif len(contents) > 1:
        assert message["content"] == [
            part
            for one in contents
            for part in ([{"type": "text", "text": one}] if isinstance(one, str) else one)
        ]


@pytest.mark.parametrize("message", [{"role": "assistant", "content": "x"}, {"role": "user"}, {}])
def test_what_is_no_user_message_is_refused(store: Store, message: Any) -> None:
    """Before anything is written."""
    with pytest.raises(InvalidSetting):
        Inbox(store, KEY).put(message)


def test_a_cursor_is_a_fact_of_its_session_and_no_goal() -> None:
    """One that an older version kept as a goal still counts, and moves with the next turn."""
    store = open_store(":memory:")
    inbox = Inbox(store, KEY)
    for text in ("one", "two"):
        inbox.put(text)
    (info,) = store.all_sessions(SessionFilter(source="inbox", kind="tool"))
    store.change(info.id, goal='{"answered":1,"taken":1,"stop":1}')
    assert inbox.waiting() == 1
    session = Session(store, KEY)
    for turn in inbox.turns():
        turn.take(session)
    assert texts(store) == ["two"]
    moved = store.session(info.id)
    assert not moved.goal
    assert inbox.waiting() == 0
