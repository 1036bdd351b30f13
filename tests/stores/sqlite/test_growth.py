"""What must not grow with a store: steps of SQLite's machine, which every run counts the same."""

from __future__ import annotations

import base64
import random
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import apsw
import pytest

from foldaway.errors import UnknownSession
from foldaway.stores.open import open_store
from foldaway.stores.store import Store
from foldaway.stores.values import NewMessage, NewSession, SessionFilter

FEW, MANY = 200, 2_000
_EVERY = 10
"""Steps of the machine between two calls of the counter."""


@contextmanager
def counted() -> Iterator[Callable[[], int]]:
    """Count the steps of all connections that are opened within; gives what counts from 0."""
    steps = 0

    def count() -> bool:
        nonlocal steps
        steps += _EVERY
        return False

    def read() -> int:
        nonlocal steps
        done, steps = steps, 0
        return done

    def watch(connection: Any) -> None:
        connection.set_progress_handler(count, _EVERY)

    apsw.connection_hooks.append(watch)
    try:
        yield read
    finally:
        apsw.connection_hooks.remove(watch)


def fill(store: Store, count: int) -> None:
    for number in range(count):
        text = f"Fix number {number}"
        store.create(
            NewSession(
                id=f"made-{number:08}-x", source="codex", source_id=f"/logs/{number:08}.log",
                cwd="/w", title=f"Title {number}", started=1e9 + number,
            ),
            messages=[NewMessage(body=text.encode(), role="user", text=text, time=1e9 + number)],
        )  # fmt: skip


def not_there(store: Store) -> None:
    with pytest.raises(UnknownSession):
        store.find("nothing of this name")


FLAT: dict[str, Callable[[Store], object]] = {
    "the first page": lambda store: store.sessions(SessionFilter()),
    "the newest of each lineage": lambda store: store.sessions(SessionFilter(only_leaves=True)),
    "a session by its id": lambda store: store.find("made-00000077-x"),
    "by its beginning": lambda store: store.find("made-00000077"),
    "by its end": lambda store: store.find("0077-x"),
    "by the beginning of its source's id": lambda store: store.find("/logs/00000077"),
    "by its title": lambda store: store.find("title 77"),
    "the last used": lambda store: store.find("last"),
    "one that is not there": not_there,
}
LINEAR: dict[str, Callable[[Store], object]] = {
    "all that are the newest": lambda store: store.count(SessionFilter(only_leaves=True)),
    "the folders": lambda store: store.folders(),
    "the names": lambda store: store.names(),
}


def test_a_session_is_found_and_a_page_is_read_in_as_many_steps_in_a_larger_store(
    tmp_path: Path,
) -> None:
    """Ten times the sessions do not take twice the steps; what counts all takes ten times."""
    steps: dict[int, dict[str, int]] = {}
    for size in (FEW, MANY):
        with counted() as read, open_store(tmp_path / f"{size}.db") as store:
            fill(store, size)
            found = steps[size] = {}
            for name, ask in {**FLAT, **LINEAR}.items():
                read()
                ask(store)
                found[name] = read()
    grown = {name: steps[MANY][name] / (steps[FEW][name] + 1) for name in steps[FEW]}
    assert {name: rate for name, rate in grown.items() if rate > (2 if name in FLAT else 12)} == {}


def test_what_a_session_had_is_taken_out_in_as_many_steps_of_a_larger_store(tmp_path: Path) -> None:
    """The bodies of all others are not looked at, and of what is shared only one use is."""
    steps: dict[int, int] = {}
    for size in (FEW, MANY):
        with counted() as read, open_store(tmp_path / f"{size}.db") as store:
            fill(store, size)
            read()
            gone = store.erase(["made-00000077-x"], vacuum=False)
            steps[size] = read()
            assert (gone.messages, gone.bodies) == (1, 1)
            assert store.health(deep=True).problems == ()
    assert steps[MANY] < 2 * steps[FEW]


def test_the_address_of_a_damaged_body_goes_with_it_too(tmp_path: Path) -> None:
    """Also if the damage is not seen: the same bytes come again and are kept whole."""
    said = [NewMessage(body=b'{"said": "once"}', role="user", text="once")]
    with open_store(tmp_path / "one.db") as store:
        store.create(NewSession(id="a"), messages=said)
    with closing(apsw.Connection(str(tmp_path / "one.db"))) as file:
        file.execute("UPDATE bodies SET packed = x'007b7d'")
    with open_store(tmp_path / "one.db") as store:
        store.erase(["a"], vacuum=False)
        store.create(NewSession(id="b"), messages=said)
        assert store.read("b")[0].body == said[0].body


def test_the_address_of_a_body_goes_with_it(tmp_path: Path) -> None:
    """Or the next message of these bytes would be given a body that is not there."""
    image = base64.b64encode(random.Random(3).randbytes(9_000))
    with open_store(tmp_path / "one.db") as store:
        for name in ("a", "b"):
            store.create(NewSession(id=name), messages=[
                NewMessage(body=b'"%b %b"' % (name.encode(), image), role="user", text=name)
            ])  # fmt: skip
        for name, addresses in (("a", 2), ("b", 0)):
            store.erase([name])
            with closing(sqlite3.connect(tmp_path / "one.db")) as file:
                assert file.execute("SELECT count(*) FROM addresses").fetchone() == (addresses,)
