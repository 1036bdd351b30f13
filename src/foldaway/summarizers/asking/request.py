"""Asking a model for a note, as steps of values: `begin`, then `request` and
`take` by turns.

    asking = begin(material, now="2026-11-15", summarizer_window=128_000)
    while (request := asking.request) is not None:
        asking = asking.take(summarizer.summarize(request, timeout))
    prose = asking.prose

Nothing here calls anybody: a driver that waits and one that awaits share every line of it.
"""

from __future__ import annotations

from math import ceil, inf

from msgspec import Struct
from msgspec.structs import replace

from foldaway._core import CachedPrefix, Redact, SummaryAnswer, SummaryRequest, TokenCounter
from foldaway.compaction import PROSE_SHARE, joined
from foldaway.facts import SECTIONS, Summary, cut
from foldaway.facts.languages import Language, phrases_for
from foldaway.summarizers import prompts
from foldaway.summarizers.asking.answer import ANSWER_SCHEMA, EMPTY_ANSWER, merge_prose, read_answer
from foldaway.summarizers.asking.record import Chunk, PackedRecord, pack, shorten, tool_names, turn
from foldaway.summarizers.gate.judge import judge_note, judge_text
from foldaway.summarizers.material import Material
from foldaway.summarizers.prompts import PromptTerms
from foldaway.transcript import MESSAGE_OVERHEAD_TOKENS, REPLY_PRIMING_TOKENS, texts

_ASSUMED_WINDOW = 32_000
"""If nobody knows what the summarizer can read; that of small local models."""
_OUTPUT = 1.3
"""How much longer than its budget an answer may be; the form that it is written in comes on top.
docs/summarizers.md says so, under *What is sent*."""
_LEAST_BUDGET_TOKENS = 400
"""In less no model says anything of use; chosen."""
_LARGEST_OUTPUT_SHARE = 0.3
"""Of the summarizer's window, for its answer; chosen: with the two below half is left for the
record."""
_LARGEST_BUDGET_SHARE = 0.15
"""Of the summarizer's window, for the summary that is asked for; chosen."""
_LARGEST_NOTE_SHARE = 0.2
"""These three of the summarizer's window; chosen, so that half of it is left for the record."""
_LEAST_ROOM_TOKENS = 300
"""In less there is no turn worth reading; the ledger tells of it."""
_SURELY = 0.97
"""Estimates of parts do not add up to the estimate of the whole."""
_AROUND_TOKENS = 2 * MESSAGE_OVERHEAD_TOKENS + REPLY_PRIMING_TOKENS
_REMEMBERED_CHARS = 2_000
"""What is shown of the words of memory; chosen."""
_FOCUS_CHARS = 400
"""What is shown of the focus; chosen."""
_LATEST_CHARS = 240
"""What is shown of each of the last asks; chosen."""
_UNTIL_CHARS = 80
"""What is shown of the memory's words, the focus, each of the last asks, and the first message that
stays: enough to know them by."""
_LATEST = 3
"""How many of the last asks are shown."""


class Asking(Struct, frozen=True, kw_only=True):
    """Where the asking stands: what was found so far and what is still to be read."""

    terms: PromptTerms
    chunks: tuple[Chunk, ...]
    left: tuple[int, ...]
    """Log positions that no request tells of: the oldest, left to the ledger."""
    at: int = 0
    """How many answers were taken."""
    found: Summary | None = None
    """The note so far, that of an earlier compaction included."""
    ledger_summary: Summary
    """What the ledger tells, without its excerpts: shown with the note, for the model to add to."""
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
        """The next request, None if everything is read; within the summarizer's window."""
        if self.at >= len(self.chunks):
            return None
        note = self.note
        told = self.redact(self._instructions())
        record = self.chunks[self.at].record
        prompt = self._prompt(record, note)
        room = self.window - self.max_tokens - self.counter.count(told) - _AROUND_TOKENS
        while (excess := self.counter.count(prompt) - room) > 0 and len(record) > 1:
            most = self.counter.count(record) - ceil(1.1 * excess)
            shorter = shorten(record, self.counter, max(most, 1))
            record = shorter if len(shorter) < len(record) else ""
            prompt = self._prompt(record, note)
        return SummaryRequest(
            instructions=told,
            prompt=prompt,
            max_tokens=self.max_tokens,
            schema=ANSWER_SCHEMA,
            prefix=self.prefix,
        )

    @property
    def prose(self) -> Summary | None:
        """The note if everything is read; None before, and if there was nothing to read."""
        return self.found if self.at >= len(self.chunks) else None

    @property
    def note(self) -> str:
        """What the ledger and the model have told so far, as it is shown."""
        note = joined(self.found or Summary({}), self.ledger_summary, inf).summary
        text = replace(note, brief=True).render(self.counter, self.note_tokens)
        for section in SECTIONS:
            heading = phrases_for(note.language).headings[section]
            text = text.replace(f"## {heading}\n", f"## {section}\n")
        return self.redact(text)

    def take(self, answer: SummaryAnswer) -> Asking:
        """Return the asking with an answer to its request; raises `SummarizerFailed` if the answer
        is empty, broken or no note. This one is unchanged, so it can be asked again.
        """
        request = self.request
        if request is None:
            return self
        judge_text(answer, request, self.counter)
        is_cut = answer.stopped == "length"
        # before it is read: entries are cut, and a piece of a secret is none that is known
        text = self.redact(answer.text)
        read = read_answer(text, self.terms.language, is_cut=is_cut)
        if read.adds_nothing:
            return replace(self, at=self.at + 1, found=self.found or read.summary)
        judge_note(
            answer, request, read.summary, has_sections=read.has_sections, languages=self.languages
        )
        note = _redact_note(read.summary, self.redact)
        return replace(self, at=self.at + 1, found=merge_prose(self.found, note))

    def count_rest(self) -> tuple[int, int]:
        """Return how many requests are left, and their tokens; the note in those to come is taken
        as full.
        """
        request, count = self.request, self.counter.count
        if request is None:
            return 0, 0
        told, later = count(prompts.instructions(self.terms)), self.chunks[self.at + 1 :]
        first = count(request.instructions) + count(request.prompt)
        rest = sum(told + self.note_tokens + count(chunk.record) for chunk in later)
        return 1 + len(later), first + rest

    def _instructions(self) -> str:
        if self.prefix is not None:
            return prompts.prefix_instructions(self.terms, self.until)
        return prompts.instructions(self.terms)

    def _prompt(self, record: str, note: str) -> str:
        return prompts.prompt(record, note, number=self.at + 1, total=len(self.chunks))


def begin(
    material: Material,
    *,
    now: str,
    summarizer_window: int,
    most_calls: int = 8,
    prefix: CachedPrefix | None = None,
) -> Asking:
    """Return what would be asked about the material; nothing is asked yet, so it can be shown.

    `now` is a date, `summarizer_window` the tokens that the summarizer reads and writes in one
    request, 0 if nobody knows. What is newly folded is read in at most `most_calls` pieces, the
    newest; with a `prefix`, in one, as the model has it before it already. Only as much of the log
    is read as the requests can hold.
    """
    window = summarizer_window or _ASSUMED_WINDOW
    wanted = max(int(material.summary_tokens * PROSE_SHARE), _LEAST_BUDGET_TOKENS)
    budget = max(min(wanted, int(window * _LARGEST_BUDGET_SHARE)), 1)
    told = dict(material.ledger_summary.sections)
    told.pop("critical", None)
    asking = Asking(
        terms=_terms(material, now, budget),
        chunks=(),
        left=(),
        found=material.state.prose,
        ledger_summary=replace(material.ledger_summary, sections=told),
        window=window,
        max_tokens=min(
            ceil(budget * _OUTPUT) + material.counter.count(EMPTY_ANSWER),
            max(int(window * _LARGEST_OUTPUT_SHARE), ceil(budget * _OUTPUT)),
        ),
        note_tokens=int(min(material.summary_tokens, window * _LARGEST_NOTE_SHARE)),
        languages=material.languages,
        counter=material.counter,
        redact=material.redact,
        prefix=prefix,
        until=_until(material) if prefix else "",
    )
    positions = material.new_positions()
    if prefix is not None:
        chunks = (Chunk("", tuple(positions)),) if positions else ()
        return replace(asking, chunks=chunks)
    packed = _pack_record(material, asking, positions, most_calls)
    return replace(asking, chunks=packed.chunks, left=packed.left)


def _redact_note(note: Summary, redact: Redact) -> Summary:
    sections = {
        name: tuple(replace(row, text=redact(row.text)) for row in rows)
        for name, rows in note.sections.items()
    }
    return replace(note, sections=sections)


def _pack_record(
    material: Material, asking: Asking, positions: list[int], most: int
) -> PackedRecord:
    """Return the chunks; one if everything fits, and then the note does not grow on the way."""
    names = tool_names(material.log)

    def turn_at(at: int) -> str:
        return turn(material.log[at], names, material.redact)

    def packed(note_tokens: int, calls: int) -> PackedRecord:
        room = int((_room(asking) - note_tokens) * _SURELY)
        if room < _LEAST_ROOM_TOKENS:
            return PackedRecord((), tuple(positions))
        return pack(positions, turn_at, material.counter, room_tokens=room, most=calls)

    whole = packed(material.counter.count(asking.note), 1)
    if not whole.left or most == 1:
        return whole
    return packed(asking.note_tokens, most)


def _room(asking: Asking) -> int:
    """Return the tokens that a request has for the record and the note."""
    told = asking.counter.count(prompts.instructions(asking.terms))
    around = asking.counter.count(prompts.prompt("x", "x", number=8, total=8))
    return asking.window - asking.max_tokens - told - around - _AROUND_TOKENS


def _terms(material: Material, now: str, budget: int) -> PromptTerms:
    redact, options = material.redact, material.options
    focus = cut(redact(options.focus), _FOCUS_CHARS)
    return PromptTerms(
        language=material.language,
        budget_tokens=budget,
        date=now,
        focus=focus,
        latest=() if focus else _latest(material),
        remembered=cut(redact(options.remembered), _REMEMBERED_CHARS),
    )


def _latest(material: Material) -> tuple[str, ...]:
    """Return what the user wrote last, also what stays live: it tells what matters now."""
    found: list[str] = []
    for at in range(len(material.log) - 1, -1, -1):
        if len(found) == _LATEST:
            break
        if words := material.said_by_user(at, 4 * _LATEST_CHARS):
            found.append(cut(words, _LATEST_CHARS))
    return tuple(reversed(found))


def _until(material: Material) -> str:
    """Return the first words of what stays, "" if it begins without any."""
    for message in material.log[material.partition.tail_start :]:
        words = " ".join(texts(message)).strip()
        if words:
            return cut(material.redact(words[: 4 * _UNTIL_CHARS]), _UNTIL_CHARS)
    return ""
