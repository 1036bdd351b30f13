"""What a compaction did, in values: never raw content."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

_PROMISE = 1.1
"""A provider's count up to this much above the estimate is no news."""

Status: TypeAlias = Literal["compacted", "unchanged"]

Reason: TypeAlias = Literal[
    "",
    "below threshold",
    "nothing to compact",
    "not smaller",
    "cannot",
    "deferred",
    "cooldown",
    "ineffective",
    "aborted",
    "already running",
    "disabled",
]
"""Why nothing changed; empty where something did."""
_REFUSED: frozenset[Reason] = frozenset(
    ("cannot", "cooldown", "ineffective", "aborted", "already running")
)
"""Reasons for which a compaction that was wanted did not happen."""

Urgency: TypeAlias = Literal["none", "early", "soft", "hard"]
"""Nothing is due; only if it pays; due; the next turn may not fit."""
SummarySource: TypeAlias = Literal["none", "ledger", "model", "native"]
Persistence: TypeAlias = Literal["none", "in place", "child"]
ReferenceKind: TypeAlias = Literal[
    "fold", "digest", "duplicate", "placeholder", "arguments", "arrival", "other"
]


class Reference(Struct, frozen=True):
    """A short id, the log positions it stands for (first, one past the last), its kind."""

    ref: str
    positions: tuple[int, int]
    kind: ReferenceKind

    @property
    def start(self) -> int:
        """The first position."""
        return self.positions[0]

    @property
    def stop(self) -> int:
        """One past the last position."""
        return self.positions[1]


class SummaryNote(Struct, frozen=True, kw_only=True):
    """Who wrote the summary, and what went wrong on the way."""

    source: SummarySource = "none"
    name: str = ""
    """The summarizer, where a model wrote: `openai:gpt-5-mini`."""
    confidence: Literal["", "low", "medium", "high"] = ""
    failure: str = ""
    """How the summarizer failed that was asked."""
    retry_class: str = ""
    calls: int = 0
    """How often it was asked."""
    verified: int = 0
    """Sentences of the model that the log bears out."""
    unchecked: int = 0
    """Sentences that name nothing that could be looked up."""
    dropped: int = 0
    """Sentences that were left out: invented, or not to be verified."""
    contradicted: int = 0
    """Sentences left out because the log says otherwise: the ledger's line is there instead."""
    added: int = 0
    """Entries of the model in the summary that the ledger does not have and the log bears out:
    they name something, and all of it is in the log."""


class Category(Struct, frozen=True):
    """One category of the context with its tokens before and after."""

    name: str
    tokens_before: int
    tokens_after: int


class Report(Struct, frozen=True, kw_only=True):
    """Everything a caller may want to know about one run; JSON by `msgspec.json.encode`."""

    status: Status
    reason: Reason = ""
    detail: str = ""
    """The reason in a sentence, with the numbers."""
    tokens_before: int
    tokens_after: int
    prompt_tokens: int
    prompt_tokens_source: Literal["measured", "estimated"] = "estimated"
    counter: str = "estimate"
    """What counted the tokens."""
    context_length: int
    context_length_source: Literal["given", "model", "assumed"] = "given"
    effective_window: int
    threshold_tokens: int
    target_tokens: int | None = None
    floor_tokens: int = 0
    """What no compaction can remove: system, tools, pins, anchors, the smallest tail."""
    fits_window: bool = True
    urgency: Urgency = "none"
    messages_before: int
    messages_after: int
    boundary: tuple[int, int] | None = None
    """Log positions: where the folded range starts and where the tail starts."""
    kept: int
    rewritten: int
    folded: int
    compaction_count: int
    recoverable: bool = True
    references: tuple[Reference, ...] = ()
    persistence: Persistence = "none"
    summary_source: SummaryNote = SummaryNote()
    summary_tokens: int = 0
    categories: tuple[Category, ...] = ()
    repaired: tuple[str, ...] = ()
    """What had to be repaired first, because the list broke its provider's rules."""
    notes: tuple[str, ...] = ()
    version: str = ""
    """The Foldaway that made it; empty before 0.2.0."""
    economics: dict[str, Any] | None = None
    """Whether it pays, with the whole sum; None where prices are not known or nobody asked. What
    the provider's own compaction cost is under `native_call`."""

    @property
    def headline(self) -> str:
        """The run in one line, for people."""
        if self.status == "unchanged":
            return f"Nothing changed: {self.reason}. {self.detail}".strip()
        saved = min(self.saved, 0.99)  # something is left
        return (
            f"{_messages(self.messages_before)}, {self.tokens_before:,} tokens → "
            f"{_messages(self.messages_after)}, {self.tokens_after:,} tokens (−{saved:.0%})"
        )

    @property
    def keeps_much(self) -> bool:
        """Whether nothing was folded though it could be, if fewer exchanges are to be kept."""
        is_done = self.status == "compacted" and not self.folded and self.target_tokens is None
        return is_done or self.reason == "nothing to compact"

    def confirmed_by(self, reported_tokens: int) -> Report:
        """Return the report with a note where the provider counts more than was promised."""
        if self.status == "unchanged" or reported_tokens <= self.tokens_after * _PROMISE:
            return self
        note = (
            f"the provider counted {reported_tokens:,} tokens after the compaction, more than the "
            f"{self.tokens_after:,} that were estimated; estimates are corrected from now on"
        )
        return replace(self, notes=(*self.notes, note))

    @property
    def is_refused(self) -> bool:
        """Whether a compaction was wanted and did not happen; false if there was no need."""
        return self.reason in _REFUSED

    @property
    def is_dense(self) -> bool:
        """Whether what is left is mostly what no compaction can remove."""
        return 0 < self.tokens_after <= 2 * self.floor_tokens

    @property
    def saved(self) -> float:
        """The share of tokens that was saved."""
        return 1 - self.tokens_after / self.tokens_before if self.tokens_before else 0.0


def _messages(number: int) -> str:
    return f"{number:,} message{'' if number == 1 else 's'}"
