"""Views: committed, undone, rotated; references, leases, pins, state, usage."""

from __future__ import annotations

import pytest

from foldaway._core.report import Reference
from foldaway.errors import Conflict, InvalidView, LeaseLost, NothingToUndo, UnknownPosition
from foldaway.stores.store import Store
from foldaway.stores.values import (
    Held,
    Lease,
    NewMessage,
    NewSession,
    NewView,
    Pin,
    Place,
    TurnUsage,
)


def said(text: str, **fields: object) -> NewMessage:
    return NewMessage(**{"body": text.encode(), "role": "user", "text": text, **fields})  # pyright: ignore


def new(**fields: object) -> NewSession:
    return NewSession(**{"dialect": "openai-chat", **fields})  # pyright: ignore


def filled(store: Store, count: int, **fields: object) -> str:
    made = store.create(new(**fields))
    store.append(made.id, [said(str(number)) for number in range(count)])
    return made.id


def test_a_commit_swaps_the_view_and_keeps_the_log(store: Store) -> None:
    """The number is fresh, the messages are as they were, and later ones are kept."""
    session_id = filled(store, 4)
    before = store.read(session_id)
    new_view = NewView(items=b"items" * 100, length=3, state=b"state", report=b"report")
    info = store.commit(session_id, new_view, expect=0)
    assert (info.view, info.compactions, info.length) == (1, 1, 4)
    view = store.view(session_id)
    assert view is not None
    assert (view.number, view.previous, view.reason, view.length) == (1, 0, "compaction", 3)
    assert (view.items, view.state, view.report) == (b"items" * 100, b"state", b"report")
    assert store.read(session_id) == before
    assert store.append(session_id, [said("later")]) == range(4, 5)
    assert store.view(session_id) == view
    assert store.view(session_id, 0) is None
    assert store.view(session_id, 99) is None


def test_a_commit_that_expects_another_view_changes_nothing(store: Store) -> None:
    """Compare and swap: of two that began at the same view one wins."""
    session_id = filled(store, 2)
    store.commit(session_id, NewView(items=b"a", length=1), expect=0)
    lost = NewView(items=b"b", length=2, references=(Reference("r", (0, 1), "fold"),))
    with pytest.raises(Conflict, match="number 1, not 0"):
        store.commit(session_id, lost, expect=0)
    assert len(store.views(session_id)) == 1
    assert store.places("r") == ()


def test_a_view_beyond_the_log_is_refused(store: Store) -> None:
    """It would show what is not there."""
    session_id = filled(store, 2)
    for length in (3, -1):
        with pytest.raises(InvalidView):
            store.commit(session_id, NewView(items=b"", length=length), expect=0)
    assert store.session(session_id).view == 0


def test_an_undo_goes_back_and_numbers_stay_fresh(store: Store) -> None:
    """What was undone stays for the record; the next view gets a number of its own."""
    session_id = filled(store, 3)
    for number in range(2):
        store.commit(session_id, NewView(items=b"%d" % number, length=2), expect=number)
    assert (store.undo(session_id).view, store.session(session_id).compactions) == (1, 1)
    info = store.commit(session_id, NewView(items=b"new", length=3), expect=1)
    assert (info.view, info.compactions) == (3, 2)
    assert [view.previous for view in store.views(session_id)] == [0, 1, 1]
    assert store.undo(session_id, expect=3).view == 1
    assert (store.undo(session_id).view, store.session(session_id).compactions) == (0, 0)
    with pytest.raises(NothingToUndo):
        store.undo(session_id)
    with pytest.raises(Conflict):
        store.undo(session_id, expect=3)
    assert [view.items for view in store.views(session_id)] == [b"0", b"1", b"new"]


def test_a_rotation_goes_on_in_a_child(store: Store) -> None:
    """Title, goal, model, frame, pins and state go over; the parent has ended."""
    parent = filled(store, 4, title="T", goal="g", model="m", frame=b"f", cwd="/w")
    store.pin(parent, 2, "n")
    store.save_state(parent, b"cool")
    child = store.rotate(parent, new(), NewView(items=b"v", length=4, state=b"s"), expect=0)
    assert (child.parent_id, child.descent, child.forked_at) == (parent, "compression", 4)
    assert (child.title, child.goal, child.model) == ("T #2", "g", "m")
    assert (child.frame, child.cwd) == (b"f", "/w")
    assert (child.view, child.compactions, child.length) == (1, 1, 4)
    assert store.pins(child.id) == (Pin(2, "n"),)
    assert store.state(child.id) == b"cool"
    ended = store.session(parent)
    assert ended.end_reason == "compression"
    assert ended.ended is not None
    assert [m.body for m in store.read(child.id)] == [m.body for m in store.read(parent)]
    assert store.append(child.id, [said("on")]) == range(4, 5)
    view = store.view(child.id)
    assert view is not None
    assert (view.items, view.state) == (b"v", b"s")


def test_an_undo_in_a_child_shows_what_its_parent_showed(store: Store) -> None:
    """A session that rotates again and again goes back one compaction at a time."""
    parent = filled(store, 4)
    first = store.rotate(parent, new(), NewView(items=b"one", length=4, state=b"1"), expect=0)
    second = store.rotate(
        first.id, new(), NewView(items=b"two", length=4, state=b"2"), expect=first.view
    )
    back = store.undo(second.id)
    found = store.view(second.id)
    assert found is not None
    assert (found.items, found.state, back.compactions) == (b"one", b"1", 1)
    store.undo(second.id)
    assert store.view(second.id) is None


def test_a_rotation_that_fails_leaves_the_parent_as_it_was(store: Store) -> None:
    """A taken id, another view, a lost lease: nothing of it is kept."""
    parent = filled(store, 2, title="T")
    store.create(new(id="taken"))
    before = store.session(parent)
    view = NewView(items=b"v", length=2, references=(Reference("r", (0, 1), "fold"),))
    with pytest.raises(Conflict):
        store.rotate(parent, new(id="taken"), view, expect=0)
    with pytest.raises(Conflict):
        store.rotate(parent, new(id="fresh"), view, expect=1)
    with pytest.raises(LeaseLost):
        store.rotate(parent, new(id="fresh"), view, expect=0, fence=1)
    assert store.session(parent) == before
    assert len(store.lineage(parent)) == 1
    assert store.places("r") == ()


def test_a_rotated_session_takes_nothing_more(store: Store) -> None:
    """A writer that missed the rotation is told where the session goes on; reopening allows it."""
    parent = filled(store, 2)
    child = store.rotate(parent, new(), NewView(items=b"", length=2), expect=0)
    for call in (
        lambda: store.append(parent, [said("late")]),
        lambda: store.commit(parent, NewView(items=b"", length=1), expect=0),
        lambda: store.rotate(parent, new(), NewView(items=b"", length=1), expect=0),
        lambda: store.undo(parent),
    ):
        with pytest.raises(Conflict, match=child.id):
            call()
    store.reopen(parent)
    assert store.append(parent, [said("late")]) == range(2, 3)
    assert store.session(child.id).length == 2


def test_references_lead_to_their_places(store: Store) -> None:
    """Those of an ancestor hold in a child, as far as it shares the log."""
    parent = filled(store, 6)
    early, late = Reference("early", (0, 2), "fold"), Reference("late", (2, 6), "fold")
    view = NewView(items=b"", length=6, references=(early, late))
    store.commit(parent, view, expect=0)
    branch = store.create(new(), parent_id=parent, descent="branch", at=3).id
    child = store.rotate(parent, new(), NewView(items=b"", length=6), expect=1).id
    assert store.places("early") == (Place(parent, early),)
    assert store.places("early", session_id=child) == (Place(child, early),)
    assert store.places("late", session_id=child) == (Place(child, late),)
    assert store.places("early", session_id=branch) == (Place(branch, early),)
    assert store.places("late", session_id=branch) == ()
    assert store.references(parent) == store.references(child) == (early, late)
    assert store.references(branch) == (early,)
    assert store.places("none") == store.places("none", session_id=child) == ()
    store.undo(child)
    assert store.places("early", session_id=child) == (Place(child, early),)


def test_a_lease_has_one_holder(store: Store) -> None:
    """Who comes second learns who has it; a lease given back is free, with a higher fence."""
    session_id = filled(store, 1)
    lease = store.acquire(session_id, "me", 60.0)
    assert lease == Lease(session_id, 1, "me", 60.0)
    held = store.acquire(session_id, "you", 60.0)
    assert isinstance(held, Held)
    assert held.holder == "me"
    assert 0 < held.expires_in <= 60.0
    assert store.renew(lease)
    store.release(lease)
    again = store.acquire(session_id, "you", 60.0)
    assert isinstance(again, Lease)
    assert again.fence == 2
    assert not store.renew(lease)
    store.release(lease)
    assert isinstance(store.acquire(session_id, "they", 1.0), Held)


def test_a_holder_that_asks_again_gets_a_new_lease(store: Store) -> None:
    """The answer to its first asking may have been lost; the first fence is over."""
    session_id = filled(store, 1)
    holder = "host \0 \ud800"
    first = store.acquire(session_id, holder, 60.0)
    second = store.acquire(session_id, holder, 60.0)
    assert isinstance(first, Lease)
    assert isinstance(second, Lease)
    assert second.fence == first.fence + 1
    assert not store.renew(first)
    assert store.renew(second)


def test_an_expired_lease_is_taken_over_and_its_holder_fenced_off(store: Store) -> None:
    """What was written under the old lease is refused; nothing of it is kept."""
    session_id = filled(store, 3)
    old = store.acquire(session_id, "slow", 0.0)
    fresh = store.acquire(session_id, "quick", 60.0)
    assert isinstance(old, Lease)
    assert isinstance(fresh, Lease)
    assert fresh.fence > old.fence
    view = NewView(items=b"v", length=2)
    with pytest.raises(LeaseLost):
        store.commit(session_id, view, expect=0, fence=old.fence)
    with pytest.raises(LeaseLost):
        store.rotate(session_id, new(), view, expect=0, fence=old.fence)
    assert store.commit(session_id, view, expect=0, fence=fresh.fence).view == 1
    with pytest.raises(LeaseLost):
        store.undo(session_id, fence=old.fence)
    assert not store.renew(old)
    store.release(fresh)
    with pytest.raises(LeaseLost):
        store.commit(session_id, view, expect=1, fence=fresh.fence)


def test_an_expired_lease_that_nobody_took_is_still_good(store: Store) -> None:
    """Late is not lost: the compare and swap decides."""
    session_id = filled(store, 2)
    lease = store.acquire(session_id, "slow", 0.0)
    assert isinstance(lease, Lease)
    assert store.commit(session_id, NewView(items=b"", length=1), expect=0, fence=lease.fence)
    assert store.renew(lease)


def test_pins_are_kept_in_order(store: Store) -> None:
    """A second pin changes the note; only what is there can be pinned."""
    session_id = filled(store, 3)
    store.pin(session_id, 2)
    store.pin(session_id, 0, "a")
    store.pin(session_id, 0, "b")
    assert store.pins(session_id) == (Pin(0, "b"), Pin(2, ""))
    store.unpin(session_id, 2)
    store.unpin(session_id, 2)
    assert store.pins(session_id) == (Pin(0, "b"),)
    for position in (3, -1):
        with pytest.raises(UnknownPosition, match="m0 to m2"):
            store.pin(session_id, position)
    with pytest.raises(UnknownPosition, match="empty"):
        store.pin(filled(store, 0), 0)


def test_state_is_the_last_that_was_saved(store: Store) -> None:
    """Any bytes; nothing at first."""
    session_id = filled(store, 1)
    assert store.state(session_id) == b""
    for state in (b"\0\1" * 300, b"", b"x"):
        store.save_state(session_id, state)
        assert store.state(session_id) == state


def test_usage_is_kept_in_order(store: Store) -> None:
    """Each request, with what was read from and written to the cache."""
    session_id = filled(store, 1)
    first = TurnUsage(
        position=1, time=3.0, model="m", input_tokens=10, output_tokens=2, cache_read_tokens=7,
        cache_write_tokens=1, cost=0.25, view=2,
    )  # fmt: skip
    store.add_usage(session_id, first)
    store.add_usage(session_id, TurnUsage(position=1))
    kept = store.usage(session_id)
    assert kept[0] == first
    assert kept[1].cost is None
    assert kept[1].time is not None
    assert kept[1].time > 1_600_000_000
    assert store.usage(session_id, last=1) == kept[1:]
    assert store.usage(session_id, last=5) == kept
    assert store.usage(session_id, last=0) == ()


def test_a_lean_view_has_all_but_its_state(store: Store) -> None:
    """One by number, the current one and all of them."""
    session_id = filled(store, 2)
    view = NewView(items=b"i", length=2, state=b"s" * 9, report=b"r")
    store.commit(session_id, view, expect=0)
    (whole,) = store.views(session_id)
    (lean,) = store.views(session_id, lean=True)
    assert (whole.state, lean.state) == (b"s" * 9, b"")
    assert (lean.items, lean.report, lean.length, lean.number) == (b"i", b"r", 2, 1)
    assert store.view(session_id, lean=True) == store.view(session_id, 1, lean=True) == lean
