"""Whether to compact now: one function decides, and its answer carries price and room."""

from __future__ import annotations

from typing import Literal, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from foldaway._core import LEAST_SAVING, Budget, Policy, Reason, Urgency
from foldaway.caching import Situation, Verdict

Background: TypeAlias = Literal["", "being written", "ready"]
"""Whether a summary is being written in the background, or waits to be used."""
_BY_PRICE: frozenset[Urgency] = frozenset(("early", "soft"))
"""At these a compaction is only made if it pays."""
_MOST_INEFFECTIVE = 2
"""Ineffective compactions in a row after which automatic ones wait (tests/coverage.md, A24)."""
_OPEN: frozenset[Reason] = frozenset(("", "below threshold"))
"""With these reasons nothing but the size speaks against a compaction."""


class PutOff(Struct, frozen=True):
    """A compaction that did not pay, and until when it is not looked at again."""

    why: str = ""
    urgency: Urgency = "none"
    reread_tokens: float = 0.0
    """So much must have been read again."""


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
    background: Background = ""
    put_off: PutOff = PutOff()
    reread_tokens: int = 0
    """What a compaction would have removed, added up over the calls since the last one."""
    is_cold: bool = False
    """Whether the provider has forgotten the conversation."""


class Decision(Struct, frozen=True, kw_only=True):
    """What the trigger says of one moment: all that a driver asks is a field or a property.

    `due` tells whether an automatic run would plan; `pressure` whether a warning is due.
    """

    urgency: Urgency
    due: bool
    reason: Reason
    detail: str
    prompt_tokens: int
    source: Literal["measured", "estimated"]
    pressure: bool
    room_tokens: int
    """How many tokens may come before a compaction can be made."""
    put_off: str = ""
    """Why a compaction that did not pay is not looked at again yet."""
    background: Background = ""
    situation: Situation | None = None
    """What a compaction would cost and save; None as long as nobody worked it out."""
    verdict: Verdict | None = None
    """What the price says, if there is a situation."""

    @property
    def acts(self) -> bool:
        """Whether an automatic run compacts now, as far as its price is known."""
        if self.background:
            return self.background == "ready" or self.urgency == "hard"
        return self.due and not self.put_off and not self.waits

    @property
    def waits(self) -> bool:
        """Whether the price says to wait."""
        return self.verdict is not None and self.verdict.answer == "wait"

    @property
    def needs_price(self) -> bool:
        """Whether the price decides, and is not known yet."""
        is_open = self.verdict is None and self.urgency in _BY_PRICE
        return is_open and not self.background and self.acts

    @property
    def lacks_room(self) -> bool:
        """Whether the next turn may not fit, and a compaction may help."""
        return self.urgency == "hard" and self.due

    @property
    def may_prepare(self) -> bool:
        """Whether a summary may be written in advance."""
        is_near = self.pressure or self.urgency == "early"
        return is_near and self.reason in _OPEN

    @property
    def pays_in_advance(self) -> bool:
        """Whether a summary that is written now will be used: it pays, or it will soon be due."""
        acts_later = self.situation is not None and self.situation.acts_at_threshold
        return not self.waits or (self.pressure and acts_later)

    @property
    def is_for_a_pause(self) -> bool:
        """Whether to compact while nobody uses the conversation, before it is due."""
        return self.pressure and (self.reason in _OPEN or self.reason == "deferred")

    def weighed(self, situation: Situation) -> Decision:
        """Return the same with the price of a compaction."""
        return replace(self, situation=situation, verdict=situation.weigh())


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
        room_tokens=max(budget.early_tokens - tokens, 0),
        put_off=moment.put_off.why if _is_put_off(moment, urgency) else "",
        background=moment.background,
    )


def _is_put_off(moment: Moment, urgency: Urgency) -> bool:
    """Return whether nothing has changed the sum since a compaction was put off: it has not become
    more urgent, little was read again, and the cache is warm.
    """
    was = moment.put_off
    is_same = urgency in _BY_PRICE and urgency == was.urgency
    return is_same and moment.reread_tokens < was.reread_tokens and not moment.is_cold


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
    if moment.floor_tokens >= threshold and foldable < LEAST_SAVING * tokens and not is_last_resort:
        return "cannot", (
            f"{min(moment.floor_tokens, tokens):,} tokens cannot be folded (system prompt, tools, "
            f"pins, the newest messages) and the threshold is {threshold:,}; use a larger window, "
            f"fewer tools or a higher threshold"
        )
    if moment.unconfirmed and moment.source == "estimated" and urgency != "hard":
        return "deferred", "the size after the last compaction is only an estimate yet"
    if moment.ineffective >= _MOST_INEFFECTIVE:
        why = (
            "the session is dense: what stays is most of it. Compact by hand with a focus, keep "
            "fewer exchanges, or start a new session"
            if moment.is_dense
            else "the summaries were nearly as long as what they replaced. Compact by hand with a "
            "focus, or use another summarizer"
        )
        return "ineffective", (
            f"the last {moment.ineffective} compactions saved less than {LEAST_SAVING:.0%}; {why}"
        )
    return "", ""
