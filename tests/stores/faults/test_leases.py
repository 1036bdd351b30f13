"""Leases whose holders stop, die or come back; clocks that jump."""

from __future__ import annotations

import os
import signal
import threading
import time
from typing import Any

import pytest

from foldaway.errors import LeaseLost
from foldaway.stores.store import Store
from foldaway.stores.values import Held, Lease, NewMessage, NewSession, NewView

pytestmark = pytest.mark.slow


def session(store: Store) -> str:
    session_id = store.create(NewSession(dialect="x")).id
    store.append(
        session_id, [NewMessage(body=b"a", role="user"), NewMessage(body=b"b", role="user")]
    )
    return session_id


def taken_over(store: Store, session_id: str) -> Lease:
    """Wait for the lease of somebody who does not renew it."""
    while isinstance(got := store.acquire(session_id, "heir", 60.0), Held):
        assert got.holder == "holder"
        threading.Event().wait(got.expires_in)
    return got


def test_a_holder_that_was_stopped_past_its_time_is_fenced_off(home: Any, start: Any) -> None:
    """SIGSTOP, the lease expires, another one compacts; the first wakes up and is refused."""
    store = home.open()
    session_id = session(store)
    process = start("holder.py", home.where, home.tenant, session_id, "0.3")
    assert process.stdout.readline() == "has\n"
    os.kill(process.pid, signal.SIGSTOP)
    lease = taken_over(store, session_id)
    store.commit(session_id, NewView(items=b"heir", length=2), expect=0, fence=lease.fence)
    os.kill(process.pid, signal.SIGCONT)
    assert process.communicate("go\n")[0] == "lost\n"
    view = store.view(session_id)
    assert view is not None
    assert view.items == b"heir"
    assert len(store.views(session_id)) == 1


def test_the_lease_of_a_dead_holder_expires(home: Any, start: Any) -> None:
    """kill -9; nobody has to clean up."""
    store = home.open()
    session_id = session(store)
    process = start("holder.py", home.where, home.tenant, session_id, "0.3")
    assert process.stdout.readline() == "has\n"
    process.kill()
    assert taken_over(store, session_id).fence == 2


@pytest.mark.parametrize("jump", [-86_400.0, 86_400.0])
def test_setting_the_time_of_day_does_nothing_to_a_lease(
    home: Any, monkeypatch: pytest.MonkeyPatch, jump: float
) -> None:
    """A lease neither ends early nor lasts longer, and logs keep their order."""
    store = home.open()
    session_id = session(store)
    lease = store.acquire(session_id, "me", 60.0)
    assert isinstance(lease, Lease)
    real = time.time
    before = store.session(session_id).updated
    monkeypatch.setattr(time, "time", lambda: real() + jump)
    held = store.acquire(session_id, "you", 60.0)
    assert isinstance(held, Held)
    assert 50 < held.expires_in <= 60
    assert store.renew(lease)
    store.append(session_id, [NewMessage(body=b"c", role="user")])
    assert [message.body for message in store.read(session_id)] == [b"a", b"b", b"c"]
    assert store.session(session_id).updated >= before
    assert store.commit(session_id, NewView(items=b"", length=1), expect=0, fence=lease.fence)


def test_a_lease_from_before_a_restart_is_over(home: Any) -> None:
    """The clock of another start of the machine says nothing about this one; SQLite only."""
    if home.backend != "sqlite":
        return
    store = home.open()
    session_id = session(store)
    lease = store.acquire(session_id, "before", 1e9)
    assert isinstance(lease, Lease)
    database = store._database  # pyright: ignore
    database.write(lambda tx: tx.run("UPDATE leases SET epoch = 'another start'"))
    fresh = store.acquire(session_id, "after", 60.0)
    assert isinstance(fresh, Lease)
    with pytest.raises(LeaseLost):
        store.commit(session_id, NewView(items=b"", length=1), expect=0, fence=lease.fence)
