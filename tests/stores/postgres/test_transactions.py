"""Transactions that meet each other, or lose their server."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing

import psycopg
import pytest
from tests.testing.postgres_server import PostgresServer

from foldaway.stores.database import Statements
from foldaway.stores.log import append, pack_messages
from foldaway.stores.open import open_store
from foldaway.stores.store import Store
from foldaway.stores.values import Erased, Held, Lease, NewMessage, NewSession, NewView

Said = Callable[[str], NewMessage]
NEW = NewSession(dialect="openai-chat")


@pytest.fixture
def store(server: PostgresServer, request: pytest.FixtureRequest) -> Iterator[Store]:
    made = open_store(server.url(), tenant=request.node.name)
    yield made
    made.close()


@pytest.mark.parametrize("cut", ["before", "after", "silent"])
def test_a_commit_whose_answer_is_lost_happens_once(line, said: Said, cut: str) -> None:
    """Where the connection is lost at the commit, the change is there once and is reported so."""
    with closing(open_store(line.url, tenant=f"lost {cut}")) as store:
        session = store.create(NEW)
        store.append(session.id, [said("first")])
        line.cut = cut
        assert store.append(session.id, [said("second")]) == range(1, 2)
        assert line.cuts == 1
        line.cut = cut
        assert store.commit(session.id, NewView(items=b"[]", length=1), expect=0).view == 1
        assert line.cuts == 2
        assert [message.body for message in store.read(session.id)] == [b"first", b"second"]
        assert store.health(deep=True).problems == ()


def test_a_restarted_server_is_reached_again(server: PostgresServer, store: Store, said) -> None:
    """Connections that a restart left dead are replaced without a word."""
    session = store.create(NEW)
    store.append(session.id, [said("before")])
    server.stop("immediate")
    server.start()
    assert store.append(session.id, [said("after")]) == range(1, 2)
    assert [message.body for message in store.read(session.id)] == [b"before", b"after"]


def test_a_deadlock_is_tried_again(store: Store) -> None:
    """Two transactions that wait for each other in a circle both succeed in the end."""
    one, two = store.create(NEW).id, store.create(NEW).id
    database = store._database
    met = threading.Barrier(2)
    tries: list[str] = []

    def crossing(first: str, second: str) -> None:
        def work(tx) -> None:
            tries.append(first)
            for place, name in enumerate((first, second)):
                tx.run("UPDATE sessions SET goal = ? WHERE tenant = ? AND id = ?",
                       (first, database.tenant, name))  # fmt: skip
                if place == 0 and len(tries) <= 2:
                    met.wait()

        database.write(work)

    with ThreadPoolExecutor(2) as pool:
        for done in [pool.submit(crossing, one, two), pool.submit(crossing, two, one)]:
            done.result()
    assert len(tries) >= 3
    assert store.session(one).goal == store.session(two).goal


def test_many_threads_append_to_one_session_without_a_gap(store: Store, said: Said) -> None:
    """Every append gets its own positions, more threads than connections included."""
    session = store.create(NEW)

    def append(number: int) -> range:
        return store.append(session.id, [said(f"{number} a"), said(f"{number} b")])

    with ThreadPoolExecutor(12) as pool:
        ranges = list(pool.map(append, range(48)))
    assert sorted(spot.start for spot in ranges) == list(range(0, 96, 2))
    assert [message.position for message in store.read(session.id)] == list(range(96))


def test_the_same_body_from_many_at_once_is_stored_once(store: Store, said: Said) -> None:
    """Writers of the same content neither fail nor write it twice."""
    ids = [store.create(NEW).id for _ in range(8)]
    both = [said("the same"), said("and this")]
    with ThreadPoolExecutor(8) as pool:
        for _ in pool.map(lambda one: store.append(one, both), ids):
            pass
    database = store._database
    counted = database.read(
        lambda tx: tx.row("SELECT count(*) FROM bodies WHERE tenant = ?", (database.tenant,))
    )
    assert counted == (2,)


def test_erasing_waits_for_an_append_of_the_same_content(
    server: PostgresServer, store: Store, said: Said
) -> None:
    """A body that somebody is about to refer to is not swept away with an erased session."""
    going, kept = store.create(NEW).id, store.create(NEW).id
    store.append(going, [said("shared")])
    ready = pack_messages([said("shared")])

    def work(tx: Statements) -> Future[Erased]:
        append(store._space, tx, kept, ready, None)
        erasing = pool.submit(store.erase, [going], vacuum=False)
        _await_lock(server, erasing)
        return erasing

    with ThreadPoolExecutor(1) as pool:
        erased = store._database.write(work).result()
    assert (erased.sessions, erased.bodies) == (1, 0)
    assert [message.body for message in store.read(kept)] == [b"shared"]
    assert store.health(deep=True).problems == ()


def _await_lock(server: PostgresServer, job: Future[Erased]) -> None:
    """Return when a transaction waits for another one, or the job is done without."""
    with psycopg.connect(server.url(), autocommit=True) as connection:
        while (
            not job.done()
            and not connection.execute(
                "SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock'"
            ).fetchone()
        ):
            pass


def test_a_lease_follows_the_clock_of_the_server(server: PostgresServer, store: Store) -> None:
    """A lease ends when the server says so, whatever the clocks of its clients show."""
    session = store.create(NEW)
    lease = store.acquire(session.id, "one", 60)
    assert isinstance(lease, Lease)
    with psycopg.connect(server.url(), autocommit=True) as connection:
        left = "expires - extract(epoch FROM clock_timestamp())"
        mine = f"WHERE tenant = '{store._database.tenant}'"
        seconds = connection.execute(f"SELECT {left} FROM foldaway.leases {mine}").fetchone()[0]
        assert 50 < seconds <= 60
        assert isinstance(store.acquire(session.id, "two", 60), Held)
        connection.execute(f"UPDATE foldaway.leases SET expires = expires - 61 {mine}")
    taken = store.acquire(session.id, "two", 60)
    assert isinstance(taken, Lease)
    assert taken.fence > lease.fence


def test_a_reader_sees_one_state(store: Store, said: Said) -> None:
    """What is committed while a reader works is not there for it, not even in part."""
    session = store.create(NEW)
    store.append(session.id, [said("first")])
    database = store._database
    count = "SELECT count(*) FROM messages WHERE tenant = ?"

    def work(tx) -> tuple[object, object]:
        before = tx.row(count, (database.tenant,))
        with ThreadPoolExecutor(1) as pool:
            pool.submit(store.append, session.id, [said("second")]).result()
        return before, tx.row(count, (database.tenant,))

    assert database.read(work) == ((1,), (1,))
    assert len(store.read(session.id)) == 2
