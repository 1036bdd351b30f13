"""Recorded sessions under every strategy of compaction, and what each costs in all."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Sequence

from msgspec import Struct
from msgspec.structs import replace

from foldaway._core import ArrivalLevel, Policy, Saving, budget_for
from foldaway.caching import TTL_SECONDS, Bill, PriceList, window_of
from foldaway.compaction import message_tokens
from foldaway.dialects import dialect_named
from foldaway.engine import Compressor, Model
from foldaway.lab.replay import (
    CallState,
    Piece,
    Prompt,
    RecordedMessage,
    Recording,
    Replay,
    ReplayCompaction,
    ReplayPlayer,
    ReplayTerms,
    record,
    replay,
)
from foldaway.transcript import Estimator, Transcript

MASK_TOKENS = 16
"""A line that says that an old result was removed."""
UNMASKED_RESULTS = 5
"""How many of the newest results stay whole; SWE-agent keeps as many."""

DEEP = Policy(threshold=0.80, hard_threshold=0.90, target_ratio=0.10, floor_tokens=0, arrival="off")
"""Seldom and thoroughly: from 80 % of the window to about 20 %."""
COLD_SECONDS = 2.0 * max(TTL_SECONDS.values())
"""A pause after which no provider has anything in its cache."""
THRESHOLDS = (0.10, 0.20, 0.30, 0.50, 0.65, 0.80)
"""Shares of the window that are tried."""


class ReplayStrategy(Struct, frozen=True):
    """A strategy by name; `start` makes a player for one session."""

    name: str
    start: Callable[[Recording, ReplayTerms], ReplayPlayer]


def append_only(arrival: ArrivalLevel = "off") -> ReplayStrategy:
    """Return the strategy that does nothing, or nothing after a result has arrived."""
    if arrival == "off":
        return ReplayStrategy("append only", lambda recording, terms: ReplayPlayer())
    policy = replace(policy_at(1.0), arrival=arrival)
    return compacting("append only + arrival", policy, frozenset())


def masking(keep: int = UNMASKED_RESULTS) -> ReplayStrategy:
    """Return the strategy that masks all but the newest results before every call."""
    return ReplayStrategy("masking every turn", lambda recording, terms: _Masking(keep))


def compact_at_share(threshold: float) -> ReplayStrategy:
    """Return the strategy that compacts at a share of the window."""
    return compacting(f"threshold {threshold:.0%}", policy_at(threshold))


def compact_rarely() -> ReplayStrategy:
    """Return the strategy that compacts seldom, and to little."""
    return compacting("rare and deep", DEEP)


def planner(save: Saving = "normal", arrival: ArrivalLevel = "off") -> ReplayStrategy:
    """Return the strategy that compacts when it pays, as the gateway does."""
    name = "when it pays" if arrival == "off" else "when it pays + arrival"
    policy = Policy(save=save, arrival=arrival)
    return ReplayStrategy(name, lambda recording, terms: _Paying(recording, policy, terms))


def compacting(name: str, policy: Policy, calls: frozenset[int] | None = None) -> ReplayStrategy:
    """Return the strategy that compacts from the threshold of a policy on: at every call, or only
    at those whose numbers, from 0, are given.
    """
    return ReplayStrategy(
        name, lambda recording, terms: _Compacting(recording, policy, terms, calls)
    )


def policy_at(threshold: float) -> Policy:
    """Return a policy by which nothing happens to results on arrival."""
    return Policy(
        threshold=threshold, hard_threshold=max(0.85, threshold), floor_tokens=0, arrival="off"
    )


class _Masking(ReplayPlayer):
    """Masks the oldest result as soon as there are too many of them."""

    def __init__(self, keep: int) -> None:
        self._keep = keep
        self._whole: deque[int] = deque()

    def take(self, entries: tuple[RecordedMessage, ...], prompt: Prompt) -> None:
        first = len(prompt.pieces) - len(entries)
        self._whole.extend(first + at for at, entry in enumerate(entries) if entry.results)

    def act(self, state: CallState) -> ReplayCompaction | None:
        prompt = state.prompt
        while len(self._whole) > self._keep:
            at = self._whole.popleft()
            if prompt.pieces[at][1] > MASK_TOKENS:
                prompt.change(at, (object(), MASK_TOKENS))


class _Engine(ReplayPlayer):
    """The real compressor on one session, and the prompt that it makes."""

    def __init__(self, recording: Recording, policy: Policy, terms: ReplayTerms) -> None:
        self._now = 0.0
        self._compressor = Compressor(
            model=Model(prices=terms.prices, cache_ttl=terms.ttl),
            context_length=terms.context_length,
            policy=policy,
            provider=recording.dialect,
            tools=recording.tools,
            redact=str,  # what is replayed is counted, never shown
            clock=lambda: self._now,
        )
        self._policy = policy
        self._decode = dialect_named(recording.dialect).decode
        self._sizes = {id(entry.wire): entry.tokens for entry in recording.entries}
        self._waiting: list[RecordedMessage] = []

    def take(self, entries: tuple[RecordedMessage, ...], prompt: Prompt) -> None:
        self._waiting.extend(entries)
        if self._policy.arrival != "off":
            self._show_new(len(entries), prompt)

    def _show_new(self, count: int, prompt: Prompt) -> None:
        """Show what is new as the compressor does, before it is first sent."""
        self._catch_up()
        shown, first = self._compressor.messages, len(prompt.pieces) - count
        for at, wire in enumerate(shown[len(shown) - count :], first):
            if wire is not prompt.pieces[at][0]:
                prompt.change(at, (wire, self._tokens(wire)))

    def _catch_up(self) -> None:
        self._compressor.append(*(entry.wire for entry in self._waiting))
        self._waiting.clear()

    def _pieces(self) -> list[Piece]:
        return [(wire, self._tokens(wire)) for wire in self._compressor.messages]

    def _tokens(self, wire: object) -> int:
        known = self._sizes.get(id(wire))
        if known is not None:
            return known
        decoded = self._decode([wire], 0)
        return sum(message_tokens(message, Estimator()) for message in decoded)


class _Paying(_Engine):
    """Compacts when the compressor says that it is due: it pays, or the window is full."""

    def __init__(self, recording: Recording, policy: Policy, terms: ReplayTerms) -> None:
        super().__init__(recording, policy, terms)
        self._compressor.take_outside(recording.outside_tokens)
        self._is_cold = terms.pause_is_cold

    def act(self, state: CallState) -> ReplayCompaction | None:
        if self._is_cold and state.calls and not state.cached_tokens:
            self._now += COLD_SECONDS
        self._catch_up()
        prompt = state.prompt
        before = prompt.tokens
        is_due = self._compressor.weigh().acts
        report = self._compressor.compact() if is_due else None
        self._compressor.note_use()
        if report is None or report.status == "unchanged":
            return None
        prompt.replace(self._pieces())
        return ReplayCompaction(before, prompt.tokens, report.summary_tokens)


class _Compacting(_Engine):
    """Compacts from the threshold on, at any call or at given ones."""

    def __init__(
        self, recording: Recording, policy: Policy, terms: ReplayTerms, calls: frozenset[int] | None
    ) -> None:
        super().__init__(recording, policy, terms)
        budget = budget_for(policy, terms.context_length)
        self._calls = calls
        self._threshold = self._due_from = budget.threshold_tokens
        self._enough = budget.tail_tokens // 2

    def act(self, state: CallState) -> ReplayCompaction | None:
        prompt, before = state.prompt, state.prompt.tokens
        if before < self._due_from or (self._calls is not None and state.calls not in self._calls):
            return None
        self._catch_up()
        report = self._compressor.compact(force=True, by_hand=False)
        if report.status != "unchanged":
            prompt.replace(self._pieces())
        # what was in vain is not tried again before something has been added
        self._due_from = max(self._threshold, prompt.tokens + self._enough)
        if report.status == "unchanged":
            return None
        return ReplayCompaction(before, prompt.tokens, report.summary_tokens)


class StrategyCost(Replay, frozen=True, kw_only=True):
    """What a strategy cost over all sessions."""

    sessions: int
    overflowing_sessions: int
    ratio: float
    """Cost against doing nothing; 1 for append only."""
    ratios: tuple[float, ...]
    """The same, session by session, in order."""

    def ratios_at(self, shares: Sequence[float]) -> list[float]:
        """Return below which ratio the given shares of the sessions lie."""
        return quantiles(self.ratios, shares)


def strategies_for(thresholds: Sequence[float], save: Saving = "normal") -> list[ReplayStrategy]:
    """Return the strategies that are compared: append only first, compacting when it pays last,
    both also with results shown on arrival as the policy has it.
    """
    arrival = Policy().arrival
    return [
        append_only(),
        masking(),
        *(compact_at_share(threshold) for threshold in thresholds),
        compact_rarely(),
        append_only(arrival),
        planner(save),
        planner(save, arrival),
    ]


class Simulation:
    """Recorded sessions, and the strategies under which they are replayed."""

    def __init__(
        self, transcripts: Iterable[Transcript], thresholds: Sequence[float], save: Saving
    ) -> None:
        """Read the sessions as far as a replay needs them."""
        self._recordings = [record(one) for one in transcripts]
        self._strategies = strategies_for(thresholds, save)
        self.sessions = len(self._recordings)
        self.tokens = sum(one.tokens for one in self._recordings)
        self.tokens_to_replay = self.tokens * len(self._strategies)

    def run(self, terms: ReplayTerms, tell: Callable[[int], None]) -> list[StrategyCost]:
        """Return what each strategy costs; `tell` hears of tokens as they are replayed."""
        return simulate(self._recordings, terms, self._strategies, tell)


def replay_session(
    transcript: Transcript, model: str, stops: Sequence[int], system_tokens: int, prices: PriceList
) -> tuple[StrategyCost, StrategyCost] | None:
    """Return what the calls of a session cost if nothing is compacted, and behind the gateway as it
    is without settings; None if the prices of the model are not known.
    """
    known = prices.of(model)
    if known is None:
        return None
    terms = ReplayTerms(prices=known, context_length=window_of(model, None)[0])
    ours = planner(arrival=Policy().follow_arrival)
    parts = recordings_of(transcript, stops, system_tokens)
    was, would = simulate(parts, terms, [append_only(), ours])
    return was, would


def recordings_of(
    transcript: Transcript, stops: Sequence[int], system_tokens: int
) -> list[Recording]:
    """Return a session as it can be replayed.

    At each of `stops`, which are compactions of the agent, a new prompt begins. `system_tokens`
    is the size of the system prompt and the tools, if the transcript does not hold them.
    """
    whole = record(transcript)
    parts: list[Recording] = []
    for start, stop in zip([0, *stops], [*stops, len(whole.entries)], strict=True):
        if stop > start:
            outside = max(whole.outside_tokens, system_tokens)
            entries = whole.entries[start:stop]
            parts.append(Recording(whole.dialect, entries, outside, whole.tools))
    return parts


def simulate(
    recordings: Sequence[Recording],
    terms: ReplayTerms,
    strategies: Sequence[ReplayStrategy],
    tell: Callable[[int], None] = lambda _: None,
) -> list[StrategyCost]:
    """Return what each strategy costs over the recordings; the first one is the yardstick.

    `tell` hears the tokens of each replay that is done.
    """
    table: list[list[Replay]] = []
    for strategy in strategies:
        table.append([])
        for one in recordings:
            table[-1].append(replay(one, strategy.name, strategy.start(one, terms), terms))
            tell(one.tokens)
    return [add_up(rows, table[0]) for rows in table]


def add_up(rows: Sequence[Replay], yardstick: Sequence[Replay]) -> StrategyCost:
    """Return the replays of one strategy added up, beside those of the yardstick."""
    total = sum(row.usd for row in rows)
    return StrategyCost(
        strategy=rows[0].strategy if rows else "",
        sessions=len(rows),
        calls=sum(row.calls for row in rows),
        compactions=sum(row.compactions for row in rows),
        overflows=sum(row.overflows for row in rows),
        overflowing_sessions=sum(row.overflows > 0 for row in rows),
        bill=sum((row.bill for row in rows), Bill()),
        summaries=sum((row.summaries for row in rows), Bill()),
        ratio=_ratio(total, sum(row.usd for row in yardstick)),
        ratios=tuple(_ratio(row.usd, base.usd) for row, base in zip(rows, yardstick, strict=True)),
    )


def quantiles(values: Sequence[float], shares: Sequence[float]) -> list[float]:
    """Return the values below which the given shares of `values` lie; of nothing, nothing."""
    if not values:
        return []
    order = sorted(values)
    return [order[min(int(share * len(order)), len(order) - 1)] for share in shares]


def _ratio(cost: float, base: float) -> float:
    return cost / base if base else 1.0
