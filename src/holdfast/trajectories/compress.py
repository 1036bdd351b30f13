"""One finished run made to fit: `compress_trajectory` is the whole of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from msgspec import Struct
from msgspec.structs import asdict, replace

from holdfast.dialects.load import dump, load, with_messages
from holdfast.dialects.profiles import profile_for
from holdfast.dialects.rules import roles_alternate
from holdfast.pipeline.frame import recognise
from holdfast.pipeline.measure import Estimator
from holdfast.ports import Redact, TokenCounter
from holdfast.redaction import RedactionPolicy, Redactor
from holdfast.tokens import MESSAGE_OVERHEAD_TOKENS
from holdfast.trajectories.artifacts import is_compacted, stripped
from holdfast.trajectories.ledger import framed_summary, region_summary
from holdfast.trajectories.measure import outside_tokens, turn_tokens
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
    counter, dialect = means.counter, given.dialect
    costs = [turn_tokens(message, dialect, counter) for message in given.messages]
    outside = outside_tokens(given, counter)
    before, turns = sum(costs) + outside, len(costs)
    as_it_was = Metrics(
        outcome="under target", turns_before=turns, turns_after=turns, tokens_before=before,
        tokens_after=before,
    )  # fmt: skip
    if before <= policy.target_tokens:
        return given, as_it_was
    unfolded = replace(as_it_was, outcome="nothing to fold", still_over_limit=True)
    messages = recognise(given.messages)
    noted = with_notice(given) if policy.notice else given
    notice = _notice_tokens(given, noted, costs, outside, counter)
    excess = before + notice - policy.target_tokens
    region = choose_region(
        messages, costs, keep_last=policy.keep_last,
        wanted_tokens=excess + policy.summary_tokens,
        alternates=profile_for(dialect).has(roles_alternate.NAME),
    )  # fmt: skip
    if region is None:
        return given, unfolded
    budget = _budget(policy, region, excess)
    written = _written(messages, region, means, budget)
    summary = Message("user", (Text(written.text),), origin="summary", intact=False)
    head, tail = noted.messages[: region.start], noted.messages[region.stop :]
    made = with_messages(noted, (*head, summary, *tail))
    after = before + notice - region.tokens + turn_tokens(summary, dialect, counter)
    if after >= before:
        return given, replace(unfolded, **written.counts())
    return made, replace(
        as_it_was, outcome="compressed", turns_after=len(made.messages), tokens_after=after,
        region=(region.start, region.stop), still_over_limit=after > policy.target_tokens,
        **written.counts(),
    )  # fmt: skip


def _budget(policy: TrajectoryPolicy, region: Region, excess: int) -> int:
    """Return what the summary turn may cost.

    All that was allowed for it where the region holds enough; what is left where it does not, as
    long as a summary says something in that; and always clearly less than the region itself.
    """
    room = region.tokens - excess
    if room >= LEAST_SUMMARY_TOKENS:
        return min(policy.summary_tokens, room)
    return min(policy.summary_tokens, max(region.tokens // 2, LEAST_SUMMARY_TOKENS))


def _notice_tokens(
    given: Transcript, noted: Transcript, costs: Sequence[int], outside: int, counter: TokenCounter
) -> int:
    """Return what the notice costs."""
    if noted is given:
        return 0
    for at, (new, old) in enumerate(zip(noted.messages, given.messages, strict=True)):
        if new is not old:
            return turn_tokens(new, given.dialect, counter) - costs[at]
    return outside_tokens(noted, counter) - outside


def _written(messages: Sequence[Message], region: Region, means: Means, budget: int) -> Written:
    """Return the text of the summary turn: a model's where there is one and it did not fail."""
    room = max(budget - MESSAGE_OVERHEAD_TOKENS, 1)
    asked = Written(text="") if means.write is None else means.write(messages, region, room)
    if asked.text:
        return asked
    summary = region_summary(messages, region, means.counter, means.redact, room)
    return replace(asked, text=framed_summary(summary, means.counter, means.redact, room))
