"""A recorded session as the model calls that it was, and whether to compact before the next."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from foldaway._core import Budget, Policy
from foldaway.caching import Prices, Situation, Ttl, Verdict
from foldaway.compaction import message_tokens, tools_tokens
from foldaway.dialects import profile_for, repair_transcript
from foldaway.engine import Compressor, Model
from foldaway.transcript import Estimator, Payload, ToolResult, Transcript, is_ask


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
            message.wire,
            message_tokens(message, counts),
            message.role,
            is_ask(message),
            bool(message.parts) and all(isinstance(part, ToolResult) for part in message.parts),
        )
        for message in transcript.messages
    )
    outside = system + tools_tokens(transcript.tools, counts)
    return Recording(transcript.dialect, entries, outside, transcript.tools)


class PlanRequest(Struct, frozen=True, kw_only=True):
    """What a plan goes by beside the transcript."""

    policy: Policy
    budget: Budget
    provider: str | None = None
    prices: Prices | None = None
    ttl: Ttl = "5m"
    is_cold: bool = False
    """Whether the provider has forgotten the session."""
    model_summary: bool = False
    """Whether the model itself writes the summary."""


class PlanResult(Struct, frozen=True):
    """What was looked at, and the answer."""

    situation: Situation
    verdict: Verdict
    calls: int
    """How many there were."""


def plan_for(transcript: Transcript, asked: PlanRequest) -> PlanResult:
    """Return whether to compact before the next call after this transcript, as the gateway decides.

    Raises `CannotRepair` where the transcript breaks its provider's rules and cannot be repaired.
    """
    recording = record(transcript)
    profile = profile_for(transcript.dialect, asked.provider).without("call-pending")
    budget, mended = asked.budget, repair_transcript(transcript, profile)[0]
    engine = Compressor(
        model=Model(
            "",
            budget.context_length,
            budget.output_tokens,
            prices=asked.prices,
            cache_ttl=asked.ttl,
        ),
        policy=asked.policy,
        provider=asked.provider or transcript.dialect,
        clock=lambda: 0.0,
    )
    engine.take_outside(recording.outside_tokens)
    engine.append(*(message.wire for message in mended.messages), arrives=False)
    engine.note_use(-math.inf if asked.is_cold else 0.0)
    situation = engine.situation()
    now = situation.tokens_now
    if asked.model_summary:
        situation = replace(
            situation,
            summary_input_tokens=now,
            summary_cached_tokens=situation.cached_tokens,
            summary_output_tokens=budget.summary_max_tokens,
        )
    return PlanResult(situation, situation.weigh(), sum(1 for _ in recording.calls()))
