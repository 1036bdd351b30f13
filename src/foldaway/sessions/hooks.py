"""What a host may hear of a session and be asked for, and which one a thread works on."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Literal, TypeAlias

from msgspec import Struct

from foldaway._core import SESSION, Report, SettingsStruct, log_event
from foldaway.compaction import CompactionState
from foldaway.engine import Decision
from foldaway.errors import FailureKind
from foldaway.stores import Descent, SessionInfo
from foldaway.summarizers import remedy_for

ENVIRONMENT_VARIABLE = "FOLDAWAY_SESSION"


class Switched(Struct, frozen=True):
    """The conversation goes on under another id."""

    previous_id: str
    session_id: str
    descent: Descent


class Hooks(SettingsStruct, frozen=True, kw_only=True):
    """Called in the thread of the session; one that raises is logged by name and passed over."""

    before_compaction: Callable[[SessionInfo], object] | None = None
    """A text that it returns is shown to the model that writes the summary, as data."""
    event: Callable[[SessionEvent], object] | None = None
    """Told what a person may want to know: pressure, what became of a compaction, failures. How
    things are is told once, and again only after it was otherwise in between."""
    session_switch: Callable[[Switched], object] | None = None


def call_hook(hook: Callable[[Any], Any] | None, value: Any) -> Any:
    """Call a hook if there is one and return what it says; None if it raises."""
    if hook is None:
        return None
    try:
        return hook(value)
    except Exception as error:  # noqa: BLE001 a hook of the host must not undo what is durable
        name = getattr(hook, "__qualname__", type(hook).__name__)
        log_event("session.hook_failed", hook=name, error=type(error).__name__)
        return None


class EventTeller:
    """Tells a host of events, and of what lasts only when it begins."""

    def __init__(self, hook: Callable[[SessionEvent], object] | None) -> None:
        self._hook, self.told = hook, frozenset[EventKind]()

    def tell(self, event: SessionEvent) -> None:
        """Tell of an event, unless the host has heard that things are so."""
        if event.kind not in self.told:
            self.told |= LASTING & {event.kind}
            call_hook(self._hook, event)

    def tell_all(self, events: Iterable[SessionEvent]) -> None:
        """Tell of all that a check found; what it did not find is over."""
        found = list(events)
        for event in found:
            self.tell(event)
        self.told = LASTING & {event.kind for event in found}


def read_heard(frame: Mapping[str, Any]) -> frozenset[EventKind]:
    """Return what a host has heard of how things are, through any handle of a session."""
    return frozenset(frame.get("told", ()))


def current_session() -> str:
    """Return the id of the session that this thread or task works on, "" if there is none."""
    return SESSION.get()


def session_environment() -> dict[str, str]:
    """Return the variable by which programs that an agent starts know the session: add it to their
    environment. It names the session of now, also after a switch; empty if there is none.
    """
    known = SESSION.get()
    return {ENVIRONMENT_VARIABLE: known} if known else {}


def switch_to(session_id: str) -> None:
    """Make a session the current one, for this thread or task."""
    SESSION.set(session_id)


def announce_switch(hooks: Hooks, switched: Switched) -> None:
    """Make the other session the current one, and tell the log and the host."""
    switch_to(switched.session_id)
    log_event("session.switched", descent=switched.descent)
    call_hook(hooks.session_switch, switched)


class SessionField(logging.Filter):
    """Gives every log record the field `foldaway_session`; add it to a handler or a logger."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Set the field; no record is held back."""
        record.foldaway_session = SESSION.get()
        return True


EventKind: TypeAlias = Literal[
    "pressure", "prepared", "compacted", "deferred", "failed", "ineffective", "summarizer_skipped"
]
"""A compaction comes near; its summary is ready; it was made; it is put off because it costs more
than it saves; it, or its summarizer, failed; it frees too little; a summarizer that
failed shortly before was not asked."""
LASTING: frozenset[EventKind] = frozenset(
    ("pressure", "prepared", "deferred", "ineffective", "summarizer_skipped")
)
"""Kinds that say how things are: they are told when that begins, not at every check."""


class SessionEvent(Struct, frozen=True, kw_only=True):
    """Something that a person may want to know of a conversation."""

    kind: EventKind
    session: SessionInfo
    """As it is now."""
    sentence: str
    advice: str = ""
    """What a person can do about it, "" if there is nothing to do."""
    report: Report | None = None
    """Of the check that found it; `is_dense` tells why a compaction is ineffective."""
    previous_id: str = ""
    """Of a compaction: the session before it, another id if the session rotates."""
    folded: tuple[int, ...] = ()
    """Positions of the log that the model sees no more as they were, since this compaction."""
    folded_ids: tuple[str, ...] = ()
    """The ids of these messages, so that a host can forget what it thinks the model has read."""


class CompactionCheck(Struct, frozen=True, kw_only=True):
    """One check whether to compact: what was known before it, and what came of it."""

    session: SessionInfo
    decision: Decision
    before: CompactionState
    after: CompactionState
    report: Report
    now: float
    """Seconds of the clock of the engine."""
    previous_id: str = ""
    folded: tuple[int, ...] = ()
    folded_ids: tuple[str, ...] = ()


def events_of(check: CompactionCheck) -> Iterator[SessionEvent]:
    """Yield what there is to tell of a check, in the order in which it happened."""
    report, decision = check.report, check.decision
    is_done = report.status == "compacted"
    if report.reason == "aborted":
        paused = check.after.breaker
        kind = paused.kind if paused.strikes > check.before.breaker.strikes else None
        said = f"The compaction failed and nothing was changed: {report.detail}."
        yield _event(check, "failed", said, _remedy(kind) if kind else "")
    else:
        yield from _writer_events(check)
    if is_done:
        yield SessionEvent(
            kind="compacted",
            session=check.session,
            sentence=f"Compacted: {report.headline}.",
            report=report,
            previous_id=check.previous_id,
            folded=check.folded,
            folded_ids=check.folded_ids,
        )
    if report.reason == "deferred" and decision.due:
        said = f"A compaction is due and put off: {report.detail.removeprefix('wait: ')}."
        yield _event(check, "deferred", said, "/compress compacts now.")
    in_vain = check.after.ineffective > check.before.ineffective
    if in_vain or report.reason in ("cannot", "ineffective"):
        yield _event(check, "ineffective", *_why_little(report))
    if not is_done and decision.pressure and decision.urgency in ("none", "early"):
        tokens, threshold = report.prompt_tokens, report.threshold_tokens
        said = (
            f"The context is at {tokens / threshold:.0%} of the size at which it is compacted "
            f"({tokens:,} of {threshold:,} tokens)."
        )
        yield _event(check, "pressure", said, "/compress TOPIC compacts now with a focus.")


def prepared_event(session: SessionInfo) -> SessionEvent:
    """Return that a summary was written in the background."""
    said = "A summary is ready; the next compaction takes it in without waiting."
    return SessionEvent(kind="prepared", session=session, sentence=said)


def _writer_events(check: CompactionCheck) -> Iterator[SessionEvent]:
    """Yield which summarizer did not write: it failed now, or was skipped because of that."""
    before, after, note = check.before, check.after, check.report.summary_source
    for who, was, now, is_skipped in (
        ("The summarizer", before.breaker, after.breaker, note.failure != ""),
        ("The first summarizer", before.first_breaker, after.first_breaker, note.calls > 0),
        ("The provider's own compaction", before.native_breaker, after.native_breaker, False),
    ):
        if now.kind is None:
            continue
        seconds = max(round(now.until - check.now), 0)
        if now.strikes > was.strikes:
            rest = " The summary was made without it." if check.report.folded else ""
            said = f"{who} failed ({now.kind}); it is asked again in {seconds:,} s.{rest}"
            yield _event(check, "failed", said, _remedy(now.kind))
        elif is_skipped and was.is_open(check.now):
            said = (
                f"{who} was not asked, because it failed ({now.kind}); next time in {seconds:,} s."
            )
            yield _event(check, "summarizer_skipped", said, _remedy(now.kind))


def _remedy(kind: FailureKind) -> str:
    said = remedy_for(kind)
    return f"{said[0].upper()}{said[1:]}."


def _why_little(report: Report) -> tuple[str, str]:
    """Return why compaction frees too little, and what helps."""
    before, after = report.tokens_before, report.tokens_after
    if report.is_dense:
        return (
            f"Compaction frees too little: {report.floor_tokens:,} of {after:,} tokens cannot be "
            "folded (system prompt, tools, pins, the newest messages).",
            "Unpin messages, use fewer tools or a larger window, or begin a new session.",
        )
    became = (
        f"{before:,} tokens became {after:,}"
        if report.status == "compacted"
        else (f"the summary would be nearly as long as what it replaces ({before:,} tokens)")
    )
    return (
        f"Compaction frees too little: {became}.",
        "Compact with a focus (/compress TOPIC), keep fewer messages (/compress keep 3), or name "
        "another summarizer.",
    )


def _event(check: CompactionCheck, kind: EventKind, said: str, advice: str = "") -> SessionEvent:
    return SessionEvent(
        kind=kind, session=check.session, sentence=said, advice=advice, report=check.report
    )
