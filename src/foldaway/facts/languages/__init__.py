"""What a language brings, one TOML file each: cues of rules, questions and decisions, small words,
and our own words for the summary.

A new language is a file `<code>.toml` and its code in `CODES`; `[phrases]` only if summaries are to
be written in it, and then its code in `Language` too. The lists are phrases between `|` or line
breaks, in lower case. All files are read when this module is first imported, in about 5 ms of CPU.
"""

from __future__ import annotations

from typing import Literal, TypeAlias, get_args

import msgspec
from msgspec import Struct

from foldaway._core import phrases_in, read_table, read_words

Language: TypeAlias = Literal["en", "zh", "ja", "es", "de", "fr", "ru", "pt", "ko"]
"""The languages in which we have words of our own."""
CODES = ("en", "zh", "ja", "ko", "es", "pt", "fr", "de", "ru", "it", "tr", "ar", "hi")
"""The languages whose cues are known. Of a phrase that stands in two the first counts."""


class Vocabulary(Struct, frozen=True, kw_only=True):
    """The cues of one language."""

    language: str
    by_parts: bool = False
    """Cues are pieces of text and not whole words, as in scripts without spaces."""
    forbids: tuple[str, ...] = ()
    """States a rule that has no exception: never, always, must not."""
    limits: tuple[str, ...] = ()
    """States a bound, a preference or an exception: at most, instead of, prefer."""
    hints: tuple[str, ...] = ()
    """States a rule together with ", not "."""
    idle: tuple[str, ...] = ()
    """Holds a cue and states nothing: "I don't know"."""
    shared: tuple[str, ...] = ()
    """Cues that are also words of English text; they count only in a text of this language."""
    asks: tuple[str, ...] = ()
    """How a question begins; in a language `by_parts`, how it ends."""
    later: tuple[str, ...] = ()
    """How a clause begins that asks for something after the rest of its message."""
    decides: tuple[str, ...] = ()
    """Tells what was chosen."""
    contrasts: tuple[str, ...] = ()
    """Sets one thing against another, which tells a choice or only how things are."""
    finds: tuple[str, ...] = ()
    """Tells what was found out."""
    stops: tuple[str, ...] = ()
    """Frequent small words, which distinguish the language from others in its script."""


class Counted(Struct, frozen=True, gc=False):
    """A phrase with a number in it: for 1, for 2 to 4 as Slavic languages count, for many."""

    one: str
    few: str
    many: str


class Phrases(Struct, frozen=True, kw_only=True):
    """The words that a summary uses beside those of the messages.

    The headings speak of the past: what stands below them happened, or was asked, before. None of
    them may read as an instruction to the reader.
    """

    language: Language
    headings: dict[str, str]
    """By section, in the order of the sections."""
    short_headings: dict[str, str]
    """Those of a record for a person."""
    none: str
    user_wrote: str
    first_request: str
    agent_wrote: str
    created: str
    changed: str
    deleted: str
    renamed_to: str
    read: str
    working_directory: str
    branch: str
    running: str
    last_test: str
    unchanged_since: str
    changed_since: str
    pushed: str
    not_pushed: str
    pull_request: str
    last_report: str
    earlier_report: str
    instructions: str
    answered: str
    open: str
    not_verified: str
    quoted: str
    """Before a line of a tool's result that tells its reader what to do."""
    made_without_model: str
    times: Counted


class _File(Struct, frozen=True):
    """A language file as it is written."""

    cues: dict[str, str]
    by_parts: bool = False
    phrases: dict[str, object] = {}


def phrases_for(language: Language) -> Phrases:
    """Return our words in a language."""
    return _PHRASES[language]


def counted(phrases: Phrases, forms: Counted, number: int) -> str:
    """Return e.g. "3 times", with the form that the number asks for in this language."""
    if phrases.language == "ru":
        form = _slavic(forms, number)
    elif number == 1 or (number == 0 and phrases.language in ("fr", "pt")):
        form = forms.one
    else:
        form = forms.many
    return form.replace("{n}", str(number))


def _slavic(forms: Counted, number: int) -> str:
    if number % 100 in (11, 12, 13, 14):
        return forms.many
    if number % 10 == 1:
        return forms.one
    return forms.few if number % 10 in (2, 3, 4) else forms.many


def _vocabulary(code: str, file: _File) -> Vocabulary:
    cues = {name: phrases_in(text) for name, text in file.cues.items()}
    return Vocabulary(language=code, by_parts=file.by_parts, **cues)


WORDS = read_words("words", "foldaway.facts")
"""The lists of `words.toml`."""
_FILES = {code: read_table(f"languages/{code}", _File, "foldaway.facts") for code in CODES}
VOCABULARIES: tuple[Vocabulary, ...] = tuple(
    [_vocabulary(code, file) for code, file in _FILES.items()]
)
_PHRASES: dict[Language, Phrases] = {
    language: msgspec.convert({"language": language, **_FILES[language].phrases}, Phrases)
    for language in get_args(Language)
}
