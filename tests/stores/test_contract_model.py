"""A store against a small model in memory: whatever is done in whatever order, both agree."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    consumes,
    multiple,
    rule,
    run_state_machine_as_test,
)

from foldaway.errors import Conflict, LeaseLost, NothingToUndo
from foldaway.stores.store import Store
from foldaway.stores.values import Held, Lease, NewMessage, NewSession, NewView, Pin, TurnUsage

_TENANTS = itertools.count()
_KEYS = st.sampled_from(["", "", "", "k1", "k2", "k3"])
_TEXTS = st.text(alphabet="ab \n", max_size=6)


class Model:
    """What a session should be."""

    def __init__(self, log: list[tuple[bytes, str]]) -> None:
        self.log = log
        self.view = 0
        self.previous: list[int] = []
        self.pins: dict[int, str] = {}
        self.turns: list[int] = []
        self.fence = 0
        self.holder = ""
        self.closed_for = ""


class Machine(RuleBasedStateMachine):
    """Every rule does the same to both."""

    sessions: Bundle[str] = Bundle("sessions")

    def __init__(self, store: Store) -> None:
        super().__init__()
        self.store = store
        self.models: dict[str, Model] = {}

    @rule(target=sessions)
    def create(self) -> str:
        made = self.store.create(NewSession(dialect="x"))
        self.models[made.id] = Model([])
        return made.id

    @rule(name=sessions, new=st.lists(st.tuples(_TEXTS, _KEYS), max_size=4), right=st.booleans())
    def append(self, name: str, new: list[tuple[str, str]], right: bool) -> None:
        model = self.models[name]
        messages = [
            NewMessage(body=text.encode(), role="user", text=text, key=key) for text, key in new
        ]
        known = {key for _, key in model.log if key}
        fresh: list[tuple[bytes, str]] = []
        for text, key in new:
            if not key or key not in known:
                fresh.append((text.encode(), key))
                known.add(key)
        length = len(model.log)
        expect = length if right else length + 1
        if model.closed_for or (fresh and not right):
            with pytest.raises(Conflict):
                self.store.append(name, messages, expect=expect)
            return
        appended = self.store.append(name, messages, expect=expect)
        assert appended == range(length, length + len(fresh))
        model.log += fresh

    @rule(target=sessions, name=sessions, share=st.floats(0, 1))
    def branch(self, name: str, share: float) -> str:
        parent = self.models[name]
        at = round(share * len(parent.log))
        new = NewSession(dialect="x")
        made = self.store.create(new, parent_id=name, descent="branch", at=at)
        model = self.models[made.id] = Model(parent.log[:at])
        model.pins = {place: note for place, note in parent.pins.items() if place < at}
        stored = self.store.view(name)
        if stored is not None and stored.length <= at:
            model.view, model.previous = 1, [0]
        return made.id

    @rule(name=sessions, share=st.floats(0, 1), right=st.booleans(), fenced=st.booleans())
    def commit(self, name: str, share: float, right: bool, fenced: bool) -> None:
        model = self.models[name]
        new = NewView(items=b"v", length=round(share * len(model.log)))
        expect = model.view if right else model.view + 1
        fence = model.fence if fenced else None
        if fenced and not model.holder:
            with pytest.raises(LeaseLost):
                self.store.commit(name, new, expect=expect, fence=fence)
        elif model.closed_for or not right:
            with pytest.raises(Conflict):
                self.store.commit(name, new, expect=expect, fence=fence)
        else:
            model.previous.append(model.view)
            model.view = len(model.previous)
            assert self.store.commit(name, new, expect=expect, fence=fence).view == model.view

    @rule(name=sessions)
    def undo(self, name: str) -> None:
        model = self.models[name]
        if model.closed_for:
            with pytest.raises(Conflict):
                self.store.undo(name)
        elif not model.view:
            with pytest.raises(NothingToUndo):
                self.store.undo(name)
        else:
            model.view = model.previous[model.view - 1]
            assert self.store.undo(name).view == model.view

    @rule(target=sessions, name=sessions)
    def rotate(self, name: str) -> Any:
        model = self.models[name]
        new = NewView(items=b"r", length=len(model.log))
        if model.closed_for:
            with pytest.raises(Conflict):
                self.store.rotate(name, NewSession(dialect="x"), new, expect=model.view)
            return multiple()
        made = self.store.rotate(name, NewSession(dialect="x"), new, expect=model.view)
        child = self.models[made.id] = Model(list(model.log))
        child.previous = [0, 1] if model.view else [0]
        child.view, child.pins = len(child.previous), dict(model.pins)
        model.closed_for = made.id
        return made.id

    @rule(name=sessions)
    def reopen(self, name: str) -> None:
        self.store.reopen(name)
        self.models[name].closed_for = ""

    @rule(names=st.lists(consumes(sessions), min_size=1, max_size=3, unique=True))
    def erase(self, names: list[str]) -> None:
        gone = self.store.erase(names, vacuum=False)
        assert gone.sessions == len(names)
        for name in names:
            del self.models[name]
        for model in self.models.values():
            if model.closed_for in names:
                model.closed_for = ""

    @rule(name=sessions, share=st.floats(0, 0.99), note=_TEXTS)
    def pin(self, name: str, share: float, note: str) -> None:
        model = self.models[name]
        if model.log:
            place = int(share * len(model.log))
            self.store.pin(name, place, note)
            model.pins[place] = note

    @rule(name=sessions, place=st.integers(0, 5))
    def unpin(self, name: str, place: int) -> None:
        self.store.unpin(name, place)
        self.models[name].pins.pop(place, None)

    @rule(name=sessions, tokens=st.integers(0, 99))
    def use(self, name: str, tokens: int) -> None:
        self.store.add_usage(name, TurnUsage(position=0, input_tokens=tokens))
        self.models[name].turns.append(tokens)

    @rule(name=sessions, holder=st.sampled_from(["me", "you"]), lasts=st.booleans())
    def acquire(self, name: str, holder: str, lasts: bool) -> None:
        model = self.models[name]
        got = self.store.acquire(name, holder, 1000.0 if lasts else 0.0)
        other = model.holder.removesuffix(" lasting")
        if isinstance(got, Held):
            assert got.holder == other
            assert model.holder.endswith("lasting")
            return
        assert not model.holder.endswith("lasting") or other == holder
        model.fence += 1
        model.holder = f"{holder} lasting" if lasts else holder
        assert got.fence == model.fence

    @rule(name=sessions)
    def release(self, name: str) -> None:
        model = self.models[name]
        holder = model.holder.removesuffix(" lasting")
        self.store.release(Lease(name, model.fence, holder, 1.0))
        model.holder = ""

    @rule()
    def complete(self) -> None:
        self.store.complete_index()

    def teardown(self) -> None:
        """Both hold the same."""
        for name, model in self.models.items():
            info = self.store.session(name)
            assert [(m.body, m.key) for m in self.store.read(name)] == model.log
            assert (info.length, info.view) == (len(model.log), model.view)
            assert [view.previous for view in self.store.views(name)] == model.previous
            assert self.store.pins(name) == tuple(Pin(*pin) for pin in sorted(model.pins.items()))
            assert [turn.input_tokens for turn in self.store.usage(name)] == model.turns
            assert self.store.keys(name) == {key for _, key in model.log if key}
        health = self.store.health(deep=True)
        assert (health.sessions, health.problems) == (len(self.models), ())
        self.store.erase(list(self.models), vacuum=False)
        assert self.store.health().messages == 0


def test_a_store_agrees_with_a_model(home: Any) -> None:
    """Append, branch, commit, undo, rotate, erase, pins, usage and leases in any order."""
    run_state_machine_as_test(
        lambda: Machine(home.open(tenant=f"model {next(_TENANTS)}")),
        settings=settings(settings(), stateful_step_count=25),
    )
