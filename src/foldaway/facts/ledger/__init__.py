"""Facts from the log without a model: taken from each message, kept, ranked, told."""

from __future__ import annotations

from foldaway.facts.ledger.fact import Fact, FactKind, FileState, Ledger
from foldaway.facts.ledger.rank import Topic, find_topic
from foldaway.facts.ledger.summarize import Around, summarize
from foldaway.facts.ledger.update import update

__all__ = [
    "Around",
    "Fact",
    "FactKind",
    "FileState",
    "Ledger",
    "Topic",
    "find_topic",
    "summarize",
    "update",
]
