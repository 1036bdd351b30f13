"""Standard logging: one record for each decision, with figures and names, never content.

Loggers are children of `foldaway`, one for each area. Nothing here adds a handler that writes, and
no level is set: that is the host's.
"""

from __future__ import annotations

import logging
import re
from contextvars import ContextVar
from typing import Final, TypeAlias

Fact: TypeAlias = int | float | str | None
"""A figure, a name or a word of a closed set."""

EVENTS: Final[dict[str, tuple[int, str]]] = {
    "compaction.done": (logging.INFO, "a conversation was compacted"),
    "compaction.deferred": (logging.DEBUG, "a compaction would cost more than it saves"),
    "compaction.skipped": (logging.INFO, "a compaction was due and was put off"),
    "compaction.failed": (logging.WARNING, "a compaction was due and could not be made"),
    "compaction.unchanged": (logging.DEBUG, "there was no need to compact, or nothing to fold"),
    "compaction.undone": (logging.INFO, "a compaction was taken back"),
    "summary.written": (logging.INFO, "a model wrote the summary"),
    "summary.failed": (logging.WARNING, "a summarizer failed; `then` says what was done instead"),
    "summary.skipped": (logging.INFO, "no summarizer was asked, because it failed shortly before"),
    "repair.done": (logging.INFO, "messages were repaired that their provider would refuse"),
    "repair.failed": (logging.WARNING, "messages cannot be repaired without inventing content"),
    "redaction.applied": (logging.DEBUG, "secrets were hidden in a text"),
    "session.switched": (logging.INFO, "a conversation goes on under another id"),
    "session.passed": (logging.WARNING, "a session failed, and the host goes on as it asked to"),
    "session.hook_failed": (logging.WARNING, "a hook of the host raised"),
    "session.no_lease": (logging.WARNING, "leases do not work; the first writer wins"),
    "session.unanswered": (logging.WARNING, "a message was not answered; it is tried again"),
    "settings.ignored": (logging.WARNING, "settings were ignored: see `foldaway config show`"),
    "store.opened": (logging.DEBUG, "a store was opened"),
    "store.migrated": (logging.INFO, "a store was created or brought up to date"),
    "import.taken": (logging.DEBUG, "a session of another agent was imported"),
    "import.skipped": (logging.WARNING, "a file gave no session; the import says why"),
    "memory.failed": (logging.WARNING, "a memory provider raised"),
    "memory.late": (logging.WARNING, "a memory provider did not answer in time"),
    "memory.refused": (logging.WARNING, "a turn was lost to a provider with a full queue"),
    "gateway.request": (logging.INFO, "a request was answered; `note` says what was decided"),
    "gateway.fault": (logging.WARNING, "a request was forwarded unchanged after an error of ours"),
    "gateway.budget": (logging.WARNING, "most or all of the budget is spent"),
    "gateway.api_failed": (logging.ERROR, "the API failed with an error of ours"),
    "gateway.audit_failed": (logging.WARNING, "a line of the audit log could not be written"),
    "inspector.failed": (logging.ERROR, "a page failed with an error of ours"),
    "gateway.no_spans": (logging.WARNING, "spans were asked for without the extra `otel`"),
}
"""Every event with its level and what it says. The part before the dot is the area."""

SESSION: ContextVar[str] = ContextVar("foldaway_session", default="")
"""The id of the session that this thread or task works on."""

_PLAIN = re.compile(r"[\w.:/@+-]*", re.ASCII)
_MOST_CHARS = 200
"""Of a text in a record: names of models and files are shorter; chosen."""

logging.getLogger("foldaway").addHandler(logging.NullHandler())
_LOGGERS = {event: logging.getLogger(f"foldaway.{event.partition('.')[0]}") for event in EVENTS}


def listens(event: str) -> bool:
    """Return whether somebody wants the records of an event; ask before facts that take time."""
    return _LOGGERS[event].isEnabledFor(EVENTS[event][0])


def log_event(event: str, /, **facts: Fact) -> None:
    """Log an event of the table with its facts.

    The message is `event key=value …`. The record also has the fields `foldaway_event`,
    `foldaway_facts` and `foldaway_session`.
    """
    logger, level = _LOGGERS[event], EVENTS[event][0]
    if not logger.isEnabledFor(level):
        return
    known = {name: _brief(value) for name, value in facts.items() if value not in ("", None)}
    logger.log(
        level,
        "%s",
        " ".join([event, *(f"{name}={_quote(value)}" for name, value in known.items())]),
        extra={"foldaway_event": event, "foldaway_facts": known, "foldaway_session": SESSION.get()},
        stacklevel=2,
    )


def _brief(value: Fact) -> Fact:
    return value[:_MOST_CHARS] if isinstance(value, str) else value


def _quote(value: Fact) -> str:
    """Return a value on one line; quoted if it has spaces or other characters."""
    if isinstance(value, float):
        return f"{value:.6g}"
    text = str(value)
    return text if _PLAIN.fullmatch(text) else ascii(text)
