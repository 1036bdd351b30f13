"""Replay a recording under one strategy, call by call, and add up what it costs."""

from __future__ import annotations

from typing import Protocol

from msgspec import Struct

from holdfast.caching.prices import TTL_SECONDS, Bill, Prices, Ttl, bill
from holdfast.lab.prompt import Prompt
from holdfast.lab.recording import Entry, Recording


class Terms(Struct, frozen=True, kw_only=True):
    """Under which conditions a session is replayed."""

    prices: Prices
    context_length: int
    """The window. A strategy that goes beyond it is costed as if it had none, and flagged."""
    ttl: Ttl = "5m"
    pause_seconds: float = 60.0
    """How long a user is silent before a message; recordings rarely say. From the ttl on, the
    cache is cold then."""
    model_summary: bool = False
    """Whether the model itself writes the summaries, reading the prompt from its cache; the
    ledger writes them for nothing otherwise."""

    @property
    def pause_is_cold(self) -> bool:
        """Whether the cache is gone after a pause."""
        return self.pause_seconds >= TTL_SECONDS[self.ttl]


class Moment(Struct, frozen=True):
    """What a strategy knows before a call."""

    prompt: Prompt
    cached_tokens: int
    calls: int
    """How many calls there were."""
    grown_tokens: int
    """How much was added to the prompt since the first call."""


class Compacted(Struct, frozen=True):
    """What a strategy did before a call, where it folded something."""

    tokens_before: int
    tokens_after: int
    summary_tokens: int


class Player(Protocol):
    """A strategy at work on one session."""

    def take(self, entries: tuple[Entry, ...], prompt: Prompt) -> None:
        """Take what was said since the last call; the prompt has it already, and what is new in
        it may still be changed.
        """
        ...

    def act(self, moment: Moment) -> Compacted | None:
        """Change the prompt before a call, or leave it."""
        ...


class Replay(Struct, frozen=True, kw_only=True):
    """What a session cost under a strategy."""

    strategy: str
    calls: int
    compactions: int
    overflows: int
    """Calls whose prompt was larger than the window."""
    peak_tokens: int
    bill: Bill
    """The calls of the session."""
    summaries: Bill
    """The calls that wrote summaries."""

    @property
    def usd(self) -> float:
        """What all of it costs."""
        return self.bill.usd + self.summaries.usd

    @property
    def input_usd(self) -> float:
        """The same without the agent's own words, which no strategy changes."""
        return self.bill.input_usd + self.summaries.usd

    @property
    def hit_rate(self) -> float:
        """The share of the prompts that was read from the cache."""
        sent = self.bill.prompt_tokens
        return self.bill.read_tokens / sent if sent else 0.0


def replay(recording: Recording, name: str, player: Player, terms: Terms) -> Replay:
    """Return what `recording` costs when `player` decides before each call what is sent."""
    prompt = Prompt(recording.outside_tokens, recording.system_stop)
    total, summaries = Bill(), Bill()
    calls = compactions = overflows = peak = grown = sent_length = 0
    for new, answer in recording.calls():
        added = _extend(prompt, player, new)
        grown += added if calls else 0
        if terms.pause_is_cold and any(entry.is_ask for entry in new):
            sent_length = 0
        at_marks = terms.prices.at_marks
        cached = prompt.cached_tokens(sent_length, at_marks=at_marks)
        done = player.act(Moment(prompt, cached, calls, grown))
        if done is not None:
            compactions += 1
            if terms.model_summary:
                summaries += _summary_bill(done, cached, terms)
        cached = prompt.cached_tokens(sent_length, at_marks=at_marks)
        output = _size(answer)
        total += bill(terms.prices, prompt.tokens, cached, output, terms.ttl)
        calls += 1
        overflows += prompt.tokens > terms.context_length
        peak = max(peak, prompt.tokens)
        prompt.sent()
        sent_length = len(prompt.pieces)
        grown += _extend(prompt, player, answer)
    return Replay(
        strategy=name, calls=calls, compactions=compactions, overflows=overflows,
        peak_tokens=peak, bill=total, summaries=summaries,
    )  # fmt: skip


def _extend(prompt: Prompt, player: Player, entries: tuple[Entry, ...]) -> int:
    """Put what was said at the end of the prompt; return by how much that grew."""
    before = prompt.tokens
    prompt.extend([(entry.wire, entry.tokens) for entry in entries])
    player.take(entries, prompt)
    return prompt.tokens - before


def _size(entries: tuple[Entry, ...]) -> int:
    return sum(entry.tokens for entry in entries)


def _summary_bill(done: Compacted, cached: int, terms: Terms) -> Bill:
    return bill(terms.prices, done.tokens_before, cached, done.summary_tokens, terms.ttl)
