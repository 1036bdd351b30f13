"""Whether a compaction pays: the whole sum as named values, and the answer act, wait or cannot."""

from __future__ import annotations

import math
from typing import Literal, TypeAlias

from msgspec import Struct

from foldaway.caching.prices import Prices, Ttl, bill
from foldaway.errors import InvalidSetting

Answer: TypeAlias = Literal["act", "wait", "cannot"]
Basis: TypeAlias = Literal["costs", "urgency", "threshold", "size"]
"""What decided: the sum, a window that is nearly full, the threshold alone because prices are not
known, or that there is nothing to gain."""


PAYS_FROM = 0.30
"""The share of the window from which a compaction is made if it pays: in the gateway, `foldaway
plan` and the planner of `foldaway simulate`. Chosen for the gateway and not tuned: a lower share
costs less in many sessions and compacts more often (`foldaway simulate --pays-from 0.1`)."""


class PayoffRule(Struct, frozen=True, kw_only=True):
    """How cautious the planner is; found on the tuning half by `bench/economics.py --tune`."""

    margin: float = 1.0
    """A saving must be this many times the price of the compaction. Larger ones cost more in long
    sessions and need fewer compactions, each of which loses words."""
    prior_turns: int = 10
    """How fast a session grows is judged as if it had had this many turns before its first: its
    own first turns read in what the task is about, and most sessions go on more slowly."""
    prior_tokens_per_turn: int = 500
    """How much each of those turns added to the prompt."""
    least_saving: float = 0.10
    """A compaction that removes less than this share of the prompt is not worth its breakage."""
    least_tokens: int = 20_000
    """Prompts below this cost too little a call to be worth it, unless a session has lasted: every
    family that gains on the tuning half gains from larger ones."""
    settled_turns: int = 30
    """From this many turns on a session is one of the long ones, and small prompts are weighed too.
    With 20 there was a gain on the tuning half that the test half did not confirm."""

    early_chance: float = 0.90
    """Before the threshold a compaction must have paid by a call that the session reaches with this
    chance: nobody is to pay for what was not even due. Chosen: without it three of seven agents
    paid 1 to 5 % more if they ended after 40 calls; 0.95 saved 1 to 6 % less over 150 calls."""

    def __post_init__(self) -> None:
        """Check the ranges."""
        for name in self.__struct_fields__:
            if not getattr(self, name) >= 0:
                raise InvalidSetting(name, getattr(self, name), "0 or more")


class Situation(Struct, frozen=True, kw_only=True):
    """What the planner looks at; all sizes in tokens."""

    tokens_now: int
    """The next prompt if nothing is done."""
    tokens_after: int
    """The next prompt after a compaction, measured or expected."""
    cached_tokens: int
    """How much of the next prompt the provider has in its cache; 0 after a pause."""
    kept_prefix_tokens: int = 0
    """How much of that a compaction leaves in place: tools and system prompt, as a rule."""
    turns_so_far: int
    """Calls of the model in this session."""
    tokens_per_turn: float
    """By how much the prompt grew from call to call."""
    remaining_turns: int | None = None
    """Calls still to come, where somebody knows; estimated from `turns_so_far` otherwise."""
    threshold_tokens: int
    """Where a compaction is due by size."""
    early_tokens: int | None = None
    """Where one may be made if it pays; the threshold if it is not given."""
    hard_tokens: int
    """Where the next turn may not fit: there costs are no longer asked for."""
    summary_input_tokens: int = 0
    """What a model that writes the summary reads; 0 where the ledger writes it."""
    summary_cached_tokens: int = 0
    """How much of that is in its cache: all of it where the request rides the cached prefix."""
    summary_output_tokens: int = 0
    prices: Prices | None = None
    """None where they are not known."""
    summary_prices: Prices | None = None
    """Those of the model that writes the summary; the same as `prices` where it is the same."""
    ttl: Ttl = "5m"


class Sum(Struct, frozen=True, kw_only=True):
    """The arithmetic of a verdict, in dollars unless named otherwise.

    `price = next_call_if_acting + summary_call - next_call_if_waiting` and
    `saving = saving_per_turn * turns_counted`; acting pays where `saving >= margin * price`.
    """

    reads_lost_tokens: int
    """Tokens that are in the cache now and will be of no use."""
    writes_tokens: int
    """Tokens that have to be sent and stored anew."""
    next_call_if_waiting: float
    next_call_if_acting: float
    summary_call: float
    price: float
    """What the compaction costs; below 0 where it pays at once, as after a pause."""
    saving_per_turn: float
    turns_remaining: int
    """Calls still expected after the next one."""
    turns_until_regrown: int
    """Calls until the prompt has grown back, by the growth expected; the next one is due."""
    turns_counted: int
    """How many of the calls until then are counted: the smaller of the two where somebody knows how
    many are to come, otherwise `turns_expected`."""
    saving: float
    balance: float
    """`saving - price`: what acting now earns by this reckoning."""
    margin: float


class Verdict(Struct, frozen=True, kw_only=True):
    """The answer, what it rests on, the sentence that says so, and the sum where there is one."""

    answer: Answer
    basis: Basis
    sentence: str
    tokens_now: int
    tokens_after: int
    sum: Sum | None = None


def weigh(situation: Situation, rule: PayoffRule | None = None) -> Verdict:
    """Return whether to compact now.

    Below the threshold, or the size from which it may act early, it waits; at `hard_tokens` it
    acts, unless nothing would be gained; between the two, the sum decides. More turns to come
    never turn act into wait, if a call costs less after the compaction.
    """
    wanted = rule or PayoffRule()
    early = situation.threshold_tokens
    if situation.early_tokens is not None and situation.prices is not None:
        early = min(situation.early_tokens, early)
    now, after = situation.tokens_now, situation.tokens_after
    total = _sum(situation, wanted, situation.prices) if situation.prices is not None else None
    if now - after < wanted.least_saving * now or now <= after:
        answer, basis, why = _cannot(situation, wanted)
    elif now >= situation.hard_tokens:
        answer, basis = "act", "urgency"
        why = f"{now:,} tokens, and from {situation.hard_tokens:,} on the next turn may not fit"
    elif now < early:
        answer, basis = "wait", "size"
        why = f"{now:,} of {early:,} tokens: no compaction is due yet"
        if early < situation.threshold_tokens:
            why = f"{now:,} tokens: below {early:,} a compaction is not made even if it pays"
    elif total is None:
        answer, basis = "act", "threshold"
        why = (
            f"{now:,} tokens are over the threshold of {situation.threshold_tokens:,}; prices are "
            f"not known, so the threshold alone decides"
        )
    elif now < wanted.least_tokens and situation.turns_so_far < wanted.settled_turns:
        answer, basis = "wait", "size"
        why = (
            f"{now:,} tokens: below {wanted.least_tokens:,} there is too little to save before a "
            f"session has lasted {wanted.settled_turns:,} calls"
        )
    else:
        answer, why = _by_costs(total)
        basis = "costs"
        if answer == "act" and now < situation.threshold_tokens:
            answer, why = _early(total, situation.turns_so_far, wanted, why)
    return Verdict(
        answer=answer, basis=basis, sentence=f"{answer}: {why}", tokens_now=now,
        tokens_after=after, sum=total,
    )  # fmt: skip


def turns_expected(turns_so_far: int, within: float) -> int:
    """Return how many of the next `within` calls a session is expected to have, never more than it
    has had.

    A session that has lasted n calls lasts t more with the chance n / (n + t): it is as likely as
    not to double. The sum of that over the calls is n × ln(1 + within / n).
    """
    if turns_so_far <= 0:
        return 0
    return min(round(turns_so_far * math.log1p(within / turns_so_far)), turns_so_far)


def expected_growth(turns_so_far: int, tokens_per_turn: float, rule: PayoffRule) -> float:
    """Return the tokens that each call to come is expected to add."""
    turns = turns_so_far + rule.prior_turns
    if not turns:
        return 0.0
    seen = turns_so_far * tokens_per_turn
    return (seen + rule.prior_turns * rule.prior_tokens_per_turn) / turns


def _sum(situation: Situation, rule: PayoffRule, prices: Prices) -> Sum:
    now, after, ttl = situation.tokens_now, situation.tokens_after, situation.ttl
    cached = min(situation.cached_tokens, now)
    kept = min(situation.kept_prefix_tokens, cached, after)
    waiting = bill(prices, now, cached, ttl=ttl)
    acting = bill(prices, after, kept, ttl=ttl)
    summary = _summary_call(situation, prices)
    price = acting.usd + summary - waiting.usd
    per_turn = bill(prices, now, now, ttl=ttl).usd - bill(prices, after, after, ttl=ttl).usd
    turns, given = situation.turns_so_far, situation.remaining_turns
    remaining = turns if given is None else given
    growth = expected_growth(turns, situation.tokens_per_turn, rule)
    regrown = max(min((now - after) / growth, 1e9), 0.0) if growth > 0 else float(remaining)
    counted = turns_expected(turns, regrown)
    if given is not None:
        counted = max(min(given, int(regrown)), 0)
    saving = per_turn * counted
    return Sum(
        reads_lost_tokens=max(waiting.read_tokens - acting.read_tokens, 0),
        writes_tokens=acting.written_tokens,
        next_call_if_waiting=waiting.usd,
        next_call_if_acting=acting.usd,
        summary_call=summary,
        price=price,
        saving_per_turn=per_turn,
        turns_remaining=remaining,
        turns_until_regrown=int(regrown),
        turns_counted=counted,
        saving=saving,
        balance=saving - price,
        margin=rule.margin,
    )


def _summary_call(situation: Situation, prices: Prices) -> float:
    if not situation.summary_input_tokens and not situation.summary_output_tokens:
        return 0.0
    return bill(
        situation.summary_prices or prices, situation.summary_input_tokens,
        situation.summary_cached_tokens, situation.summary_output_tokens, situation.ttl,
    ).usd  # fmt: skip


def _by_costs(total: Sum) -> tuple[Answer, str]:
    over = f"over {total.turns_counted:,} {'call' if total.turns_counted == 1 else 'calls'}"
    if total.price <= 0 and total.saving_per_turn >= 0:
        return "act", f"it costs nothing: {usd(-total.price)} less at once, as the cache is cold"
    if total.saving >= total.margin * total.price:
        return "act", f"{usd(total.price)} now, {usd(total.saving)} less {over}"
    return "wait", (
        f"it would cost {usd(total.price)} and save {usd(total.saving)} {over}; it acts from "
        f"{usd(total.margin * total.price)} on, and there is room"
    )


def _early(total: Sum, turns: int, rule: PayoffRule, why: str) -> tuple[Answer, str]:
    """Return whether a compaction that pays if the session goes on is likely to."""
    if total.price <= 0:
        return "act", why
    needed = total.price / total.saving_per_turn
    chance = turns / (turns + needed) if turns else 0.0  # as in `turns_expected`
    if chance >= rule.early_chance:
        return "act", why
    return "wait", (
        f"it would have paid after {math.ceil(needed):,} more calls, which a session of {turns:,} "
        f"has with a chance of {chance:.0%}; before the threshold {rule.early_chance:.0%} are asked"
    )


def _cannot(situation: Situation, rule: PayoffRule) -> tuple[Answer, Basis, str]:
    now, after = situation.tokens_now, situation.tokens_after
    if now < min(situation.threshold_tokens, situation.hard_tokens):
        return "wait", "size", (
            f"{now:,} of {situation.threshold_tokens:,} tokens, and a compaction would leave "
            f"{after:,}"
        )  # fmt: skip
    return "cannot", "size", (
        f"a compaction would leave {after:,} of {now:,} tokens, less than "
        f"{rule.least_saving:.0%} below"
    )  # fmt: skip


def usd(amount: float) -> str:
    """Return an amount for people, with as many digits as it needs to be told from 0."""
    sign = "−" if amount < 0 else ""
    size = abs(amount)
    return f"{sign}${size:,.2f}" if size >= 1 or size == 0 else f"{sign}${size:.4f}"
