"""Which lineages a policy lets go."""

from __future__ import annotations

import random
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from foldaway.sessions.idle import Retention, find_expired
from foldaway.stores.open import open_store
from foldaway.stores.store import Store
from foldaway.stores.values import NewMessage, NewSession

DAY = 86_400.0
NOW = 1_000 * DAY


def add(store: Store, name: str, days: float, folder: str = "", **more: Any) -> None:
    """Add a session whose last message is so many days old."""
    started = NOW - days * DAY
    store.create(NewSession(dialect="x", id=name, cwd=folder, started=started), **more)
    body = random.Random(name).randbytes(20_000)
    store.append(name, [NewMessage(body=body, role="user", time=started)])


def names(store: Store, policy: Retention) -> list[str]:
    return [name for one in find_expired(store, policy, NOW) for name in one.sessions]


def test_a_lineage_goes_by_its_newest_session(store: Store) -> None:
    """Whole or not at all, the oldest first; without limits nothing goes."""
    add(store, "old", 30)
    add(store, "mid", 20)
    add(store, "new", 10)
    add(store, "fresh", 1, parent_id="old", descent="delegation")
    assert names(store, Retention()) == []
    assert names(store, Retention(days=15)) == ["mid"]
    assert names(store, Retention(days=0.5)) == ["mid", "new", "old", "fresh"]
    size = sum(one.bytes for one in store.lineages())
    assert names(store, Retention(megabytes=size * 2 / 1e6)) == []
    assert names(store, Retention(megabytes=size * 0.6 / 1e6)) == ["mid", "new"]
    assert names(store, Retention(days=15, megabytes=size * 0.8 / 1e6)) == ["mid"]
    assert len(names(store, Retention(megabytes=0))) == 4


def test_the_nearest_project_counts_and_of_several_the_shortest(store: Store) -> None:
    """Its days are in the place of the others, more or fewer."""
    add(store, "secret", 10, "/work/secret")
    add(store, "kept", 400, "/work/secret/archive")
    add(store, "plain", 10, "/work")
    add(store, "mixed", 10, "/work")
    add(store, "child", 9, "/work/secret/x", parent_id="mixed", descent="branch")
    policy = Retention(days=365, projects={"/work/secret": 7, "/work/secret/archive": 1_000})
    assert names(store, policy) == ["secret", "mixed", "child"]
    assert [one.why for one in find_expired(store, policy, NOW)] == ["project", "project"]
    assert names(store, Retention(days=1, project="/work/secret/archive")) == ["kept"]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    ages=st.lists(st.floats(0, 500), min_size=1, max_size=8),
    days=st.none() | st.floats(0, 500), share=st.none() | st.floats(0, 1.5),
)  # fmt: skip
def test_what_goes_is_older_than_what_stays(
    ages: list[float], days: float | None, share: float | None
) -> None:
    """And no more goes than the policy asks for."""
    with open_store(":memory:") as store:
        for number, age in enumerate(ages):
            add(store, f"s{number}", age)
        lineages = store.lineages()
        size = sum(one.bytes for one in lineages)
        limit = None if share is None else size * share / 1e6
        going = find_expired(store, Retention(days=days, megabytes=limit), NOW)
        gone = {name for one in going for name in one.sessions}
        left = [one for one in lineages if one.ids[0] not in gone]
        assert max((one.updated for one in lineages if one not in left), default=0) <= min(
            (one.updated for one in left), default=NOW
        )
        if days is not None:
            assert all(NOW - one.updated <= days * DAY + 1 for one in left)
        if limit is not None:
            assert sum(one.bytes for one in left) <= limit * 1e6
        for one in going:
            assert one.why == "size" or (days is not None and one.age_days > days)
