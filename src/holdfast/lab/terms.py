"""What a run is asked for, as plain values that can be sent to a worker, and what they mean."""

from __future__ import annotations

from pathlib import Path

from msgspec import Struct

from holdfast.caching.prices import Prices
from holdfast.lab.net_cost import DEFAULT_PRICES
from holdfast.lab.session_rows import Terms
from holdfast.lab.ways.ours import by_holdfast
from holdfast.lab.ways.peers import peer_ways
from holdfast.lab.ways.registry import PLAIN, WITH_MODEL, chosen
from holdfast.lab.ways.way import Way
from holdfast.writing.writers import writers_of


class Asked(Struct, frozen=True, kw_only=True):
    """The settings of a run."""

    strategies: tuple[str, ...] = ()
    """Names; empty: all that there are."""
    budgets: tuple[float, ...]
    peer_budgets: tuple[float, ...] = ()
    main: float = 0.2
    drifting: tuple[str, ...] = ()
    model: str = ""
    prices: Prices | None = None
    summarizer: str = ""
    summarizer_url: str = ""
    summarizer_key_variable: str = ""
    peer_folder: str = ""
    """Where the environments of the peers are; empty: no peers."""


def all_ways(asked: Asked) -> tuple[Way, ...]:
    """Return every way that the settings make possible, ours first."""
    found = list(PLAIN)
    if asked.summarizer:
        writer = writers_of(
            asked.summarizer, url=asked.summarizer_url,
            key_variable=asked.summarizer_key_variable, on_failure="ledger",
        )  # fmt: skip
        found.insert(1, Way(WITH_MODEL, "ours", f"with {asked.summarizer}", by_holdfast(writer)))
    if asked.peer_folder:
        found.extend(peer_ways(Path(asked.peer_folder)))
    return tuple(found)


def terms_for(asked: Asked) -> Terms:
    """Return what every session is put through."""
    return Terms(
        ways=chosen(asked.strategies, all_ways(asked)), budgets=asked.budgets,
        peer_budgets=asked.peer_budgets, main=asked.main, drifting=frozenset(asked.drifting),
        prices=asked.prices or DEFAULT_PRICES,
    )  # fmt: skip
