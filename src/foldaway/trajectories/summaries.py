"""The text of a summary turn: from the facts of the folded turns, or by a model that is checked."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from math import ceil
from typing import TypeAlias

from msgspec import Struct
from msgspec.structs import asdict, replace

from foldaway._core import Policy, Redact, SummaryAnswer, SummaryRequest, TokenCounter
from foldaway.compaction import CompactionState, Partition, carried_in, joined
from foldaway.errors import SummarizerFailed
from foldaway.facts import FactReader, LogReading, Summary, merged_summaries, summary_text
from foldaway.facts.languages import phrases_for
from foldaway.facts.ledger import Around, Ledger, summarize
from foldaway.summarizers import Material
from foldaway.summarizers.asking import Asking, begin
from foldaway.summarizers.gate import Checked, check_note
from foldaway.trajectories.region import Region
from foldaway.transcript import Message, is_ask, whole_view

ATTEMPTS = 3
"""How often the same is asked if the answer is of no use."""
_ROUNDS = 8
"""How often a summary is rendered again because it was over its budget; two or three mostly do."""
_START_CHARS = 1_500
"""The start of a text that is counted to guess the tokens of all of it: a page."""
_READ_CHARS_PER_TOKEN = 8
"""The characters at the end of the fold that are read line by line for each token of the summary;
of what is older only what was asked, done, and went wrong. More is slower, and finds more that is
far away and less that is used next (`python bench/trajectories.py --quality --limit 12`)."""
_POLICY = Policy()


class WrittenSummary(Struct, frozen=True):
    """What a writer gave: "" if it failed; the counts are those of `Metrics`."""

    text: str
    summary_calls: int = 0
    errors: int = 0
    verified: int = 0
    added: int = 0
    dropped: int = 0
    contradicted: int = 0


def sum_counts(written: Iterable[WrittenSummary]) -> dict[str, int]:
    """Return everything but the texts, added up."""
    sums = Counter[str]()
    for one in written:
        sums.update({name: n for name, n in asdict(one).items() if name != "text"})
    return dict(sums)


SummaryWriter: TypeAlias = Callable[[Sequence[Message], Region, int], WrittenSummary]
"""From the turns, the region and a budget in tokens, the text of the summary turn."""


class ModelQuestion(Struct, frozen=True):
    """What a model is asked; `attempt` counts up if its answer was of no use."""

    request: SummaryRequest
    attempt: int = 0


class ModelAnswer(Struct, frozen=True):
    """What came of a question: None if every try failed, and how many tries did."""

    answer: SummaryAnswer | None
    failed: int = 0


Ask: TypeAlias = Callable[[ModelQuestion], ModelAnswer]
"""Waits for an answer; raises `BatchStopped` if none will come, now or later."""


class SummaryModel(Struct, frozen=True, kw_only=True):
    """Who is asked, and with what."""

    name: str
    context_length: int
    """What it reads and writes in one request, in tokens; 0 if nobody knows."""
    counter: TokenCounter
    redact: Redact


class RegionFacts(Struct, frozen=True):
    """What the folded turns said and did, before it is cut to its room."""

    ledger: Ledger
    around: Around
    carried: Summary | None
    """Summaries of an earlier run among the turns."""

    @property
    def summary(self) -> Summary:
        """All of it as one summary, what was carried over included; entries name their sources."""
        made = summarize(self.ledger, self.around)
        return made if self.carried is None else self.carried.merge(made)


def region_summary(
    messages: Sequence[Message], region: Region, counter: TokenCounter, redact: Redact, tokens: int
) -> Summary:
    """Return what the folded turns said and did, for a summary of about `tokens`.

    Summaries of an earlier run among them are carried over. Entries name no sources: the turns
    that they come from are in no record any more.
    """
    readings = LogReading(counter, _POLICY, redact)
    return _without_sources(_read_facts(messages, region, readings, tokens).summary)


def _read_facts(
    messages: Sequence[Message], region: Region, readings: LogReading, tokens: int
) -> RegionFacts:
    """Return the facts of the folded turns, for a summary of about `tokens`."""
    counter, redact = readings.counter, readings.redact
    folded = messages[region.start : region.stop]
    reader = FactReader(folded, readings, lines_of=tokens * _READ_CHARS_PER_TOKEN)
    ledger = reader.ledger(len(folded))
    kept = [*range(region.start), *range(region.stop, len(messages))]
    around = Around(
        room_chars=tokens / ledger.tokens_per_char(_CountsStart(counter)),
        kept=frozenset(messages[at].label for at in kept),
        newer_asks=any(is_ask(message) for message in messages[region.stop :]),
        brief=True,
    )
    merged = {at - region.start: body for at, body in merged_summaries(messages).items()}
    carried = [redact(one) for one in carried_in(folded, merged)]
    return RegionFacts(ledger, around, CompactionState().with_carried(carried).carried)


def _without_sources(summary: Summary) -> Summary:
    """Return the summary with entries that name no message."""
    sections = {
        name: tuple(replace(entry, source="") for entry in entries)
        for name, entries in summary.sections.items()
    }
    return replace(summary, sections=sections)


def frame_summary(
    summary: Summary, region: Region, counter: TokenCounter, redact: Redact, budget_tokens: int
) -> str:
    """Return the summary in its frame, which marks it as not a user's words, within the budget.

    What is left out is chosen by length; the text as a whole is counted. If no entry fits, the
    text is the smallest one, which says how many turns were left out and is never cut.
    """
    room = budget_tokens - counter.count(summary_text("", "", brief=True))
    words = "\n".join([entry.text for rows in summary.sections.values() for entry in rows])
    by_length = _ByLength(_CountsStart(counter).count(words) / max(len(words), 1))
    for _ in range(_ROUNDS):
        body = summary.render(by_length, max(room, 1))
        text = summary_text(redact(_without_empty(body, summary)), "", brief=True)
        excess = counter.count(text) - budget_tokens
        if excess <= 0:
            return text
        if room <= 1:
            break
        # less than was taken, or the same entries would come again
        room = min(room - excess, by_length.count(body) - 1)
    return smallest_summary(region.stop - region.start)


class _CountsStart:
    """Counts the start of a text, and takes it for the rest: a guess that costs little."""

    is_estimate = True

    def __init__(self, counter: TokenCounter) -> None:
        self.name = counter.name
        self._counter = counter

    def count(self, text: str) -> int:
        """Return about what a text costs."""
        start = text[:_START_CHARS]
        return self._counter.count(start) * len(text) // max(len(start), 1)


class _ByLength:
    """Counts characters at a rate."""

    name = "length"
    is_estimate = True

    def __init__(self, per_char: float) -> None:
        self._per_char = per_char

    def count(self, text: str) -> int:
        """Return about what a text costs."""
        return ceil(len(text) * self._per_char)


def _without_empty(body: str, summary: Summary) -> str:
    """Return the rendered summary without the headings that have nothing under them."""
    none = phrases_for(summary.language).none
    blocks = body.split("\n\n## ")
    return "\n\n## ".join(blocks[:1] + [one for one in blocks[1:] if not one.endswith(f"\n{none}")])


class CheckedNote(Struct, frozen=True):
    """What a model said of a region as far as it holds; None if it said nothing of use."""

    checked: Checked | None
    calls: int
    errors: int


class PendingQuestion(Struct, frozen=True):
    """A question, and all that there is to ask with it."""

    question: ModelQuestion
    asking: Asking


def model_writer(model: SummaryModel, ask: Ask) -> SummaryWriter:
    """Return what writes summaries by asking a model.

    Question, reading and gate are those of a live compaction: the ledger's entries have their
    share first, and what the model says that is not in the turns is dropped. If no answer is of
    use nothing is written, and the ledger's summary takes its place. The same answers give the
    same text.
    """

    def write(messages: Sequence[Message], region: Region, room: int) -> WrittenSummary:
        material, facts = region_material(messages, region, model, room)
        found = ask_model(material, model, lambda pending: ask(pending.question))
        counts = {"summary_calls": found.calls, "errors": found.errors}
        if found.checked is None:
            return WrittenSummary(text="", **counts)
        note, ledger = found.checked.summary, facts.summary
        both = joined(note, ledger, facts.around.room_chars)
        shown = _without_sources(both.summary)
        text = frame_summary(shown, region, model.counter, model.redact, room)
        return WrittenSummary(
            text=text,
            verified=found.checked.verified,
            added=both.count_verified(text),
            dropped=found.checked.dropped,
            contradicted=found.checked.contradicted,
            **counts,
        )

    return write


def region_material(
    messages: Sequence[Message], region: Region, model: SummaryModel, summary_tokens: int
) -> tuple[Material, RegionFacts]:
    """Return what a model is asked about and checked by, the same value as in a compaction, and
    the facts of the region.
    """
    readings = LogReading(model.counter, _POLICY, model.redact)
    facts = _read_facts(messages, region, readings, summary_tokens)
    material = Material(
        log=messages,
        view=whole_view(len(messages)),
        state=CompactionState(carried=facts.carried),
        partition=Partition(region.start, region.stop, (), 0),
        ledger=facts.ledger,
        ledger_summary=facts.summary,
        summary_tokens=summary_tokens,
        counter=model.counter,
        redact=model.redact,
    )
    return material, facts


def ask_model(
    material: Material, model: SummaryModel, answer: Callable[[PendingQuestion], ModelAnswer]
) -> CheckedNote:
    """Ask until everything is told, or until an answer was of no use `ATTEMPTS` times.

    No date is named: the same turns are the same question on every day.
    """
    asking = begin(material, now="", summarizer_window=model.context_length)
    calls = errors = attempt = 0
    checked = None
    while attempt < ATTEMPTS and (request := asking.request) is not None:
        got = answer(PendingQuestion(ModelQuestion(request, attempt), asking))
        calls += got.failed + (got.answer is not None)
        errors += got.failed
        if got.answer is None:
            break
        try:
            taken = asking.take(got.answer)
            if taken.prose is not None and taken.prose.sections:
                checked = check_note(taken.prose, material, now="", name=model.name)
        except SummarizerFailed:
            errors, attempt = errors + 1, attempt + 1
        else:
            asking, attempt = taken, 0
    return CheckedNote(checked, calls, errors)


def write_left_out(messages: Sequence[Message], region: Region, room: int) -> WrittenSummary:
    """Say in the frame of a summary how many turns there were, and nothing else."""
    return WrittenSummary(text=smallest_summary(region.stop - region.start))


def smallest_summary(turns: int) -> str:
    """Return the smallest summary: its frame, and how many turns were left out."""
    said = f"{turns:,} turns were left out here." if turns > 1 else "One turn was left out here."
    return summary_text(said, "", brief=True)
