"""Whether an answer is one at all: not empty, refused, cut off, echoed, endless, a web page."""

from __future__ import annotations

from holdfast.errors import FailureKind, SummarizerFailed
from holdfast.facts.languages import Language
from holdfast.facts.summary import Section, Summary
from holdfast.ports import SummaryAnswer, SummaryRequest, TokenCounter
from holdfast.writing.gate.language import wrong_language
from holdfast.writing.gate.phrases import REFUSALS

_TOO_LONG = 2.0
"""A model that was told where to stop and wrote twice as much."""
_REFUSAL_CHARS = 300
_PAGE_CHARS = 200
_PAGES = ("<!doctype html", "<html", "<?xml")
_LEAST_ENTRIES = 2
"""Of an answer that was cut off."""
_ECHO_CHARS = 24
_ECHO_SHARE = 0.3
_COPY_CHARS = 240
_COPIED_CHARS = 1_000
_COPIED_SHARE = 0.5
_QUOTING: frozenset[Section] = frozenset({"task", "goal", "constraints", "pending"})


def judge_text(answer: SummaryAnswer, request: SummaryRequest, counter: TokenCounter) -> None:
    """Raise `SummarizerFailed` for what can be told before an answer is read."""
    text = answer.text
    if answer.stopped == "refusal":
        raise _failed(answer, "bad answer", "the model refused")
    if not text.strip():
        raise _failed(answer, "empty answer", "")
    start = text[:_PAGE_CHARS].lstrip().casefold()
    if start.startswith(_PAGES):
        raise _failed(answer, "broken answer", "a web page instead of an answer")
    if counter.count(text) > _TOO_LONG * request.max_tokens:
        raise _failed(answer, "bad answer", "far longer than it was asked to be")


def judge_note(
    answer: SummaryAnswer,
    request: SummaryRequest,
    note: Summary,
    *,
    has_sections: bool,
    languages: frozenset[Language],
) -> None:
    """Raise `SummarizerFailed` for an answer that holds no usable note."""
    entries = [row.text for rows in note.sections.values() for row in rows]
    if not has_sections:
        start = answer.text[:_REFUSAL_CHARS].casefold().replace("’", "'")
        refused = any(words in start for words in REFUSALS)
        said = "the model refused" if refused else "no section of a note in it"
        raise _failed(answer, "bad answer", said)
    if answer.stopped == "length" and len(entries) < _LEAST_ENTRIES:
        raise _failed(answer, "bad answer", "cut off before anything was told")
    if not entries:
        raise _failed(answer, "empty answer", "every section is empty")
    if _echoes(entries, request.instructions):
        raise _failed(answer, "bad answer", "it repeats what it was told to do")
    if _copies(note, request.prompt):
        raise _failed(answer, "bad answer", "it copies the record instead of telling it")
    if wrong_language(note, note.language, languages):
        raise _failed(answer, "bad answer", "it is in another language")


def _echoes(entries: list[str], instructions: str) -> bool:
    same = sum(len(row) >= _ECHO_CHARS and row in instructions for row in entries)
    return same >= max(2, _ECHO_SHARE * len(entries))


def _copies(note: Summary, prompt: str) -> bool:
    """Return whether most of a note is long stretches of the material, letter for letter."""
    rows = [
        row.text
        for section, rows in note.sections.items()
        if section not in _QUOTING
        for row in rows
    ]
    copied = sum(len(row) for row in rows if len(row) >= _COPY_CHARS and _core(row) in prompt)
    return copied >= _COPIED_CHARS and copied >= _COPIED_SHARE * sum(map(len, rows))


def _core(text: str) -> str:
    """Return a stretch of the middle: the ends may have been trimmed."""
    line = max(text.split("\n"), key=len)
    return line[len(line) // 8 : len(line) - len(line) // 8]


def _failed(answer: SummaryAnswer, kind: FailureKind, said: str) -> SummarizerFailed:
    return SummarizerFailed(kind, answer.model or "summarizer", said)
