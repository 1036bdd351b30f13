"""What follows when a model wrote no usable summary: one table, and the pause after it.

The order is always the same: the summarizer, then once the other one if there is one, then the
ledger's own summary or an abort. An abort changes nothing. docs/summarizers.md has the table.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

from foldaway._core import SummaryNote, Urgency
from foldaway.compaction import Breaker
from foldaway.errors import FailureKind, SummarizerFailed

OnFailure: TypeAlias = Literal["auto", "ledger", "abort"]
"""`auto`: the ledger's summary, but an abort if nobody can be reached and there is room."""
NextStep: TypeAlias = Literal["other", "ledger", "abort"]
NextTry: TypeAlias = Literal["at once", "after a pause", "give up", "stop"]
"""`give up`: this question has no answer; `stop`: nothing more is asked of anybody."""
RetryClass: TypeAlias = Literal["answer", "transient", "no provider"]

CLASSES: dict[FailureKind, RetryClass] = {
    "broken answer": "answer",
    "empty answer": "answer",
    "bad answer": "answer",
    "timed out": "transient",
    "rate limited": "transient",
    "overloaded": "transient",
    "too long": "transient",
    "unreachable": "transient",
    "cancelled": "transient",
    "refused": "no provider",
    "not found": "no provider",
}
PAUSES: dict[RetryClass, float] = {"answer": 30.0, "transient": 60.0, "no provider": 600.0}
"""Seconds before a summarizer is asked again; chosen, docs/summarizers.md has them."""
LONGEST_PAUSE = 3_600.0
"""An hour; chosen."""
_OUT_OF_REACH: frozenset[FailureKind] = frozenset({"refused", "not found", "unreachable"})
"""Failures that the user must fix: to wait for that loses nothing while there is room."""
_REMEDIES: dict[FailureKind, str] = {
    "refused": "check the key and the quota of the summarizer",
    "not found": "check the name of the model and the address",
    "unreachable": "check the network and the address",
    "timed out": "try again, or allow it more time",
    "rate limited": "it is asked again after the pause",
    "overloaded": "it is asked again after the pause",
    "too long": "name a summarizer with a larger window",
    "broken answer": "try again, or name another summarizer",
    "empty answer": "try again, or name another summarizer",
    "bad answer": "try again, or name another summarizer",
    "cancelled": "start it again when it suits",
}


def next_step(
    kind: FailureKind, on_failure: OnFailure, urgency: Urgency, *, has_other: bool
) -> NextStep:
    """Return what follows a failure; `has_other` while another summarizer was not tried yet.

    At hard urgency an abort would leave the session stuck, so the ledger's summary is taken,
    unless an abort was asked for: nothing is lost by it, the originals are there.
    """
    if kind == "cancelled":
        return "abort"
    if has_other:
        return "other"
    return without_writer(kind, on_failure, urgency)


def without_writer(kind: FailureKind | None, on_failure: OnFailure, urgency: Urgency) -> NextStep:
    """Return what is done if no summarizer is left to ask."""
    if on_failure == "abort":
        return "abort"
    is_out_of_reach = kind in _OUT_OF_REACH
    if on_failure == "auto" and is_out_of_reach and urgency != "hard":
        return "abort"
    return "ledger"


def after_try(failure: SummarizerFailed, *, is_last: bool) -> NextTry:
    """Return what a batch does after a failed try of one question, which it may put again."""
    if CLASSES[failure.kind] == "no provider" or failure.retry_after > LONGEST_PAUSE:
        return "stop"
    if not is_last and failure.kind != "too long":
        return "at once" if CLASSES[failure.kind] == "answer" else "after a pause"
    return "stop" if without_writer(failure.kind, "auto", "none") == "abort" else "give up"


def after_failure(breaker: Breaker, failure: SummarizerFailed, now: float) -> Breaker:
    """Return the pause that follows: longer with every failure in a row, never below a delay that
    the provider asked for; a cancelled run has none.
    """
    if failure.kind == "cancelled":
        return breaker
    pause = min(PAUSES[CLASSES[failure.kind]] * 2 ** min(breaker.strikes, 16), LONGEST_PAUSE)
    asked_for = min(max(failure.retry_after, 0.0), LONGEST_PAUSE)
    return Breaker(breaker.strikes + 1, now + max(pause, asked_for), failure.kind)


def failure_note(kind: FailureKind | None) -> SummaryNote:
    """Return the note of a summary that the ledger wrote because of a failure."""
    retry = CLASSES[kind] if kind else ""
    return SummaryNote(source="ledger", confidence="medium", failure=kind or "", retry_class=retry)


def sentence(failure: SummarizerFailed, step: NextStep) -> str:
    """Return what happened, what was kept and what to do, for people."""
    kept = {
        "abort": "nothing was changed",
        "ledger": "the summary was made without a model",
        "other": "the other summarizer was asked",
    }[step]
    return f"{failure}; {kept}; {remedy_for(failure.kind)}"


def remedy_for(kind: FailureKind) -> str:
    """Return what the user can do about a failure."""
    return _REMEDIES[kind]
