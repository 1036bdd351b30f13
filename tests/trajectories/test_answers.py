"""Kept answers: found by what was asked, whole or not at all."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foldaway._core.ports import SummaryAnswer, SummaryRequest
from foldaway.trajectories.model_client import answer_key, read_answer, save_answer
from foldaway.trajectories.summaries import ModelAnswer, ModelQuestion

REQUEST = SummaryRequest(instructions="do", prompt="turns", max_tokens=100, schema={"a": 1})
ANSWERED = ModelAnswer(SummaryAnswer(text="said ä", model="m", stopped="length", input_tokens=7), 2)


def test_an_answer_is_found_again(tmp_path: Path):
    """With all that belongs to it: how it ended, and how many tries failed before it."""
    key = answer_key("m", ModelQuestion(REQUEST))
    assert read_answer(tmp_path, key) is None
    save_answer(tmp_path, key, ANSWERED)
    assert read_answer(tmp_path, key) == ANSWERED


@given(st.data())
def test_a_torn_file_is_no_answer(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject):
    """Cut anywhere, or with a byte that is other, it is ignored; what is written over it counts."""
    folder = tmp_path_factory.mktemp("answers")
    save_answer(folder, "ab12", ANSWERED)
    path = folder / "ab" / "ab12.json"
    whole = path.read_bytes()
    at = data.draw(st.integers(0, len(whole) - 1))
    other = data.draw(
        st.binary(max_size=2).filter(lambda one: one != whole[at : at + len(one)] or not one)
    )
    path.write_bytes(whole[:at] + other)
    if path.read_bytes() != whole:
        assert read_answer(folder, "ab12") is None
    save_answer(folder, "ab12", ANSWERED)
    assert read_answer(folder, "ab12") == ANSWERED


def test_every_part_of_a_question_counts():
    """Whom, the instructions, the turns, the length, the form, the attempt; and their borders."""
    texts = [("do", "turns"), ("dot", "urns"), ("do", "turns "), ("d", "turns"), ("do", "t\ud800")]
    questions = [ModelQuestion(SummaryRequest(instructions=told, prompt=turns, max_tokens=100))
                 for told, turns in texts]  # fmt: skip
    questions += [ModelQuestion(REQUEST), ModelQuestion(REQUEST, 1), ModelQuestion(
        SummaryRequest(instructions="do", prompt="turns", max_tokens=101))]  # fmt: skip
    keys = {answer_key(who, question) for who in ("m", "n") for question in questions}
    assert len(keys) == 2 * len(questions)
    assert answer_key("m", ModelQuestion(REQUEST)) == answer_key("m", ModelQuestion(REQUEST))
