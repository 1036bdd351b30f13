"""The summary of a region, made from its facts without a model."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

from msgspec import Struct
from msgspec.structs import replace

from holdfast.pipeline.dialogue.phrases import phrases_for
from holdfast.pipeline.frame import summary_text
from holdfast.pipeline.index import Readings, ScannedIndex
from holdfast.pipeline.ledger import Around, Fact, Ledger, summarise, tokens_per_char, update
from holdfast.pipeline.measure import text_length
from holdfast.pipeline.state import CompactionState, carried_in, rehydrated
from holdfast.pipeline.summary import Summary, merged, render_summary
from holdfast.policy import Policy
from holdfast.ports import Redact, TokenCounter
from holdfast.trajectories.region import Region
from holdfast.transcript import Message, is_ask, whole

_ROUNDS = 8
_READ = Policy()
_READ_CHARS_PER_TOKEN = 48
"""So much is read line by line for each token of the summary."""


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
    """Return the facts of the folded turns, for a summary of about `tokens`."""
    readings = Readings(counter, _READ, redact, references=False)
    index = ScannedIndex(messages, whole(len(messages)), readings)
    ledger = update(Ledger(), _facts(messages, region, index, tokens))
    kept = [*range(region.start), *range(region.stop, len(messages))]
    around = Around(
        room_chars=tokens / tokens_per_char(ledger, counter),
        live_asks=frozenset(messages[at].label for at in kept if is_ask(messages[at])),
        newer_asks=any(is_ask(message) for message in messages[region.stop :]),
        brief=True,
    )
    carried = [redact(one) for one in carried_in(messages[region.start : region.stop])]
    return Told(ledger, around, index, rehydrated(CompactionState(), carried).carried)


def region_summary(
    messages: Sequence[Message], region: Region, counter: TokenCounter, redact: Redact, tokens: int
) -> Summary:
    """Return what the folded turns said and did, for a summary of about `tokens`.

    Summaries of an earlier run among them are carried over. Entries name no sources: the turns
    that they come from are in no record any more.
    """
    return without_sources(region_told(messages, region, counter, redact, tokens).summary)


def _facts(
    messages: Sequence[Message], region: Region, index: ScannedIndex, tokens: int
) -> Iterator[Fact]:
    """Yield the facts of a region; only near its end, and of users, every line is read.

    A summary has room for one line in dozens: what is older is told by what was asked and done.
    """
    lines_from, chars = region.stop, 0
    while lines_from > region.start and chars <= tokens * _READ_CHARS_PER_TOKEN:
        lines_from -= 1
        chars += text_length(messages[lines_from])
    older = range(region.start, lines_from)
    for asks, positions in groupby(older, lambda at: is_ask(messages[at])):
        if not asks:
            yield from index.deeds(list(positions))
            continue
        for at in positions:
            yield from index.facts(at, at + 1)
    yield from index.facts(lines_from, region.stop)


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

    The frame itself is never cut: in a budget that is smaller the text is over it.
    """
    room = budget_tokens - counter.count(summary_text("", "", brief=True))
    text = ""
    for _ in range(_ROUNDS):
        body = redact(_without_empty(render_summary(summary, counter, max(room, 1)), summary))
        text = summary_text(body, "", brief=True)
        excess = counter.count(text) - budget_tokens
        if excess <= 0 or room <= 1:
            break
        room -= excess
    return text


def _without_empty(body: str, summary: Summary) -> str:
    """Return the rendered summary without the headings that have nothing under them."""
    none = phrases_for(summary.language).none
    blocks = body.split("\n\n## ")
    return "\n\n## ".join(blocks[:1] + [one for one in blocks[1:] if not one.endswith(f"\n{none}")])
