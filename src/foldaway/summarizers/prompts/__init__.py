"""What a model is asked: the words, and how they are put together."""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from foldaway._core import read_table
from foldaway.facts.languages import Language

VERSION = 2
"""Which file of words is used; an answer depends on it."""
_TABLE = read_table(f"v{VERSION}", dict[str, Any], "foldaway.summarizers.prompts")
_WORDS: dict[str, str] = _TABLE
_LANGUAGES: dict[str, str] = _TABLE["languages"]


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


def instructions(terms: PromptTerms) -> str:
    """Return what to do with a record and a note."""
    return "\n\n".join((_WORDS["opening"], *_rules(terms)))


def prefix_instructions(terms: PromptTerms, until: str) -> str:
    """Return what to do for the model that has the conversation before it."""
    words = _WORDS["prefix_until"].format(words=until) if until else ""
    return "\n\n".join((_WORDS["prefix"].format(until=words), *_rules(terms)))


def prompt(record: str, note: str, *, number: int, total: int) -> str:
    """Return the material and the question; either of the two may be empty."""
    parts = [_WORDS["note"].format(note=note)] if note else []
    if record:
        parts.append(_WORDS["record"].format(record=record))
    if total > 1:
        parts.append(_WORDS["part"].format(number=number, total=total))
    parts.append(_WORDS["question"])
    return "\n\n".join(parts)


def _rules(terms: PromptTerms) -> list[str]:
    date = _WORDS["date"].format(date=terms.date) if terms.date else ""
    language = _LANGUAGES[terms.language]
    rules = _WORDS["rules"].format(date=date, language=language, budget=terms.budget_tokens)
    found = [_WORDS["wanted"], _WORDS["sections"], rules]
    if terms.focus:
        found.append(_WORDS["focus"].format(topic=terms.focus))
    elif terms.latest:
        words = "\n".join(f"- {words}" for words in terms.latest)
        found.append(_WORDS["auto_focus"].format(words=words))
    if terms.remembered:
        found.append(_WORDS["remembered"].format(words=terms.remembered))
    return [*found, _WORDS["format"]]
