"""A model that writes the summaries of a batch: what it is asked, and what becomes of its words."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from msgspec import Struct

from holdfast.compaction.join import joined, patched_by
from holdfast.errors import SummarizerFailed
from holdfast.ports import Redact, TokenCounter
from holdfast.trajectories.answers import Answered, Question
from holdfast.trajectories.compress import Write, Written
from holdfast.trajectories.ledger import framed_summary, region_told, without_sources
from holdfast.trajectories.planned import region_material
from holdfast.trajectories.region import Region
from holdfast.transcript import Message
from holdfast.writing.asking import Asking, begin, take
from holdfast.writing.gate import Checked, check, evidence_of
from holdfast.writing.material import Material

ATTEMPTS = 3
"""So often the same is asked where the answer is of no use."""

Ask: TypeAlias = Callable[[Question], Answered]
"""Waits for an answer; raises `BatchStopped` where none will come, now or later."""


class Asked(Struct, frozen=True, kw_only=True):
    """Who is asked, and with what."""

    name: str
    context_length: int
    """What it reads and writes in one request, in tokens; 0 where nobody knows."""
    counter: TokenCounter
    redact: Redact


class Step(Struct, frozen=True):
    """A question, and all that there is to ask with it."""

    question: Question
    asking: Asking


class Said(Struct, frozen=True):
    """What a model said of a region as far as it holds, None where it said nothing of use."""

    checked: Checked | None
    calls: int
    errors: int


def writer(asked: Asked, ask: Ask) -> Write:
    """Return what writes summaries by asking a model.

    Question, reading and gate are those of a live compaction: the ledger's entries have their
    share first, what the model says that is not in the turns is dropped or marked, and what it
    left out of what is needed is there all the same. Where no answer is of use nothing is
    written, and the ledger's summary stands there. The same answers give the same text.
    """

    def write(messages: Sequence[Message], region: Region, room: int) -> Written:
        told = region_told(messages, region, asked.counter, asked.redact, room)
        todo = region_material(messages, region, told, asked.counter, asked.redact, room)
        said = answered(todo, asked, lambda step: ask(step.question))
        counts = {"summary_calls": said.calls, "errors": said.errors}
        if said.checked is None:
            return Written(text="", **counts)
        note, ledger = said.checked.summary, told.summary
        both = joined(note, ledger, told.around.room_chars)
        return Written(
            text=framed_summary(without_sources(both), asked.counter, asked.redact, room),
            verified=said.checked.verified, unverified=said.checked.unverified,
            dropped=said.checked.dropped, patched=patched_by(note, ledger), **counts,
        )  # fmt: skip

    return write


def answered(todo: Material, asked: Asked, answer: Callable[[Step], Answered]) -> Said:
    """Ask until everything is told, or until an answer was of no use three times.

    No date is named: the same turns are the same question on every day.
    """
    asking = begin(todo, now="", summarizer_window=asked.context_length)
    calls = errors = attempt = 0
    checked = evidence = None
    while attempt < ATTEMPTS and (request := asking.request) is not None:
        got = answer(Step(Question(request, attempt), asking))
        calls += got.failed + (got.answer is not None)
        errors += got.failed
        if got.answer is None:
            break
        try:
            told = take(asking, got.answer)
            if told.prose is not None:
                evidence = evidence or evidence_of(todo, name=asked.name)
                checked = check(told.prose, evidence)
        except SummarizerFailed:
            errors, attempt = errors + 1, attempt + 1
        else:
            asking, attempt = told, 0
    return Said(checked, calls, errors)
