"""A recorded session as the model calls that it was, and whether to compact before the next."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from msgspec import Struct

from foldaway.caching.economics import PAYS_FROM, Situation, Verdict, weigh
from foldaway.caching.prices import Prices, Ttl
from foldaway.compaction.measure import message_tokens, tools_tokens
from foldaway.engine.oneshot import Compressed, compress
from foldaway.engine.run import Model
from foldaway.policy import Budget, Policy
from foldaway.tokens.estimate import Estimator
from foldaway.transcript import Payload, ToolResult, Transcript, is_ask


class RecordedMessage(Struct, frozen=True, gc=False):
    """One message with its size, and what the replay must know of it."""

    wire: Any
    tokens: int
    role: str
    is_ask: bool
    """Whether a user speaks: a pause may lie before it."""
    results: bool
    """Whether it is nothing but tool results."""


class Recording(Struct, frozen=True):
    """A session as it can be replayed; `outside_tokens` are tools and a system prompt outside."""

    dialect: str
    entries: tuple[RecordedMessage, ...]
    outside_tokens: int = 0
    tools: tuple[Payload, ...] = ()

    @property
    def tokens(self) -> int:
        """The whole session in one prompt."""
        return self.outside_tokens + sum(entry.tokens for entry in self.entries)

    @property
    def system_stop(self) -> int:
        """How many system messages lead the list."""
        for at, entry in enumerate(self.entries):
            if entry.role not in ("system", "developer"):
                return at
        return len(self.entries)

    def calls(self) -> Iterator[tuple[tuple[RecordedMessage, ...], tuple[RecordedMessage, ...]]]:
        """Yield for each call of the model what is new in its prompt, and its answer.

        A run of agent messages is one answer: some formats write text and calls apart. The answer
        is not part of the next pair; it is in the next prompt all the same. Messages before which
        nothing was said have no call, nor have those after the last answer.
        """
        new: list[RecordedMessage] = []
        at, entries = 0, self.entries
        while at < len(entries):
            if entries[at].role != "assistant":
                new.append(entries[at])
                at += 1
                continue
            stop = at
            while stop < len(entries) and entries[stop].role == "assistant":
                stop += 1
            if at:
                yield tuple(new), entries[at:stop]
                new = []
            else:
                new.extend(entries[:stop])
            at = stop


def record(transcript: Transcript) -> Recording:
    """Return a transcript as a recording; each message is measured once."""
    counts = Estimator()
    system = message_tokens(transcript.system, counts) if transcript.system else 0
    entries = tuple(
        RecordedMessage(
            message.wire, message_tokens(message, counts), message.role, is_ask(message),
            bool(message.parts) and all(isinstance(part, ToolResult) for part in message.parts),
        )
        for message in transcript.messages
    )  # fmt: skip
    outside = system + tools_tokens(transcript.tools, counts)
    return Recording(transcript.dialect, entries, outside, transcript.tools)


class PlanRequest(Struct, frozen=True, kw_only=True):
    """What a plan goes by beside the transcript."""

    policy: Policy
    budget: Budget
    provider: str | None = None
    prices: Prices | None = None
    ttl: Ttl = "5m"
    turns: int | None = None
    """Calls still to come, where somebody knows."""
    is_cold: bool = False
    """Whether the provider has forgotten the session."""
    model_summary: bool = False
    """Whether the model itself writes the summary."""
    pays_from: float = PAYS_FROM
    """The share of the window from which a compaction is made if it pays."""


class PlanResult(Struct, frozen=True):
    """What was looked at, and the answer."""

    situation: Situation
    verdict: Verdict


def plan_for(transcript: Transcript, asked: PlanRequest) -> PlanResult:
    """Return whether to compact before the next call after this transcript.

    A compaction is tried out, so that what it leaves is measured. Raises `CannotRepair` where the
    transcript breaks its provider's rules and cannot be mended.
    """
    recording = record(transcript)
    body = transcript.frame.body
    value: Any = body if body is not None else [message.wire for message in transcript.messages]
    done = compress(
        value,
        model=Model("", asked.budget.context_length, asked.budget.output_tokens),
        policy=asked.policy,
        provider=asked.provider or transcript.dialect,
    )
    now, after = recording.tokens, done.report.tokens_after
    changed = done.report.status == "compacted"
    calls, grown, cached = _history(recording)
    cached = 0 if asked.is_cold else cached
    at_marks = asked.prices is not None and asked.prices.at_marks
    kept = _kept(recording, done, at_marks=at_marks) if changed else cached
    situation = Situation(
        tokens_now=now,
        tokens_after=after if changed else now,
        cached_tokens=cached,
        kept_prefix_tokens=kept,
        turns_so_far=calls,
        tokens_per_turn=grown / calls if calls else 0.0,
        remaining_turns=asked.turns,
        threshold_tokens=asked.budget.threshold_tokens,
        early_tokens=int(asked.budget.effective_window * asked.pays_from),
        hard_tokens=asked.budget.hard_tokens,
        summary_input_tokens=now if asked.model_summary else 0,
        summary_cached_tokens=cached if asked.model_summary else 0,
        summary_output_tokens=done.report.summary_tokens if asked.model_summary else 0,
        prices=asked.prices,
        ttl=asked.ttl,
    )
    return PlanResult(situation, weigh(situation))


def _history(recording: Recording) -> tuple[int, int, int]:
    """Return the calls so far, by how much they let the prompt grow, and the last prompt."""
    calls = grown = sent = last = 0
    for new, answer in recording.calls():
        added = sum(entry.tokens for entry in new)
        size = sum(entry.tokens for entry in answer)
        last = sent + added
        grown += size + (added if calls else 0)
        sent = last + size
        calls += 1
    return calls, grown, recording.outside_tokens + last if calls else 0


def _kept(recording: Recording, done: Compressed, *, at_marks: bool) -> int:
    """Return the tokens up to the first message that is not what it was.

    Where only marked prefixes are cached, no more than the system prompt.
    """
    same = 0
    for entry, message in zip(recording.entries, done.transcript.messages, strict=False):
        if message.wire is not entry.wire or not message.intact:
            break
        same += 1
    if at_marks:
        same = recording.system_stop if same >= recording.system_stop else 0
    return recording.outside_tokens + sum(entry.tokens for entry in recording.entries[:same])
