"""What a summary is written from and checked against: the log, what is folded, the facts."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from foldaway._core import Redact, TokenCounter
from foldaway.compaction import CompactionState, Options, Partition, Plan
from foldaway.facts import Summary, language_of, own_words
from foldaway.facts.languages import Language
from foldaway.facts.ledger import Ledger
from foldaway.transcript import Folded, Message, View, is_ask, texts

_LATEST_ASKS = 8
"""How many of the newest asks say which languages the user speaks; chosen."""
_LAST_ASKS = 4
"""How many of the newest asks decide the language of the note; chosen."""
_ASK_CHARS = 400
"""How much of each of those is read; a language shows in less."""
_LEAST_WORDS = 4
"""An ask of fewer words says nothing of its language."""


class Material(Struct, frozen=True, kw_only=True):
    """What a model is asked about, and what its answer is checked against."""

    log: Sequence[Message]
    view: View
    state: CompactionState
    """What earlier compactions left; its prose, and the summary that was carried in, are read."""
    partition: Partition
    ledger: Ledger
    """The facts of what is folded."""
    ledger_summary: Summary
    """What they make without a model: it is shown to one, which adds to it."""
    summary_tokens: int
    """The room of the whole summary."""
    counter: TokenCounter
    redact: Redact
    options: Options = Options()
    """Its focus and what the memory has to say are read."""

    @property
    def language(self) -> Language:
        """The language that the note is to be in: that of the last asks."""
        asks = self.ledger.asks[-_LAST_ASKS:]
        return language_of("\n".join(ask.fact.text[:_ASK_CHARS] for ask in asks))

    @property
    def languages(self) -> frozenset[Language]:
        """The languages that the user wrote in lately; none if too little tells."""
        asks = [ask.fact.text for ask in self.ledger.asks[-_LATEST_ASKS:]]
        return frozenset(
            language_of(text)
            for text in asks
            if len(text.split()) >= _LEAST_WORDS or not text.isascii()
        )

    def said_by_user(self, at: int, most_chars: int) -> str:
        """Return what the user wrote in a message, redacted, without what agents put into it."""
        message = self.log[at]
        if not is_ask(message):
            return ""
        words = max((own_words(one) for one in texts(message)), key=len, default="")
        return self.redact(words[:most_chars]) if words else ""

    def new_positions(self) -> list[int]:
        """Return the positions that a note has to tell of: real messages that are folded.

        Those that were folded before a model wrote of them are known to it.
        """
        known: set[int] = set()
        if self.state.prose is not None:
            for item in self.view.items:
                if isinstance(item, Folded):
                    known.update(range(item.start, min(item.stop, self.state.prose_to)))
        return [
            at
            for start, stop in self.partition.folds()
            for at in range(start, stop)
            if at not in known and not self.log[at].is_generated
        ]


def material_of(plan: Plan) -> Material:
    """Return what a plan gives a model to write about."""
    work = plan.work
    return Material(
        log=work.log,
        view=work.view,
        state=work.state,
        partition=plan.choice.partition,
        ledger=plan.told,
        ledger_summary=plan.ledger_summary(),
        summary_tokens=plan.choice.summary_tokens,
        counter=work.counter,
        redact=work.redact,
        options=work.options,
    )
