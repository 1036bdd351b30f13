"""Whether a note is in the language of the user, by script and small words."""

from __future__ import annotations

import re

from holdfast.facts.dialogue.cues import language_of
from holdfast.facts.dialogue.text import words_of
from holdfast.facts.languages import VOCABULARIES, Language
from holdfast.facts.names import without_names
from holdfast.facts.summary import Section, Summary

_QUOTING: frozenset[Section] = frozenset({"task", "goal", "constraints", "pending", "files"})
"""Sections in the user's own words, or hardly in words."""
_QUOTES = re.compile(r"`[^`\n]*`?|[\"“«「][^\"”»」\n]*[\"”»」]?")
_READ_CHARS = 4_000
_LEAST_LETTERS = 80
_LETTERS = re.compile(r"[^\W\d_]")
_SCRIPTS: dict[str, re.Pattern[str]] = {
    "zh": re.compile("[\u3400-\u9fff]"),
    "ja": re.compile("[\u3040-\u30ff\u3400-\u9fff]"),
    "ko": re.compile("[\uac00-\ud7af\u1100-\u11ff]"),
    "ru": re.compile("[\u0400-\u04ff]"),
}
_LEAST_SHARE = 0.1
_ENGLISH = frozenset(
    word.encode()
    for vocabulary in VOCABULARIES
    if vocabulary.language == "en"
    for word in vocabulary.stops
)
_LEAST_ENGLISH = 0.12
"""Of the words; English prose has a quarter and more of small words."""


def wrong_language(summary: Summary, expected: Language, spoken: frozenset[Language]) -> bool:
    """Return whether a note is clearly in another language than any that the user wrote in.

    Only the sections that a model words itself are read, without code and quotations; a short
    text, or one in a language that we do not know, is never wrong.
    """
    if not spoken:
        return False
    text = without_names(_QUOTES.sub(" ", _own_words(summary)))
    letters = len(_LETTERS.findall(text))
    if letters < _LEAST_LETTERS:
        return False
    fitting = spoken | {expected}
    found = language_of(text)
    if found in fitting and found != "en":
        return False
    if found != "en":
        return True
    return "en" not in fitting and _is_english(text, fitting, letters)


def _is_english(text: str, fitting: frozenset[str], letters: int) -> bool:
    """Return whether a text without a telling word is English, and not merely unclear."""
    for language in fitting:
        script = _SCRIPTS.get(language)
        if script is not None:
            return len(script.findall(text)) < _LEAST_SHARE * letters
    words = words_of(text)
    return sum(word in _ENGLISH for word in words) >= _LEAST_ENGLISH * len(words)


def _own_words(summary: Summary) -> str:
    rows = (
        row.text
        for section, rows in summary.sections.items()
        if section not in _QUOTING
        for row in rows
    )
    return "\n".join(rows)[:_READ_CHARS]
