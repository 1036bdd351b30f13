"""Foldaway: context management for long-running LLM agents. Compaction you can check."""

from __future__ import annotations

from typing import TYPE_CHECKING

from foldaway._core import __version__ as __version__
from foldaway._core import import_later

if TYPE_CHECKING:
    from foldaway._core import Policy, Report
    from foldaway.agents.engines import ContextEngine
    from foldaway.compaction import Options
    from foldaway.config import open_engine, open_memory, open_store
    from foldaway.dialects import Converted, Repaired, check, convert, dump, load, repair
    from foldaway.engine import Compressed, Model, compress, reduce
    from foldaway.errors import FoldawayError
    from foldaway.integrations import wrap
    from foldaway.redaction import Redactor, redact
    from foldaway.sessions import Session, SessionOptions, warm
    from foldaway.transcript import Message, Transcript, Violation

__all__ = [
    "Compressed",
    "ContextEngine",
    "Converted",
    "FoldawayError",
    "Message",
    "Model",
    "Options",
    "Policy",
    "Redactor",
    "Repaired",
    "Report",
    "Session",
    "SessionOptions",
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
        "foldaway.agents.engines.contract": "ContextEngine",
        "foldaway.compaction.work": "Options",
        "foldaway.config": "open_engine open_memory open_store",
        "foldaway.dialects.checking": "Repaired check repair",
        "foldaway.dialects.conversion": "Converted convert",
        "foldaway.dialects.loading": "dump load",
        "foldaway.engine.oneshot": "Compressed compress",
        "foldaway.engine.reducing": "reduce",
        "foldaway.engine.run": "Model",
        "foldaway.errors": "FoldawayError",
        "foldaway.integrations.clients": "wrap",
        "foldaway._core.policy": "Policy",
        "foldaway.redaction": "Redactor redact",
        "foldaway._core.report": "Report",
        "foldaway.sessions.place": "SessionOptions",
        "foldaway.sessions.session": "Session warm",
        "foldaway.transcript": "Message Transcript Violation",
    },
)
"""Names that are imported when they are first asked for, so that every command starts quickly."""


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
