"""What was spent through gateways is a sum by time, one for each tenant."""

from __future__ import annotations

from typing import Any

from foldaway.stores.store import Store

NOON = 1_768_478_400.0
DAY = 86_400.0


def test_what_was_spent_since_a_moment_is_the_sum_of_what_was_added(store: Store) -> None:
    """To a billionth of a dollar, also after it was opened again."""
    for at, dollars in ((NOON, 0.5), (NOON + 899, 0.25), (NOON + 900, 1e-9), (NOON + DAY, 2.0)):
        store.add_spent(dollars, at)
    assert store.spent_since(NOON) == 2.750000001
    assert store.spent_since(NOON + 900) == 2.000000001
    assert store.spent_since(NOON + 2 * DAY) == 0.0


def test_tenants_do_not_see_what_others_spent(home: Any) -> None:
    """Though they share a file or server, and one name begins like the other."""
    one, two = (home.open(tenant=home.tenant + name) for name in ("a", "ab"))
    one.add_spent(1.0, NOON)
    two.add_spent(2.0, NOON)
    assert (one.spent_since(0), two.spent_since(0)) == (1.0, 2.0)
    two.add_spent(2.0, NOON + 60 * DAY)
    assert (one.spent_since(0), two.spent_since(0)) == (1.0, 2.0)


def test_what_was_spent_is_forgotten_after_the_longest_period(store: Store) -> None:
    """So that a store does not grow with it."""
    store.add_spent(1.0, NOON)
    store.add_spent(1.0, NOON + 41 * DAY)
    assert store.spent_since(0) == 1.0
