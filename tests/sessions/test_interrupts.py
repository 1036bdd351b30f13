"""Interrupts at every point at which a session and its store speak to each other."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foldaway import check
from foldaway._core.policy import Policy
from foldaway.sessions import SessionOptions, internals
from foldaway.sessions.session import Session
from foldaway.stores.open import open_store
from foldaway.stores.store import Store
from foldaway.stores.values import NewSession

SMALL = Policy(floor_tokens=500)


WINDOW: Any = {"context_length": 6_000, "policy": SMALL}


class Cut(BaseException):
    """What an interrupt is to the code below it."""


class Interrupted:
    """A store in which one call is cut off, before or after it was done: the one with a given
    number, of all calls or of those of one method."""

    def __init__(self, store: Store, number: int, *, after: bool, method: str = "") -> None:
        self._store, self._left, self._after, self._method = store, number, after, method
        self.cut_off = False

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._store, name)
        counts = callable(found) and self._method in ("", name)
        return self._counted(found) if counts else found

    def _counted(self, call: Callable[..., Any]) -> Callable[..., Any]:
        def counted(*given: Any, **named: Any) -> Any:
            self._left -= 1
            if self._left == 0 and not self._after:
                self.cut_off = True
                raise Cut
            done = call(*given, **named)
            if self._left == 0:
                self.cut_off = True
                raise Cut
            return done

        return counted


def exchange(number: int) -> list[Any]:
    words = f"Ask {number} on part_{number}.py. " + "word " * 90
    answer = f"Answer {number}. " + "so on " * 90
    return [{"role": "user", "content": words}, {"role": "assistant", "content": answer}]


NOT_CALLED = (("commit", "rotate"), ("rotate", "in-place"))
STEPS = st.lists(st.sampled_from(("append", "compact", "undo", "pin", "resume")), min_size=6,
                 max_size=14)  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize("mode", ["in-place", "rotate"])
@pytest.mark.parametrize(
    "method",
    ["append", "commit", "rotate", "acquire", "release", "undo", "read", "view", "newest_leaf"],
)
def test_the_same_session_goes_on_after_any_call_was_cut_off(
    tmp_path: Path, method: str, mode: Any, after: bool
) -> None:
    """Also where the store had done what it was asked and only the answer did not come: a rotation
    is followed, an append is not repeated, and the next compaction works."""
    with open_store(tmp_path) as store:
        new = NewSession(dialect="openai-chat", mode=mode)
        name = Session(store, **WINDOW, options=SessionOptions(new=new)).change().id
        cutting: Any = Interrupted(store, 1, after=after, method=method)
        work: list[Callable[[Session], object]] = [
            *(lambda one, number=number: one.append(*exchange(number)) for number in range(6)),
            lambda one: one.compact(force=True),
            lambda one: Session.open(cutting, one.id, **WINDOW).messages,
            lambda one: one.undo(),
        ]
        session: Session | None = None
        for step in work:
            with suppress(Cut):
                session = session or Session.open(cutting, name, **WINDOW)
                step(session)
        assert session is not None
        assert cutting.cut_off or (method, mode) in NOT_CALLED
        known = [json.loads(row.body) for row in store.read(session.id)]
        for number in range(10, 16):
            session.append(*exchange(number))
        assert session.compact(force=True).status == "compacted"
        newest = Session.open(store, name, **WINDOW)
        assert newest.messages == session.messages
        assert newest.id == session.id
        log = [json.loads(row.body) for row in store.read(session.id)]
        assert log == known + [one for number in range(10, 16) for one in exchange(number)]


@pytest.mark.parametrize("mode", ["in-place", "rotate"])
@given(steps=STEPS, number=st.integers(1, 60), after=st.booleans())
def test_nothing_that_was_acknowledged_is_lost_wherever_it_is_cut_off(
    tmp_path_factory: pytest.TempPathFactory, mode: Any, steps: list[str], number: int, after: bool
) -> None:
    """Every message whose append returned is in the log once and in order; what the model sees is
    valid, covers the log, and is the same for a process that takes the session up anew."""
    folder: Path = tmp_path_factory.mktemp("store")
    with open_store(folder) as store:
        new = NewSession(dialect="openai-chat", mode=mode)
        first = Session(store, **WINDOW, options=SessionOptions(new=new))
        first.append(*exchange(0))
        cutting: Any = Interrupted(store, number, after=after)
        session = first
        acknowledged = list(exchange(0))
        for at, step in enumerate(["resume", *steps, "append", "compact"], 1):
            try:
                if step == "append":
                    session.append(*exchange(at))
                    acknowledged += exchange(at)
                elif step == "compact":
                    session.compact(force=True)
                elif step == "undo":
                    session.undo()
                elif step == "pin":
                    session.pin(0)
                else:
                    session = Session.open(cutting, session.id, **WINDOW)
            except Cut:
                if step == "append" and store.session(session.id).length > len(acknowledged):
                    acknowledged += exchange(at)  # it was done, only the answer was cut off
        again = Session.open(store, first.id, **WINDOW)
        session = Session.open(store, session.id, **WINDOW)
        log = [json.loads(row.body) for row in store.read(again.id)]
        assert log == acknowledged
        assert check(again.messages) == []
        assert again.messages == session.messages
        assert internals(again).engine.view.length == len(log)
        assert store.health(deep=True).problems == ()
