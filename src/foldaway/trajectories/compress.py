"""One finished run made to fit: `compress_trajectory`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from foldaway._core import Redact, TokenCounter
from foldaway.dialects import dump, load, profile_for
from foldaway.facts import recognize
from foldaway.redaction import RedactionPolicy, Redactor
from foldaway.trajectories.counting import (
    TurnCosts,
    count_outside_turns,
    record_tokens,
    turn_chars,
    turn_tokens,
)
from foldaway.trajectories.policy import Metrics, RecordOutcome, TrajectoryPolicy
from foldaway.trajectories.record import (
    is_compacted,
    refuse_unreadable,
    strip_generated,
    with_notice,
)
from foldaway.trajectories.region import FoldedRegions, RecordRoom, Region, choose_regions
from foldaway.trajectories.summaries import (
    SummaryWriter,
    WrittenSummary,
    frame_summary,
    region_summary,
    smallest_summary,
    sum_counts,
)
from foldaway.transcript import MESSAGE_OVERHEAD_TOKENS, Estimator, Message, Text, Transcript


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
            could_fit=metrics.could_fit and over,
            least_tokens=metrics.least_tokens if over else 0,
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
        return given, _measure_unchanged("under target", costs)
    messages = recognize(given.messages)
    words = policy.notice if isinstance(policy.notice, str) else ""
    noted = with_notice(given, words) if policy.notice else given
    outside = costs.outside + _notice_tokens(given, noted, costs, counter)
    room = RecordRoom(
        target - outside,
        policy.allowed_summary_tokens,
        lambda turns: _find_smallest(turns, counter),
    )
    chosen = choose_regions(
        messages,
        costs,
        lambda message: turn_chars(message, dialect),
        keep_last=policy.keep_last,
        room=room,
        alternates=profile_for(dialect).has("roles-alternate"),
    )
    if chosen is None:
        return given, _measure_unchanged(
            "nothing to fold", costs, _describe_over_target(given, costs)
        )
    over = None
    has_room = room.least_of(chosen) <= room.tokens
    if not has_room:
        over = _describe_over_target(given, costs, chosen.regions, outside + room.least_of(chosen))
        chosen = _first_alone(chosen, costs)
    budgets = _budgets(room, chosen, costs)
    written = {
        region: _write_summary(messages, region, tools, budget)
        for region, budget in zip(chosen.regions, budgets, strict=True)
    }
    made, after = _replace_regions(noted, written, counter)
    after += outside + chosen.kept_tokens
    regions, counts = sorted(written, key=lambda one: one.start), sum_counts(written.values())
    if after > target and over is None:
        over = OverTarget(after, "its summary is longer than it was asked to be")
    if not costs.exceed(after):
        if over and not costs.exceed(over.least_tokens):
            over = _describe_over_target(given, costs)
        return given, replace(_measure_unchanged("nothing to fold", costs, over), **counts)
    return made, Metrics(
        outcome="compressed",
        turns_before=len(given.messages),
        turns_after=len(made.messages),
        tokens_before=costs.whole(),
        tokens_after=after,
        before_is_estimate=not costs.all_counted,
        regions=tuple((one.start, one.stop) for one in regions),
        still_over_limit=over is not None,
        could_fit=over is not None and has_room,
        least_tokens=over.least_tokens if over else 0,
        over_because=over.because if over else "",
        **counts,
    )


class OverTarget(Struct, frozen=True):
    """What a record needs that does not fit, and why."""

    least_tokens: int
    because: str


def _measure_unchanged(
    outcome: RecordOutcome, costs: TurnCosts, over: OverTarget | None = None
) -> Metrics:
    """Return the metrics of a record that stays as it is."""
    turns, tokens = len(costs), costs.count_all()
    return Metrics(
        outcome=outcome,
        turns_before=turns,
        turns_after=turns,
        tokens_before=tokens,
        tokens_after=tokens,
        still_over_limit=outcome != "under target",
        least_tokens=over.least_tokens if over else 0,
        over_because=over.because if over else "",
    )


def _describe_over_target(
    given: Transcript, costs: TurnCosts, regions: Sequence[Region] = (), least_tokens: int = 0
) -> OverTarget:
    """Say what a record needs at least, and which of the turns outside the regions needs most of
    it; without regions all of the record.
    """
    least_tokens = least_tokens if regions else costs.count_all()
    folded = {at for one in regions for at in range(one.start, one.stop)}
    kept = [at for at in range(len(costs)) if at not in folded]
    needs = f"it needs at least {least_tokens:,}"
    largest = max(kept, key=lambda at: costs[at], default=None)
    if largest is None or costs[largest] < costs.outside:
        return OverTarget(least_tokens, f"{needs}, the system text and tools {costs.outside:,}")
    where = f"{given.frame.path}[{largest}] ({given.messages[largest].role})"
    return OverTarget(least_tokens, f"{needs}, of which {where} {costs[largest]:,}")


def _first_alone(chosen: FoldedRegions, costs: TurnCosts) -> FoldedRegions:
    """Return only the first region: more is not given up for a target that cannot be reached."""
    first, *others = chosen.regions
    more = sum(costs[at] for one in others for at in range(one.start, one.stop))
    return FoldedRegions((first,), chosen.kept_tokens + more)


def _budgets(room: RecordRoom, chosen: FoldedRegions, costs: TurnCosts) -> tuple[int, ...]:
    """Return what each summary may cost; in a record that is over half of its region at most."""
    budgets = room.budgets(chosen.regions, chosen.kept_tokens)
    if chosen.kept_tokens + sum(budgets) <= room.tokens:
        return budgets
    (region,), (budget,) = chosen.regions, budgets
    folded = costs.span(region.start, region.stop, most=2 * budget)
    return (min(budget, max(folded // 2, TrajectoryPolicy.LEAST_SUMMARY_TOKENS)),)


def _find_smallest(turns: int, counter: TokenCounter) -> int:
    return MESSAGE_OVERHEAD_TOKENS + counter.count(smallest_summary(turns))


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
    return noted.with_messages(messages), tokens


def _notice_tokens(
    given: Transcript, noted: Transcript, costs: TurnCosts, counter: TokenCounter
) -> int:
    if noted is given:
        return 0
    for at, (new, old) in enumerate(zip(noted.messages, given.messages, strict=True)):
        if new is not old:
            return turn_tokens(new, given.dialect, counter) - costs[at]
    return count_outside_turns(noted, counter) - costs.outside


def _write_summary(
    messages: Sequence[Message], region: Region, tools: CompressionTools, budget: int
) -> WrittenSummary:
    """Return the text of the summary turn: a model's if there is one and it did not fail.

    Nobody is asked if there is no room for more than the smallest summary.
    """
    turns = region.stop - region.start
    if budget <= _find_smallest(turns, tools.counter):
        return WrittenSummary(smallest_summary(turns))
    room = max(budget - MESSAGE_OVERHEAD_TOKENS, 1)
    asked = WrittenSummary(text="") if tools.write is None else tools.write(messages, region, room)
    if asked.text:
        return asked
    summary = region_summary(messages, region, tools.counter, tools.redact, room)
    return replace(asked, text=frame_summary(summary, region, tools.counter, tools.redact, room))
