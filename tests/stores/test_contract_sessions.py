"""Sessions: made, found, listed, ended; branches, lineages, titles."""

from __future__ import annotations

import pytest

import foldaway
from foldaway.caching import RequestUsage
from foldaway.errors import (
    AmbiguousSession,
    Conflict,
    InvalidSetting,
    UnknownPosition,
    UnknownSession,
)
from foldaway.stores.store import Store
from foldaway.stores.values import (
    NewMessage,
    NewSession,
    NewView,
    Pin,
    SessionFilter,
    SessionOrder,
    TurnUsage,
)


def said(text: str, **fields: object) -> NewMessage:
    return NewMessage(**{"body": text.encode(), "role": "user", "text": text, **fields})  # pyright: ignore


def new(**fields: object) -> NewSession:
    return NewSession(**{"dialect": "openai-chat", **fields})  # pyright: ignore


def texts(store: Store, session_id: str) -> list[str]:
    return [message.body.decode() for message in store.read(session_id)]


def filled(store: Store, count: int, **fields: object) -> str:
    made = store.create(new(**fields))
    store.append(made.id, [said(str(number), tokens=1) for number in range(count)])
    return made.id


def test_a_session_is_as_it_was_made(store: Store) -> None:
    """Every field comes back; an id is made where none is given."""
    made = store.create(new(
        title="t", goal="g", model="m", source="codex", source_id="s-1", kind="subagent",
        cwd="/w", started=5.0, frame=b'{"system": "x"}', mode="rotate",
    ))  # fmt: skip
    assert made == store.session(made.id)
    assert (made.title, made.goal, made.model, made.source) == ("t", "g", "m", "codex")
    assert (made.source_id, made.kind, made.cwd, made.mode) == ("s-1", "subagent", "/w", "rotate")
    assert (made.started, made.updated, made.frame) == (5.0, 5.0, b'{"system": "x"}')
    assert (made.length, made.view, made.compactions, made.ended) == (0, 0, 0, None)
    assert (made.parent_id, made.root_id, made.descent) == ("", made.id, "")
    assert made.id
    assert store.create(new(id="my own")).id == "my own"


def test_an_id_and_a_source_id_are_taken_once(store: Store) -> None:
    """A second session of the same id, or source id within its source, is refused."""
    store.create(new(id="one", source="codex", source_id="s"))
    with pytest.raises(Conflict, match="one"):
        store.create(new(id="one"))
    with pytest.raises(Conflict, match="one"):
        store.create(new(source="codex", source_id="s"))
    assert store.create(new(source="pi", source_id="s")).id
    assert len({store.create(new()).id for _ in range(20)}) == 20


def test_a_store_says_which_version_made_it(store: Store) -> None:
    """So that a report of a fault can name it."""
    assert store.health().written_by == f"created by {foldaway.__version__}"


def test_a_session_that_is_named_by_a_path_can_get_another_name(store: Store) -> None:
    """It is found by a message; its keys change too, but no session takes the name of another."""
    store.create(new(id="one", source="pi", source_id="/a/b.json"), messages=[said("a", key="k")])
    store.create(new(id="two", source="pi", source_id="b"), messages=[said("a", key="k")])
    store.create(new(source="codex", source_id="/a/b.json"), messages=[said("a", key="k")])
    assert store.named_by_path("pi", "k") == ["/a/b.json"]
    assert store.named_by_path("pi", "other") == store.named_by_path("pi", "") == []
    with pytest.raises(Conflict, match="two"):
        store.adopt("one", "b", ["new"])
    assert store.keys("one") == {"k"}
    store.adopt("one", "b#2", ["new"])
    found = store.by_source("pi", "b#2")
    assert found is not None
    assert (found.id, store.keys("one")) == ("one", {"new"})
    assert store.by_source("pi", "/a/b.json") is None


def test_a_session_may_be_made_with_its_messages(store: Store) -> None:
    """All of it or nothing: where the id is taken, or a parent is not there, nothing is written."""
    made = store.create(new(id="one"), messages=[said("a", key="k"), said("b")])
    assert (made.length, texts(store, "one")) == (2, ["a", "b"])
    assert store.session("one") == made
    with pytest.raises(Conflict):
        store.create(new(id="one"), messages=[said("c")])
    assert texts(store, "one") == ["a", "b"]


def test_a_session_takes_the_place_of_one_that_nobody_changed(store: Store) -> None:
    """Under the same id and source id; one that was appended to meanwhile stays."""
    old = store.create(new(id="one", source="aider", source_id="s"), messages=[said("hal")])
    fresh = new(id="one", source="aider", source_id="s")
    made = store.create(fresh, messages=[said("half"), said("more")], replaces=old)
    assert texts(store, "one") == ["half", "more"]
    assert store.health(deep=True).problems == ()
    store.append("one", [said("later")])
    with pytest.raises(Conflict, match="appended"):
        store.create(fresh, messages=[said("x")], replaces=made)
    assert texts(store, "one") == ["half", "more", "later"]


def test_a_session_is_found_by_id_beginning_and_source_id(store: Store) -> None:
    """An exact id wins over a beginning; several are named."""
    store.create(new(id="abc"))
    store.create(new(id="abcdef"))
    store.create(new(id="xyz", source="pi", source_id="/path/to file"))
    assert store.find("abc").id == "abc"
    assert store.find("abcd").id == "abcdef"
    assert store.find("/path/to file").id == "xyz"
    assert store.find("/path").id == store.find("yz").id == "xyz"
    with pytest.raises(AmbiguousSession, match="abc, abcdef"):
        store.find("ab")
    found = store.by_source("pi", "/path/to file")
    assert found is not None
    assert found.id == "xyz"
    assert store.by_source("codex", "/path/to file") is store.by_source("pi", "") is None
    for odd in ("ab%", "ab_", "zz", ""):
        with pytest.raises(UnknownSession):
            store.find(odd)


def test_sessions_are_listed_newest_first_in_pages(store: Store) -> None:
    """Pages follow each other without a gap and without a double, also where times are equal."""
    for number in range(7):
        store.create(new(id=f"s{number}", started=float(number // 2)))
    seen: list[str] = []
    after = ""
    for _ in range(4):
        page = store.sessions(SessionFilter(), most=2, after=after)
        seen += [info.id for info in page.sessions]
        after = page.next
    assert after == ""
    assert seen == ["s6", "s5", "s4", "s3", "s2", "s1", "s0"]


def test_sessions_are_filtered(store: Store) -> None:
    """Each field narrows; text is part of the title or first ask, letter case aside."""
    store.create(new(id="a", source="codex", title="Große Straße", started=100.0))
    store.create(new(id="b", kind="subagent", started=200.0))
    store.create(new(id="c", started=300.0))
    store.append("c", [said("Fix 100% of_it", time=400.0)])

    def found(**fields: object) -> list[str]:
        return [info.id for info in store.sessions(SessionFilter(**fields)).sessions]  # pyright: ignore

    assert found() == ["c", "a"]
    assert found(kind="any") == ["c", "b", "a"]
    assert found(kind="subagent") == ["b"]
    assert found(source="codex") == ["a"]
    assert found(text="STRASSE") == ["a"]
    assert found(text="100% OF_") == ["c"]
    assert found(text="100_") == []
    assert found(since=350.0) == ["c"]
    assert found(until=300.0) == ["a"]
    assert found(root_id="a") == ["a"]


def test_only_the_newest_of_a_lineage_is_a_leaf(store: Store) -> None:
    """`only_leaves` shows one session a lineage, of the kind that is asked for."""
    store.create(new(id="root", started=1.0))
    store.create(new(id="next", started=2.0), parent_id="root", descent="branch")
    store.create(
        new(id="helper", started=3.0, kind="subagent"), parent_id="next", descent="delegation"
    )
    store.create(new(id="other", started=0.5))
    leaves = store.sessions(SessionFilter(only_leaves=True)).sessions
    assert [info.id for info in leaves] == ["next", "other"]
    leaves = store.sessions(SessionFilter(only_leaves=True, kind="any")).sessions
    assert [info.id for info in leaves] == ["helper", "other"]


def test_the_newest_of_a_lineage_that_fits_is_listed(store: Store) -> None:
    """A younger branch of another title, or of another agent, hides nothing."""
    store.create(new(id="root", started=1.0, title="Parser", source="pi"))
    store.create(new(id="same", started=2.0, title="Parser again"), parent_id="root",
                 descent="branch")  # fmt: skip
    store.create(new(id="else", started=3.0, title="Docs"), parent_id="same", descent="branch")
    for wanted, found in (
        (SessionFilter(only_leaves=True, text="parser"), ["same"]),
        (SessionFilter(only_leaves=True, source="pi"), ["root"]),
        (SessionFilter(only_leaves=True), ["else"]),
    ):
        assert [info.id for info in store.sessions(wanted).sessions] == found


def test_a_branch_shares_its_parents_log_up_to_a_message(store: Store) -> None:
    """Both go on by themselves from there; what is shared is the parent's."""
    parent = filled(store, 5, title="T", goal="g", model="m", frame=b"f", cwd="/w")
    store.pin(parent, 1, "keep")
    store.pin(parent, 4)
    child = store.create(new(), parent_id=parent, descent="branch", at=3)
    assert (child.parent_id, child.root_id, child.descent) == (parent, parent, "branch")
    assert (child.forked_at, child.length, child.tokens) == (3, 3, 3)
    assert (child.title, child.goal, child.model) == ("T #2", "g", "m")
    assert (child.frame, child.cwd, child.first_ask) == (b"f", "/w", "0")
    store.append(child.id, [said("x")])
    store.append(parent, [said("y")])
    assert texts(store, child.id) == ["0", "1", "2", "x"]
    assert texts(store, parent) == ["0", "1", "2", "3", "4", "y"]
    assert [message.owner_id for message in store.read(child.id)] == [parent] * 3 + [child.id]
    assert store.pins(child.id) == (Pin(1, "keep"),)


def test_a_branch_of_a_branch_reads_through(store: Store) -> None:
    """However deep, positions stay the same."""
    first = filled(store, 4)
    second = store.create(new(), parent_id=first, descent="branch", at=2).id
    store.append(second, [said("a"), said("b"), said("c")])
    third = store.create(new(), parent_id=second, descent="branch", at=4).id
    store.append(third, [said("z")])
    fourth = store.create(new(), parent_id=third, descent="branch", at=1).id
    assert texts(store, third) == ["0", "1", "a", "b", "z"]
    assert texts(store, fourth) == ["0"]
    assert [m.position for m in store.read(third, 1, 4)] == [1, 2, 3]
    assert [info.id for info in store.lineage(third)] == [first, second, third, fourth]


def test_keys_are_known_along_the_shared_log_only(store: Store) -> None:
    """A child knows the keys of what it shares, not of what its parent appended later."""
    parent = filled(store, 0)
    store.append(parent, [said("a", key="1"), said("b", key="2")])
    child = store.create(new(), parent_id=parent, descent="branch", at=1).id
    assert store.append(child, [said("a", key="1"), said("b", key="2")]) == range(1, 2)
    assert store.keys(child) == {"1", "2"}
    assert store.keys(store.create(new(), parent_id=parent, descent="reset").id) == frozenset()


def test_a_branch_beyond_the_log_is_refused(store: Store) -> None:
    """There is no such place."""
    parent = filled(store, 2)
    for at in (-1, 3):
        with pytest.raises(UnknownPosition, match=f"m{at}: its places are m0 to m2"):
            store.create(new(), parent_id=parent, descent="branch", at=at)


def test_a_branch_has_its_parents_view_where_it_fits(store: Store) -> None:
    """A view that covers more than what is shared stays with the parent."""
    parent = filled(store, 6)
    store.commit(parent, NewView(items=b"v", length=4, state=b"s"), expect=0)
    store.save_state(parent, b"cooldown")
    fits = store.create(new(), parent_id=parent, descent="branch", at=4)
    short = store.create(new(), parent_id=parent, descent="branch", at=3)
    assert (fits.view, fits.compactions, short.view, short.compactions) == (1, 1, 0, 0)
    view = store.view(fits.id)
    assert view is not None
    assert (view.items, view.state, view.previous) == (b"v", b"s", 0)
    assert store.state(fits.id) == b"cooldown"
    assert store.undo(fits.id).view == 0
    assert store.session(parent).view == 1


@pytest.mark.parametrize("descent", ["delegation", "reset"])
def test_a_delegation_and_a_reset_share_nothing(store: Store, descent: str) -> None:
    """A subagent only belongs to the lineage; after a reset another one begins."""
    parent = filled(store, 3, title="T", goal="g")
    child = store.create(new(), parent_id=parent, descent=descent)  # pyright: ignore
    assert (child.length, child.forked_at, child.goal) == (0, 0, "")
    assert child.root_id == (parent if descent == "delegation" else child.id)
    assert child.title == ("" if descent == "delegation" else "T #2")


def test_titles_are_numbered_along_the_lineage(store: Store) -> None:
    """The next free number, also after a number in the title; a given title stays."""
    parent = store.create(new(title="Fix it")).id
    second = store.create(new(), parent_id=parent, descent="branch")
    third = store.create(new(), parent_id=second.id, descent="branch")
    named = store.create(new(title="Mine"), parent_id=second.id, descent="branch")
    fourth = store.create(new(), parent_id=parent, descent="reset")
    assert [info.title for info in (second, third, named, fourth)] == [
        "Fix it #2",
        "Fix it #3",
        "Mine",
        "Fix it #4",
    ]


def test_what_can_change_is_changed(store: Store) -> None:
    """None leaves a field as it is; an empty value empties it."""
    session_id = filled(store, 1, title="a", goal="b", frame=b"c")
    info = store.change(session_id, title="A", model="m")
    assert (info.title, info.goal, info.model, info.frame) == ("A", "b", "m", b"c")
    info = store.change(session_id, goal="", frame=b"")
    assert (info.title, info.goal, info.frame) == ("A", "", b"")
    assert store.sessions(SessionFilter(text="A")).sessions
    assert store.change(session_id) == info


def test_a_session_ends_and_is_reopened(store: Store) -> None:
    """It can be read and appended to meanwhile."""
    session_id = filled(store, 1)
    store.end(session_id, "user left")
    info = store.session(session_id)
    assert info.ended is not None
    assert info.end_reason == "user left"
    store.append(session_id, [said("b")])
    store.reopen(session_id)
    info = store.session(session_id)
    assert (info.ended, info.end_reason, info.length) == (None, "", 2)


def test_the_newest_leaf_follows_compressions_only(store: Store) -> None:
    """A branch is another way, not where the session goes on."""
    first = filled(store, 2)
    view = NewView(items=b"", length=2)
    second = store.rotate(first, new(), view, expect=0).id
    store.create(new(), parent_id=second, descent="branch")
    third = store.rotate(second, new(), view, expect=1).id
    for session_id in (first, second, third):
        assert store.newest_leaf(session_id).id == third


def test_sessions_of_other_folders_can_be_as_if_they_were_not_there(store: Store) -> None:
    """Neither listed nor found nor named, by id, beginning or source id."""
    store.create(new(id="20-a", cwd="/work/a", source="codex", source_id="first"))
    store.create(new(id="20-b", cwd="/work/b", source="codex", source_id="second"))
    store.create(new(id="20-c", source="codex", source_id="third"))
    assert store.folders() == {"": 1, "/work/a": 1, "/work/b": 1}

    def listed(*folders: str) -> list[str]:
        wanted = SessionFilter(folders=folders, only_leaves=True)
        return sorted(info.id for info in store.sessions(wanted).sessions)

    assert listed("/work/a") == ["20-a"]
    assert listed("/work/a", "/work/b") == ["20-a", "20-b"]
    assert listed("/work") == listed() == []
    assert store.find("20", folders=("/work/a",)).id == "20-a"
    assert store.find("second", folders=("/work/b",)).id == "20-b"
    for name in ("20-b", "second", "20-c", "third", "20-b"[:4]):
        with pytest.raises(UnknownSession):
            store.find(name, folders=("/work/a",))
    with pytest.raises(AmbiguousSession) as several:
        store.find("20", folders=("/work/a", "/work/b"))
    assert "20-c" not in str(several.value)
    with pytest.raises(UnknownSession):
        store.find("20-a", folders=())


def used(tokens: int, cost: float | None = None) -> TurnUsage:
    return TurnUsage(position=1, model="m", input_tokens=tokens, output_tokens=1, cost=cost)


def recorded(request: RequestUsage) -> float | None:
    """Return the price that was written down."""
    return request.cost


def test_what_a_session_used_is_kept_with_it(store: Store) -> None:
    """Sums are out of date from a report until they are counted, for those too that it works for;
    what nobody knows the price of is counted apart.
    """
    main, other = store.create(new(id="main")), store.create(new(id="other"))
    helper = store.create(new(kind="subagent"), parent_id="main", descent="delegation")
    assert (main.requests, main.used_tokens, main.cost) == (0, 0, 0.0)
    assert store.count_used(recorded) == 0
    store.add_usage("main", used(10, 0.5))
    store.add_usage(helper.id, used(20), used(30, 0.25))
    assert store.session("main").requests is store.session(helper.id).requests is None
    assert store.session("other") == other
    assert store.count_used(recorded, most=1) == 1
    assert store.count_used(recorded) == 1
    assert store.count_used(recorded) == 0
    info = store.session("main")
    assert (info.requests, info.used_tokens, info.cost, info.unpriced) == (3, 63, 0.75, 1)
    info = store.session(helper.id)
    assert (info.requests, info.used_tokens, info.cost, info.unpriced) == (2, 52, 0.25, 1)
    store.erase([helper.id])
    assert store.count_used(recorded) == 1
    assert store.session("main").cost == 0.5


def test_a_list_has_every_session_once_in_any_order(store: Store) -> None:
    """By money, tokens and compactions the most first, by names from the first letter on; pages
    follow each other also where many are equal.
    """
    for number in range(12):
        store.create(new(
            id=f"s{number:02}", model=f"m {number % 3}", source="pi" if number % 2 else "",
            cwd=f"/w/{number % 4}%", started=float(number // 3),
        ))  # fmt: skip
        if number % 3:
            store.add_usage(f"s{number:02}", used(number % 5, number % 4 / 2))
    store.count_used(recorded)
    everything = list(store.sessions(SessionFilter(), most=99).sessions)
    orders: dict[SessionOrder, bool] = {
        "updated": True, "cost": True, "used_tokens": True, "compactions": True,
        "cwd": False, "model": False, "source": False,
    }  # fmt: skip
    for order, is_falling in orders.items():
        found: list[str] = []
        after = ""
        while True:
            page = store.sessions(SessionFilter(), most=5, after=after, order=order)
            found += [info.id for info in page.sessions]
            after = page.next
            if not after:
                break
        wanted = sorted(everything, key=lambda info: info.id, reverse=True)
        wanted.sort(key=lambda info: getattr(info, order), reverse=is_falling)
        assert found == [info.id for info in wanted]
    with pytest.raises(InvalidSetting):
        store.sessions(SessionFilter(), after="dear s01", order="cost")


def test_a_list_is_narrowed_by_model(store: Store) -> None:
    """The names that sessions have are listed for whoever chooses."""
    store.create(new(id="one", model="a", source="pi", cwd="/x"))
    store.create(new(id="two", model="b"))
    store.create(new(model="b", kind="subagent"))
    assert [info.id for info in store.sessions(SessionFilter(model="b")).sessions] == ["two"]
    assert store.count(SessionFilter(model="b")) == 1
    assert sorted(store.names()) == [("", "b", ""), ("pi", "a", "/x")]
