"""Erasure: what is really gone, and what stays because somebody else shares it."""

from __future__ import annotations

import base64
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from foldaway._core.report import Reference
from foldaway.errors import Conflict, NothingToUndo
from foldaway.stores.store import Store
from foldaway.stores.values import NewMessage, NewSession, NewView, Place


def said(text: str, **fields: object) -> NewMessage:
    return NewMessage(**{"body": text.encode(), "role": "user", "text": text, **fields})  # pyright: ignore


def filled(store: Store, name: str, texts: list[str], **fields: object) -> str:
    store.create(NewSession(**{"dialect": "x", "id": name, **fields}))  # pyright: ignore
    store.append(name, [said(text) for text in texts])
    return name


def branch(store: Store, name: str, parent: str, at: int, texts: list[str]) -> str:
    store.create(NewSession(dialect="x", id=name), parent_id=parent, descent="branch", at=at)
    store.append(name, [said(text) for text in texts])
    return name


def texts(store: Store, session_id: str) -> list[str]:
    return [message.body.decode() for message in store.read(session_id)]


def test_an_erased_session_is_gone(store: Store) -> None:
    """Messages, bodies, views, references, pins, usage: nothing is left, and the store is well."""
    filled(store, "a", ["one", "two"], frame=b"frame of a")
    filled(store, "b", ["two", "three"])
    store.commit("a", NewView(items=b"v", length=1, references=(Reference("r", (0, 1), "fold"),)),
                 expect=0)  # fmt: skip
    store.pin("a", 0)
    gone = store.erase(["a"])
    assert (gone.sessions, gone.messages, gone.bodies) == (1, 2, 2)
    assert gone.kept_for == ()
    assert store.places("r") == ()
    assert texts(store, "b") == ["two", "three"]
    health = store.health(deep=True)
    assert (health.sessions, health.messages, health.problems) == (1, 2, ())
    assert filled(store, "a", ["anew"]) == "a"
    assert store.views("a") == store.pins("a") == store.usage("a") == ()


def test_no_byte_of_it_is_left_in_the_files(home: Any) -> None:
    """Not in the log, the indexes, free pages or the write-ahead log; SQLite only."""
    if home.backend != "sqlite":
        return
    store = home.open()
    word = "xylophonequux"
    image = base64.b64encode(random.Random(3).randbytes(6000)).decode()
    filled(store, "a", [f"{word} number {number} {image}" for number in range(40)], title=word)
    filled(store, "b", ["something else"])
    store.complete_index()
    gone = store.erase(["a"])
    assert gone.bytes_after < gone.bytes_before
    store.close()
    for path in Path(home.where).iterdir():
        held = path.read_bytes()
        assert word.encode() not in held
        assert word[:6].encode() not in held
        assert image[2000:2016].encode() not in held


def test_what_a_living_child_shares_stays_with_it(store: Store) -> None:
    """Of several children each keeps what it shares, at the same positions."""
    filled(store, "root", ["0", "1", "2", "3", "4"])
    branch(store, "short", "root", 2, ["s"])
    branch(store, "long", "root", 4, ["l"])
    branch(store, "deep", "long", 5, ["d"])
    counted = [store.owned_alone(ids) for ids in (["root"], ["root", "short"], ["long", "deep"])]
    assert counted == [1, 2, 2]
    assert store.owned_alone(["root", "short", "long", "deep"]) == 8
    gone = store.erase(["root"])
    assert (gone.sessions, gone.messages) == (1, 1)
    assert gone.kept_for == ("deep", "long", "short")
    assert texts(store, "short") == ["0", "1", "s"]
    assert texts(store, "long") == ["0", "1", "2", "3", "l"]
    assert texts(store, "deep") == ["0", "1", "2", "3", "l", "d"]
    assert store.health(deep=True).problems == ()
    gone = store.erase(["long"])
    assert texts(store, "deep") == ["0", "1", "2", "3", "l", "d"]
    assert texts(store, "short") == ["0", "1", "s"]
    branch(store, "late", "deep", 3, ["x"])
    gone = store.erase(["deep", "short"])
    assert texts(store, "late") == ["0", "1", "2", "x"]
    gone = store.erase(["late"])
    assert store.health(deep=True).messages == 0


def test_a_lineage_that_lost_its_root_stays_together(store: Store) -> None:
    """The oldest that is left gives the name; a child without a parent has none."""
    filled(store, "root", ["0"], started=1.0)
    store.create(NewSession(dialect="x", id="b", started=2.0), parent_id="root", descent="branch")
    store.create(NewSession(dialect="x", id="c", started=3.0), parent_id="b", descent="branch")
    store.erase(["root"])
    assert [info.id for info in store.lineage("c")] == ["b", "c"]
    child = store.session("b")
    assert (child.parent_id, child.root_id, child.descent, child.forked_at) == ("", "b", "", 0)
    assert store.session("c").parent_id == "b"


def test_references_into_what_is_shared_stay_good(store: Store) -> None:
    """Also where parent and grandparent go together, in whatever order they are named."""
    for order in (["a", "b"], ["b", "a"]):
        filled(store, "a", ["0", "1", "2"])
        given = Reference("r", (0, 2), "fold")
        store.commit("a", NewView(items=b"", length=2, references=(given,)), expect=0)
        view = NewView(items=b"", length=3)
        store.rotate("a", NewSession(dialect="x", id="b"), view, expect=1)
        store.rotate("b", NewSession(dialect="x", id="c"), view, expect=2)
        store.erase(order)
        assert store.places("r", session_id="c") == (Place("c", given),)
        assert store.places("r") == (Place("c", given),)
        assert texts(store, "c") == ["0", "1", "2"]
        store.erase(["c"])


def test_a_shared_image_goes_with_the_last_that_has_it(store: Store) -> None:
    """What was cut out of bodies stays as long as one of them does."""
    image = "QUJDREVGR0hJ" * 200
    filled(store, "a", [f'1"{image}"'])
    filled(store, "b", [f'2"{image}"'])
    assert store.erase(["a"]).bodies == 1
    assert texts(store, "b") == [f'2"{image}"']
    assert store.erase(["b"]).bodies == 2


def test_a_lineage_is_as_new_as_its_newest_session(store: Store) -> None:
    """The one used longest ago comes first; what the store takes is shared among them."""
    noise = random.Random(4)
    for number, name in enumerate(("old", "mid", "new")):
        store.create(NewSession(dialect="x", id=name, started=100.0 * number))
        body = noise.randbytes(200_000)
        store.append(name, [NewMessage(body=body, role="user", time=100.0 * number)])
    store.create(
        NewSession(dialect="x", id="fresh", started=500.0), parent_id="old", descent="delegation"
    )
    lineages = store.lineages()
    assert [each.ids for each in lineages] == [("mid",), ("new",), ("old", "fresh")]
    assert [each.updated for each in lineages] == [100.0, 200.0, 500.0]
    size = store.health().stored_bytes
    assert abs(sum(each.bytes for each in lineages) - size) <= len(lineages)
    assert all(each.bytes > size / 4 for each in lineages)


def test_a_session_goes_on_if_the_one_that_took_over_is_erased(store: Store) -> None:
    """Also if another one took over before, and it was opened again."""
    first = store.create(NewSession(dialect="x")).id
    new = NewView(items=b"r", length=0)
    older = store.rotate(first, NewSession(dialect="x"), new, expect=0).id
    store.reopen(first)
    newer = store.rotate(first, NewSession(dialect="x"), new, expect=0).id
    with pytest.raises(Conflict, match=newer):
        store.undo(first)
    store.erase([newer])
    with pytest.raises(NothingToUndo):
        store.undo(first)
    assert store.session(older).parent_id == first


def test_large_bodies_are_looked_through_few_at_a_time(store: Store) -> None:
    """Sifting takes several times the memory of what it is given; each body is given to it once."""
    noise = random.Random(5)
    images = [base64.b64encode(noise.randbytes(2_000_000)).decode() for _ in range(12)]
    filled(store, "images", [])
    store.append("images", [said("", body=f'"{image}"'.encode()) for image in images])
    filled(store, "small", [f"note {number}" for number in range(500)])
    given: list[list[bytes]] = []

    def sift(several: Sequence[bytes]) -> range:
        given.append(list(several))
        return range(len(several))

    found = store.look_through(lambda data: data.startswith(b"note "), sift=sift)
    assert sum(piece.kind == "message" for piece in found) == 500
    assert max(sum(map(len, some)) for some in given) < 12_000_000
    whole = [one for some in given for one in some if len(one) > 2_000_000]
    assert len(whole) == len(images)
