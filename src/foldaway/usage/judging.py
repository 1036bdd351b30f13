"""What a session shows beyond its figures: what its compactions lost, what Foldaway would save."""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Sequence

from msgspec.structs import replace

from foldaway._core import Policy
from foldaway.agents.importers import ImportedSession
from foldaway.agents.known import find_agent
from foldaway.caching import PriceList, window_of
from foldaway.lab import (
    Elsewhere,
    LabSession,
    OwnSummary,
    Recording,
    ReplayTerms,
    StrategyCost,
    append_only,
    is_present,
    is_system,
    lab_session,
    needed_facts,
    planner,
    prepare,
    record,
    simulate,
)
from foldaway.transcript import Transcript
from foldaway.usage.prompts import SYSTEM
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
_FILE = re.compile(r"\w[\w-]*(?:\.[\w-]+)*\.[A-Za-z]\w{0,9}")
_NOTHING = Elsewhere(frozenset(), frozenset())


def judge(
    sessions: Sequence[SpentSession], reader: UsageReader, prices: PriceList, seconds: float,
    tell: Tell,
) -> list[Judgement]:  # fmt: skip
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
        return is_old, -sum(answer.prompt_tokens for answer in one.answers)

    order = sorted(used, key=rank)
    compacted = [one for one in order if one.compactions][:COMPACTED_SESSIONS]
    return list({id(one): one for one in (*order[:JUDGED_SESSIONS], *compacted)}.values())


def judge_session(session: SpentSession, found: ImportedSession, prices: PriceList) -> Judgement:
    """Return what one session lost in its own compactions, and what it would cost with Foldaway."""
    compactions, used_later, named = _losses(found)
    was, would = _costs(session, found, prices)
    return Judgement(
        agent=session.agent, source_id=session.source_id, usd_as_it_was=was,
        usd_with_foldaway=would, used_later=used_later, named=named, compactions=compactions,
    )  # fmt: skip


def _losses(found: ImportedSession) -> tuple[int, int, int]:
    """Return the compactions with a summary, the files used after them, and those it names.

    Of all facts only files count, and any mention of their name does: that a number or a word
    comes again may be chance. A compaction is judged by what the model saw, which is what came
    since the one before it, and by what the agent wrote until the next.
    """
    is_judged = find_agent(found.agent).compaction.keeps_summary_alone and found.summaries
    session = lab_session(found) if is_judged else None
    if not isinstance(session, LabSession):
        return 0, 0, 0
    compactions = used = named = 0
    runs = _runs(session.own)
    starts = [0, *(start for start, _, _ in runs), len(session.messages)]
    for (start, stop, text), begin, end in zip(runs, starts, starts[2:], strict=False):
        before, after = session.messages[begin:start], session.messages[stop:end]
        if not text or not before or not after:
            continue
        prepared = prepare(replace(session, messages=[*before, *after]))
        needed = needed_facts(prepared, len(before) - sum(map(is_system, before)), _NOTHING)
        paths = (fact.text.rpartition("/")[2] for fact in needed if fact.kind == "path")
        files = {name for name in paths if _FILE.fullmatch(name)}
        compactions += 1
        used += len(files)
        named += sum(is_present(text, name) for name in files)
    return compactions, used, named


def _runs(own: Iterable[OwnSummary]) -> list[tuple[int, int, str]]:
    """Return where each compaction begins and ends, and its text: some write several messages."""
    found: list[tuple[int, int, str]] = []
    for one in own:
        if found and found[-1][1] == one.at:
            start, _, text = found.pop()
            found.append((start, one.at + 1, f"{text}\n{one.text}"))
        else:
            found.append((one.at, one.at + 1, one.text))
    return found


def _costs(session: SpentSession, found: ImportedSession, prices: PriceList) -> tuple[float, float]:
    """Return what the calls of a session cost as it was, and behind the gateway as it is without
    settings; both simulated.
    """
    replays = replayed(
        found.transcript, found.model, found.summaries, system_tokens_of(session), prices
    )
    if replays is None:
        return 0.0, 0.0
    was, would = replays
    is_real = was.overflows <= OVERFLOWS * was.calls
    return (was.usd, would.usd) if is_real else (0.0, 0.0)


def system_tokens_of(session: SpentSession) -> int:
    """Return the size of the system prompt and the tools, by the prompts of a session."""
    return session.prompts.shares.get(SYSTEM, 0) // max(len(session.answers), 1)


def replayed(
    transcript: Transcript, model: str, stops: Sequence[int], system_tokens: int, prices: PriceList
) -> tuple[StrategyCost, StrategyCost] | None:
    """Return what the calls of a session cost if nothing is compacted, and behind the gateway as it
    is without settings; None if the prices of the model are not known.
    """
    known = prices.of(model)
    if known is None:
        return None
    terms = ReplayTerms(prices=known, context_length=window_of(model, None)[0])
    ours = planner(arrival=Policy().follow_arrival)
    parts = recordings_of(transcript, stops, system_tokens)
    was, would = simulate(parts, terms, [append_only(), ours])
    return was, would


def recordings_of(
    transcript: Transcript, stops: Sequence[int], system_tokens: int
) -> list[Recording]:  # fmt: skip
    """Return a session as it can be replayed.

    At each of `stops`, which are compactions of the agent, the prompt begins anew. `system_tokens`
    is the size of the system prompt and the tools, if the transcript does not hold them.
    """
    whole = record(transcript)
    parts: list[Recording] = []
    for start, stop in zip([0, *stops], [*stops, len(whole.entries)], strict=True):
        if stop > start:
            outside = max(whole.outside_tokens, system_tokens)
            entries = whole.entries[start:stop]
            parts.append(Recording(whole.dialect, entries, outside, whole.tools))
    return parts
