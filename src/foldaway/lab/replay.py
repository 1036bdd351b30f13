"""Recorded sessions as model calls, and what they cost under one strategy, call by call."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from foldaway._core import Budget, Policy
from foldaway.caching import NEWEST_CARRIERS, TTL_SECONDS, Bill, Prices, Situation, Ttl, Verdict
from foldaway.compaction import message_tokens, tools_tokens
from foldaway.dialects import profile_for, repair_transcript
from foldaway.engine import Compressor, Model
from foldaway.transcript import Estimator, Payload, ToolResult, Transcript, is_ask


class RecordedMessage(Struct, frozen=True, gc=False):
    """One message with its size, and what the replay must know of it."""

    wire: Any
    tokens: int
    role: str
    is_ask: bool
    """Whether a user speaks: a pause may lie before it."""
    results: bool
    """Whether it is nothing but tool results."""


class Recording(Struct, frozen=True):
    """A session as it can be replayed; `outside_tokens` are tools and a system prompt outside."""

    dialect: str
    entries: tuple[RecordedMessage, ...]
    outside_tokens: int = 0
    tools: tuple[Payload, ...] = ()

    @property
    def tokens(self) -> int:
        """The whole session in one prompt."""
        return self.outside_tokens + sum(entry.tokens for entry in self.entries)

    @property
    def system_stop(self) -> int:
        """How many system messages lead the list."""
        for at, entry in enumerate(self.entries):
            if entry.role not in ("system", "developer"):
                return at
        return len(self.entries)

    def calls(self) -> Iterator[tuple[tuple[RecordedMessage, ...], tuple[RecordedMessage, ...]]]:
        """Yield for each call of the model what is new in its prompt, and its answer.

        A run of agent messages is one answer: some formats write text and calls apart. The answer
        is not part of the next pair; it is in the next prompt all the same. Messages before which
        nothing was said have no call, nor have those after the last answer.
        """
        new: list[RecordedMessage] = []
        at, entries = 0, self.entries
        while at < len(entries):
            if entries[at].role != "assistant":
                new.append(entries[at])
                at += 1
                continue
            stop = at
            while stop < len(entries) and entries[stop].role == "assistant":
                stop += 1
            if at:
                yield tuple(new), entries[at:stop]
                new = []
            else:
                new.extend(entries[:stop])
            at = stop


def record(transcript: Transcript) -> Recording:
    """Return a transcript as a recording; each message is measured once."""
    counts = Estimator()
    system = message_tokens(transcript.system, counts) if transcript.system else 0
    entries = tuple(
        RecordedMessage(
            message.wire,
            message_tokens(message, counts),
            message.role,
            is_ask(message),
            bool(message.parts) and all(isinstance(part, ToolResult) for part in message.parts),
        )
        for message in transcript.messages
    )
    outside = system + tools_tokens(transcript.tools, counts)
    return Recording(transcript.dialect, entries, outside, transcript.tools)


class PlanRequest(Struct, frozen=True, kw_only=True):
    """What a plan goes by beside the transcript."""

    policy: Policy
    budget: Budget
    provider: str | None = None
    prices: Prices | None = None
    ttl: Ttl = "5m"
    is_cold: bool = False
    """Whether the provider has forgotten the session."""
    model_summary: bool = False
    """Whether the model itself writes the summary."""


class PlanResult(Struct, frozen=True):
    """What was looked at, and the answer."""

    situation: Situation
    verdict: Verdict
    calls: int
    """How many there were."""


def plan_for(transcript: Transcript, asked: PlanRequest) -> PlanResult:
    """Return whether to compact before the next call after this transcript, as the gateway decides.

    Raises `CannotRepair` where the transcript breaks its provider's rules and cannot be repaired.
    """
    recording = record(transcript)
    profile = profile_for(transcript.dialect, asked.provider).without("call-pending")
    budget, mended = asked.budget, repair_transcript(transcript, profile)[0]
    engine = Compressor(
        model=Model(
            "",
            budget.context_length,
            budget.output_tokens,
            prices=asked.prices,
            cache_ttl=asked.ttl,
        ),
        policy=asked.policy,
        provider=asked.provider or transcript.dialect,
        clock=lambda: 0.0,
    )
    engine.take_outside(recording.outside_tokens)
    engine.append(*(message.wire for message in mended.messages), arrives=False)
    engine.note_use(-math.inf if asked.is_cold else 0.0)
    situation = engine.situation()
    now = situation.tokens_now
    if asked.model_summary:
        situation = replace(
            situation,
            summary_input_tokens=now,
            summary_cached_tokens=situation.cached_tokens,
            summary_output_tokens=budget.summary_max_tokens,
        )
    return PlanResult(situation, situation.weigh(), sum(1 for _ in recording.calls()))


Piece = tuple[Any, int]
"""A message on the wire and its tokens; the same object is the same text."""


class Prompt:
    """The messages of the next request, their total, and the first that is not as it was sent."""

    __slots__ = ("_unchanged", "outside_tokens", "pieces", "system_stop", "tokens")

    def __init__(self, outside_tokens: int, system_stop: int) -> None:
        """Start with what is outside the list; `system_stop` messages lead it unchanged."""
        self.outside_tokens = outside_tokens
        self.system_stop = system_stop
        self.pieces: list[Piece] = []
        self.tokens = outside_tokens
        self._unchanged = 0

    def extend(self, pieces: Sequence[Piece]) -> None:
        """Put new messages at the end."""
        self.pieces.extend(pieces)
        self.tokens += sum(tokens for _, tokens in pieces)

    def change(self, at: int, piece: Piece) -> None:
        """Put another message in the place of one."""
        self.tokens += piece[1] - self.pieces[at][1]
        self.pieces[at] = piece
        self._unchanged = min(self._unchanged, at)

    def replace(self, pieces: Sequence[Piece]) -> None:
        """Put another list in the place of all messages."""
        self._unchanged = min(self._unchanged, self._count_same(pieces))
        self.pieces = list(pieces)
        self.tokens = self.outside_tokens + sum(tokens for _, tokens in pieces)

    def _count_same(self, pieces: Sequence[Piece]) -> int:
        same = 0
        for (was, _), (now, _) in zip(self.pieces, pieces, strict=False):
            if was is not now:
                break
            same += 1
        return same

    def sent(self) -> None:
        """Note that the provider has seen the prompt as it is."""
        self._unchanged = len(self.pieces)

    def cached_tokens(self, sent_length: int, *, at_marks: bool) -> int:
        """Return how much of the prompt the provider can read from its cache.

        `sent_length` is the length of the last request, 0 if nothing is cached any more. A
        provider that caches at marks finds only prefixes that end at one: the system prompt and
        the newest three messages of the last request.
        """
        if not sent_length:
            return 0
        stop = min(self._unchanged, sent_length)
        if at_marks and stop <= sent_length - NEWEST_CARRIERS:
            stop = self.system_stop if stop >= self.system_stop else 0
        return self.outside_tokens + sum(tokens for _, tokens in self.pieces[:stop])


class ReplayTerms(Struct, frozen=True, kw_only=True):
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


class PromptBill:
    """What the requests of one prompt cost, sent one after another to a provider with a cache."""

    def __init__(self, prompt: Prompt, terms: ReplayTerms) -> None:
        """Start with nothing sent."""
        self._prompt, self._terms = prompt, terms
        self._sent_length = 0
        self.total = Bill()

    @property
    def cached_tokens(self) -> int:
        """How much of the next request is in the cache."""
        return self._prompt.cached_tokens(self._sent_length, at_marks=self._terms.prices.at_marks)

    def cool(self) -> None:
        """Let the provider forget all that was sent."""
        self._sent_length = 0

    def send(self, output_tokens: int) -> None:
        """Send the prompt as it is, and take an answer of this length."""
        prompt, terms = self._prompt, self._terms
        self.total += terms.prices.bill(prompt.tokens, self.cached_tokens, output_tokens, terms.ttl)
        prompt.sent()
        self._sent_length = len(prompt.pieces)


class CallState(Struct, frozen=True):
    """What a strategy knows before a call."""

    prompt: Prompt
    cached_tokens: int
    calls: int
    """How many calls there were."""


class ReplayCompaction(Struct, frozen=True):
    """What a compaction before a call did."""

    tokens_before: int
    tokens_after: int
    summary_tokens: int


class ReplayPlayer:
    """A strategy at work on one session; this one does nothing."""

    def take(self, entries: tuple[RecordedMessage, ...], prompt: Prompt) -> None:
        """Take what was said since the last call; the prompt has it already, and what is new in
        it may still be changed.
        """

    def act(self, state: CallState) -> ReplayCompaction | None:
        """Change the prompt before a call, or leave it."""


class Replay(Struct, frozen=True, kw_only=True):
    """What a session cost under a strategy."""

    strategy: str
    calls: int
    compactions: int
    overflows: int
    """Calls whose prompt was larger than the window."""
    bill: Bill
    """The calls of the session."""
    summaries: Bill
    """The calls that wrote summaries."""

    @property
    def usd(self) -> float:
        """What all of it costs."""
        return self.bill.usd + self.summaries.usd

    @property
    def hit_rate(self) -> float:
        """The share of the prompts that was read from the cache."""
        sent = self.bill.prompt_tokens
        return self.bill.read_tokens / sent if sent else 0.0


def replay(recording: Recording, name: str, player: ReplayPlayer, terms: ReplayTerms) -> Replay:
    """Return what `recording` costs when `player` decides before each call what is sent."""
    prompt = Prompt(recording.outside_tokens, recording.system_stop)
    sent, summaries = PromptBill(prompt, terms), Bill()
    calls = compactions = overflows = 0
    for new, answer in recording.calls():
        _extend(prompt, player, new)
        if terms.pause_is_cold and any(entry.is_ask for entry in new):
            sent.cool()
        cached = sent.cached_tokens
        done = player.act(CallState(prompt, cached, calls))
        if done is not None:
            compactions += 1
            if terms.model_summary:
                summaries += terms.prices.bill(
                    done.tokens_before, cached, done.summary_tokens, terms.ttl
                )
        sent.send(sum(entry.tokens for entry in answer))
        calls += 1
        overflows += prompt.tokens > terms.context_length
        _extend(prompt, player, answer)
    return Replay(
        strategy=name,
        calls=calls,
        compactions=compactions,
        overflows=overflows,
        bill=sent.total,
        summaries=summaries,
    )


def _extend(prompt: Prompt, player: ReplayPlayer, entries: tuple[RecordedMessage, ...]) -> None:
    """Put what was said at the end of the prompt."""
    prompt.extend([(entry.wire, entry.tokens) for entry in entries])
    player.take(entries, prompt)
