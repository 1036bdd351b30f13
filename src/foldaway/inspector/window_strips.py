"""What the window of a session holds, as a strip of colors with a sentence for those who do not
see it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from msgspec import Struct

from foldaway.caching import PriceList
from foldaway.inspector.strip import strip
from foldaway.stores import SessionInfo, Store
from foldaway.usage import KIND_NAMES, KINDS, Kind, SpentSession, kind_in_prompts, live_state, short

WIDTH = 1000
"""Units of a strip from end to end; it is stretched to the width that there is."""


class WindowPart(Struct, frozen=True):
    """A piece of a strip."""

    kind: str
    start: float
    width: float


class WindowStrip(Struct, frozen=True):
    """A strip, and what it shows in words."""

    parts: tuple[WindowPart, ...]
    label: str
    is_measured: bool = True
    """Whether it is known how full the window is; otherwise the strip is full."""


def file_strip(session: SpentSession, prices: PriceList) -> WindowStrip | None:
    """Return what the window of a session holds: its fill by the last prompt, and of that what all
    its prompts held; None if nothing is known.
    """
    shares = Counter[Kind]()
    for name, tokens in session.prompts.shares.items():
        shares[kind_in_prompts(name)] += tokens
    whole = sum(shares.values())
    if not whole:
        return None
    state = live_state(session, prices, cost=0.0)
    is_known = state.prompt_tokens > 0
    fill = min(state.fill, 1.0) if is_known else 1.0
    parts = parts_of([(kind, fill * shares[kind] / whole) for kind in KINDS])
    held = ", ".join(
        f"{KIND_NAMES[kind]} {shares[kind] / whole:.0%}" for kind in KINDS if shares[kind]
    )
    size = f"{short(state.prompt_tokens)} of {short(state.window_tokens)} tokens"
    return WindowStrip(parts, f"{size if is_known else 'size not recorded'}: {held}", is_known)


def stored_strip(store: Store, info: SessionInfo) -> WindowStrip | None:
    """Return what the window of a stored session holds now; None if nothing is in it."""
    shares = strip(store, info)
    if not shares:
        return None
    held = ", ".join(f"{KIND_NAMES[kind]} {share:.0%}" for kind, share in shares)
    return WindowStrip(parts_of(shares), f"{sum(one for _, one in shares):.0%} full: {held}")


def parts_of(shares: Iterable[tuple[str, float]]) -> tuple[WindowPart, ...]:
    """Return pieces one after the other, by their share of the whole strip."""
    found: list[WindowPart] = []
    at = 0.0
    for kind, share in shares:
        width = round(share * WIDTH, 1)
        if width:
            found.append(WindowPart(kind, round(at, 1), width))
            at += width
    return tuple(found)
