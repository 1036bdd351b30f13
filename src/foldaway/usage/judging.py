"""What a session shows beyond its figures: what its compactions lost, what Foldaway would save."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence

from foldaway.agents.importers import ImportedSession
from foldaway.caching import PriceList
from foldaway.lab import own_losses, replay_session
from foldaway.usage.reading import Judgement, Tell, UsageReader, read_again
from foldaway.usage.record import SpentSession

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
