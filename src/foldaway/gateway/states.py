"""Where a conversation stands and what was decided in it, as events: figures, never content."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from itertools import pairwise
from typing import Any, Literal, TypeAlias
from weakref import ref

from msgspec import Struct

from foldaway._core import Report, Urgency
from foldaway.sessions import Session, internals

Publish: TypeAlias = Callable[[Any], None]
"""Tells an event to anyone who listens."""
CompactionResult: TypeAlias = Literal["done", "undone", "deferred", "failed"]
_RECENT = 10
"""Requests whose growth tells how fast a window fills, as in `foldaway watch`."""
_QUIET = frozenset(("", "below threshold", "nothing to compact", "already running"))
"""Reasons for which nothing changed that nobody must be told of."""


class ConversationState(
    Struct, frozen=True, kw_only=True, omit_defaults=True, tag="state", tag_field="kind"
):
    """How full the window of a conversation is, before a request goes out and after its answer."""

    conversation: str
    agent: str = ""
    model: str = ""
    session: str = ""
    """Its id in the store."""
    prompt_tokens: int = 0
    is_measured: bool = False
    """Whether the provider counted these tokens; otherwise it is our estimate."""
    window_tokens: int = 0
    threshold_tokens: int = 0
    """From here on a compaction is due."""
    early_tokens: int = 0
    """From here on it is made if it pays."""
    urgency: Urgency = "none"
    is_near: bool = False
    """Whether a compaction is near: the pressure warning is due."""
    answers_left: int | None = None
    """About how many answers until it may be made; None if the window does not fill."""
    summary: Literal["", "being written", "ready"] = ""
    """What is prepared in the background for the next compaction."""
    compactions: int = 0


class CompactionTold(
    Struct, frozen=True, kw_only=True, omit_defaults=True, tag="compaction", tag_field="kind"
):
    """A compaction that was made, or was wanted and not made."""

    conversation: str
    agent: str = ""
    model: str = ""
    session: str = ""
    result: CompactionResult
    number: int = 0
    """How many there were, with this one."""
    reason: str = ""
    """Why nothing changed, in a word of `Report.reason`."""
    detail: str = ""
    """The reason in a sentence, with the numbers."""
    tokens_before: int = 0
    tokens_after: int = 0
    writer: str = ""
    """Who wrote the summary: `ledger`, or the name of a model."""
    failure: str = ""
    """How the summarizer failed that was asked."""


class Standings:
    """Tells how one conversation goes on; what was told is not told again."""

    def __init__(self, publish: Publish, conversation: str, agent: str, model: str) -> None:
        """Begin with a conversation of which nothing was told."""
        self._publish = publish
        self._names = {"conversation": conversation, "agent": agent, "model": model}
        self._told: tuple[object, ...] = ()
        self._prompts: deque[tuple[ref[Any], int]] = deque(maxlen=_RECENT + 1)

    def tell(self, session: Session, turn: object) -> None:
        """Tell where a conversation stands, and what became of a compaction since the last time."""
        report = internals(session).engine.last_report
        if report is not None:
            self._tell_compaction(session, report)
        self._publish(self._state(session, turn))

    def _tell_compaction(self, session: Session, report: Report) -> None:
        result = _result(report, internals(session).engine.state.count)
        mark = (
            result,
            report.reason,
            report.compaction_count,
            report.detail if result == "deferred" else "",
        )
        if result is None or mark == self._told:
            return
        self._told = mark
        note, is_done = report.summary_source, result == "done"
        if is_done:
            self._prompts.clear()
        self._publish(
            CompactionTold(
                **self._names,
                session=session.id,
                result=result,
                number=report.compaction_count,
                reason=report.reason,
                detail=report.detail,
                tokens_before=report.tokens_before,
                tokens_after=report.tokens_after if is_done else 0,
                writer=(note.name or note.source) if is_done else "",
                failure=note.failure,
            )
        )

    def _state(self, session: Session, turn: object) -> ConversationState:
        engine = internals(session).engine
        budget, decision = engine.settings.budget, engine.decide()
        if self._prompts and self._prompts[-1][0]() is turn:
            self._prompts.pop()
        self._prompts.append((ref(turn), decision.prompt_tokens))  # not with its megabytes
        is_early = decision.urgency == "early"
        until = budget.threshold_tokens if is_early else budget.early_tokens
        return ConversationState(
            **self._names,
            session=session.id,
            prompt_tokens=decision.prompt_tokens,
            is_measured=decision.source == "measured",
            window_tokens=budget.context_length,
            threshold_tokens=budget.threshold_tokens,
            early_tokens=budget.early_tokens,
            urgency=decision.urgency,
            is_near=decision.pressure,
            answers_left=self._left(until - decision.prompt_tokens),
            summary=decision.background,
            compactions=engine.state.count,
        )

    def _left(self, tokens: int) -> int | None:
        grown = [one[1] - before[1] for before, one in pairwise(self._prompts)]
        growth = sum(grown) / len(grown) if grown else 0.0
        return max(round(tokens / growth), 0) if growth > 0 else None


def _result(report: Report, count: int) -> CompactionResult | None:
    if report.status == "compacted":
        return "done" if report.compaction_count <= count else "undone"
    if report.reason in _QUIET:
        return None
    return "deferred" if report.reason == "deferred" else "failed"
