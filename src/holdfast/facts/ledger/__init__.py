"""Facts from the log without a model: taken from each message, kept, ranked, told."""

from __future__ import annotations

from holdfast.facts.ledger.fact import (
    Fact,
    FactKind,
    FileState,
    Ledger,
    is_complex,
    is_piece,
    redact_fact,
    without_secrets,
)
from holdfast.facts.ledger.summarize import Around, summarize, tokens_per_char
from holdfast.facts.ledger.take import facts_of, is_beside_calls
from holdfast.facts.ledger.update import KEPT_ASKS, KEPT_EDITS, KEPT_RULES, update

__all__ = ["KEPT_ASKS", "KEPT_EDITS", "KEPT_RULES", "Around", "Fact", "FactKind", "FileState",
           "Ledger", "facts_of", "is_beside_calls", "is_complex", "is_piece", "redact_fact",
           "summarize", "tokens_per_char", "update", "without_secrets"]  # fmt: skip
