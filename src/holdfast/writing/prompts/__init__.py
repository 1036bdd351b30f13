"""What a model is asked: the words, and how they are put together."""

from __future__ import annotations

from msgspec import Struct

from holdfast.facts.languages import Language
from holdfast.writing.prompts import v1

VERSION = 1
"""Which file of words is used; an answer depends on it."""


class PromptTerms(Struct, frozen=True, kw_only=True):
    """What the words are filled with."""

    language: Language
    budget_tokens: int
    date: str = ""
    focus: str = ""
    """The topic that was asked for."""
    latest: tuple[str, ...] = ()
    """What the user wrote last, if no topic was asked for."""
    remembered: str = ""
    """What the agent's memory has to say to it."""


def instructions(terms: PromptTerms, *, next_number: int | None) -> str:
    """Return what to do; `next_number` counts on if there is a note already."""
    opening = v1.FIRST if next_number is None else v1.UPDATE.format(next_number=next_number)
    return "\n\n".join((opening, *_rules(terms), v1.FORMAT))


def prefix_instructions(terms: PromptTerms, until: str) -> str:
    """Return what to do for the model that has the conversation before it."""
    words = v1.PREFIX_UNTIL.format(words=until) if until else ""
    return "\n\n".join((v1.PREFIX.format(until=words), *_rules(terms), v1.PREFIX_FORMAT))


def prompt(record: str, note: str, *, number: int, total: int) -> str:
    """Return the material and the question; either of the two may be empty."""
    parts = [v1.NOTE.format(note=note)] if note else []
    if record:
        parts.append(v1.RECORD.format(record=record))
    if total > 1:
        parts.append(v1.PART.format(number=number, total=total))
    parts.append(v1.QUESTION_UPDATE if note else v1.QUESTION_FIRST)
    return "\n\n".join(parts)


def _rules(terms: PromptTerms) -> list[str]:
    date = v1.DATE.format(date=terms.date) if terms.date else ""
    language = v1.LANGUAGES[terms.language]
    rules = v1.RULES.format(date=date, language=language, budget=terms.budget_tokens)
    found = [v1.SECTIONS, rules]
    if terms.focus:
        found.append(v1.FOCUS.format(topic=terms.focus))
    elif terms.latest:
        words = "\n".join(f"- {words}" for words in terms.latest)
        found.append(v1.AUTO_FOCUS.format(words=words))
    if terms.remembered:
        found.append(v1.REMEMBERED.format(words=terms.remembered))
    return found
