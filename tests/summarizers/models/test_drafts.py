"""Answers put together from whatever a server sends."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foldaway.errors import SummarizerFailed
from foldaway.summarizers.models import anthropic, openai
from foldaway.summarizers.models.failures import Reported
from foldaway.summarizers.models.wire import AnswerBuilder, is_strict

NAMES = [
    "choices", "delta", "message", "content", "finish_reason", "usage", "model", "type", "text",
    "output", "response", "status", "stop_reason", "error", "input_tokens", "refusal",
]  # fmt: skip
WORDS = [
    "stop", "length", "completed", "message", "content_block_delta", "message_delta", "error",
    "message_start", "response.completed", "response.output_text.delta", "refusal",
]  # fmt: skip
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.sampled_from(WORDS),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(NAMES), inner, max_size=6)
    ),
)
EVENTS = st.lists(st.dictionaries(st.sampled_from(NAMES), VALUES), max_size=5)
READERS = {
    "chat": (openai.take_chunk, openai.take_completion),
    "responses": (openai.take_response_event, openai.take_response),
    "messages": (anthropic.take_event, anthropic.take_message),
}


@pytest.mark.parametrize("api", READERS)
@given(EVENTS)
def test_any_events_make_an_answer_or_a_failure(api: str, events: list[dict[str, Any]]) -> None:
    """No shape of an event raises anything else, and every text can be written."""
    for take in READERS[api]:
        draft = AnswerBuilder(1000)
        try:
            for event in events:
                take(draft, event)
            draft.answer("n").text.encode()
        except (Reported, SummarizerFailed):
            pass


@given(st.text(st.characters(codec="utf-8")), st.integers(1, 3))
def test_a_text_in_pieces_of_utf_16_comes_back_whole(text: str, size: int) -> None:
    """JSON writes an emoji as two escapes, and a piece may end between them."""
    units = text.encode("utf-16-le")
    halves = [units[at : at + 2 * size] for at in range(0, len(units), 2 * size)]
    draft = AnswerBuilder(10_000)
    for half in halves:
        draft.say(half.decode("utf-16-le", "surrogatepass"))
    draft.stopped = "end"
    assert draft.answer("n").text == text


def test_an_answer_that_was_not_ended_is_broken() -> None:
    """Text alone does not show that the model was done."""
    draft = AnswerBuilder(100)
    draft.say("half a summ")
    with pytest.raises(SummarizerFailed) as caught:
        draft.answer("n")
    assert caught.value.kind == "broken answer"


def test_a_strict_schema_is_closed_everywhere() -> None:
    """One open object inside is enough to be not strict."""
    closed = {"type": "object", "properties": {}, "required": [], "additionalProperties": False}
    outer = {**closed, "properties": {"a": closed}, "required": ["a"]}
    assert is_strict(outer)
    assert not is_strict({**outer, "required": []})
    assert not is_strict({**outer, "properties": {"a": {"type": "object"}}})
    assert not is_strict({"type": "array", "items": {"type": "object", "properties": {}}})
