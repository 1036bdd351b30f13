"""One finished run made to fit: `compress_trajectory`."""

from __future__ import annotations

from collections.abc import Sequence
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
from holdfast.trajectories.policy import (
    LEAST_SUMMARY_TOKENS,
    Metrics,
    RecordOutcome,
    TrajectoryPolicy,
)
from holdfast.trajectories.record import (
    is_compacted,
    refuse_unreadable,
    strip_generated,
    with_notice,
)
from holdfast.trajectories.region import Region, choose_region
from holdfast.trajectories.summaries import (
    SummaryWriter,
    WrittenSummary,
    frame_summary,
    region_summary,
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
    folded into one user's turn; see `choose_region` for what is never folded. What comes out costs
    less than what went in, or is what went in. Raises `NotReadable` for what is not a trajectory.
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
            metrics, turns_after=len(made.messages), tokens_after=tokens, still_over_limit=over
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
    room = target - costs.outside - _notice_tokens(given, noted, costs, counter)
    region = choose_region(
        messages,
        costs,
        lambda message: turn_chars(message, dialect),
        keep_last=policy.keep_last,
        room_tokens=room - policy.summary_tokens,
        alternates=profile_for(dialect).has(ROLES_ALTERNATE),
    )
    if region is None:
        return given, _unchanged("nothing to fold", costs)
    written = _write_summary(messages, region, tools, _budget(policy, region, room, costs))
    summary = Message("user", (Text(written.text),), origin="summary", intact=False)
    head, tail = noted.messages[: region.start], noted.messages[region.stop :]
    made = with_messages(noted, (*head, summary, *tail))
    after = target - room + region.kept_tokens + turn_tokens(summary, dialect, counter)
    if not costs.exceed(after):
        return given, replace(_unchanged("nothing to fold", costs), **written.counts())
    return made, Metrics(
        outcome="compressed",
        turns_before=len(given.messages),
        turns_after=len(made.messages),
        tokens_before=costs.whole(),
        tokens_after=after,
        before_is_estimate=not costs.all_counted,
        region=(region.start, region.stop),
        still_over_limit=after > target,
        **written.counts(),
    )


def _unchanged(outcome: RecordOutcome, costs: TurnCosts) -> Metrics:
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
    )


def _budget(policy: TrajectoryPolicy, region: Region, room_tokens: int, costs: TurnCosts) -> int:
    """Return what the summary turn may cost.

    All that was allowed for it if enough is folded; otherwise what is left, if a summary says
    something in that; and always clearly less than the region itself.
    """
    left = room_tokens - region.kept_tokens
    if left >= LEAST_SUMMARY_TOKENS:
        return min(policy.summary_tokens, left)
    folded = costs.span(region.start, region.stop, most=2 * policy.summary_tokens)
    return min(policy.summary_tokens, max(folded // 2, LEAST_SUMMARY_TOKENS))


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
    return replace(asked, text=frame_summary(summary, tools.counter, tools.redact, room))
