"""The status line: how full the window is, what was cached and paid, and what happens next."""

from __future__ import annotations

from foldaway.caching import PriceList
from foldaway.commands import next_step
from foldaway.sessions import Chat
from foldaway.usage import money, short

_WIDE = 100
"""Columns from which on the bar is longer and the share is a number too."""


def status_line(chat: Chat, prices: PriceList, columns: int) -> str:
    """Return how full the window is, what was cached and paid, and what happens next, in at most
    `columns` columns. If that is too narrow, these are left out first: the model, what was cached,
    the cost, the bar.
    """
    session, engine = chat.session, chat.session.engine
    usage = session.store.usage(session.id) if session.is_begun else ()
    tokens, window = engine.decide().prompt_tokens, engine.settings.budget.context_length
    share, size = tokens / window, 12 if columns >= _WIDE else 6
    full = min(size, round(size * share))
    fill = f"{short(tokens)} of {short(window)}" + (f" ({share:.0%})" if columns >= _WIDE else "")
    costs = [prices.cost(row) for row in usage]
    read = usage[-1].cache_read_tokens / max(usage[-1].input_tokens, 1) if usage else 0.0
    pieces = {
        "bar": f"{'█' * full}{'░' * (size - full)} ",
        "cached": f"{read:.0%} cached" if usage else "",
        "cost": money(sum(cost or 0.0 for cost in costs)) if any(costs) else "",
        "model": engine.settings.model,
    }
    line = ""
    for name in ("", "model", "cached", "cost", "bar"):
        pieces[name] = ""
        head, *rest = (pieces[one] for one in ("bar", "cached", "cost", "model"))
        line = f" {' · '.join(one for one in (head + fill, *rest, next_step(session)) if one)}"
        if len(line) <= columns:
            break
    return line[:columns]
