"""What one recorded session lost in its own compactions, and what it would cost otherwise."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from msgspec.structs import replace

from foldaway._core import Policy
from foldaway.agents.importers import ImportedSession
from foldaway.agents.known import find_agent
from foldaway.caching import PriceList, window_of
from foldaway.lab.reading import lab_session
from foldaway.lab.replay import Recording, ReplayTerms, record
from foldaway.lab.scoring.facts import is_present
from foldaway.lab.scoring.needed import Elsewhere, needed_facts, prepare
from foldaway.lab.scoring.session import LabSession, OwnSummary, is_system
from foldaway.lab.simulation import StrategyCost, append_only, planner, simulate
from foldaway.transcript import Transcript

_FILE = re.compile(r"\w[\w-]*(?:\.[\w-]+)*\.[A-Za-z]\w{0,9}")
_NOTHING = Elsewhere(frozenset(), frozenset())


def own_losses(found: ImportedSession) -> tuple[int, int, int]:
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


def replay_session(
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
) -> list[Recording]:
    """Return a session as it can be replayed.

    At each of `stops`, which are compactions of the agent, a new prompt begins. `system_tokens`
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
