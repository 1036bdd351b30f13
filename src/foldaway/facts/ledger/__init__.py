"""Facts from the log without a model: taken from each message, kept, ranked, told."""

from __future__ import annotations

from foldaway.facts.ledger.fact import (
    KEPT_ASKS,
    Fact,
    FactKind,
    FileState,
    Ledger,
    Past,
    is_complex,
    is_piece,
    redact_fact,
    without_secrets,
)
from foldaway.facts.ledger.summarize import Around, summarize, tokens_per_char
from foldaway.facts.ledger.take import facts_of, is_beside_calls
from foldaway.facts.ledger.update import update

__all__ = ["KEPT_ASKS", "Around", "Fact", "FactKind", "FileState", "Ledger", "Past", "facts_of",
           "is_beside_calls", "is_complex", "is_piece", "redact_fact",
           "summarize", "tokens_per_char", "update", "without_secrets"]  # fmt: skip
