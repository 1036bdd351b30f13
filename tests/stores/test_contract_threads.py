"""Many threads on one store: nothing lost, nothing twice, nobody sees half of anything."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

from foldaway.errors import Conflict
from foldaway.stores.store import Store
from foldaway.stores.values import Lease, NewMessage, NewSession, NewView


def together(*works: Callable[[], object]) -> None:
    """Run all at once; a failure of any is raised."""
    gate = threading.Barrier(len(works))

    def run(work: Callable[[], object]) -> None:
        gate.wait()
        work()

    with ThreadPoolExecutor(len(works)) as pool:
        for future in [pool.submit(run, work) for work in works]:
            future.result()


def session(store: Store, count: int = 0) -> str:
    session_id = store.create(NewSession(dialect="x")).id
    store.append(session_id, [NewMessage(body=b"%d" % n, role="user") for n in range(count)])
    return session_id


def test_threads_append_to_one_log(store: Store) -> None:
    """Every message once, those of a thread in their order, those of a call side by side."""
    session_id = session(store)

    def writer(name: str) -> Callable[[], None]:
        def work() -> None:
            for number in range(8):
                pair = [f"{name} {number} {part}".encode() for part in "ab"]
                store.append(session_id, [NewMessage(body=body, role="user") for body in pair])

        return work

    together(*(writer(name) for name in "wxyz"))
    bodies = [message.body.decode() for message in store.read(session_id)]
    assert len(bodies) == 64
    for first, second in zip(bodies[::2], bodies[1::2], strict=True):
        assert first[:-1] == second[:-1]
    for name in "wxyz":
        mine = [int(body.split()[1]) for body in bodies[::2] if body.startswith(name)]
        assert mine == list(range(8))


def test_of_many_compactions_at_once_one_wins(store: Store) -> None:
    """The others are told, and nothing of them is kept."""
    session_id = session(store, 3)
    won: list[int] = []

    def compact(number: int) -> Callable[[], None]:
        def work() -> None:
            with suppress(Conflict):
                store.commit(session_id, NewView(items=b"%d" % number, length=2), expect=0)
                won.append(number)

        return work

    together(*(compact(number) for number in range(6)))
    assert len(won) == 1
    assert [view.items for view in store.views(session_id)] == [b"%d" % won[0]]


def test_of_many_rotations_at_once_one_wins(store: Store) -> None:
    """A session goes on in one child."""
    session_id = session(store, 3)
    won: list[str] = []

    def rotate() -> None:
        new = NewView(items=b"", length=3)
        with suppress(Conflict):
            won.append(store.rotate(session_id, NewSession(dialect="x"), new, expect=0).id)

    together(*[rotate] * 5)
    assert [info.id for info in store.lineage(session_id)] == [session_id, *won]
    assert len(won) == 1


def test_of_many_that_want_a_lease_one_gets_it(store: Store) -> None:
    """Under one fence."""
    session_id = session(store)
    got: list[object] = []
    together(*(
        lambda holder=holder: got.append(store.acquire(session_id, holder, 60.0))
        for holder in "abcdef"
    ))  # fmt: skip
    assert sum(isinstance(each, Lease) for each in got) == 1


def test_a_reader_never_sees_half_a_compaction(store: Store) -> None:
    """What is read in one call is one state: items with their state, a log without gaps."""
    session_id = session(store, 4)
    done = threading.Event()

    def compact() -> None:
        try:
            for number in range(25):
                tag = b"%d" % number
                new = NewView(items=tag * 400, length=4, state=tag)
                store.commit(session_id, new, expect=store.session(session_id).view)
                store.append(session_id, [NewMessage(body=b"more", role="user")] * 3)
        finally:
            done.set()

    def look() -> None:
        last = 0
        while not done.is_set():
            view = store.view(session_id)
            log = store.read(session_id)
            assert view is None or view.items == view.state * 400
            assert [message.position for message in log] == list(range(len(log)))
            assert (len(log) - 4) % 3 == 0
            assert len(log) >= last
            last = len(log)

    together(compact, look, look)
