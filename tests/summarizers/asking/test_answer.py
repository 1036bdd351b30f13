"""Answers as models write them: JSON and Markdown, whole, broken and cut, in any language."""

from __future__ import annotations

import json
import time
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.testing.rows import each_row

from foldaway._core.lenient_json import read_json
from foldaway.facts.frame import SUMMARY_CLOSE, SUMMARY_OPEN, summary_text
from foldaway.facts.languages import Language, phrases_for
from foldaway.facts.summary import SECTIONS, Entry, Summary, parse_summary
from foldaway.summarizers.asking.answer import read_answer
from foldaway.transcript import Estimator

WORDS = st.text(st.characters(exclude_categories=("Cs", "Cc")), min_size=1, max_size=30).filter(
    lambda text: text.strip(" .。-—…").casefold() not in ("", "none", "null")
)
NOTE = {
    "task": [{"text": 'The user asked: "Fix it."', "source": "m4"}],
    "decisions": [{"text": "Chose SQLite, since it\nneeds no server.", "source": ""},
                  {"text": "Kept the {old} [form], \"as is\".", "source": "m7"}],
}  # fmt: skip
READ = {"task": [('The user asked: "Fix it."', "m4")],
        "decisions": [("Chose SQLite, since it\nneeds no server.", ""),
                      ('Kept the {old} [form], "as is".', "m7")]}  # fmt: skip


def rows(text: str) -> dict[str, list[tuple[str, str]]]:
    found = read_answer(text, "en").summary
    return {name: [(row.text, row.source) for row in rows] for name, rows in found.sections.items()}


@each_row("text", [
    json.dumps(NOTE),
    json.dumps(NOTE, indent=2),
    "```json\n" + json.dumps(NOTE) + "\n```",
    "Sure! Here is the note:\n\n" + json.dumps(NOTE) + "\n\nLet me know.",
    "```\n" + json.dumps(NOTE),
    json.dumps(NOTE).replace("}]", "},]").replace("]}", "],}"),
    json.dumps(NOTE)[:-1],
    json.dumps(NOTE)[:-2],
    json.dumps({"summary": NOTE}),
    json.dumps({"note": {"sections": NOTE}}),
    json.dumps([{"section": name, "entries": one} for name, one in NOTE.items()]),
    json.dumps({phrases_for("de").headings[name]: one for name, one in NOTE.items()}),
    json.dumps(NOTE).replace("\\n", "\n"),
    "\ufeff" + json.dumps(NOTE),
])  # fmt: skip
def test_json_is_read_as_models_write_it(text: str) -> None:
    """Fences, talk around it, commas too many, brackets too few, line breaks, other wrappings."""
    assert rows(text) == READ


def test_numbers_of_the_model_before_what_was_done_fall_away() -> None:
    """The record numbers them itself; elsewhere a number is a word."""
    text = '{"completed": ["1. Read a.py", "12) Ran make"], "decisions": ["3. way"]}'
    sections = read_answer(text, "en").summary.sections
    assert [entry.text for entry in sections["completed"]] == ["Read a.py", "Ran make"]
    assert [entry.text for entry in sections["decisions"]] == ["3. way"]


def test_quotes_that_nobody_escaped_are_words() -> None:
    """A quote ends a string only where a sign of JSON follows."""
    assert rows('{"goal": ["Make "fast mode" work", "Second"]}') == {
        "goal": [('Make "fast mode" work', ""), ("Second", "")]
    }


@given(stop=st.integers(0, len(json.dumps(NOTE))))
def test_half_of_an_answer_gives_half_of_the_note(stop: int) -> None:
    """Whatever comes out of a cut answer stands in the whole one."""
    whole = json.dumps(NOTE)
    for row in read_answer(whole[:stop], "en").summary.sections.values():
        for entry in row:
            assert any(entry.text in str(known["text"]) for one in NOTE.values() for known in one)


@each_row("language", get_args(Language))
def test_markdown_is_read_in_every_language(language: Language) -> None:
    """With our headings."""
    made = Summary(
        {name: (Entry(f"about {name}", "m3"), Entry("second\nline", "")) for name in SECTIONS},
        language=language,
    )
    text = made.render(Estimator(), 10_000)
    found = read_answer(text, language)
    assert found.has_sections
    assert {name: [(row.text, row.source) for row in rows]
            for name, rows in found.summary.sections.items()} == {
        name: [(f"about {name}", "m3"), ("second\nline", "")] for name in SECTIONS
    }  # fmt: skip


def test_the_headings_of_others_are_read() -> None:
    """Keys, bold lines, numbers, other words; talk before the first is left out."""
    text = (
        "Here is what I found.\n\n**Current Work**\n- Testing [m3]\n\n### 2. Next Steps:\n"
        "1. Ship it (m9)\n2) Then rest\n   more of it\n\n## in_progress\n* Half done\n"
        "Goal: finish\n## Something else\n• a thing\n## Files Modified\nNone.\n"
    )
    assert rows(text) == {
        "goal": [("finish", "")],
        "in_progress": [("Testing", "m3"), ("Half done", "")],
        "remaining": [("Ship it", "m9"), ("Then rest\nmore of it", "")],
        "critical": [("a thing", "")],
    }


def test_a_summary_inside_a_summary_is_laid_flat() -> None:
    """Whether framed, in one entry, or both; no frame and no reference is left."""
    inner = summary_text("## Goal\n- Win. [m1]\n\n## Blockers\n- None.", "fa-0123456789")
    for text in (inner, json.dumps({"critical": [inner]}), json.dumps({"state": ["x", inner]}),
                 f"## Critical context\n{inner}"):  # fmt: skip
        found = read_answer(text, "en").summary
        assert [row.text for row in found.sections["goal"]] == ["Win."]
        everything = str(found)
        assert SUMMARY_OPEN not in everything
        assert SUMMARY_CLOSE not in everything
        assert "fa-0123456789" not in everything
        assert "## " not in everything


@given(st.text(max_size=300) | st.recursive(
    st.none() | st.booleans() | st.integers() | WORDS,
    lambda inner: st.lists(inner, max_size=4)
    | st.dictionaries(st.sampled_from(("task", "goal", "text", "source", "x")), inner, max_size=4),
).map(json.dumps))  # fmt: skip
def test_anything_is_read_as_a_note_or_as_words(text: str) -> None:
    """Nothing raises; what comes out is bounded and can be rendered and read back."""
    found = read_answer(text, "en")
    for entries in found.summary.sections.values():
        assert len(entries) <= 60
        assert all(0 < len(row.text) <= 1_201 and len(row.source) <= 88 for row in entries)
    parse_summary(found.summary.render(Estimator(), 2_000))


@given(st.dictionaries(st.sampled_from(SECTIONS), st.lists(WORDS, min_size=1, max_size=3)))
def test_a_note_as_json_comes_back(note: dict[str, list[str]]) -> None:
    """Strict JSON, and the same with words before it and with commas too many, give the same."""
    text = json.dumps(note)
    lists = ", ".join(f"{json.dumps(k)}: [{json.dumps(v)[1:-1]}, ]" for k, v in note.items())
    assert read_json(text) == note
    assert read_json(f"note: {text}") == note or not note
    assert rows(text) == rows(f"{{{lists}, }}")


@each_row(
    ("text", "value"),
    [
        ('{"goal": "a"\n "files": ["x"]}', {"goal": "a", "files": ["x"]}),
        ('{"goal": "a" "files": ["x"]}', {"goal": "a", "files": ["x"]}),
        ('{"files": ["x"\n "y"] "goal": "a"}', {"files": ["x", "y"], "goal": "a"}),
        ('{"rows": [{"text": "a"\n "source": "m1"}\n {"text": "b"}]}',
         {"rows": [{"text": "a", "source": "m1"}, {"text": "b"}]}),
        ('{goal: "a", files: ["x"], }', {"goal": "a", "files": ["x"]}),
        ("Here it is: {goal: 'a', files: [x, y]}", {"goal": "a", "files": ["x", "y"]}),
        ('{"goal": "say "hi" now", "files": []}', {"goal": 'say "hi" now', "files": []}),
        ('{"goal": "first\nsaid "no" and left", "b": 1}',
         {"goal": 'first\nsaid "no" and left', "b": "1"}),
        ('{"goal": "a", "files": ["x", "y', {"goal": "a", "files": ["x", "y"]}),
    ],
)  # fmt: skip
def test_json_that_a_model_wrote_badly_keeps_every_key(text: str, value: object) -> None:
    """Commas missing after strings, keys without quotes, quotes within strings, no end."""
    assert read_json(text) == value


@pytest.mark.slow
@pytest.mark.parametrize("piece", [
    '}"k"a"b', '\\u "a":"b"', '\\"]', '", "a"b', '" "', '"a" "', '"\n"', "{a:", '"a":\n',
    '["x"' + "\n" * 5_000 + "x",
    "{", "[", '"', "{\"a\":", "[[{", "\\", '\\"', "{ ", "# ", "## task\n", "- ", "**", "**a", "\n",
    " ", "a: ", '{"task":["', "```", "```json\n{", "[m1]", "“", "'", ",", ":", "x" * 50, "\ud800",
    "1. ",
])  # fmt: skip
def test_ten_megabytes_of_anything_are_read_in_linear_time(piece: str) -> None:
    """A server may send anything."""
    text = piece * (10_000_000 // len(piece))
    started = time.process_time()
    read_answer(text, "en")
    assert time.process_time() - started < 2.5
