"""Asking a model for a note, as steps of values: `begin`, then `request` and `take` by turns.

    asking = begin(plan, now="2026-11-15", summarizer_window=128_000)
    while (request := asking.request) is not None:
        asking = take(asking, summarizer.summarise(request, timeout))
    prose = asking.prose

Nothing here calls anybody: a driver that waits and one that awaits share every line of it.
"""

from __future__ import annotations

from math import ceil

from msgspec import Struct
from msgspec.structs import replace

from holdfast.compaction.compact import Plan
from holdfast.compaction.join import PROSE_SHARE
from holdfast.facts.dialogue.cues import language_of
from holdfast.facts.languages import Language, phrases_for
from holdfast.facts.ledger.injected import own_words
from holdfast.facts.ledger.lines import cut
from holdfast.facts.summary import SECTIONS, Summary, render_summary
from holdfast.ports import CachedPrefix, Redact, SummaryAnswer, SummaryRequest, TokenCounter
from holdfast.tokens import MESSAGE_OVERHEAD_TOKENS, REPLY_PRIMING_TOKENS
from holdfast.transcript import is_ask, texts
from holdfast.writing import prompts
from holdfast.writing.asking.answer import read_answer
from holdfast.writing.asking.chunks import Chunk, Packed, new_positions, pack, shortened
from holdfast.writing.asking.merge import merge_prose
from holdfast.writing.asking.schema import ANSWER_SCHEMA, EMPTY_ANSWER
from holdfast.writing.asking.turns import tool_names, turn
from holdfast.writing.gate.evidence import languages_of
from holdfast.writing.gate.judge import judge_note, judge_text
from holdfast.writing.prompts import Terms

_ASSUMED_WINDOW = 32_000
"""Where nobody knows what the summariser can read."""
_OUTPUT = 1.3
"""How much longer than its budget an answer may be; the form that it is written in comes on top."""
_LARGEST_OUTPUT_SHARE = 0.3
_NOTE = 1.5
"""How much longer than an answer the note may be that goes on from one request to the next."""
_LEAST_BUDGET_TOKENS = 400
_LARGEST_BUDGET_SHARE = 0.15
_LARGEST_NOTE_SHARE = 0.2
"""These three of the summariser's window."""
_LEAST_ROOM_TOKENS = 300
_SURELY = 0.97
"""Estimates of parts do not add up to the estimate of the whole."""
_AROUND_TOKENS = 2 * MESSAGE_OVERHEAD_TOKENS + REPLY_PRIMING_TOKENS
_REMEMBERED_CHARS = 2_000
_FOCUS_CHARS = 400
_LATEST = 3
_LATEST_CHARS = 240
_UNTIL_CHARS = 80


class Asking(Struct, frozen=True, kw_only=True):
    """Where the asking stands: what was found so far and what is still to be read."""

    terms: Terms
    chunks: tuple[Chunk, ...]
    left: tuple[int, ...]
    """Log positions that no request tells of: the oldest, left to the ledger."""
    at: int = 0
    """How many answers were taken."""
    found: Summary | None = None
    """The note so far, that of an earlier compaction included."""
    known: Summary | None = None
    """What an earlier compaction left in the transcript: shown to the model, not gone on from."""
    window: int
    max_tokens: int
    note_tokens: int
    languages: frozenset[Language]
    counter: TokenCounter
    redact: Redact
    prefix: CachedPrefix | None = None
    until: str = ""

    @property
    def calls_planned(self) -> int:
        """How many requests there are in all."""
        return len(self.chunks)

    @property
    def request(self) -> SummaryRequest | None:
        """The next request, None where everything is read; within the summariser's window."""
        if self.at >= len(self.chunks):
            return None
        note = self._note()
        told = self.redact(self._instructions(has_note=bool(note)))
        record = self.chunks[self.at].record
        prompt = self._prompt(record, note)
        room = self.window - self.max_tokens - self.counter.count(told) - _AROUND_TOKENS
        while (excess := self.counter.count(prompt) - room) > 0 and len(record) > 1:
            most = self.counter.count(record) - ceil(1.1 * excess)
            shorter = shortened(record, self.counter, max(most, 1))
            record = shorter if len(shorter) < len(record) else ""
            prompt = self._prompt(record, note)
        return SummaryRequest(
            instructions=told, prompt=prompt, max_tokens=self.max_tokens, schema=ANSWER_SCHEMA,
            prefix=self.prefix,
        )  # fmt: skip

    @property
    def prose(self) -> Summary | None:
        """The note where everything is read; None before, and where there was nothing to read."""
        return self.found if self.at >= len(self.chunks) else None

    def _instructions(self, *, has_note: bool) -> str:
        if self.prefix is not None:
            return prompts.prefix_instructions(self.terms, self.until)
        number = self.found.numbered + 1 if self.found else 1
        return prompts.instructions(self.terms, next_number=number if has_note else None)

    def _prompt(self, record: str, note: str) -> str:
        return prompts.prompt(record, note, number=self.at + 1, total=len(self.chunks))

    def _note(self) -> str:
        note = self.found or self.known
        # a model that has the conversation before it has the older note there too
        if note is None or not note.sections or self.prefix is not None:
            return ""
        text = render_summary(replace(note, brief=True), self.counter, self.note_tokens)
        for section in SECTIONS:
            heading = phrases_for(note.language).headings[section]
            text = text.replace(f"## {heading}\n", f"## {section}\n")
        return self.redact(text)


def begin(
    plan: Plan,
    *,
    now: str,
    summarizer_window: int,
    language: Language | None = None,
    most_calls: int = 8,
    prefix: CachedPrefix | None = None,
) -> Asking:
    """Return what would be asked about a plan; nothing is asked yet, so it can be shown.

    `now` is a date, `summarizer_window` the tokens that the summariser reads and writes in one
    request, 0 where nobody knows. What is folded anew is read in at most `most_calls` pieces, the
    newest; with a `prefix`, in one, as the model has it before it already. Only as much of the log
    is read as the requests can hold.
    """
    work = plan.work
    window = summarizer_window or _ASSUMED_WINDOW
    wanted = max(int(plan.choice.summary_tokens * PROSE_SHARE), _LEAST_BUDGET_TOKENS)
    budget = max(min(wanted, int(window * _LARGEST_BUDGET_SHARE)), 1)
    previous = work.state.prose
    asking = Asking(
        terms=_terms(plan, now, language, budget), chunks=(), left=(), found=previous,
        known=None if previous else work.state.carried, window=window,
        max_tokens=min(
            ceil(budget * _OUTPUT) + work.counter.count(EMPTY_ANSWER),
            max(int(window * _LARGEST_OUTPUT_SHARE), ceil(budget * _OUTPUT)),
        ),
        note_tokens=int(min(budget * _NOTE, window * _LARGEST_NOTE_SHARE)),
        languages=languages_of(plan), counter=work.counter, redact=work.redact, prefix=prefix,
        until=_until(plan) if prefix else "",
    )  # fmt: skip
    positions = new_positions(plan)
    if prefix is not None:
        chunks = (Chunk("", tuple(positions)),) if positions else ()
        return replace(asking, chunks=chunks)
    packed = _packed(plan, asking, positions, most_calls)
    return replace(asking, chunks=packed.chunks, left=packed.left)


def take(asking: Asking, answer: SummaryAnswer) -> Asking:
    """Return the asking with an answer to its request; raises `SummarizerFailed` where the answer
    is empty, broken or no note. The asking that was given is as it was, so it can be asked again.
    """
    request = asking.request
    if request is None:
        return asking
    judge_text(answer, request, asking.counter)
    is_cut = answer.stopped == "length"
    # before it is read: entries are cut, and a piece of a secret is none that is known
    text = asking.redact(answer.text)
    read = read_answer(text, asking.terms.language, is_cut=is_cut)
    judge_note(
        answer, request, read.summary, has_sections=read.form != "words",
        languages=asking.languages,
    )  # fmt: skip
    note = _redacted(read.summary, asking.redact)
    return replace(asking, at=asking.at + 1, found=merge_prose(asking.found, note))


def _redacted(note: Summary, redact: Redact) -> Summary:
    sections = {
        name: tuple(replace(row, text=redact(row.text)) for row in rows)
        for name, rows in note.sections.items()
    }
    return replace(note, sections=sections)


def _packed(plan: Plan, asking: Asking, positions: list[int], most: int) -> Packed:
    """Return the chunks; one where everything fits, and then no room is kept for a note."""
    work = plan.work
    names = tool_names(work.log)

    def turn_at(at: int) -> str:
        return turn(work.log[at], names, work.redact)

    def packed(note_tokens: int, calls: int) -> Packed:
        room = int((_room(asking) - note_tokens) * _SURELY)
        if room < _LEAST_ROOM_TOKENS:
            return Packed((), tuple(positions))
        return pack(positions, turn_at, work.counter, room_tokens=room, most=calls)

    if asking.found is None and asking.known is None:
        whole = packed(0, 1)
        if not whole.left or most == 1:
            return whole
    return packed(asking.note_tokens, most)


def _room(asking: Asking) -> int:
    """Return the tokens that a request has for the record and the note."""
    longer = max(
        asking.counter.count(prompts.instructions(asking.terms, next_number=number))
        for number in (None, 1_000)
    )
    around = asking.counter.count(prompts.prompt("x", "x", number=8, total=8))
    return asking.window - asking.max_tokens - longer - around - _AROUND_TOKENS


def _terms(plan: Plan, now: str, language: Language | None, budget: int) -> Terms:
    work = plan.work
    last = "\n".join(ask.fact.text[:400] for ask in plan.told.asks[-4:])
    focus = cut(work.redact(work.wish.focus), _FOCUS_CHARS)
    return Terms(
        language=language or language_of(last), budget_tokens=budget, date=now, focus=focus,
        latest=() if focus else _latest(plan),
        remembered=cut(work.redact(work.wish.remembered), _REMEMBERED_CHARS),
    )  # fmt: skip


def _latest(plan: Plan) -> tuple[str, ...]:
    """Return what the user wrote last, also where it stays live: it tells what matters now."""
    log, found = plan.work.log, list[str]()
    for at in range(len(log) - 1, -1, -1):
        if len(found) == _LATEST:
            break
        if is_ask(log[at]):
            words = max((own_words(one) for one in texts(log[at])), key=len, default="")
            if words:
                found.append(cut(plan.work.redact(words[: 4 * _LATEST_CHARS]), _LATEST_CHARS))
    return tuple(reversed(found))


def _until(plan: Plan) -> str:
    """Return the first words of what stays, "" where it begins without any."""
    partition, log = plan.choice.partition, plan.work.log
    assert partition is not None
    for message in log[partition.tail_start :]:
        words = " ".join(texts(message)).strip()
        if words:
            return cut(plan.work.redact(words[: 4 * _UNTIL_CHARS]), _UNTIL_CHARS)
    return ""
