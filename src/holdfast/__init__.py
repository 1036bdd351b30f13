"""Holdfast: context management for long-running LLM agents. Compaction you can check."""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast.exports import import_later

if TYPE_CHECKING:
    from holdfast.adapters.contract import ContextEngine
    from holdfast.compaction.work import Options
    from holdfast.config import open_engine, open_memory, open_store
    from holdfast.dialects.check import check
    from holdfast.dialects.convert import Converted, convert
    from holdfast.dialects.load import dump, load
    from holdfast.dialects.repair import Repaired, repair
    from holdfast.engine.compressor import Compressor
    from holdfast.engine.oneshot import Compressed, compress
    from holdfast.engine.reducing import reduce
    from holdfast.engine.run import Model
    from holdfast.errors import HoldfastError
    from holdfast.integrations.clients import wrap
    from holdfast.policy import Policy
    from holdfast.ports import Summarizer
    from holdfast.redaction import Redacted, Redactor, redact
    from holdfast.reduction.reduced import Reduced
    from holdfast.report import Report
    from holdfast.sessions.chat import Chat
    from holdfast.sessions.session import Session, warm
    from holdfast.stores.store import Store
    from holdfast.transcript import Message, Transcript, Violation

__version__ = "0.1.0"

__all__ = [
    "Chat",
    "Compressed",
    "Compressor",
    "ContextEngine",
    "Converted",
    "HoldfastError",
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
    "Chat": "holdfast.sessions.chat",
    "Compressed": "holdfast.engine.oneshot",
    "Compressor": "holdfast.engine.compressor",
    "ContextEngine": "holdfast.adapters.contract",
    "Converted": "holdfast.dialects.convert",
    "HoldfastError": "holdfast.errors",
    "Message": "holdfast.transcript",
    "Model": "holdfast.engine.run",
    "Options": "holdfast.compaction.work",
    "Policy": "holdfast.policy",
    "Redacted": "holdfast.redaction",
    "Redactor": "holdfast.redaction",
    "Reduced": "holdfast.reduction.reduced",
    "Repaired": "holdfast.dialects.repair",
    "Report": "holdfast.report",
    "Session": "holdfast.sessions.session",
    "warm": "holdfast.sessions.session",
    "Store": "holdfast.stores.store",
    "Summarizer": "holdfast.ports",
    "Transcript": "holdfast.transcript",
    "Violation": "holdfast.transcript",
    "check": "holdfast.dialects.check",
    "compress": "holdfast.engine.oneshot",
    "convert": "holdfast.dialects.convert",
    "dump": "holdfast.dialects.load",
    "load": "holdfast.dialects.load",
    "open_engine": "holdfast.config",
    "open_memory": "holdfast.config",
    "open_store": "holdfast.config",
    "redact": "holdfast.redaction",
    "reduce": "holdfast.engine.reducing",
    "repair": "holdfast.dialects.repair",
    "wrap": "holdfast.integrations.clients",
}
"""Names that are imported when they are first asked for, so that every command starts quickly."""


__getattr__ = import_later(__name__, _LATER)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
