"""One finished run made to fit: `compress_trajectory`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from holdfast.dialects.load import dump, load, with_messages
from holdfast.dialects.profiles import profile_for
from holdfast.dialects.rules.roles import ROLES_ALTERNATE
from holdfast.facts.frame import recognize
from holdfast.ports import Redact, TokenCounter
from holdfast.redaction import RedactionPolicy, Redactor
from holdfast.tokens import MESSAGE_OVERHEAD_TOKENS
from holdfast.tokens.estimate import Estimator
from holdfast.trajectories.counting import (
    TurnCosts,
    outside_tokens,
    record_tokens,
    turn_chars,
    turn_tokens,
)
from holdfast.trajectories.policy import Metrics, RecordOutcome, TrajectoryPolicy
from holdfast.trajectories.record import (
    is_compacted,
    refuse_unreadable,
    strip_generated,
    with_notice,
)
from holdfast.trajectories.region import RecordRoom, Region, choose_regions
from holdfast.trajectories.summaries import (
    SummaryWriter,
    WrittenSummary,
    frame_summary,
    region_summary,
    smallest_text,
    sum_counts,
)
from holdfast.transcript import Message, Text, Transcript


class CompressionTools(Struct, frozen=True):
    """What a compression works with: who counts, what hides secrets, who writes."""

    counter: TokenCounter
    redact: Redact
    write: SummaryWriter | None = None
    """Writes the body of a summary; the ledger does if there is none."""


def compress_trajectory(
    record: Any,
    policy: TrajectoryPolicy,
    *,
    counter: TokenCounter | None = None,
    redact: Redact | None = None,
    write: SummaryWriter | None = None,
) -> tuple[Any, Metrics]:
    """Return the record within the policy's target if that is possible, and what was done.

    A record is a list of turns or an object that contains one, in any dialect. One under the target
    is the very object that was given. Otherwise the fewest turns from the front of the middle are
    folded into one user's turn, and those of other stretches if that is not enough; see
    `choose_regions` for what is never folded. It is over the target only if what is never folded
    and the smallest summaries are; the metrics then say why. What comes out costs less than what
    went in, or is what went in. Raises `NotReadable` for what is not a trajectory.
    """
    hide = redact or Redactor(RedactionPolicy(personal=False))
    tools = CompressionTools(counter or Estimator(), hide, write)
    transcript = load(record)
    made, metrics = compress_transcript(transcript, policy, tools)
    return record if made is transcript else dump(made), metrics


def compress_transcript(
    given: Transcript, policy: TrajectoryPolicy, tools: CompressionTools
) -> tuple[Transcript, Metrics]:
    """Return the same for a record that is decoded; the same object if nothing changed."""
    refuse_unreadable(given, policy.max_turns)
    strips = policy.artifacts == "strip"
    clean = strip_generated(given) if strips else given
    made, metrics = _fold(clean, policy, tools)
    if policy.artifacts == "exclude" and is_compacted(made):
        return given, replace(metrics, outcome="excluded")
    if strips and made is not clean:
        made = strip_generated(made)
        tokens = record_tokens(made, tools.counter)
        over = tokens > policy.target_tokens
        metrics = replace(
            metrics,
            turns_after=len(made.messages),
            tokens_after=tokens,
            still_over_limit=over,
            over_because=metrics.over_because if over else "",
        )
    gone = len(given.messages) - len(clean.messages)
    return made, replace(metrics, stripped=gone) if gone else metrics


def _fold(
    given: Transcript, policy: TrajectoryPolicy, tools: CompressionTools
) -> tuple[Transcript, Metrics]:
    counter, dialect, target = tools.counter, given.dialect, policy.target_tokens
    costs = TurnCosts(given, counter)
    if policy.count == "all":
        costs.count_all()
    if not costs.exceed(target):
        return given, _unchanged("under target", costs)
    messages = recognize(given.messages)
    noted = with_notice(given) if policy.notice else given
    outside = costs.outside + _notice_tokens(given, noted, costs, counter)
    room = RecordRoom(
        target - outside, policy.allowed_summary_tokens, lambda turns: _smallest(turns, counter)
    )
    chosen = choose_regions(
        messages,
        costs,
        lambda message: turn_chars(message, dialect),
        keep_last=policy.keep_last,
        room=room,
        alternates=profile_for(dialect).has(ROLES_ALTERNATE),
    )
    if chosen is None:
        return given, _unchanged("nothing to fold", costs, _reason(given, costs, ()))
    budgets = room.budgets(chosen.regions, chosen.kept_tokens)
    written = {
        region: _write_summary(messages, region, tools, budget)
        for region, budget in zip(chosen.regions, budgets, strict=True)
    }
    made, after = _replace_regions(noted, written, counter)
    after += outside + chosen.kept_tokens
    regions, counts = sorted(written, key=lambda one: one.start), sum_counts(written.values())
    over = _reason(given, costs, regions) if after > target else ""
    if not costs.exceed(after):
        return given, replace(_unchanged("nothing to fold", costs, over), **counts)
    return made, Metrics(
        outcome="compressed",
        turns_before=len(given.messages),
        turns_after=len(made.messages),
        tokens_before=costs.whole(),
        tokens_after=after,
        before_is_estimate=not costs.all_counted,
        regions=tuple((one.start, one.stop) for one in regions),
        still_over_limit=after > target,
        over_because=over,
        **counts,
    )


def _unchanged(outcome: RecordOutcome, costs: TurnCosts, over_because: str = "") -> Metrics:
    """Return the metrics of a record that stays as it is."""
    turns, over = len(costs), outcome != "under target"
    tokens = costs.count_all()
    return Metrics(
        outcome=outcome,
        turns_before=turns,
        turns_after=turns,
        tokens_before=tokens,
        tokens_after=tokens,
        still_over_limit=over,
        over_because=over_because,
    )


def _smallest(turns: int, counter: TokenCounter) -> int:
    return MESSAGE_OVERHEAD_TOKENS + counter.count(smallest_text(turns))


def _replace_regions(
    noted: Transcript, written: Mapping[Region, WrittenSummary], counter: TokenCounter
) -> tuple[Transcript, int]:
    """Return the record with a user's turn in the place of each region, and what these cost."""
    messages, tokens = list(noted.messages), 0
    for region in sorted(written, key=lambda one: one.start, reverse=True):
        parts = (Text(written[region].text),)
        summary = Message("user", parts, origin="summary", intact=False)
        messages[region.start : region.stop] = [summary]
        tokens += turn_tokens(summary, noted.dialect, counter)
    return with_messages(noted, tuple(messages)), tokens


def _reason(given: Transcript, costs: TurnCosts, regions: Sequence[Region]) -> str:
    """Say what of a record cannot be folded, and which turn of it is the largest."""
    folded = {at for one in regions for at in range(one.start, one.stop)}
    kept = [at for at in range(len(costs)) if at not in folded]
    said = f"what cannot be folded costs {costs.outside + sum(costs[at] for at in kept):,} tokens"
    largest = max(kept, key=lambda at: costs[at], default=None)
    if largest is None or costs[largest] < costs.outside:
        return f"{said}, of which the system text and tools {costs.outside:,}"
    where = f"{given.frame.path}[{largest}] ({given.messages[largest].role})"
    return f"{said}, of which {where} {costs[largest]:,}"


def _notice_tokens(
    given: Transcript, noted: Transcript, costs: TurnCosts, counter: TokenCounter
) -> int:
    if noted is given:
        return 0
    for at, (new, old) in enumerate(zip(noted.messages, given.messages, strict=True)):
        if new is not old:
            return turn_tokens(new, given.dialect, counter) - costs[at]
    return outside_tokens(noted, counter) - costs.outside


def _write_summary(
    messages: Sequence[Message], region: Region, tools: CompressionTools, budget: int
) -> WrittenSummary:
    """Return the text of the summary turn: a model's if there is one and it did not fail."""
    room = max(budget - MESSAGE_OVERHEAD_TOKENS, 1)
    asked = WrittenSummary(text="") if tools.write is None else tools.write(messages, region, room)
    if asked.text:
        return asked
    summary = region_summary(messages, region, tools.counter, tools.redact, room)
    return replace(asked, text=frame_summary(summary, region, tools.counter, tools.redact, room))
