"""A model that writes summaries: kept answers, tries, and what no try can mend."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from holdfast.errors import SummarizerFailed
from holdfast.pipeline.frame import SUMMARY_CLOSE, SUMMARY_OPEN
from holdfast.pipeline.measure import Estimator
from holdfast.testing import ScriptedSummarizer
from holdfast.trajectories.asking import TRIES, Asked, writer
from holdfast.trajectories.compress import compress_trajectory
from holdfast.trajectories.policy import TrajectoryPolicy

NOTE = "## Completed actions\n1. Renamed parse_row in src/rows.py [m4]\n"
POLICY = TrajectoryPolicy(target_tokens=400, summary_tokens=200, keep_last=1)
RECORD = {"conversations": [
    {"from": "human", "value": "Begin."},
    *({"from": "gpt", "value": f"Step {at}: " + "renamed parse_row in src/rows.py. " * 9}
      for at in range(9)),
]}  # fmt: skip


def _written(model: ScriptedSummarizer, answers: Path | None = None) -> tuple[Any, Any, Any]:
    paused: list[float] = []
    asked = Asked(summarizer=model, counter=Estimator(), redact=lambda text: text.replace(
        "hunter2", "[hidden]"), answers=answers, pause=paused.append)  # fmt: skip
    made, metrics = compress_trajectory(RECORD, POLICY, write=writer(asked), redact=asked.redact)
    return made["conversations"][2]["value"], metrics, paused


def test_the_note_of_a_model_stands_in_our_frame():
    """Its words are there, without sources and secrets, and within the room."""
    model = ScriptedSummarizer([NOTE + "2. Used hunter2\n"])
    text, metrics, _ = _written(model)
    assert text.startswith(SUMMARY_OPEN)
    assert text.endswith(SUMMARY_CLOSE)
    assert "Renamed parse_row in src/rows.py" in text
    assert "[m4]" not in text
    assert "hunter2" not in text
    assert (metrics.summary_calls, metrics.errors) == (1, 0)
    assert not metrics.still_over_limit


def test_a_long_answer_is_cut_to_its_room():
    """The target holds whatever a model writes."""
    note = "## Completed actions\n" + "".join(f"{n}. Did thing number {n}\n" for n in range(60))
    _, metrics, _ = _written(ScriptedSummarizer([note]))
    assert metrics.tokens_after <= POLICY.target_tokens


def test_the_same_turns_are_asked_for_once(tmp_path: Path):
    """The second run takes the answer that was kept, and asks nobody."""
    model = ScriptedSummarizer([NOTE])
    first, _, _ = _written(model, tmp_path)
    second, metrics, _ = _written(model, tmp_path)
    assert first == second
    assert (len(model.requests), metrics.summary_calls) == (1, 0)


def test_a_failure_that_may_pass_is_tried_again():
    """After the pause that the provider asks for, otherwise after growing ones."""
    slow = SummarizerFailed("rate limited", "m", retry_after=7.0)
    model = ScriptedSummarizer([slow, "", NOTE])
    text, metrics, paused = _written(model)
    assert "Renamed parse_row" in text
    assert (metrics.summary_calls, metrics.errors) == (3, 2)
    assert paused == [7.0, 4.0]


def test_where_every_try_fails_the_ledger_writes():
    """The record is compressed all the same, and the failures are counted."""
    model = ScriptedSummarizer([SummarizerFailed("overloaded", "m")] * TRIES)
    text, metrics, _ = _written(model)
    assert text.startswith(SUMMARY_OPEN)
    assert (metrics.summary_calls, metrics.errors, metrics.outcome) == (TRIES, TRIES, "compressed")


def test_a_wrong_key_stops_everything():
    """No record would fare better; nothing is tried again."""
    model = ScriptedSummarizer([SummarizerFailed("refused", "m", "no key")])
    with pytest.raises(SummarizerFailed, match="refused"):
        _written(model)
    assert len(model.requests) == 1
