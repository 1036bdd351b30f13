"""A store that is carried over a fork is good on both sides."""

from __future__ import annotations

import os
import threading
import warnings
from pathlib import Path

from foldaway.stores.open import open_store
from foldaway.stores.store import Store
from foldaway.stores.values import NewMessage, NewSession


def said(body: bytes) -> NewMessage:
    return NewMessage(body=body, role="user", text=body.decode())


def in_child(work: object) -> int:
    """Fork, run `work` in the child; return its exit status."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of forks with threads
        child = os.fork()
    if child == 0:
        status = 1
        try:
            work()  # pyright: ignore
            status = 0
        finally:
            os._exit(status)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def test_parent_and_child_write_through_the_same_object(tmp_path: Path) -> None:
    """In turns and at a time; nothing is lost, nothing is damaged."""
    store = open_store(tmp_path)
    session_id = store.create(NewSession(dialect="x")).id
    store.append(session_id, [said(b"before")])

    def work() -> None:
        for number in range(5):
            store.append(session_id, [said(b"child %d" % number)])
        store.close()

    for _ in range(3):
        assert in_child(work) == 0
        store.append(session_id, [said(b"parent")])
    assert len(store.read(session_id)) == 19
    assert store.health(deep=True).problems == ()
    store.close()


def test_a_fork_waits_for_readers_and_writers(tmp_path: Path) -> None:
    """Other threads use the store all the time; the child still gets a good one."""
    store = open_store(tmp_path)
    session_id = store.create(NewSession(dialect="x")).id
    done = threading.Event()

    def use(other: Store) -> None:
        while not done.is_set():
            other.append(session_id, [said(b"thread")])
            other.read(session_id)

    threads = [threading.Thread(target=use, args=(store,)) for _ in range(3)]
    for thread in threads:
        thread.start()
    try:
        codes = [in_child(lambda: store.append(session_id, [said(b"child")])) for _ in range(3)]
    finally:
        done.set()
        for thread in threads:
            thread.join()
    assert codes == [0, 0, 0]
    assert sum(message.body == b"child" for message in store.read(session_id)) == 3
    assert store.health(deep=True).problems == ()
    store.close()
