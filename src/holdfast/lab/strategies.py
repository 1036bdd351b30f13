"""What can be done about a growing prompt: nothing, masking, compacting by size, by costs."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from typing import Protocol

from msgspec import Struct
from msgspec.structs import replace

from holdfast.caching.economics import Rule, Situation, weigh
from holdfast.caching.expectation import expected_after
from holdfast.compaction.choose import HEAD_SHARE
from holdfast.compaction.measure import Estimator, message_tokens
from holdfast.dialects.registry import dialect_named
from holdfast.engine.compressor import Compressor
from holdfast.lab.prompt import Piece, Prompt
from holdfast.lab.recording import Entry, Recording
from holdfast.lab.replay import Compacted, Moment, Player, Terms
from holdfast.policy import ArrivalLevel, Budget, Policy, budget_for

MASK_TOKENS = 16
"""A line that says that an old result was removed."""
UNMASKED_RESULTS = 5
"""How many of the newest results stay whole; SWE-agent keeps as many."""

DEEP = Policy(threshold=0.80, hard_threshold=0.90, target_ratio=0.10, floor_tokens=0, arrival="off")
"""Seldom and thoroughly: from 80 % of the window to about 20 %."""


class Strategy(Struct, frozen=True):
    """A strategy by name; `start` makes a player for one session."""

    name: str
    start: Callable[[Recording, Terms], Player]


def append_only(arrival: ArrivalLevel = "off") -> Strategy:
    """Return the strategy that does nothing, or nothing after a result has arrived."""
    if arrival == "off":
        return Strategy("append only", lambda recording, terms: _Nothing())
    policy = replace(_policy_at(1.0), arrival=arrival)
    return Strategy(
        "append only + arrival",
        lambda recording, terms: _Compacting(
            recording, policy, terms, lambda budget, terms: _AtCalls(frozenset())
        ),
    )


def masking(keep: int = UNMASKED_RESULTS) -> Strategy:
    """Return the strategy that masks all but the newest results before every call."""
    return Strategy("masking every turn", lambda recording, terms: _Masking(keep))


def fixed(threshold: float) -> Strategy:
    """Return the strategy that compacts at a share of the window."""
    policy = _policy_at(threshold)
    return Strategy(
        f"threshold {threshold:.0%}",
        lambda recording, terms: _Compacting(recording, policy, terms, _BySize),
    )


def rare_and_deep() -> Strategy:
    """Return the strategy that compacts seldom, and to little."""
    return Strategy(
        "rare and deep", lambda recording, terms: _Compacting(recording, DEEP, terms, _BySize)
    )


def planner(start: float, rule: Rule | None = None, arrival: ArrivalLevel = "off") -> Strategy:
    """Return the strategy that asks the planner from a share of the window on."""
    policy = replace(_policy_at(start), arrival=arrival)
    return Strategy(
        "planner" if arrival == "off" else "planner + arrival",
        lambda recording, terms: _Compacting(
            recording, policy, terms,
            lambda budget, terms: _ByCosts(budget, terms, rule or Rule()),
        ),
    )  # fmt: skip


def at_calls(calls: frozenset[int], threshold: float) -> Strategy:
    """Return the strategy that compacts before the calls that are named, by their number from 0.

    The budgets are those of a compaction at a share of the window; below that share it does
    nothing. For looking back: no strategy knows beforehand which calls they are.
    """
    policy = _policy_at(threshold)
    return Strategy(
        "in hindsight",
        lambda recording, terms: _Compacting(
            recording, policy, terms, lambda budget, terms: _AtCalls(calls)
        ),
    )


def _policy_at(threshold: float) -> Policy:
    """Return a policy by which nothing happens to results on arrival."""
    return Policy(
        threshold=threshold, hard_threshold=max(0.85, threshold), floor_tokens=0, arrival="off"
    )


class _Nothing:
    def take(self, entries: tuple[Entry, ...], prompt: Prompt) -> None:
        del entries, prompt

    def act(self, moment: Moment) -> Compacted | None:
        del moment


class _Masking:
    """Masks the oldest result as soon as there are too many of them."""

    def __init__(self, keep: int) -> None:
        self._keep = keep
        self._whole: deque[int] = deque()

    def take(self, entries: tuple[Entry, ...], prompt: Prompt) -> None:
        first = len(prompt.pieces) - len(entries)
        self._whole.extend(first + at for at, entry in enumerate(entries) if entry.results)

    def act(self, moment: Moment) -> Compacted | None:
        prompt = moment.prompt
        while len(self._whole) > self._keep:
            at = self._whole.popleft()
            if prompt.pieces[at][1] > MASK_TOKENS:
                prompt.change(at, (object(), MASK_TOKENS))


class _Due(Protocol):
    """Whether to compact before this call; asked again with what a compaction really leaves."""

    def __call__(self, moment: Moment, after_tokens: int, kept_tokens: int) -> bool: ...


class _BySize:
    """A compaction is due from the threshold on."""

    def __init__(self, budget: Budget, terms: Terms) -> None:
        del terms
        self._threshold = budget.threshold_tokens

    def __call__(self, moment: Moment, after_tokens: int, kept_tokens: int) -> bool:
        del after_tokens, kept_tokens
        return moment.prompt.tokens >= self._threshold


class _AtCalls:
    """A compaction is due at calls that somebody chose."""

    def __init__(self, calls: frozenset[int]) -> None:
        self._calls = calls

    def __call__(self, moment: Moment, after_tokens: int, kept_tokens: int) -> bool:
        del after_tokens, kept_tokens
        return moment.calls in self._calls


class _ByCosts:
    """The planner is asked."""

    def __init__(self, budget: Budget, terms: Terms, rule: Rule) -> None:
        self._budget, self._terms, self._rule = budget, terms, rule

    def __call__(self, moment: Moment, after_tokens: int, kept_tokens: int) -> bool:
        now, budget = moment.prompt.tokens, self._budget
        by_model = self._terms.model_summary
        situation = Situation(
            tokens_now=now,
            tokens_after=after_tokens,
            cached_tokens=moment.cached_tokens,
            kept_prefix_tokens=kept_tokens,
            turns_so_far=moment.calls,
            tokens_per_turn=moment.grown_tokens / moment.calls if moment.calls else 0.0,
            threshold_tokens=budget.threshold_tokens,
            hard_tokens=budget.hard_tokens,
            summary_input_tokens=now if by_model else 0,
            summary_cached_tokens=moment.cached_tokens if by_model else 0,
            summary_output_tokens=budget.summary_max_tokens if by_model else 0,
            prices=self._terms.prices,
            ttl=self._terms.ttl,
        )
        return weigh(situation, self._rule).answer == "act"


class _Compacting:
    """Compacts with the real compressor when told to; takes it back where it was not worth it."""

    def __init__(
        self, recording: Recording, policy: Policy, terms: Terms,
        due: Callable[[Budget, Terms], _Due],
    ) -> None:  # fmt: skip
        self._compressor = Compressor(
            context_length=terms.context_length, policy=policy, dialect=recording.dialect,
            tools=recording.tools, redact=_as_it_is,
        )  # fmt: skip
        self._policy = policy
        self._budget = budget_for(policy, terms.context_length)
        self._due = due(self._budget, terms)
        self._at_marks = terms.prices.at_marks
        self._decode = dialect_named(recording.dialect).decode
        self._sizes = {id(entry.wire): entry.tokens for entry in recording.entries}
        self._ask: object = None
        self._waiting: list[Entry] = []
        self._count = 0
        self._retry_from = 0

    def take(self, entries: tuple[Entry, ...], prompt: Prompt) -> None:
        self._waiting.extend(entries)
        for entry in entries:
            if entry.is_ask:
                self._ask = entry.wire
        if self._policy.arrival != "off":
            self._arrive(len(entries), prompt)

    def _arrive(self, count: int, prompt: Prompt) -> None:
        """Show what is new as the compressor does, before it is first sent."""
        self._catch_up()
        shown, first = self._compressor.messages, len(prompt.pieces) - count
        for at, wire in enumerate(shown[len(shown) - count :], first):
            if wire is not prompt.pieces[at][0]:
                prompt.change(at, (wire, self._tokens(wire)))

    def _catch_up(self) -> None:
        self._compressor.append(*(entry.wire for entry in self._waiting))
        self._waiting.clear()

    def act(self, moment: Moment) -> Compacted | None:
        now = moment.prompt.tokens
        if now < max(self._budget.threshold_tokens, self._retry_from):
            return None
        if not self._due(moment, *self._expected(moment.prompt)):
            return None
        done = self._compact(moment)
        # what was in vain is not tried again before something has been added
        self._retry_from = moment.prompt.tokens + self._budget.tail_tokens // 2
        return done

    def _expected(self, prompt: Prompt) -> tuple[int, int]:
        """Return about what a compaction leaves, and how much of that is cached already."""
        pieces, stop = prompt.pieces, prompt.system_stop
        system = prompt.outside_tokens + _size(pieces[:stop])
        head = self._head(prompt, system)
        start, newest = self._tail(pieces, head)
        between = sum(tokens for wire, tokens in pieces[head:start] if wire is self._ask)
        fixed = system + _size(pieces[stop:head]) + between
        return expected_after(self._policy, self._budget, prompt.tokens, fixed, newest), system

    def _head(self, prompt: Prompt, system: int) -> int:
        """Return about where the head would end."""
        stop = prompt.system_stop
        head = stop if self._count else stop + self._policy.protect_first
        free = self._budget.threshold_tokens - system
        return head if _size(prompt.pieces[stop:head]) <= HEAD_SHARE * free else stop

    def _tail(self, pieces: Sequence[Piece], least: int) -> tuple[int, int]:
        """Return about where the tail would start, and its tokens."""
        start, spent = len(pieces), 0
        while start > least:
            tokens = pieces[start - 1][1]
            enough = len(pieces) - start >= self._policy.min_tail
            full = spent >= self._budget.tail_tokens or spent + tokens > self._budget.ceiling_tokens
            if enough and full:
                break
            start, spent = start - 1, spent + tokens
        return start, spent

    def _compact(self, moment: Moment) -> Compacted | None:
        prompt, compressor = moment.prompt, self._compressor
        self._catch_up()
        report = compressor.compact(force=True)
        if report.status == "unchanged":
            return None
        pieces = [(wire, self._tokens(wire)) for wire in compressor.messages]
        after = prompt.outside_tokens + _size(pieces)
        if not self._due(moment, after, prompt.kept_tokens(pieces, at_marks=self._at_marks)):
            compressor.undo()
            return None
        self._count += 1
        done = Compacted(prompt.tokens, after, report.summary_tokens)
        prompt.replace(pieces)
        return done

    def _tokens(self, wire: object) -> int:
        known = self._sizes.get(id(wire))
        if known is not None:
            return known
        decoded = self._decode([wire], 0)
        return sum(message_tokens(message, Estimator()) for message in decoded)


def _size(pieces: Sequence[Piece]) -> int:
    return sum(tokens for _, tokens in pieces)


def _as_it_is(text: str) -> str:
    """Hide nothing: what is replayed is counted, never shown."""
    return text
