"""What sessions would have cost otherwise, and what compactions lost, by a replay."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from foldaway.agents.importers import ImportedSession
from foldaway.caching import PriceList, usd, window_of
from foldaway.lab import own_losses, replay_session
from foldaway.sessions import transcript_of
from foldaway.stores import SessionInfo, Store
from foldaway.usage.reading import Judgement, Tell, UsageReader, count_stored_session, read_again
from foldaway.usage.record import SpentSession
from foldaway.usage.requests import recorded_usage

JUDGED_SESSIONS = 6
"""The largest recent sessions that are replayed."""
COMPACTED_SESSIONS = 3
"""Sessions with compactions of the agent that are looked at in any case."""
OVERFLOWS = 0.1
"""The share of prompts that may exceed the window by the estimate; with more of them the agent
dropped messages without a word, and what the session cost cannot be simulated."""
_RECENT_SECONDS = 60 * 86_400
MOST_PROMPTS = 3_000
"""Requests of a session that is replayed; a longer one would take the time of all."""


def judge(
    sessions: Sequence[SpentSession],
    reader: UsageReader,
    prices: PriceList,
    seconds: float,
    tell: Tell,
) -> list[Judgement]:
    """Return what was found in the largest recent sessions, as far as the time allows.

    What was found before costs no time. The first one is looked at in any case.
    """
    stop = time.monotonic() + seconds
    found: list[Judgement] = []
    chosen = _largest(sessions)
    for at, session in enumerate(chosen):
        tell(at, len(chosen))
        known = reader.judgement(session)
        if known is None and (not found or time.monotonic() < stop):
            read = read_again(session)
            if read is not None:
                known = judge_session(session, read, prices)
                reader.keep(session, known)
        if known is not None:
            found.append(known)
    return found


def _largest(sessions: Iterable[SpentSession]) -> list[SpentSession]:
    """Return the sessions that sent the most tokens, those of the last weeks of use first, and
    two that were compacted, if there are any.
    """
    used = [one for one in sessions if 0 < len(one.answers) <= MOST_PROMPTS]
    newest = max((one.started or 0.0 for one in used), default=0.0)

    def rank(one: SpentSession) -> tuple[bool, int]:
        is_old = (one.started or 0.0) < newest - _RECENT_SECONDS
        return is_old, -sum(answer.input_tokens for answer in one.answers)

    order = sorted(used, key=rank)
    compacted = [one for one in order if one.compactions][:COMPACTED_SESSIONS]
    return list({id(one): one for one in (*order[:JUDGED_SESSIONS], *compacted)}.values())


def judge_session(session: SpentSession, found: ImportedSession, prices: PriceList) -> Judgement:
    """Return what one session lost in its own compactions, and what it would cost with Foldaway."""
    compactions, used_later, named = own_losses(found)
    was, would = _costs(session, found, prices)
    return Judgement(
        agent=session.agent,
        source_id=session.source_id,
        usd_as_it_was=was,
        usd_with_foldaway=would,
        used_later=used_later,
        named=named,
        compactions=compactions,
    )


def _costs(session: SpentSession, found: ImportedSession, prices: PriceList) -> tuple[float, float]:
    """Return what the calls of a session cost as it was, and behind the gateway as it is without
    settings; both simulated.
    """
    replays = replay_session(
        found.transcript, found.model, found.summaries, session.system_tokens, prices
    )
    if replays is None:
        return 0.0, 0.0
    was, would = replays
    is_real = was.overflows <= OVERFLOWS * was.calls
    return (was.usd, would.usd) if is_real else (0.0, 0.0)


_RECORDED = 0.9
"""Share of the answers whose requests must be recorded, or what was paid is called a part; chosen:
a retry or a torn line loses a few."""


class Otherwise(Struct, frozen=True, kw_only=True):
    """What a session cost, and would have cost, in dollars."""

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
    anchor: Literal["", "as it was", "foldaway"] = ""
    """These two are the bill times what a replay changes, compared with a replay of this; "" if
    they are the dollars of a replay.
    """
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
        requests=len(turns),
        compactions=own + info.compactions,
        usd_paid=paid,
        window_tokens=window_of(model, None)[0],
    )
    why = ""
    if sum(row.role == "assistant" for row in rows) > MOST_PROMPTS:
        why = f"It has more than {MOST_PROMPTS:,} answers; a replay would take minutes."
    elif prices.of(model) is None:
        why = f"The prices of {model!r} are not known." if model else "Its model is not known."
    if why:
        return replace(made, why_none=why, said=why)
    spent = count_stored_session(store, info, turns)
    log = transcript_of(store, info, what="log")
    messages = tuple(one for one in log.messages if one.position not in written)
    found = replay_session(replace(log, messages=messages), model, (), spent.system_tokens, prices)
    assert found is not None  # its prices are known
    without, ours = found
    was = ours if info.compactions else without
    if own and not info.compactions:
        stops = sorted(at for at in written if at - 1 not in written)
        was, _ = replay_session(log, model, stops, spent.system_tokens, prices) or found
    is_whole = len(turns) >= without.calls * _RECORDED and was.overflows <= OVERFLOWS * was.calls
    scale = paid / was.usd if paid and was.usd > 0 and is_whole else None
    return _describe_otherwise(
        replace(
            made,
            answers=without.calls,
            usd_without=without.usd * (scale or 1),
            not_fitting=without.overflows,
            usd_with_foldaway=ours.usd * (scale or 1),
            anchor=("foldaway" if info.compactions else "as it was") if scale else "",
            foldaway_compactions=ours.compactions,
        )
    )


_ANCHORS = {
    "as it was": "Both are the bill times what a replay changes, with the same answers and a cache "
    "that stays warm.",
    "foldaway": "Both are the bill times what a replay changes; its own compactions count as those "
    "of Foldaway without settings.",
    "": "A replay has the same answers, our own count of tokens, a cache that stays warm and "
    "today's list prices, so compare these two with each other and not with what was paid.",
}


def _describe_otherwise(made: Otherwise) -> Otherwise:
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
            f"{made.window_tokens:,} tokens"
            if made.not_fitting
            else ""
        )
        many = made.foldaway_compactions
        parts.append(
            f"Replayed from the log, {same} {usd(made.usd_without)}{misfits}; behind Foldaway as "
            f"it is without settings {usd(made.usd_with_foldaway)}, with {many:,} "
            f"{'compaction' if many == 1 else 'compactions'}. {_ANCHORS[made.anchor]}"
        )
    return replace(made, said=" ".join(parts))
