"""Our words in nine languages: complete, in step with the sections, historical."""

from __future__ import annotations

from pathlib import Path
from typing import get_args

from tests.testing.rows import each_row

from foldaway.facts import languages
from foldaway.facts.dialogue.cues import language_of
from foldaway.facts.languages import (
    CODES,
    VOCABULARIES,
    Counted,
    Language,
    Phrases,
    counted,
    phrases_for,
)
from foldaway.facts.summary import SECTIONS

LANGUAGES: tuple[Language, ...] = get_args(Language)


def test_every_language_file_is_read() -> None:
    """A file without its code in `CODES` would have no effect; every vocabulary holds cues."""
    files = Path(languages.__file__).parent.glob("*.toml")
    assert sorted(path.stem for path in files) == sorted(CODES)
    assert set(LANGUAGES) <= set(CODES)
    assert all(vocabulary.forbids and vocabulary.asks for vocabulary in VOCABULARIES)


@each_row("language", LANGUAGES)
def test_every_language_says_everything(language: Language) -> None:
    """All sections in their order, no heading twice, no phrase empty, a place for each number."""
    phrases = phrases_for(language)
    assert tuple(phrases.headings) == SECTIONS
    assert len(set(phrases.headings.values())) == len(SECTIONS)
    assert tuple(phrases.short_headings) == tuple(phrases_for("en").short_headings)
    assert len(set(phrases.short_headings.values())) == len(phrases.short_headings)
    for name in Phrases.__struct_fields__:
        value = getattr(phrases, name)
        if isinstance(value, Counted):
            assert all("{n}" in form for form in (value.one, value.few, value.many))
        else:
            assert value, name


def test_the_english_headings_speak_of_the_past() -> None:
    """What was asked, was going on or remained is named as history, never as a task to do."""
    headings = phrases_for("en").headings
    for section in ("task", "in_progress", "pending", "remaining"):
        assert headings[section].startswith("Historical ")


def test_a_heading_means_one_section_in_all_languages() -> None:
    """A summary is read back without knowing its language."""
    meant: dict[str, set[str]] = {}
    for language in LANGUAGES:
        for section, heading in phrases_for(language).headings.items():
            meant.setdefault(heading.lower(), set()).add(section)
    assert all(len(sections) == 1 for sections in meant.values())


@each_row("language", LANGUAGES)
def test_no_heading_can_be_taken_for_markdown(language: Language) -> None:
    """A heading is one plain line, so that a summary can be read back."""
    for heading in phrases_for(language).headings.values():
        assert heading == heading.strip(" #:-*")
        assert "\n" not in heading


@each_row("language", LANGUAGES)
def test_a_language_is_its_own(language: Language) -> None:
    """The longest sentence that we write is recognized as the language that it is in."""
    assert language_of(phrases_for(language).made_without_model) == language


def test_numbers_take_the_form_that_the_language_asks_for() -> None:
    """One, few and many are said as a speaker says them."""
    english, russian = phrases_for("en"), phrases_for("ru")
    assert [counted(english, english.times, n) for n in (1, 2)] == ["1 time", "2 times"]
    said = [counted(russian, russian.times, n) for n in (1, 2, 5, 11, 12, 21, 22, 111)]
    assert said == [
        "1 раз", "2 раза", "5 раз", "11 раз", "12 раз", "21 раз", "22 раза", "111 раз",
    ]  # fmt: skip
