"""The status line: how full the window is, what was cached and paid, and what happens next."""

from __future__ import annotations

from msgspec import Struct
from rich.cells import cell_len

from holdfast.catalog import PriceList
from holdfast.sessions.session import Session
from holdfast.spending.numbers import money, short

METER_COLUMNS = (12, 8, 5)
"""Columns of the bar: on a wide terminal, from 70 columns on, and below."""
_MIDDLE, _WIDE = 70, 100


class ChatStatus(Struct, frozen=True, kw_only=True):
    """What the status line shows."""

    model: str
    tokens: int
    window: int
    next: str
    cached: float | None = None
    """The share of the last prompt that came from the cache; None before the first answer."""
    cost: float | None = None
    """Dollars so far; None if no price is known."""


def status_of(session: Session, prices: PriceList) -> ChatStatus:
    """Return how a session stands, by what the provider counted as far as it did."""
    engine = session.engine
    decision, budget = engine.decide(), engine.settings.budget
    usage = session.store.usage(session.id) if session.is_begun else ()
    costs = [
        prices.cost(
            row.model, row.input_tokens, row.output_tokens, read_tokens=row.cache_read_tokens,
            written_tokens=row.cache_write_tokens, hour_tokens=row.cache_hour_tokens,
            recorded=row.cost,
        )
        for row in usage
    ]  # fmt: skip
    known = [cost for cost in costs if cost is not None]
    last = usage[-1] if usage else None
    return ChatStatus(
        model=engine.settings.model,
        tokens=decision.prompt_tokens,
        window=budget.context_length,
        next=_next(session),
        cached=last.cache_read_tokens / last.input_tokens if last and last.input_tokens else None,
        cost=sum(known) if known else None,
    )


def _next(session: Session) -> str:
    """Return what happens next, in a few words."""
    engine = session.engine
    decision, threshold = engine.decide(), engine.settings.budget.threshold_tokens
    if engine.is_prepared:
        return "compaction prepared"
    if engine.is_preparing:
        return "summary being written"
    if decision.reason == "disabled":
        return "no compaction"
    if decision.due:
        return "compacts next" if not engine.is_put_off(decision) else "compaction put off"
    if decision.reason and decision.reason != "below threshold":
        return f"not compacted: {decision.reason}"
    if decision.pressure:
        return f"pressure {decision.prompt_tokens / threshold:.0%} of {short(threshold)}"
    return f"compacts at {short(threshold)}"


def status_line(status: ChatStatus, columns: int, *, unicode: bool = True) -> str:
    """Return the line, at most `columns` wide; what matters least goes first if there is no room:
    the model, what was cached, the cost, the bar.
    """
    block, shade, dot = ("█", "░", "·") if unicode else ("#", "-", "|")
    size = METER_COLUMNS[(columns < _WIDE) + (columns < _MIDDLE)]
    share = status.tokens / status.window if status.window else 0.0
    full = min(size, round(size * share))
    fill = f"{short(status.tokens)} of {short(status.window)}"
    pieces = {
        "meter": block * full + shade * (size - full),
        "fill": f"{fill} ({share:.0%})" if columns >= _WIDE else fill,
        "cached": "" if status.cached is None else f"{status.cached:.0%} cached",
        "cost": "" if status.cost is None else money(status.cost),
        "model": status.model,
        "next": status.next,
    }
    for name in ("", "model", "cached", "cost", "meter"):
        pieces[name] = ""
        head = " ".join(piece for piece in (pieces["meter"], pieces["fill"]) if piece)
        rest = [pieces[one] for one in ("cached", "cost", "model", "next") if pieces[one]]
        line = f" {f' {dot} '.join([head, *rest])}"
        if cell_len(line) <= columns:
            return line
    return line[:columns]
