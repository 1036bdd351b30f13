"""Whether a compaction is due: urgency and reason as values."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from foldaway._core import Budget, Policy, Reason, Urgency


class Decision(Struct, frozen=True, kw_only=True):
    """What the trigger says of one moment.

    `due` tells an automatic run whether to act; `pressure` whether a warning is due.
    """

    urgency: Urgency
    due: bool
    reason: Reason
    detail: str
    prompt_tokens: int
    source: Literal["measured", "estimated"]
    pressure: bool


class Moment(Struct, frozen=True, kw_only=True):
    """What the trigger looks at."""

    prompt_tokens: int
    source: Literal["measured", "estimated"]
    floor_tokens: int = 0
    ineffective: int = 0
    is_dense: bool = False
    """Whether the last compactions saved little because what stays is most of it."""
    can_shorten: bool = True
    """Whether the newest messages hold calls or results, which can be shortened if nothing can be
    folded; the words of users and agents never are."""
    unconfirmed: bool = False
    """Whether a compaction has just run and the provider has not reported its size yet."""


def decide(moment: Moment, policy: Policy, budget: Budget) -> Decision:
    """Return whether an automatic compaction is due, with the reason in words and numbers."""
    tokens = moment.prompt_tokens
    urgency: Urgency = "early" if tokens >= budget.early_tokens else "none"
    if tokens >= budget.threshold_tokens:
        urgency = "hard" if tokens >= budget.hard_tokens else "soft"
    reason, detail = _objection(moment, policy, budget, urgency)
    return Decision(
        urgency=urgency,
        due=urgency != "none" and not reason,
        reason=reason,
        detail=detail,
        prompt_tokens=tokens,
        source=moment.source,
        pressure=tokens >= budget.pressure_tokens,
    )


def _objection(
    moment: Moment, policy: Policy, budget: Budget, urgency: Urgency
) -> tuple[Reason, str]:
    tokens, threshold = moment.prompt_tokens, budget.threshold_tokens
    if urgency == "none":
        return "below threshold", f"{tokens:,} of {threshold:,} tokens"
    if not policy.enabled:
        return "disabled", "automatic compaction is switched off (compression.enabled)"
    foldable = tokens - moment.floor_tokens
    is_last_resort = (
        tokens > budget.effective_window and moment.can_shorten and not moment.ineffective
    )
    if (
        moment.floor_tokens >= threshold
        and foldable < policy.ineffective_saving * tokens
        and not is_last_resort
    ):
        return "cannot", (
            f"{min(moment.floor_tokens, tokens):,} tokens cannot be folded (system prompt, tools, "
            f"pins, the newest messages) and the threshold is {threshold:,}; use a larger window, "
            f"fewer tools or a higher threshold"
        )
    if moment.unconfirmed and moment.source == "estimated" and urgency != "hard":
        return "deferred", "the size after the last compaction is only an estimate yet"
    if moment.ineffective >= policy.ineffective_limit:
        why = (
            "the session is dense: what stays is most of it. Force one with a focus, or with "
            "fewer messages to keep (keep_last), or start a new session"
            if moment.is_dense
            else "the summaries were nearly as long as what they replaced. Force one with a focus, "
            "or use another summarizer"
        )
        return "ineffective", (
            f"the last {moment.ineffective} compactions saved less than "
            f"{policy.ineffective_saving:.0%}; {why}"
        )
    return "", ""
