"""The summary of a region, made from its facts without a model."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil

from msgspec import Struct
from msgspec.structs import replace

from holdfast.compaction.index import Readings, ScannedIndex
from holdfast.compaction.state import CompactionState, carried_in, rehydrated
from holdfast.facts.frame import merged_summaries, summary_text
from holdfast.facts.languages import phrases_for
from holdfast.facts.ledger import Around, Ledger, summarise, tokens_per_char, update
from holdfast.facts.summary import Summary, merged, render_summary
from holdfast.policy import Policy
from holdfast.ports import Redact, TokenCounter
from holdfast.trajectories.region import Region
from holdfast.transcript import Message, is_ask, whole

_ROUNDS = 8
_READ = Policy()
_START_CHARS = 1_500
_READ_CHARS_PER_TOKEN = 8
"""So much at the end of the fold is read line by line for each token of the summary; of what is
older only what was asked, done, and went wrong. More is slower, and finds more that is far away
and less that is used next (`python bench/trajectories.py --quality --limit 12`)."""


class Told(Struct, frozen=True):
    """What the folded turns said and did, before it is cut to its room."""

    ledger: Ledger
    around: Around
    index: ScannedIndex
    carried: Summary | None
    """Summaries of an earlier run among the turns."""

    @property
    def summary(self) -> Summary:
        """All of it as one summary, what was carried over included; entries name their sources."""
        made = summarise(self.ledger, self.around)
        return made if self.carried is None else merged(self.carried, made)


def region_told(
    messages: Sequence[Message], region: Region, counter: TokenCounter, redact: Redact, tokens: int
) -> Told:
    """Return the facts of the folded turns, for a summary of about `tokens`; the index is of all
    turns, as a model is asked about the whole record.
    """
    readings = Readings(counter, _READ, redact, references=False)
    index = ScannedIndex(messages, whole(len(messages)), readings)
    return replace(_told(messages, region, readings, tokens), index=index)


def _told(messages: Sequence[Message], region: Region, readings: Readings, tokens: int) -> Told:
    """Return the same with an index of the folded turns alone, which is soon made."""
    counter, redact = readings.counter, readings.redact
    folded = messages[region.start : region.stop]
    index = ScannedIndex(
        folded, whole(len(folded)), readings, lines_of=tokens * _READ_CHARS_PER_TOKEN
    )
    ledger = update(Ledger(), index.facts(0, len(folded)))
    kept = [*range(region.start), *range(region.stop, len(messages))]
    around = Around(
        room_chars=tokens / tokens_per_char(ledger, _Start(counter)),
        live_asks=frozenset(messages[at].label for at in kept if is_ask(messages[at])),
        newer_asks=any(is_ask(message) for message in messages[region.stop :]),
        brief=True,
    )
    merged = {at - region.start: body for at, body in merged_summaries(messages).items()}
    carried = [redact(one) for one in carried_in(folded, merged)]
    return Told(ledger, around, index, rehydrated(CompactionState(), carried).carried)


def region_summary(
    messages: Sequence[Message], region: Region, counter: TokenCounter, redact: Redact, tokens: int
) -> Summary:
    """Return what the folded turns said and did, for a summary of about `tokens`.

    Summaries of an earlier run among them are carried over. Entries name no sources: the turns
    that they come from are in no record any more.
    """
    readings = Readings(counter, _READ, redact, references=False)
    return without_sources(_told(messages, region, readings, tokens).summary)


def without_sources(summary: Summary) -> Summary:
    """Return the summary with entries that name no message."""
    sections = {
        name: tuple(replace(entry, source="") for entry in entries)
        for name, entries in summary.sections.items()
    }
    return replace(summary, sections=sections)


def framed_summary(
    summary: Summary, counter: TokenCounter, redact: Redact, budget_tokens: int
) -> str:
    """Return the summary in its frame, which tells it from a user's words, within the budget.

    The frame itself is never cut: in a budget that is smaller the text is over it. What is left
    out is chosen by length; the text as a whole is counted.
    """
    room = budget_tokens - counter.count(summary_text("", "", brief=True))
    words = "\n".join([entry.text for rows in summary.sections.values() for entry in rows])
    by_length = _ByLength(_Start(counter).count(words) / max(len(words), 1))
    text = ""
    for _ in range(_ROUNDS):
        body = redact(_without_empty(render_summary(summary, by_length, max(room, 1)), summary))
        text = summary_text(body, "", brief=True)
        excess = counter.count(text) - budget_tokens
        if excess <= 0 or room <= 1:
            break
        room -= excess
    return text


class _Start:
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
