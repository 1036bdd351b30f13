"""What the planner says of one transcript, with the compaction tried out and not guessed."""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from holdfast.caching.economics import Rule, Situation, Verdict, weigh
from holdfast.caching.prices import Prices, Ttl
from holdfast.engine.oneshot import Compressed, compress
from holdfast.lab.recording import Recording, record
from holdfast.policy import Budget, Policy
from holdfast.transcript import Transcript


class Asked(Struct, frozen=True, kw_only=True):
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


class Plan(Struct, frozen=True):
    """What was looked at, and the answer."""

    situation: Situation
    verdict: Verdict


def plan_for(transcript: Transcript, asked: Asked, rule: Rule | None = None) -> Plan:
    """Return whether to compact before the next call after this transcript.

    A compaction is tried out, so that what it leaves is measured. Raises `CannotRepair` where the
    transcript breaks its provider's rules and cannot be mended.
    """
    recording = record(transcript)
    body = transcript.frame.body
    value: Any = body if body is not None else [message.wire for message in transcript.messages]
    done = compress(
        value, context_length=asked.budget.context_length,
        output_tokens=asked.budget.output_tokens, policy=asked.policy, provider=asked.provider,
        dialect=transcript.dialect,
    )  # fmt: skip
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
        hard_tokens=asked.budget.hard_tokens,
        summary_input_tokens=now if asked.model_summary else 0,
        summary_cached_tokens=cached if asked.model_summary else 0,
        summary_output_tokens=done.report.summary_tokens if asked.model_summary else 0,
        prices=asked.prices,
        ttl=asked.ttl,
    )
    return Plan(situation, weigh(situation, rule))


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
