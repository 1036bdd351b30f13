"""Generated text is found again, taken out, or keeps its record out."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.testing.trajectories import trajectories

from foldaway import check
from foldaway.dialects.loading import dump, load
from foldaway.errors import NotReadable
from foldaway.facts.frame import SUMMARY_OPEN, mark_text, summary_text
from foldaway.trajectories.compress import compress_trajectory
from foldaway.trajectories.policy import TrajectoryPolicy
from foldaway.trajectories.record import NOTICE, is_compacted, strip_generated

DIALECTS = ("sharegpt", "openai-chat", "anthropic")


def _turns(*pairs: tuple[str, str]) -> list[dict[str, str]]:
    return [{"from": speaker, "value": value} for speaker, value in pairs]


def _strip(turns: list[dict[str, str]]) -> Any:
    return dump(strip_generated(load(turns)))


def test_a_summary_turn_and_its_notice_are_taken_out():
    """What is left is what the record was around them."""
    summary = summary_text("## Goal\n- x", "", brief=True)
    turns = _turns(("system", f"Be kind.\n\n{NOTICE}"), ("human", "Hi"), ("gpt", "Hello"),
                   ("human", summary), ("gpt", "So."))  # fmt: skip
    assert is_compacted(load(turns))
    left = _strip(turns)
    assert left[0] == {"from": "system", "value": "Be kind."}
    assert not is_compacted(load(left))
    assert [turn["value"] for turn in left[1:]] == ["Hi", "Hello\n\nSo."]


def test_a_summary_of_another_compressor_counts_too():
    """Its form is known: the turn goes."""
    foreign = "[CONTEXT SUMMARY]: earlier\n## Goal\n- x"
    turns = _turns(("human", foreign), ("gpt", "So."), ("human", "Hi"), ("gpt", "Hello"))
    assert is_compacted(load(turns))
    assert "CONTEXT SUMMARY" not in str(_strip(turns))


def test_a_digest_goes_with_its_call():
    """A result cannot stand alone, nor a call without it."""
    call = '<tool_call>\n{"name": "ls", "arguments": {}}\n</tool_call>'
    digest = f"<tool_response>\n{mark_text('digest', 'listed 3 files', '')}\n</tool_response>"
    turns = _turns(("human", "Hi"), ("gpt", call), ("tool", digest), ("gpt", "Hello"))
    assert is_compacted(load(turns))
    assert _strip(turns) == _turns(("human", "Hi"), ("gpt", "Hello"))


def test_a_record_without_generated_text_is_the_same_object():
    """Somebody who quotes a mark is still a user."""
    record = load(_turns(("human", f"What is {SUMMARY_OPEN}?"), ("gpt", "A mark.")))
    assert not is_compacted(record)
    assert strip_generated(record) is record


def test_a_record_of_generated_text_alone_is_refused():
    """There is nothing left to train on."""
    with pytest.raises(NotReadable, match="nothing but generated text"):
        strip_generated(load(_turns(("human", summary_text("## Goal\n- x", "", brief=True)))))


@pytest.mark.parametrize("dialect", DIALECTS)
@given(data=st.data())
def test_what_is_stripped_holds_no_generated_text_and_breaks_no_rule(
    dialect: str, data: st.DataObject
):
    """Also where the compression itself would have put some in; never above the input."""
    record = data.draw(trajectories(dialect))
    policy = TrajectoryPolicy(target_tokens=data.draw(st.integers(60, 900)), artifacts="strip")
    made, metrics = compress_trajectory(record, policy)
    assert not is_compacted(load(made))
    assert metrics.tokens_after <= metrics.tokens_before
    assert metrics.turns_after == len(made)
    assert {one.rule for one in check(made)} <= {one.rule for one in check(record)}


@given(trajectories("sharegpt"), st.integers(60, 2_000))
def test_what_needs_compaction_is_excluded_when_asked(record: list[Any], target: int):
    """A record is excluded exactly where it would come out with generated text in it."""
    _, kept = compress_trajectory(record, TrajectoryPolicy(target_tokens=target))
    same, metrics = compress_trajectory(
        record, TrajectoryPolicy(target_tokens=target, artifacts="exclude")
    )
    assert (metrics.outcome == "excluded") == (kept.outcome == "compressed")
    assert same == record
