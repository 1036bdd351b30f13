"""Whether an answer is one at all: not empty, refused, cut off, echoed, endless, a web page, or in
another language than the user's.
"""

from __future__ import annotations

from foldaway._core import Regex, SummaryAnswer, SummaryRequest, TokenCounter, read_words
from foldaway.errors import FailureKind, SummarizerFailed
from foldaway.facts import Section, Summary, language_of, without_names, words_of
from foldaway.facts.languages import VOCABULARIES, Language

_REFUSALS = read_words("phrases", "foldaway.summarizers.gate")["refusals"]
_TOO_LONG = 2.0
"""A model that was told where to stop and wrote twice as much."""
_REFUSAL_CHARS = 300
"""Of the start of an answer, read for a refusal; chosen."""
_PAGE_CHARS = 200
"""How much of the start of an answer is read for a refusal, and for a web page."""
_PAGES = ("<!doctype html", "<html", "<?xml")
_LEAST_ENTRIES = 2
"""Of an answer that was cut off."""
_ECHO_CHARS = 24
"""Shorter entries may be in the instructions by chance; chosen."""
_ECHO_SHARE = 0.3
"""An answer repeats the instructions if they contain this share of its entries; chosen."""
_COPY_CHARS = 240
"""Shorter entries may be in the record by chance; chosen."""
_COPIED_CHARS = 1_000
"""A note with fewer copied characters is not a copy; chosen."""
_COPIED_SHARE = 0.5
"""Entries of this length count as copied; a note does with this many characters of them, and this
share. Chosen."""
_QUOTING: frozenset[Section] = frozenset({"task", "goal", "constraints", "pending"})
"""Sections in the user's own words."""
_NOT_READ: frozenset[Section] = frozenset({"task", "goal", "constraints", "pending", "files"})
"""Sections whose language is not judged: in the user's own words, or hardly in words."""
_QUOTES = Regex(r"`[^`\n]*`?|[\"“«「][^\"”»」\n]*[\"”»」]?")
_READ_CHARS = 4_000
"""How much is read; a language shows in less."""
_LEAST_LETTERS = 80
"""A shorter text is never wrong."""
_LETTERS = Regex(r"[^\W\d_]")
_SCRIPTS: dict[str, Regex[str]] = {
    "zh": Regex("[\u3400-\u9fff]"),
    "ja": Regex("[\u3040-\u30ff\u3400-\u9fff]"),
    "ko": Regex("[\uac00-\ud7af\u1100-\u11ff]"),
    "ru": Regex("[\u0400-\u04ff]"),
}
_LEAST_SHARE = 0.1
"""Of the letters that a text in such a script has; the rest may be names. Chosen."""
_SMALL_ENGLISH = frozenset(
    word.encode()
    for vocabulary in VOCABULARIES
    if vocabulary.language == "en"
    for word in vocabulary.stops
)
_LEAST_ENGLISH = 0.12
"""Of the words; English prose has a quarter and more of small words."""


def judge_text(answer: SummaryAnswer, request: SummaryRequest, counter: TokenCounter) -> None:
    """Raise `SummarizerFailed` for what can be told before an answer is read."""
    text = answer.text
    if answer.stopped == "refusal":
        raise _failed(answer, "bad answer", "the model refused")
    if not text.strip():
        raise _failed(answer, "empty answer", "")
    start = text[:_PAGE_CHARS].lstrip().casefold()
    if start.startswith(_PAGES):
        raise _failed(answer, "broken answer", "a web page instead of an answer")
    if counter.count(text) > _TOO_LONG * request.max_tokens:
        raise _failed(answer, "bad answer", "far longer than it was asked to be")


def judge_note(
    answer: SummaryAnswer,
    request: SummaryRequest,
    note: Summary,
    *,
    has_sections: bool,
    languages: frozenset[Language],
) -> None:
    """Raise `SummarizerFailed` for an answer that contains no usable note."""
    entries = [row.text for rows in note.sections.values() for row in rows]
    if not has_sections:
        start = answer.text[:_REFUSAL_CHARS].casefold().replace("’", "'")
        refused = any(words in start for words in _REFUSALS)
        said = "the model refused" if refused else "no section of a note in it"
        raise _failed(answer, "bad answer", said)
    if answer.stopped == "length" and len(entries) < _LEAST_ENTRIES:
        raise _failed(answer, "bad answer", "cut off before anything was told")
    if not entries:
        raise _failed(answer, "empty answer", "every section is empty")
    if _echoes(entries, request.instructions):
        raise _failed(answer, "bad answer", "it repeats what it was told to do")
    if _copies(note, request.prompt):
        raise _failed(answer, "bad answer", "it copies the record instead of telling it")
    if wrong_language(note, note.language, languages):
        raise _failed(answer, "bad answer", "it is in another language")


def _echoes(entries: list[str], instructions: str) -> bool:
    same = sum(len(row) >= _ECHO_CHARS and row in instructions for row in entries)
    return same >= max(2, _ECHO_SHARE * len(entries))


def _copies(note: Summary, prompt: str) -> bool:
    """Return whether most of a note is long stretches of the material, letter for letter."""
    rows = [
        row.text
        for section, rows in note.sections.items()
        if section not in _QUOTING
        for row in rows
    ]
    copied = sum(len(row) for row in rows if len(row) >= _COPY_CHARS and _core(row) in prompt)
    return copied >= _COPIED_CHARS and copied >= _COPIED_SHARE * sum(map(len, rows))


def _core(text: str) -> str:
    """Return a stretch of the middle: the ends may have been trimmed."""
    line = max(text.split("\n"), key=len)
    return line[len(line) // 8 : len(line) - len(line) // 8]


def _failed(answer: SummaryAnswer, kind: FailureKind, said: str) -> SummarizerFailed:
    return SummarizerFailed(kind, answer.model or "summarizer", said)


# The language


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
    return sum(word in _SMALL_ENGLISH for word in words) >= _LEAST_ENGLISH * len(words)


def _own_words(summary: Summary) -> str:
    rows = (
        row.text
        for section, rows in summary.sections.items()
        if section not in _NOT_READ
        for row in rows
    )
    return "\n".join(rows)[:_READ_CHARS]
