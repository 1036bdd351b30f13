"""One finished run made to fit: `compress_trajectory` is the whole of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from msgspec import Struct
from msgspec.structs import asdict, replace

from holdfast.compaction.measure import Estimator
from holdfast.dialects.load import dump, load, with_messages
from holdfast.dialects.profiles import profile_for
from holdfast.dialects.rules import roles_alternate
from holdfast.facts.frame import recognise
from holdfast.ports import Redact, TokenCounter
from holdfast.redaction import RedactionPolicy, Redactor
from holdfast.tokens import MESSAGE_OVERHEAD_TOKENS
from holdfast.trajectories.artifacts import is_compacted, stripped
from holdfast.trajectories.costs import TurnCosts
from holdfast.trajectories.ledger import framed_summary, region_summary
from holdfast.trajectories.measure import outside_tokens, turn_chars, turn_tokens
from holdfast.trajectories.notice import with_notice
from holdfast.trajectories.policy import LEAST_SUMMARY_TOKENS, Metrics, TrajectoryPolicy
from holdfast.trajectories.readable import refuse_unreadable
from holdfast.trajectories.region import Region, choose_region
from holdfast.transcript import Message, Text, Transcript


class Means(Struct, frozen=True):
    """What a compression works with: who counts, what hides secrets, who writes."""

    counter: TokenCounter
    redact: Redact
    write: Write | None = None
    """Writes the body of a summary; the ledger does where there is none."""


class Written(Struct, frozen=True):
    """What a writer gave: "" where it failed; the counts are those of `Metrics`."""

    text: str
    summary_calls: int = 0
    errors: int = 0
    verified: int = 0
    unverified: int = 0
    patched: int = 0
    dropped: int = 0

    def counts(self) -> dict[str, int]:
        """Return everything but the text."""
        found = asdict(self)
        del found["text"]
        return found


Write: TypeAlias = Callable[[Sequence[Message], Region, int], Written]
"""From the turns, the region and a budget in tokens, the text of the summary turn."""


def compress_trajectory(
    record: Any,
    policy: TrajectoryPolicy,
    *,
    counter: TokenCounter | None = None,
    redact: Redact | None = None,
    write: Write | None = None,
) -> tuple[Any, Metrics]:
    """Return the record within the policy's target where that can be had, and what was done.

    A record is a list of turns or an object that holds one, in any dialect. One under the target
    is the very object that was given. Otherwise the fewest turns from the front of the middle are
    folded into one user's turn; see `choose_region` for what is never folded. What comes out costs
    less than what went in, or is what went in. Raises `NotReadable` for what is no trajectory.
    """
    hide = redact or Redactor(RedactionPolicy(personal=False))
    means = Means(counter or Estimator(), hide, write)
    transcript = load(record)
    made, metrics = compress_transcript(transcript, policy, means)
    return record if made is transcript else dump(made), metrics


def compress_transcript(
    given: Transcript, policy: TrajectoryPolicy, means: Means
) -> tuple[Transcript, Metrics]:
    """Return the same for a record that is decoded; the very object where nothing changed."""
    refuse_unreadable(given, policy.max_turns)
    strips = policy.artifacts == "strip"
    clean = stripped(given) if strips else given
    made, metrics = _folded(clean, policy, means)
    if policy.artifacts == "exclude" and is_compacted(made):
        return given, replace(metrics, outcome="excluded")
    if strips and made is not clean:
        made = stripped(made)
        tokens = outside_tokens(made, means.counter) + sum(
            turn_tokens(message, made.dialect, means.counter) for message in made.messages
        )
        metrics = replace(
            metrics, turns_after=len(made.messages), tokens_after=tokens,
            still_over_limit=tokens > policy.target_tokens,
        )  # fmt: skip
    gone = len(given.messages) - len(clean.messages)
    return made, replace(metrics, stripped=gone) if gone else metrics


def _folded(
    given: Transcript, policy: TrajectoryPolicy, means: Means
) -> tuple[Transcript, Metrics]:
    counter, dialect, target = means.counter, given.dialect, policy.target_tokens
    costs, turns = TurnCosts(given, counter), len(given.messages)
    if policy.count == "all":
        costs.count_all()
    if not costs.exceed(target):
        return given, Metrics(
            outcome="under target", turns_before=turns, turns_after=turns,
            tokens_before=costs.counted, tokens_after=costs.counted,
        )  # fmt: skip
    messages = recognise(given.messages)
    noted = with_notice(given) if policy.notice else given
    room = target - costs.outside - _notice_tokens(given, noted, costs, counter)
    region = choose_region(
        messages, costs, lambda message: turn_chars(message, dialect),
        keep_last=policy.keep_last, room_tokens=room - policy.summary_tokens,
        alternates=profile_for(dialect).has(roles_alternate.NAME),
    )  # fmt: skip
    if region is None:
        return given, _unfolded(costs)
    written = _written(messages, region, means, _budget(policy, region, room, costs))
    summary = Message("user", (Text(written.text),), origin="summary", intact=False)
    head, tail = noted.messages[: region.start], noted.messages[region.stop :]
    made = with_messages(noted, (*head, summary, *tail))
    after = target - room + region.kept_tokens + turn_tokens(summary, dialect, counter)
    if not costs.exceed(after):
        return given, replace(_unfolded(costs), **written.counts())
    return made, Metrics(
        outcome="compressed", turns_before=turns, turns_after=len(made.messages),
        tokens_before=costs.whole(), tokens_after=after,
        before_is_estimate=not costs.all_counted, region=(region.start, region.stop),
        still_over_limit=after > target, **written.counts(),
    )  # fmt: skip


def _unfolded(costs: TurnCosts) -> Metrics:
    """Return what is said of a record that is over the target and stays as it is."""
    tokens = costs.count_all()
    return Metrics(
        outcome="nothing to fold", turns_before=len(costs), turns_after=len(costs),
        tokens_before=tokens, tokens_after=tokens, still_over_limit=True,
    )  # fmt: skip


def _budget(policy: TrajectoryPolicy, region: Region, room_tokens: int, costs: TurnCosts) -> int:
    """Return what the summary turn may cost.

    All that was allowed for it where enough is folded; what is left where it is not, as long as
    a summary says something in that; and always clearly less than the region itself.
    """
    left = room_tokens - region.kept_tokens
    if left >= LEAST_SUMMARY_TOKENS:
        return min(policy.summary_tokens, left)
    folded = costs.span(region.start, region.stop, most=2 * policy.summary_tokens)
    return min(policy.summary_tokens, max(folded // 2, LEAST_SUMMARY_TOKENS))


def _notice_tokens(
    given: Transcript, noted: Transcript, costs: TurnCosts, counter: TokenCounter
) -> int:
    """Return what the notice costs."""
    if noted is given:
        return 0
    for at, (new, old) in enumerate(zip(noted.messages, given.messages, strict=True)):
        if new is not old:
            return turn_tokens(new, given.dialect, counter) - costs[at]
    return outside_tokens(noted, counter) - costs.outside


def _written(messages: Sequence[Message], region: Region, means: Means, budget: int) -> Written:
    """Return the text of the summary turn: a model's where there is one and it did not fail."""
    room = max(budget - MESSAGE_OVERHEAD_TOKENS, 1)
    asked = Written(text="") if means.write is None else means.write(messages, region, room)
    if asked.text:
        return asked
    summary = region_summary(messages, region, means.counter, means.redact, room)
    return replace(asked, text=framed_summary(summary, means.counter, means.redact, room))
