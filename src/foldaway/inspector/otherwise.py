"""What a whole session would have cost without any compaction, and with Foldaway."""

from __future__ import annotations

from msgspec import Struct
from msgspec.structs import replace

from foldaway.caching import PriceList, usd, window_of
from foldaway.sessions import transcript_of
from foldaway.stores import SessionInfo, Store
from foldaway.usage import MOST_PROMPTS, SYSTEM, recorded_usage, replayed, spent_of_store

_RECORDED = 0.9
"""Share of the answers whose requests must be recorded, or what was paid is called a part; chosen:
a retry or a torn line loses a few."""


class Otherwise(Struct, frozen=True, kw_only=True):
    """What a session cost, and would have cost; replayed by today's list prices, in dollars."""

    requests: int = 0
    """That are recorded with what the provider counted."""
    answers: int = 0
    """That the log shows, and that were replayed."""
    compactions: int = 0
    """That were made, by Foldaway or the agent."""
    usd_paid: float | None = None
    """By what the provider counted; None if that or the price is not known."""
    usd_without: float | None = None
    """Without any compaction: each prompt has the whole log before it."""
    not_fitting: int = 0
    """Of these prompts, those that would not have fit the window."""
    usd_with_foldaway: float | None = None
    """Behind a gateway without settings."""
    foldaway_compactions: int = 0
    """That it would have made."""
    window_tokens: int = 0
    said: str = ""
    """All this in a paragraph."""
    why_none: str = ""
    """Why nothing was replayed, in a sentence."""


def otherwise(store: Store, info: SessionInfo, prices: PriceList) -> Otherwise:
    """Return what a session would have cost in other ways; it is replayed, which takes seconds."""
    rows = store.outline(info.id)
    turns = recorded_usage(store, info)
    written = {row.position for row in rows if row.generated}
    model = info.model or next((one.model for one in turns if one.model), "")
    own = sum(at - 1 not in written for at in written)
    costs = [prices.cost(replace(one, model=one.model or model)) for one in turns]
    paid = None if not costs or None in costs else sum(one or 0.0 for one in costs)
    made = Otherwise(
        requests=len(turns), compactions=own + info.compactions, usd_paid=paid,
        window_tokens=window_of(model, None)[0],
    )  # fmt: skip
    why = ""
    if sum(row.role == "assistant" for row in rows) > MOST_PROMPTS:
        why = f"It has more than {MOST_PROMPTS:,} answers; a replay would take minutes."
    elif prices.of(model) is None:
        why = f"The prices of {model!r} are not known." if model else "Its model is not known."
    if why:
        return replace(made, why_none=why, said=why)
    spent = spent_of_store(store, info, turns)
    system = spent.prompts.shares.get(SYSTEM, 0) // max(len(spent.answers), 1)
    log = transcript_of(store, info, what="log")
    said = tuple(one for one in log.messages if one.position not in written)
    found = replayed(replace(log, messages=said), model, (), system, prices)
    assert found is not None  # its prices are known
    without, ours = found
    return _with_words(replace(
        made, answers=without.calls, usd_without=without.usd,
        not_fitting=without.overflows, usd_with_foldaway=ours.usd,
        foldaway_compactions=ours.compactions,
    ))  # fmt: skip


def _with_words(made: Otherwise) -> Otherwise:
    """Return the same with its paragraph."""
    parts: list[str] = []
    if made.usd_paid is not None:
        times = "once" if made.compactions == 1 else f"{made.compactions:,} times"
        how = f"compacted {times}" if made.compactions else "without a compaction"
        parts.append(f"Its {made.requests:,} requests cost {usd(made.usd_paid)}, {how}.")
        if made.requests < made.answers * _RECORDED:
            parts.append(
                f"The log has {made.answers:,} answers, so that is only a part: do not compare it "
                f"with what follows."
            )
    if made.usd_without is not None and made.usd_with_foldaway is not None:
        same = "the same costs" if not made.compactions else "it costs without any compaction"
        misfits = (
            f", but {made.not_fitting:,} prompts do not fit the window of "
            f"{made.window_tokens:,} tokens" if made.not_fitting else ""
        )  # fmt: skip
        many = made.foldaway_compactions
        parts.append(
            f"Replayed from the log, {same} {usd(made.usd_without)}{misfits}; behind Foldaway as "
            f"it is without settings {usd(made.usd_with_foldaway)}, with {many:,} "
            f"{'compaction' if many == 1 else 'compactions'}. A replay has the same answers, our "
            f"own count of tokens, a cache that stays warm and today's list prices, so compare "
            f"these two with each other and not with what was paid."
        )
    return replace(made, said=" ".join(parts))
