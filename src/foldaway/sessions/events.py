"""What a host hears of a conversation: sentences for a person, derived from what a check found."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, TypeAlias

from msgspec import Struct

from foldaway._core import Report
from foldaway.compaction import CompactionState, Decision
from foldaway.errors import FailureKind
from foldaway.stores import SessionInfo
from foldaway.summarizers import remedy_for

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
            kind="compacted", session=check.session, sentence=f"Compacted: {report.headline}.",
            report=report, previous_id=check.previous_id, folded=check.folded,
            folded_ids=check.folded_ids,
        )  # fmt: skip
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
    became = f"{before:,} tokens became {after:,}" if report.status == "compacted" else (
        f"the summary would be nearly as long as what it replaces ({before:,} tokens)"
    )  # fmt: skip
    return (
        f"Compaction frees too little: {became}.",
        "Compact with a focus (/compress TOPIC), keep fewer messages (/compress keep 3), or name "
        "another summarizer.",
    )


def _event(check: CompactionCheck, kind: EventKind, said: str, advice: str = "") -> SessionEvent:
    return SessionEvent(
        kind=kind, session=check.session, sentence=said, advice=advice, report=check.report
    )
