"""The compactions that an agent made by itself, as its file shows them, as steps like ours."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from foldaway.agents.known import find_agent
from foldaway.facts import summary_body
from foldaway.gateway import NotThere
from foldaway.gateway.inspector.compaction_steps import CompactionStep, StepPlace, StepTools
from foldaway.gateway.inspector.summary_entries import ShownSummary, sections_of
from foldaway.lab import Sight, UsedLater
from foldaway.sessions import Show, decode_rows
from foldaway.stores import OutlineRow, SessionInfo, Store, TurnUsage
from foldaway.transcript import Folded, Item, Kept, Message, View, texts
from foldaway.usage import StepBalance, recorded_usage


class AgentCompaction(Struct, frozen=True):
    """The place of one compaction of the agent in a log; most write one message, some several."""

    begin: int
    """From where on the model saw the log: the compaction before it, or the start."""
    start: int
    """The first message that it wrote."""
    stop: int
    """One past the last."""
    end: int
    """Where the next one begins, or the end of the log."""


def agent_compactions(rows: Sequence[OutlineRow]) -> list[AgentCompaction]:
    """Return the compactions that the agent made by itself, in the rows of a whole log."""
    runs: list[tuple[int, int]] = []
    for at in (row.position for row in rows if row.generated):
        if runs and runs[-1][1] == at:
            runs[-1] = runs[-1][0], at + 1
        else:
            runs.append((at, at + 1))
    begins = [0, *(start for start, _ in runs)]
    ends = [*(start for start, _ in runs[1:]), len(rows)]
    return [
        AgentCompaction(begin, start, stop, end)
        for begin, (start, stop), end in zip(begins, runs, ends, strict=False)
    ]


def agent_step(
    store: Store, info: SessionInfo, at: int, tools: StepTools, *, facts: bool = True
) -> CompactionStep:
    """Return what the compaction of the agent did that wrote the message at a position.

    Raises `NotThere` if none did. If the agent keeps messages beside its summary, its file does not
    say which: then the facts that were used later are not judged.
    """
    rows = store.outline(info.id)
    found = next((one for one in agent_compactions(rows) if one.start <= at < one.stop), None)
    if found is None:
        raise NotThere(f"no compaction of the agent wrote message {at} of session {info.id}")
    written = store.read(info.id, found.start, found.stop)
    messages = tuple(decode_rows(written, info.dialect))
    last, later = _requests(recorded_usage(store, info), found)
    tokens = sum(row.tokens for row in rows[found.begin : found.start])
    left = sum(row.tokens for row in rows[found.start : found.stop])
    is_counted = last is not None and bool(later)
    if last is not None and later:
        tokens, left = last.input_tokens, later[0].input_tokens
    return CompactionStep(
        session=info.id,
        by="agent",
        number=0,
        at=found.start,
        view=None,
        report=None,
        messages_before=found.start - found.begin,
        messages_after=found.stop - found.start,
        tokens_before=tokens,
        tokens_after=left,
        is_estimated=not is_counted,
        categories=(),
        before=tuple(StepPlace(one, one + 1, "folded") for one in range(found.begin, found.start)),
        after=tuple(
            StepPlace(one, one + 1, "added", is_written=True)
            for one in range(found.start, found.stop)
        ),
        summary=_summary(messages, tools.show),
        used_later=_facts(store, info, found, messages, tools.show) if facts else UsedLater(),
        balance=StepBalance.of_agent(
            last,
            later,
            info,
            tools.prices,
            tokens_less=max(tokens - left, 0),
            is_measured=is_counted,
            window=tools.window,
        ),
    )


def _requests(
    turns: Sequence[TurnUsage], found: AgentCompaction
) -> tuple[TurnUsage | None, list[TurnUsage]]:
    """Return the last request before a compaction of the agent, and those until the next."""
    before = [one for one in turns if one.position < found.start]
    later = [one for one in turns if found.start <= one.position < found.end]
    return (before[-1] if before else None), later


def _summary(messages: Sequence[Message], show: Show) -> ShownSummary | None:
    """Return what the agent wrote. Its entries do not name their messages."""
    said = "\n".join(text for message in messages for text in texts(message)).strip()
    if not said:
        return None
    body = summary_body(said) or said
    return ShownSummary(sections=sections_of(body, 0, dict, show), text=show(body))


def _facts(
    store: Store,
    info: SessionInfo,
    found: AgentCompaction,
    messages: tuple[Message, ...],
    show: Show,
) -> UsedLater:
    if not find_agent(info.source).compaction.keeps_summary_alone:
        why = (
            f"{info.source or 'The agent'} keeps messages beside its summary, and its file does "
            f"not say which: what it lost cannot be told."
        )
        return UsedLater(why_none=why)
    if not any(texts(message) for message in messages):
        return UsedLater(why_none="The file does not hold the text of the summary.")
    earlier: tuple[Item, ...] = (Folded(0, found.begin),) if found.begin else ()
    seen: tuple[Item, ...] = (Kept(found.begin, found.start),) if found.start > found.begin else ()
    sight = Sight(
        before=View((*earlier, *seen), found.start),
        after=View((Folded(0, found.start, messages),) if found.start else (), found.start),
        has_references=False,
        start=found.begin,
        cut=found.start,
        resumed=found.stop,
        stop=found.end,
    )
    return sight.facts_used_later(store, info, show)
