"""Foldaway: context management for long-running LLM agents. Compaction you can check."""

from __future__ import annotations

from typing import TYPE_CHECKING

from foldaway.exports import __version__ as __version__
from foldaway.exports import import_later

if TYPE_CHECKING:
    from foldaway.adapters.contract import ContextEngine
    from foldaway.compaction.work import Options
    from foldaway.config import open_engine, open_memory, open_store
    from foldaway.dialects.check import check
    from foldaway.dialects.convert import Converted, convert
    from foldaway.dialects.load import dump, load
    from foldaway.dialects.repair import Repaired, repair
    from foldaway.engine.compressor import Compressor
    from foldaway.engine.oneshot import Compressed, compress
    from foldaway.engine.reducing import reduce
    from foldaway.engine.run import Model
    from foldaway.errors import FoldawayError
    from foldaway.integrations.clients import wrap
    from foldaway.policy import Policy
    from foldaway.ports import Summarizer
    from foldaway.redaction import Redacted, Redactor, redact
    from foldaway.reduction.reduced import Reduced
    from foldaway.report import Report
    from foldaway.sessions.chat import Chat
    from foldaway.sessions.session import Session, warm
    from foldaway.stores.store import Store
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

_LATER = {
    "Chat": "foldaway.sessions.chat",
    "Compressed": "foldaway.engine.oneshot",
    "Compressor": "foldaway.engine.compressor",
    "ContextEngine": "foldaway.adapters.contract",
    "Converted": "foldaway.dialects.convert",
    "FoldawayError": "foldaway.errors",
    "Message": "foldaway.transcript",
    "Model": "foldaway.engine.run",
    "Options": "foldaway.compaction.work",
    "Policy": "foldaway.policy",
    "Redacted": "foldaway.redaction",
    "Redactor": "foldaway.redaction",
    "Reduced": "foldaway.reduction.reduced",
    "Repaired": "foldaway.dialects.repair",
    "Report": "foldaway.report",
    "Session": "foldaway.sessions.session",
    "warm": "foldaway.sessions.session",
    "Store": "foldaway.stores.store",
    "Summarizer": "foldaway.ports",
    "Transcript": "foldaway.transcript",
    "Violation": "foldaway.transcript",
    "check": "foldaway.dialects.check",
    "compress": "foldaway.engine.oneshot",
    "convert": "foldaway.dialects.convert",
    "dump": "foldaway.dialects.load",
    "load": "foldaway.dialects.load",
    "open_engine": "foldaway.config",
    "open_memory": "foldaway.config",
    "open_store": "foldaway.config",
    "redact": "foldaway.redaction",
    "reduce": "foldaway.engine.reducing",
    "repair": "foldaway.dialects.repair",
    "wrap": "foldaway.integrations.clients",
}
"""Names that are imported when they are first asked for, so that every command starts quickly."""


__getattr__ = import_later(__name__, _LATER)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
