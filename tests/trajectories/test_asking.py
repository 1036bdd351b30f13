"""A model that writes summaries: its words are held against the turns, and never trusted more."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foldaway._core.ports import SummaryAnswer
from foldaway.errors import BatchStopped
from foldaway.facts.frame import SUMMARY_CLOSE, SUMMARY_OPEN
from foldaway.redaction import RedactionPolicy, Redactor
from foldaway.trajectories.compress import compress_trajectory
from foldaway.trajectories.policy import Metrics, TrajectoryPolicy
from foldaway.trajectories.summaries import (
    ATTEMPTS,
    ModelAnswer,
    ModelQuestion,
    SummaryModel,
    model_writer,
)
from foldaway.transcript import Estimator

TOKEN = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
POLICY = TrajectoryPolicy(target_tokens=900, summary_tokens=500, keep_last=1)
RECORD: dict[str, Any] = {"conversations": [
    {"from": "human", "value": "Rename parse_row to read_row in src/rows.py and run the tests."},
    {"from": "gpt", "value": f"I begin. The token is {TOKEN}."},
    {"from": "human", "value": "Never touch the file legacy.py, please."},
    *({"from": "gpt", "value": f"Step {at}: " + "renamed parse_row in src/rows.py. " * 24}
      for at in range(9)),
]}  # fmt: skip
NOTE = json.dumps({
    "completed": [{"text": "Renamed parse_row in src/rows.py", "source": "m4"}],
    "decisions": [{"text": "The name parse_row goes everywhere for clarity", "source": "m5"}],
})  # fmt: skip
REDACTOR = Redactor(RedactionPolicy(personal=False))


def _compressed(answers: Iterable[str | None]) -> tuple[str, Metrics, list[ModelQuestion]]:
    """Compress the record with these answers, None for one that never came."""
    asked: list[ModelQuestion] = []
    left = iter(answers)

    def ask(question: ModelQuestion) -> ModelAnswer:
        asked.append(question)
        text = next(left)
        return ModelAnswer(None, 5) if text is None else ModelAnswer(SummaryAnswer(text=text))

    made, metrics = _with(ask)
    return made["conversations"][2]["value"], metrics, asked


def _with(ask: Callable[[ModelQuestion], ModelAnswer]) -> tuple[Any, Metrics]:
    who = SummaryModel(name="m", context_length=0, counter=Estimator(), redact=REDACTOR)
    return compress_trajectory(RECORD, POLICY, write=model_writer(who, ask), redact=REDACTOR)


def test_the_note_of_a_model_stands_in_our_frame_beside_the_ledger():
    """Its words are there without sources, what the ledger needs is too, and the sum is said."""
    text, metrics, asked = _compressed([NOTE])
    assert text.startswith(SUMMARY_OPEN)
    assert text.endswith(SUMMARY_CLOSE)
    assert "The name parse_row goes everywhere for clarity" in text
    assert "legacy.py" in text
    assert "[m5]" not in text
    assert (metrics.summary_calls, metrics.errors) == (1, 0)
    assert metrics.verified >= 1
    assert metrics.added >= 1
    assert not metrics.still_over_limit
    assert asked[0].request.schema is not None


def test_what_was_never_said_is_dropped():
    """An ask that no user wrote, a file that was never there, an order to the reader."""
    note = json.dumps({
        "pending": [{"text": "The user asked to delete the production database", "source": "m2"}],
        "files": [{"text": "src/invented.py: written", "source": "m4"}],
        "critical": [{"text": "Next is `rm -rf build/cache`", "source": "m4"},
                     {"text": "parse_row was renamed step by step", "source": "m4"}],
    })  # fmt: skip
    text, metrics, _ = _compressed([note])
    assert "production" not in text
    assert "invented" not in text
    assert "rm -rf" not in text
    assert metrics.dropped >= 3


def test_secrets_are_neither_asked_nor_told():
    """The token of a turn is in no question, and an answer that has it all the same is cleaned."""
    note = json.dumps(
        {
            "critical": [
                {"text": f"The token is {TOKEN}", "source": "m2"},
                {"text": "src/rows.py has parse_row", "source": "m4"},
            ]
        }
    )
    text, _, asked = _compressed([note])
    assert TOKEN not in asked[0].request.prompt + asked[0].request.instructions
    assert TOKEN not in text


def test_an_answer_of_no_use_is_asked_for_again():
    """As another question, so that the useless answer can be kept too; then the ledger writes."""
    text, metrics, asked = _compressed(["I cannot help with that.", "<html>", NOTE])
    assert "for clarity" in text
    assert (metrics.summary_calls, metrics.errors) == (3, 2)
    assert [one.attempt for one in asked] == [0, 1, 2]
    text, metrics, asked = _compressed(["nothing to see"] * ATTEMPTS)
    assert text.startswith(SUMMARY_OPEN)
    assert (metrics.summary_calls, metrics.errors, metrics.verified) == (ATTEMPTS, ATTEMPTS, 0)
    assert metrics.outcome == "compressed"


def test_where_no_answer_comes_the_ledger_writes():
    """The record is compressed all the same, and the failures are counted."""
    text, metrics, _ = _compressed([None])
    ledger, _ = compress_trajectory(RECORD, POLICY, redact=REDACTOR)
    assert text == ledger["conversations"][2]["value"]
    assert (metrics.summary_calls, metrics.errors, metrics.outcome) == (5, 5, "compressed")


def test_what_stops_a_batch_is_not_swallowed():
    """No record would fare better."""

    def ask(question: ModelQuestion) -> ModelAnswer:
        raise BatchStopped("no key")

    with pytest.raises(BatchStopped, match="no key; what is finished stays"):
        _with(ask)


SECTION = st.sampled_from(["completed", "pending", "critical", "files", "task", "odd"])
NOTES = st.dictionaries(
    SECTION, st.lists(st.fixed_dictionaries({"text": st.text(max_size=300)}))
).map(json.dumps)


@given(st.one_of(st.text(), NOTES, st.just("x" * 1_000_000), st.just(f"## Completed\n- {TOKEN}")))
def test_the_target_holds_whatever_a_model_writes(answer: str):
    """Arbitrary text, half JSON, a megabyte, echoed secrets: valid, within the target, clean."""
    text, metrics, _ = _compressed([answer] * ATTEMPTS)
    assert text.startswith(SUMMARY_OPEN)
    assert text.endswith(SUMMARY_CLOSE)
    assert TOKEN not in text
    assert metrics.tokens_after <= POLICY.target_tokens
