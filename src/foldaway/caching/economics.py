"""Whether a compaction pays: the whole sum as named values, and the answer act, wait or cannot.

Nobody knows how long a session will be, so the rule does not guess it. Every call reads again what
a compaction would have removed. As soon as that has cost, since the last compaction, as much as one
costs now, it is made, if it costs no more than a twentieth of what the session has cost so far.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

from msgspec import Struct

from foldaway.caching.prices import Prices, Ttl

Answer: TypeAlias = Literal["act", "wait", "cannot"]
Basis: TypeAlias = Literal["costs", "urgency", "threshold", "size"]
"""What decided: the sum, a window that is nearly full, the threshold, or that there is nothing to
gain."""

MOST_EXTRA = 0.05
"""The most that a compaction may cost, as a share of what the session has cost so far: a session
that ends right after it has cost no more than that for nothing."""
LEAST_SAVING = 0.10
"""A compaction that removes less than this share of the prompt is not worth its breakage."""


class Situation(Struct, frozen=True, kw_only=True):
    """What is looked at; all sizes in tokens."""

    tokens_now: int
    """The next prompt if nothing is done."""
    tokens_after: int
    """The next prompt after a compaction, measured or expected."""
    cached_tokens: int
    """How much of the next prompt the provider has in its cache; 0 after a pause."""
    kept_prefix_tokens: int = 0
    """How much of that a compaction leaves in place: tools and system prompt, as a rule."""
    reread_tokens: int
    """What a compaction would have removed, added up over the calls since the last one: each of
    them read it again."""
    read_tokens: int = 0
    """The prompts of all calls so far, added up."""
    answered_tokens: int = 0
    """All answers so far."""
    early_tokens: int
    """From this size on a compaction is made if it pays."""
    threshold_tokens: int
    hard_tokens: int
    """From this size on the next turn may not fit, and nobody asks what it costs."""
    acts_at_threshold: bool = False
    """Whether a compaction is made at the threshold in any case: no price is known, or the policy
    does not ask for one."""
    summary_input_tokens: int = 0
    """What a model that writes the summary reads; 0 where the ledger writes it."""
    summary_cached_tokens: int = 0
    """How much of that is in its cache: all of it where the request rides the cached prefix."""
    summary_output_tokens: int = 0
    prices: Prices
    ttl: Ttl = "5m"

    def weigh(self) -> Verdict:
        """Return whether to compact now.

        Below the size from which it may act it waits; at `hard_tokens` it acts, unless nothing
        would be gained; between the two, the sum decides.
        """
        now, after, early = self.tokens_now, self.tokens_after, self.early_tokens
        total = _sum(self)
        answer: Answer = "act"
        basis: Basis = "costs"
        if now - after < LEAST_SAVING * now or now <= after:
            answer, basis, why = _cannot(self)
        elif now >= self.hard_tokens:
            basis = "urgency"
            why = f"{now:,} tokens, and from {self.hard_tokens:,} on the next turn may not fit"
        elif now < early:
            answer, basis = "wait", "size"
            why = f"{now:,} tokens: below {early:,} a compaction is not made even if it pays"
        elif total.paid >= total.price and total.price <= MOST_EXTRA * total.spent:
            why = _why_now(total, self.prices)
        elif self.acts_at_threshold and now >= self.threshold_tokens:
            basis = "threshold"
            why = f"{now:,} tokens are over the threshold of {self.threshold_tokens:,}"
        else:
            answer, why = "wait", _why_later(total, self.prices)
        return Verdict(
            answer=answer,
            basis=basis,
            sentence=f"{answer}: {why}",
            tokens_now=now,
            tokens_after=after,
            sum=total,
        )


class Sum(Struct, frozen=True, kw_only=True):
    """The arithmetic of a verdict, in dollars, or in millions of input tokens if only the ratio of
    the prices is known.

    `price = next_call_if_acting + summary_call - next_call_if_waiting`. It acts if `paid >= price`
    and the price is at most `MOST_EXTRA` of what was spent.
    """

    reads_lost_tokens: int
    """Tokens that are in the cache now and will be of no use."""
    writes_tokens: int
    """Tokens that have to be sent and stored again."""
    next_call_if_waiting: float
    next_call_if_acting: float
    summary_call: float
    price: float
    """What the compaction costs; below 0 if it pays at once, as after a pause."""
    saving_per_turn: float
    """What each call after the next costs less."""
    paid: float
    """What the calls since the last compaction cost more than they would have after one."""
    spent: float
    """What the session has cost so far, about: each token written once, prompts read again, and
    answers."""


class Verdict(Struct, frozen=True, kw_only=True):
    """The answer, what it rests on, the sentence that says so, and the sum."""

    answer: Answer
    basis: Basis
    sentence: str
    tokens_now: int
    tokens_after: int
    sum: Sum

    def reread_needed(self, prices: Prices) -> float:
        """Return from how many tokens read again on a compaction may pay; if it was paid for
        already, and only too much for so short a session, it is looked at again after a tenth more.
        """
        read = prices.at(self.tokens_now).cache_read / 1e6
        needed = self.sum.price / read if read else float("inf")
        is_paid = self.sum.paid >= self.sum.price
        return 1.1 * self.sum.paid / read if is_paid and read else needed


def _sum(situation: Situation) -> Sum:
    now, after, ttl = situation.tokens_now, situation.tokens_after, situation.ttl
    prices = situation.prices
    cached = min(situation.cached_tokens, now)
    kept = min(situation.kept_prefix_tokens, cached, after)
    waiting = prices.bill(now, cached, ttl=ttl)
    acting = prices.bill(after, kept, ttl=ttl)
    summary = _summary_call(situation)
    return Sum(
        reads_lost_tokens=max(waiting.read_tokens - acting.read_tokens, 0),
        writes_tokens=acting.written_tokens,
        next_call_if_waiting=waiting.usd,
        next_call_if_acting=acting.usd,
        summary_call=summary,
        price=acting.usd + summary - waiting.usd,
        saving_per_turn=prices.bill(now, now, ttl=ttl).usd - prices.bill(after, after, ttl=ttl).usd,
        paid=situation.reread_tokens * prices.at(now).cache_read / 1e6,
        spent=_spent(situation),
    )


def _summary_call(situation: Situation) -> float:
    if not situation.summary_input_tokens and not situation.summary_output_tokens:
        return 0.0
    return situation.prices.bill(
        situation.summary_input_tokens,
        situation.summary_cached_tokens,
        situation.summary_output_tokens,
        situation.ttl,
    ).usd


def _spent(situation: Situation) -> float:
    here = situation.prices.at(situation.tokens_now)
    read = situation.read_tokens * here.cache_read
    written = situation.tokens_now * here.write(situation.ttl)
    return (read + written + situation.answered_tokens * here.output) / 1e6


def _why_later(total: Sum, prices: Prices) -> str:
    price = f"it would cost {prices.amount(total.price)}"
    if total.paid < total.price:
        return f"{price}, waiting has cost {prices.amount(total.paid)} so far"
    return f"{price}, over {MOST_EXTRA:.0%} of the {prices.amount(total.spent)} spent so far"


def _why_now(total: Sum, prices: Prices) -> str:
    if total.price <= 0:
        return f"it costs nothing: {prices.amount(-total.price)} less at once"
    return f"it costs {prices.amount(total.price)}, waiting has cost {prices.amount(total.paid)}"


def _cannot(situation: Situation) -> tuple[Answer, Basis, str]:
    now, after = situation.tokens_now, situation.tokens_after
    due = situation.threshold_tokens
    if now < min(due, situation.hard_tokens):
        return "wait", "size", f"{now:,} of {due:,} tokens, and a compaction would leave {after:,}"
    why = (
        f"a compaction would leave {after:,} of {now:,} tokens, less than {LEAST_SAVING:.0%} below"
    )
    return "cannot", "size", why
