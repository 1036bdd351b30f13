"""Sessions that nobody uses now: compacted while that is free, ended with what they taught."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from typing import Any

import pytest
from tests.sessions.talking import WINDOW, talk

from foldaway import Model
from foldaway.caching import Prices
from foldaway.dialects import dump_bytes
from foldaway.errors import InvalidSetting
from foldaway.memory import MemoryManager, MemoryProvider
from foldaway.sessions import internals
from foldaway.sessions.idle import EXPIRING, compact_idle, expire
from foldaway.sessions.place import SessionOptions
from foldaway.sessions.session import Session
from foldaway.stores.store import Store
from foldaway.stores.values import NewMessage, NewSession
from foldaway.testing import ScriptedSummarizer

DAY = 86_400


def later(seconds: float) -> Any:
    return lambda: time.time() + seconds


def begin(store: Store, key: str, count: int) -> Session:
    session = Session(store, key, **WINDOW)
    session.append(*talk(0, count))
    return session


def test_idle_sessions_are_compacted_when_the_cache_has_lapsed(store: Store) -> None:
    """Only those that would soon be due; not before; and a dry run changes nothing."""
    full, small = begin(store, "full", 14), begin(store, "small", 2)
    assert not internals(full).engine.decide().due
    assert internals(full).engine.decide().pressure
    assert compact_idle(store, **WINDOW) == ()
    (planned,) = compact_idle(store, clock=later(301), dry_run=True, **WINDOW)
    assert (planned.session.id, planned.outcome) == (full.id, "would compact")
    assert store.session(full.id).compactions == 0
    (done,) = compact_idle(store, clock=later(301), **WINDOW)
    assert (done.outcome, done.session.compactions) == ("compacted", 1)
    assert compact_idle(store, clock=later(301), **WINDOW) == ()
    assert compact_idle(store, clock=later(8 * DAY), **WINDOW) == ()
    assert store.session(small.id).compactions == 0
    hour: Any = {"model": Model("m", 8_000, cache_ttl="1h"), "policy": WINDOW["policy"]}
    begin(store, "other", 14)
    assert compact_idle(store, clock=later(301), **hour) == ()
    assert len(compact_idle(store, clock=later(3_601), **hour)) == 1


def test_a_wrong_setting_is_refused_before_a_session_is_looked_at(store: Store) -> None:
    """Also in an empty store: a job that runs at night fails on the first day, not months later."""
    wrong: Any = {"nonsense": 1}
    with pytest.raises(InvalidSetting, match="nonsense"):
        compact_idle(store, **wrong)
    large: Any = "large"
    with pytest.raises(InvalidSetting):
        compact_idle(store, context_length=large)


def test_an_idle_session_is_compacted_by_the_settings_of_its_host(store: Store) -> None:
    """Window, policy and lifetime of the cache are kept with it, those that it had last."""
    full = begin(store, "full", 14)
    hour: Any = {"model": Model("m", 8_000, cache_ttl="1h"), "policy": WINDOW["policy"]}
    slow = Session(store, "slow", **hour)
    slow.append(*talk(0, 14))
    large = begin(store, "large", 13)
    large.change(model="m", context_length=100_000)
    large.append(*talk(13, 1))
    done = compact_idle(store, clock=later(301))
    assert [(one.session.id, one.outcome) for one in done] == [(full.id, "compacted")]
    assert done[0].report is not None
    assert done[0].report.context_length == 8_000
    (other,) = compact_idle(store, clock=later(3_601), dry_run=True)
    assert other.session.id == slow.id
    (named,) = compact_idle(store, clock=later(301), context_length=8_000)
    assert named.session.id == large.id


def test_what_a_branch_or_a_rotation_replaced_is_left_alone(store: Store) -> None:
    """The key leads elsewhere: nobody sends the session before it again."""
    full = begin(store, "full", 14)
    branch = full.switch(full.branch().id)
    new = NewSession(dialect="openai-chat", mode="rotate")
    rotated = Session(store, "rotated", options=SessionOptions(new=new), **WINDOW)
    rotated.append(*talk(0, 14))
    first = rotated.id
    assert rotated.compact(force=True).status == "compacted"
    assert rotated.id != first
    done = compact_idle(store, clock=later(301))
    assert [one.session.id for one in done] == [branch.id]
    ended = expire(store, idle_days=30, clock=later(31 * DAY))
    assert {one.session.id for one in ended} == {branch.id, rotated.id}


def test_what_was_only_imported_is_left_alone(store: Store) -> None:
    """Its agent uses it, and sends its own list."""
    info = store.create(NewSession(dialect="openai-chat"))
    rows = [NewMessage(body=dump_bytes(one), role=one["role"], tokens=200) for one in talk(0, 14)]
    store.append(info.id, rows, expect=0)
    assert compact_idle(store, clock=later(301), context_length=3_000) == ()
    assert expire(store, idle_days=30, clock=later(31 * DAY)) == ()


def test_an_idle_compaction_that_does_not_pay_is_left_out(store: Store) -> None:
    """A summary that costs more than it saves, by the prices of the model."""
    begin(store, "full", 14)
    free = Prices(input=0.0, output=100.0, cache_read=0.0, cache_write_5m=0.0, cache_write_1h=0.0)
    (row,) = compact_idle(
        store, model=Model("m", 8_000, prices=free), policy=WINDOW["policy"], clock=later(301),
        summarizer=ScriptedSummarizer([]),
    )  # fmt: skip
    assert (row.outcome, row.report) == ("unchanged", None)
    assert row.detail


def test_an_idle_compaction_that_pays_is_made_before_the_threshold(store: Store) -> None:
    """Nothing that the provider keeps is lost any more, so that a cold session pays earlier."""
    prices = Prices(input=3.0, output=15.0, cache_read=0.3, cache_write_5m=3.75, cache_write_1h=6.0)
    settings: Any = {"model": Model("m", 40_000, prices=prices), "policy": WINDOW["policy"]}
    session = Session(store, **settings)
    session.append(*talk(0, 70))
    assert internals(session).engine.decide().pressure
    assert session.compact().reason == "below threshold"
    (row,) = compact_idle(store, clock=later(301), **settings)
    assert row.outcome == "compacted"


def test_many_processes_compact_an_idle_session_once(store: Store) -> None:
    """Whoever comes second sees what was done."""
    sessions = [begin(store, f"chat-{number}", 14) for number in range(4)]
    start, found = threading.Barrier(4), list[Any]()

    def run() -> None:
        start.wait()
        found.extend(compact_idle(store, clock=later(301), **WINDOW))

    threads = [threading.Thread(target=run) for _ in range(4)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert [row.outcome for row in found].count("compacted") == 4
    assert [store.session(one.id).compactions for one in sessions] == [1, 1, 1, 1]


class Learner(MemoryProvider):
    """Keeps what it hears of sessions that ended; fails as long as it is told to."""

    name = "learner"

    def __init__(self) -> None:
        self.heard: list[tuple[str, int]] = []
        self.is_broken = False

    def session_ended(self, session_id: str, messages: Sequence[Any]) -> None:
        """Take what was said, or fail."""
        if self.is_broken:
            raise ConnectionError
        self.heard.append((session_id, len(messages)))


def test_an_expired_session_teaches_memory_once_and_ends(store: Store) -> None:
    """Not before its time, never twice; again only if it was used again."""
    old, learner = begin(store, "old", 3), Learner()
    with MemoryManager(learner) as memory:
        assert expire(store, idle_days=30, memory=memory) == ()
        then = later(31 * DAY)
        (planned,) = expire(store, idle_days=30, memory=memory, dry_run=True, clock=then)
        assert (planned.outcome, learner.heard) == ("would end", [])
        (row,) = expire(store, idle_days=30, memory=memory, clock=then)
        assert (row.outcome, row.session.end_reason) == ("ended", "expired")
        assert expire(store, idle_days=30, memory=memory, clock=then) == ()
        assert learner.heard == [(old.id, 6)]
        old.append({"role": "user", "content": "Are you still there?"})
        assert len(expire(store, idle_days=30, memory=memory, clock=then)) == 1
        assert learner.heard == [(old.id, 6), (old.id, 7)]


def test_a_session_whose_memory_fails_is_tried_again(store: Store) -> None:
    """It stays open, so that what it taught is not lost."""
    old, learner = begin(store, "old", 3), Learner()
    learner.is_broken = True
    with MemoryManager(learner) as memory:
        (row,) = expire(store, idle_days=1, memory=memory, clock=later(2 * DAY))
        assert (row.outcome, row.session.ended) == ("failed", None)
        assert "ConnectionError" in row.detail
        learner.is_broken = False
        (row,) = expire(store, idle_days=1, memory=memory, clock=later(2 * DAY))
        assert row.outcome == "ended"
    assert learner.heard == [(old.id, 6)]


def test_a_session_that_was_being_expired_is_not_told_again(store: Store) -> None:
    """As after a crash: memory may have heard of it already."""
    old, learner = begin(store, "old", 3), Learner()
    store.end(old.id, EXPIRING)
    with MemoryManager(learner) as memory:
        assert expire(store, idle_days=1, memory=memory, clock=later(2 * DAY)) == ()
    assert learner.heard == []


def test_a_session_that_was_closed_does_not_expire(store: Store) -> None:
    """Whoever closed it told its memory."""
    old, learner = begin(store, "old", 3), Learner()
    old.close()
    with MemoryManager(learner) as memory:
        assert expire(store, idle_days=1, memory=memory, clock=later(2 * DAY)) == ()
    assert learner.heard == []
