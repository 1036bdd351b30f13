"""Foldaway: context management for long-running LLM agents. Compaction you can check."""

from __future__ import annotations

from typing import TYPE_CHECKING

from foldaway.exports import __version__ as __version__
from foldaway.exports import import_later

if TYPE_CHECKING:
    from foldaway.adapters import ContextEngine
    from foldaway.compaction.work import Options
    from foldaway.config import open_engine, open_memory, open_store
    from foldaway.dialects.check import check
    from foldaway.dialects.convert import Converted, convert
    from foldaway.dialects.load import dump, load
    from foldaway.dialects.repair import Repaired, repair
    from foldaway.engine import Compressed, Compressor, Model, compress, reduce
    from foldaway.errors import FoldawayError
    from foldaway.integrations import wrap
    from foldaway.policy import Policy
    from foldaway.ports import Summarizer
    from foldaway.redaction import Redacted, Redactor, redact
    from foldaway.reduction import Reduced
    from foldaway.report import Report
    from foldaway.sessions.chat import Chat
    from foldaway.sessions.session import Session, warm
    from foldaway.stores import Store
    from foldaway.transcript import Message, Transcript, Violation

__all__ = [
    "Chat",
    "Compressed",
    "Compressor",
    "ContextEngine",
    "Converted",
    "FoldawayError",
    "Message",
    "Model",
    "Options",
    "Policy",
    "Redacted",
    "Redactor",
    "Reduced",
    "Repaired",
    "Report",
    "Session",
    "Store",
    "Summarizer",
    "Transcript",
    "Violation",
    "check",
    "compress",
    "convert",
    "dump",
    "load",
    "open_engine",
    "open_memory",
    "open_store",
    "redact",
    "reduce",
    "repair",
    "warm",
    "wrap",
]


__getattr__ = import_later(
    __name__,
    {
        "foldaway.adapters.contract": "ContextEngine",
        "foldaway.compaction.work": "Options",
        "foldaway.config": "open_engine open_memory open_store",
        "foldaway.dialects.check": "check",
        "foldaway.dialects.convert": "Converted convert",
        "foldaway.dialects.load": "dump load",
        "foldaway.dialects.repair": "Repaired repair",
        "foldaway.engine.compressor": "Compressor",
        "foldaway.engine.oneshot": "Compressed compress",
        "foldaway.engine.reducing": "reduce",
        "foldaway.engine.run": "Model",
        "foldaway.errors": "FoldawayError",
        "foldaway.integrations.clients": "wrap",
        "foldaway.policy": "Policy",
        "foldaway.ports": "Summarizer",
        "foldaway.redaction": "Redacted Redactor redact",
        "foldaway.reduction.reduced": "Reduced",
        "foldaway.report": "Report",
        "foldaway.sessions.chat": "Chat",
        "foldaway.sessions.session": "Session warm",
        "foldaway.stores.store": "Store",
        "foldaway.transcript": "Message Transcript Violation",
    },
)
"""Names that are imported when they are first asked for, so that every command starts quickly."""


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
