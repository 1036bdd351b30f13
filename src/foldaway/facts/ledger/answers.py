"""What must not be asked or weighed again: questions with their answers, and decisions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from foldaway.facts.dialogue.cues import cue_table, fields_of, language_once
from foldaway.facts.dialogue.text import words_of
from foldaway.facts.ledger.fact import Ask, Fact, Ledger
from foldaway.facts.ledger.lines import cut
from foldaway.facts.summary import ASK, Entry

_QUESTION_CHARS = 240
"""Of a question, or of several that one answer is for; chosen, about two lines."""
SETTLED = ASK + 0.5
"""Before the asks between the first and the newest: there are many, and this has a small share."""


def answered_questions(ledger: Ledger, asks: Sequence[Ask]) -> list[Entry]:
    """Return the questions of both sides with their answers, in order; of the user's those among
    `asks`. Several that one message asks stand together.
    """
    rows = sorted([*_of_agent(ledger), *_of_user(asks)], key=lambda row: row[0].at)
    return [Entry(text, fact.source, SETTLED) for fact, text in rows]


def _of_agent(ledger: Ledger) -> Iterator[tuple[Fact, str]]:
    asked: dict[str, list[Fact]] = {}
    for question in ledger.questions:
        if question.answer:
            asked.setdefault(question.answered_by, []).append(question.fact)
    answers = {question.answered_by: question.answer for question in ledger.questions}
    for source, facts in asked.items():
        words = " ".join(dict.fromkeys(fact.text for fact in facts))
        yield facts[-1], f"{cut(words, _QUESTION_CHARS)} -> {answers[source]}"


def _of_user(asks: Sequence[Ask]) -> Iterator[tuple[Fact, str]]:
    for ask in asks:
        if ask.answer:
            yield ask.fact, f"{cut(ask.fact.text, _QUESTION_CHARS)} -> {ask.answer}"


def decided(facts: Sequence[Fact]) -> tuple[list[Entry], list[float]]:
    """Return decisions as entries, and their ranks: those that give a reason come first."""
    entries = [Entry(fact.text, fact.source, SETTLED) for fact in facts]
    return entries, [float(_is_reasoned(fact.text)) for fact in facts]


def _is_reasoned(text: str) -> bool:
    names = fields_of(cue_table("reasons"), text, words_of(text), language_once(text))
    return "reasons" in names
