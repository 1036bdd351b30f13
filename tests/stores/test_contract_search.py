"""Finding: what the indexes of a store promise, on every back-end. Queries: tests/search."""

from __future__ import annotations

from typing import Any

import pytest

from foldaway.search.query import parse_query
from foldaway.search.values import HIDDEN, Filters, Revealed, Wanted, Written
from foldaway.stores.store import Store
from foldaway.stores.values import NewMessage, NewSession, NewView, Stretch


def said(text: str) -> NewMessage:
    return NewMessage(body=text.encode(), role="user", text=text)


def found(store: Store, query: str) -> list[tuple[str, int]]:
    matches = store.match(Wanted(query=parse_query(query)), most=20)
    return sorted((match.session_id, match.position) for match in matches)


@pytest.fixture
def session_id(store: Store) -> str:
    return store.create(NewSession(dialect="openai-chat", id="s")).id


def test_a_message_is_found_by_its_words_as_soon_as_it_is_appended(
    store: Store, session_id: str
) -> None:
    """The index of words is written with the message."""
    store.append(session_id, [said("the compiler crashed"), said("nothing here")])
    assert found(store, "compiler") == [("s", 0)]
    assert found(store, "crashing") == [("s", 0)]


@pytest.mark.parametrize("query", ["o_ba", "foo_bar.py", "#10896", "连接", "错误"])
def test_a_substring_is_found_whether_the_index_is_complete_or_not(
    store: Store, session_id: str, query: str
) -> None:
    """The substring index may lag; a hit is never missed."""
    store.append(session_id, [said("see foo_bar.py, #10896"), said("数据库连接错误")])
    store.complete_index()
    store.append(session_id, [said("again foo_bar.py, #10896: 数据库连接错误")])
    hits = found(store, query)
    assert ("s", 2) in hits
    assert len(hits) == 2
    store.complete_index()
    assert found(store, query) == hits
    assert store.health().unindexed == 0


@pytest.mark.parametrize("query", ["的", "的一"])
def test_a_character_of_many_old_messages_is_found(
    store: Store, session_id: str, query: str
) -> None:
    """Also where it is too common to be counted, and none of the newest messages has it."""
    old = [
        said("".join(f"的一{chr(0x4E00 + 250 * number + at)}" for at in range(250)))
        for number in range(24)
    ]
    store.append(session_id, [*old, *(said(f"later {number}") for number in range(1_100))])
    store.complete_index()
    hits = found(store, query)
    assert len(hits) > 10
    assert all(position < len(old) for _, position in hits)


def test_completing_the_index_goes_in_steps(store: Store, session_id: str) -> None:
    """At most so many at a time, until none is left."""
    store.append(session_id, [said(f"message number {number}") for number in range(10)])
    lacking = store.health().unindexed
    done = store.complete_index(4)
    assert done == min(4, lacking)
    assert store.health().unindexed == lacking - done
    assert store.complete_index() == lacking - done
    assert store.complete_index() == 0


def test_a_compaction_and_a_branch_do_not_touch_what_is_found(
    store: Store, session_id: str
) -> None:
    """What is folded is found still, and what is shared is found once."""
    store.append(session_id, [said("a zebra"), said("b")])
    store.commit(session_id, NewView(items=b"", length=2), expect=0)
    store.create(NewSession(dialect="x"), parent_id=session_id, descent="branch")
    store.rotate(session_id, NewSession(dialect="x"), NewView(items=b"", length=2), expect=1)
    assert found(store, "zebra") == [("s", 0)]


def test_ids_that_come_again_are_indexed_again(store: Store, session_id: str) -> None:
    """After the newest messages were erased, new ones are found by their substrings."""
    store.append(session_id, [said("first aaa_bbb")])
    other = store.create(NewSession(dialect="x", id="t")).id
    store.append(other, [said("second ccc_ddd"), said("third ccc_ddd")])
    store.complete_index()
    store.erase([other], vacuum=False)
    store.append(session_id, [said("fourth eee_fff"), said("fifth eee_fff")])
    assert found(store, "ee_f") == [("s", 1), ("s", 2)]
    assert found(store, "cc_d") == []


def test_tenants_and_profiles_do_not_find_each_other(home: Any) -> None:
    """What one has, another neither finds, reads nor counts, also under the same ids."""
    stores = [home.open(tenant="a"), home.open(tenant="b"), home.open(tenant="a", profile="work")]
    for number, store in enumerate(stores):
        assert store.create(NewSession(dialect="x", id="same", source_id="s")).id == "same"
        store.append("same", [said(f"word{number} shared_part")])
    for number, store in enumerate(stores):
        assert [message.body for message in store.read("same")] == [
            f"word{number} shared_part".encode()
        ]
        assert found(store, f"word{number}") == [("same", 0)]
        assert found(store, "hared_par") == [("same", 0)]
        assert found(store, f"word{(number + 1) % 3}") == []
        assert store.health().messages == 1
    stores[0].erase(["same"])
    assert [store.health().messages for store in stores] == [0, 1, 1]
    assert stores[1].read("same")[0].body == b"word1 shared_part"


@pytest.mark.parametrize("query", ["zebra", "zebra session:b", '"a zebra"', "o_ba"])
def test_a_search_can_be_limited_to_folders(store: Store, query: str) -> None:
    """Only sessions that ran in one of them are found; without any folder, nothing is."""
    for name, folder in (("a", "/work/a"), ("b", "/work/b"), ("b2", "/work/b"), ("c", "")):
        store.create(NewSession(dialect="x", id=name, cwd=folder))
        store.append(name, [said("a zebra in foo_bar.py")])

    def within(*folders: str) -> set[str]:
        wanted = Wanted(query=parse_query(query), filters=Filters(folders=folders))
        return {match.session_id for match in store.match(wanted, most=20)}

    assert within("/work/b", "/work/a") >= within("/work/b") == {"b", "b2"}
    assert within("/work") == within("/work/b/") == within() == set()
    assert "c" not in within("/work/a", "/work/b")


LONG = 700
"""More hits than one search weighs: `foldaway.search.finding.NEWEST`."""


@pytest.mark.parametrize("query", ["deploy", '"deploy it"', "run_it.py", "deplo*", "deploy 部署"])
def test_every_lineage_has_its_hit_though_one_holds_all_of_the_newest(
    store: Store, query: str
) -> None:
    """As many lineages are found as are asked for, if there are so many."""
    for number in range(12):
        name = store.create(NewSession(dialect="x", id=f"old{number:02}")).id
        store.append(name, [said(f"{number}: deploy it with run_it.py, 部署")])
    name = store.create(NewSession(dialect="x", id="long")).id
    store.append(name, [said(f"deploy it again, run_it.py {at} 部署") for at in range(LONG)])
    wanted = Wanted(query=parse_query(query), lineages=True)
    for most in (10, 13):
        matches = store.match(wanted, most=most)
        assert len({match.root_id for match in matches}) == len(matches) == most
    more = {match.root_id: match.more for match in matches}
    assert more["old00"] == 0
    assert more["long"] > 50


def reveal(written: Written) -> Revealed:
    text = written.text.replace("swordfish", "[hidden]")
    return Revealed(text, text.replace("[hidden]", HIDDEN))


@pytest.mark.parametrize(
    ("query", "positions"),
    [
        ("swordfish", []), ("sword*", []), ('"is swordfish"', []), ("ordfi", []), ("hidden", []),
        ("key -swordfish", [0, 1]), ("key -sword*", [0, 1]), ('key -"is swordfish"', [0, 1]),
        ("key", [0, 1]), ("ke*", [0, 1]), ('"the key is"', [0, 1]), ("key -blue", [0]),
        ("key swordfish", [0, 1]), ("the key of swordfish", [0, 1]), (HIDDEN, []),
    ],
)  # fmt: skip
def test_a_message_is_found_by_what_is_shown_of_it(
    store: Store, session_id: str, query: str, positions: list[int]
) -> None:
    """What is hidden neither makes a hit nor takes one away, and no hit shows it."""
    store.append(session_id, [said("the key is swordfish"), said("the key is blue")])
    matches = store.match(Wanted(query=parse_query(query)), most=20, reveal=reveal)
    assert sorted(match.position for match in matches) == positions
    assert all("swordfish" not in match.text for match in matches)


def test_places_that_are_left_out_are_not_found(store: Store, session_id: str) -> None:
    """By the session that owns them; the same positions of another are found."""
    store.append(session_id, [said(f"a zebra, {number}") for number in range(4)])
    store.append(store.create(NewSession(dialect="x", id="t")).id, [said("a zebra")])
    wanted = Wanted(query=parse_query("zebra"), without_places=(("s", 0, 2), ("s", 3, 4)))
    found = {(match.session_id, match.position) for match in store.match(wanted, most=20)}
    assert found == {("s", 2), ("t", 0)}


def test_a_glance_shows_what_a_log_holds(store: Store, session_id: str) -> None:
    """The same messages as `read`, whoever owns them, each stretch by itself."""
    store.append(session_id, [said(f"message {number}") for number in range(6)])
    child = store.create(NewSession(dialect="x"), parent_id="s", descent="branch", at=4).id
    store.append(child, [said("of the child")])
    wanted = [
        Stretch("s", 1, 3), Stretch(child, 2), Stretch(child, 0, 1), Stretch("s", 2, 99),
        Stretch("s", 9),
    ]  # fmt: skip
    seen = store.glance(wanted)
    assert [[line.position for line in some] for some in seen] == [
        [1, 2], [2, 3, 4], [0], [2, 3, 4, 5], []
    ]  # fmt: skip
    for one, some in zip(wanted, seen, strict=True):
        rows = store.read(one.session_id, one.start, one.stop)
        assert [line.written.body for line in some] == [row.body for row in rows]
        assert [line.written.text.encode() for line in some] == [row.body for row in rows]
    assert store.owners(child) == (("s", 0, 4), (child, 4, 5))


def test_leaves_say_where_each_session_goes_on(store: Store, session_id: str) -> None:
    """A session that was rotated goes on in its child, any other in itself."""
    store.append(session_id, [said("a")])
    store.create(NewSession(dialect="x", id="t"))
    child = store.rotate("s", NewSession(dialect="x"), NewView(items=b"", length=1), expect=0)
    found = store.leaves(["s", "t", "t", "nobody"])
    assert {name: (one.id, newest.id) for name, (one, newest) in found.items()} == {
        "s": ("s", child.id),
        "t": ("t", "t"),
    }
