"""The record of a transcript as one text."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from holdfast.dialects.load import load
from holdfast.engine.brief import brief_of, handoff_prompt
from holdfast.facts.frame import split_summary
from holdfast.testing.long_lists import Exchange, written
from holdfast.transcript import Transcript

LONG = load(written("openai-chat", [Exchange(2, 2, 900)] * 8, with_system=True))
TOPICS = ("login", "parser", "billing", "search", "export")


def talk() -> Transcript:
    said: list[Any] = []
    for topic in TOPICS * 8:
        said += [{"role": "user", "content": f"Always test the {topic} page in {topic}.py first."},
                 {"role": "assistant", "content": f"I decided to keep {topic}_v2."}]  # fmt: skip
    return load(said)


@given(tokens=st.integers(100, 6_000))
def test_a_brief_is_as_long_as_was_asked_for(tokens: int) -> None:
    """By the estimate that it names; it is never empty, and it changes nothing."""
    made = brief_of(LONG, tokens=tokens)
    assert 0 < made.tokens <= tokens
    assert made.messages == len(LONG.messages)
    assert brief_of(LONG, tokens=tokens) == made


def test_what_speaks_of_the_focus_comes_first() -> None:
    """If there is no room for all, the others go."""
    for topic in TOPICS:
        plain, focused = (brief_of(talk(), tokens=150, focus=one).text for one in ("", topic))
        assert focused.count(topic) > plain.count(topic)


def test_an_empty_transcript_has_no_record() -> None:
    """There is nothing to tell."""
    made = brief_of(Transcript("openai-chat", ()))
    assert (made.text, made.messages) == ("", 0)


@given(text=st.text(st.characters(exclude_categories=["Cs"]), min_size=1))
def test_a_handoff_is_recognized_as_a_record_when_it_is_compacted(text: str) -> None:
    """The next session carries it on, and does not take its words for those of a user."""
    framed = split_summary(handoff_prompt(f"## Goal\n- {text}\n- the end"))
    assert framed is not None
    assert framed.rest.startswith("Tell me in a few lines")
    assert framed.body.endswith("- the end")
