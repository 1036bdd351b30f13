"""One record made to fit: a golden example, then the laws."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from tests.testing.rows import each_row
from tests.testing.trajectories import trajectories

from foldaway import check
from foldaway.dialects.loading import load
from foldaway.errors import InvalidSetting, NotReadable
from foldaway.facts.frame import SUMMARY_CLOSE, SUMMARY_OPEN
from foldaway.testing import assistant, call, result, system, talk, user
from foldaway.trajectories.compress import compress_trajectory
from foldaway.trajectories.policy import TrajectoryPolicy
from foldaway.trajectories.record import NOTICE, strip_generated
from foldaway.trajectories.summaries import WrittenSummary, smallest_summary, write_left_out
from foldaway.transcript import survey

DIALECTS = ("sharegpt", "openai-chat", "anthropic")


class Words:
    """Counts words: sums can be done by hand."""

    name = "words"
    is_estimate = False

    def count(self, text: str) -> int:
        """Return the words of `text`."""
        return len(text.split())


def _words(number: int) -> str:
    return " ".join(["word"] * number)


def _turn(speaker: str, number: int) -> dict[str, str]:
    return {"from": speaker, "value": _words(number)}


RECORD = {
    "id": 7,
    "conversations": [
        _turn("system", 6), _turn("human", 16), _turn("gpt", 26), _turn("tool", 46),
        _turn("gpt", 196), _turn("gpt", 296), _turn("gpt", 396), _turn("gpt", 96),
        _turn("human", 6),
    ],
}  # fmt: skip
"""With 4 for each turn: 10, 20, 30, 50, 200, 300, 400, 100, 10: 1,120 in all."""


def test_the_target_arithmetic_by_hand():
    """1,120 tokens and a notice of 18 are to fit into 900 with a summary of at most 140: 238 are
    too many, so 378 must go. The first two turns of the middle, 200 and 300, are the fewest."""
    policy = TrajectoryPolicy(target_tokens=900, summary_tokens=140, keep_last=2)
    notice = len(NOTICE.split())
    assert notice == 18
    made, metrics = compress_trajectory(RECORD, replace(policy, count="all"), counter=Words())
    assert metrics.tokens_before == 1_120
    assert metrics.regions == ((4, 6),)
    turns = made["conversations"]
    summary = 4 + len(turns[4]["value"].split())
    assert summary <= 140
    assert metrics.tokens_after == 1_120 + 18 - 500 + summary
    assert metrics.tokens_after <= 900
    assert (metrics.outcome, metrics.still_over_limit) == ("compressed", False)
    assert (metrics.turns_before, metrics.turns_after) == (9, 8)
    assert turns[0]["value"].endswith(NOTICE)
    assert turns[1:4] == RECORD["conversations"][1:4]
    assert turns[5:] == RECORD["conversations"][6:]
    assert turns[4]["from"] == "human"
    assert turns[4]["value"].startswith(SUMMARY_OPEN)
    assert turns[4]["value"].endswith(SUMMARY_CLOSE)
    assert made["id"] == 7


def test_a_record_under_the_target_is_the_very_object():
    """1,120 fit into 1,120; into 1,119 they do not."""
    same, metrics = compress_trajectory(RECORD, TrajectoryPolicy(target_tokens=1_120),
                                        counter=Words())  # fmt: skip
    assert same is RECORD
    assert metrics.skipped
    assert not metrics.still_over_limit
    assert metrics.ratio == 1.0
    _, over = compress_trajectory(RECORD, TrajectoryPolicy(target_tokens=1_119), counter=Words())
    assert not over.skipped


def test_folded_turns_are_not_counted():
    """Counted are the first four turns and, from the end, as many as make the record 900 and more:
    100 + 10 and 400, and 300 of the fold, 920. The turn of 196 words is told at the rate of the
    others, a token a word, and 4."""
    seen: list[int] = []

    class Noting(Words):
        def count(self, text: str) -> int:
            seen.append(len(text.split()))
            return super().count(text)

    policy = TrajectoryPolicy(target_tokens=900, summary_tokens=140, keep_last=2)
    made, metrics = compress_trajectory(RECORD, policy, counter=Noting())
    assert 196 not in seen
    assert (metrics.tokens_before, metrics.before_is_estimate) == (1_120, True)
    assert metrics.regions == ((4, 6),)
    slow = compress_trajectory(RECORD, replace(policy, count="all"), counter=Words())
    assert slow[0] == made


def test_a_summary_that_is_no_shorter_is_found_out_by_counting_more():
    """A writer gives 1,000 words in the place of 500: the record stays, and its cost is exact."""
    policy = TrajectoryPolicy(target_tokens=900, summary_tokens=140, keep_last=2)
    same, metrics = compress_trajectory(
        RECORD,
        policy,
        counter=Words(),
        write=lambda *_: WrittenSummary(_words(1_000), summary_calls=1),
    )
    assert same is RECORD
    assert (metrics.outcome, metrics.tokens_before) == ("nothing to fold", 1_120)
    assert not metrics.before_is_estimate


def test_what_cannot_fit_is_said_and_not_called_skipped():
    """All of the middle is folded, head and tail alone are over the target."""
    policy = TrajectoryPolicy(target_tokens=130, summary_tokens=140, keep_last=2)
    _, metrics = compress_trajectory(RECORD, policy, counter=Words())
    assert metrics.regions == ((4, 7),)
    assert metrics.still_over_limit
    assert not metrics.skipped
    assert metrics.least_tokens == 220 + 18 + 4 + len(smallest_summary(3).split())
    assert metrics.over_because == (
        f"it needs at least {metrics.least_tokens}, of which $.conversations[7] (assistant) 100"
    )


def test_a_record_that_is_all_head_and_tail_stays():
    """There is nothing to fold, which is another outcome than being under the target."""
    record = {"conversations": RECORD["conversations"][:4]}
    same, metrics = compress_trajectory(record, TrajectoryPolicy(target_tokens=20),
                                        counter=Words())  # fmt: skip
    assert same is record
    assert (metrics.outcome, metrics.still_over_limit) == ("nothing to fold", True)


def test_the_words_of_a_writer_stand_in_the_summary_turn():
    """A writer gets the turns, the region and its room; where it fails the ledger writes."""
    policy = TrajectoryPolicy(target_tokens=900, summary_tokens=140, keep_last=2)
    made, metrics = compress_trajectory(
        RECORD, policy, counter=Words(), write=lambda *_: WrittenSummary("told", summary_calls=1)
    )
    assert made["conversations"][4] == {"from": "human", "value": "told"}
    assert (metrics.summary_calls, metrics.errors) == (1, 0)
    made, metrics = compress_trajectory(
        RECORD,
        policy,
        counter=Words(),
        write=lambda *_: WrittenSummary("", summary_calls=2, errors=2),
    )
    assert made["conversations"][4]["value"].startswith(SUMMARY_OPEN)
    assert (metrics.summary_calls, metrics.errors) == (2, 2)


@each_row("dialect", DIALECTS)
def test_facts_of_folded_turns_are_in_the_summary(dialect: str):
    """What was asked, changed and went wrong in the middle is told in the turn that replaces it."""
    steps: list[Any] = [system("Be brief."), user("Begin."), assistant(call("bash", command="ls")),
                        result("a.py"), assistant("Listed.")]  # fmt: skip
    steps += [user("Never touch setup.cfg. Rename parse_row in src/rows.py.")]
    for number in range(12):
        steps.append(assistant(call("bash", command=f"pytest tests/test_{number}.py")))
        steps.append(result(f"E   ValueError: row {number} is short\n" + "noise line\n" * 60))
    steps += [assistant("Done."), user("Thanks."), assistant("Bye.")]
    made, metrics = compress_trajectory(talk(*steps).wire(dialect),
                                        TrajectoryPolicy(target_tokens=1_500))  # fmt: skip
    assert metrics.outcome == "compressed"
    assert metrics.tokens_after <= 1_500
    summary = next(text for text in map(str, made) if SUMMARY_OPEN in text)
    assert "Never touch setup.cfg" in summary
    assert "ValueError: row" in summary


def test_the_notice_goes_into_the_system_text_wherever_it_stands():
    """A system turn, Anthropic's field, a ShareGPT column; never twice, and nowhere else."""
    policy = TrajectoryPolicy(target_tokens=500, summary_tokens=140, keep_last=2)
    turns = RECORD["conversations"][1:]
    made, _ = compress_trajectory({"system": "Be kind.", "conversations": turns}, policy,
                                  counter=Words())  # fmt: skip
    assert made["system"] == f"Be kind.\n\n{NOTICE}"
    chat = [{"role": {"human": "user"}.get(one["from"], "assistant"), "content": one["value"]}
            for one in turns if one["from"] != "tool"]  # fmt: skip
    body = {"model": "claude-opus-4-5", "max_tokens": 9, "system": "Be kind.", "messages": chat}
    made, _ = compress_trajectory(body, policy, counter=Words())
    assert NOTICE in str(made["system"])
    made, _ = compress_trajectory({"conversations": turns}, policy, counter=Words())
    assert NOTICE not in str(made)


def test_a_notice_in_other_words_takes_the_place_of_the_first():
    """There is one; and what is stripped has none, in whatever words it was."""
    turns = RECORD["conversations"][1:]
    wide = TrajectoryPolicy(target_tokens=900, summary_tokens=140, keep_last=1)
    made, _ = compress_trajectory({"system": "Be kind.", "conversations": turns}, wide,
                                  counter=Words())  # fmt: skip
    again, _ = compress_trajectory(
        made, replace(wide, target_tokens=420, notice="Told in brief."), counter=Words()
    )
    assert again["system"] == "Be kind.\n\n[foldaway notice] Told in brief."
    assert strip_generated(load(again)).frame.body["system"] == "Be kind."  # pyright: ignore[reportOptionalSubscript]


def test_a_system_turn_after_the_fold_is_left_alone():
    """Only the front of a record is its system text."""
    turns = [*RECORD["conversations"][1:], _turn("system", 3), _turn("gpt", 3)]
    policy = TrajectoryPolicy(target_tokens=900, summary_tokens=140, keep_last=2)
    made, metrics = compress_trajectory(turns, policy, counter=Words())
    assert metrics.outcome == "compressed"
    assert NOTICE not in str(made)
    assert made[-2:] == turns[-2:]


def test_a_second_run_carries_the_first_summary_on():
    """Compressed again to less, the record still has one summary turn and one notice."""
    wide = TrajectoryPolicy(target_tokens=900, summary_tokens=140, keep_last=1)
    made, _ = compress_trajectory(RECORD, wide, counter=Words())
    again, metrics = compress_trajectory(
        made, TrajectoryPolicy(target_tokens=420, summary_tokens=140, keep_last=1), counter=Words()
    )
    assert metrics.outcome == "compressed"
    assert str(again).count(SUMMARY_OPEN) == 1
    assert str(again).count(NOTICE) == 1


def test_records_that_are_no_trajectory_are_refused():
    """No turns, too many turns, nobody known, a tag inside itself: each with its place."""
    policy = TrajectoryPolicy(target_tokens=900, max_turns=8)
    with pytest.raises(NotReadable, match="holds no messages"):
        compress_trajectory({"conversations": []}, policy)
    with pytest.raises(NotReadable, match="has 9 turns, more than 8"):
        compress_trajectory(RECORD, policy)
    with pytest.raises(NotReadable, match="no turn of a known speaker"):
        compress_trajectory({"conversations": [{"from": "x", "value": "y"}]}, policy)
    loop = "<tool_call><tool_call>{}</tool_call></tool_call>"
    nested = {"conversations": [_turn("human", 1), {"from": "gpt", "value": loop}]}
    with pytest.raises(NotReadable, match=r"conversations\[1\]: a <tool_call> opens inside"):
        compress_trajectory(nested, policy)


def test_words_about_tags_are_no_nesting():
    """A tag that is only named, or stands in the arguments of a call, is fine."""
    policy = TrajectoryPolicy(target_tokens=900)
    for value in (
        "I write <tool_call> and then <tool_call> again.",
        '<tool_call>\n{"name": "edit", "arguments": {"text": "<tool_call> <tool_call>"}}'
        "\n</tool_call>",
    ):
        turns = [_turn("human", 1), {"from": "gpt", "value": value}]
        assert compress_trajectory({"conversations": turns}, policy)[1].skipped


@each_row("field", ["target_tokens", "summary_tokens", "keep_last", "max_turns"])
def test_a_setting_out_of_range_is_refused(field: str):
    """The error names the setting and what it must be."""
    with pytest.raises(InvalidSetting, match=f"{field} is -1; it must be a whole number, at least"):
        TrajectoryPolicy(**{"target_tokens": 900, field: -1})


@pytest.mark.parametrize("dialect", DIALECTS)
@given(data=st.data())
def test_the_laws_of_a_compressed_record(dialect: str, data: st.DataObject):
    """Never above the input; the target is reached or it is said that it is not; under the target
    a second run changes nothing; pairs stay whole; no rule is broken that was kept; firsts and the
    last turns are as they were; nothing that was given is changed; the same again is the same."""
    record = data.draw(trajectories(dialect))
    policy = TrajectoryPolicy(
        target_tokens=data.draw(st.integers(60, 4_000)),
        summary_tokens=data.draw(st.integers(120, 800)),
        keep_last=data.draw(st.integers(0, 6)),
    )
    given_record = copy.deepcopy(record)
    made, metrics = compress_trajectory(record, policy)
    assert record == given_record
    assert metrics.tokens_after <= metrics.tokens_before
    assert metrics.still_over_limit == (metrics.tokens_after > policy.target_tokens)
    assert metrics.turns_after == len(made)
    again, same = compress_trajectory(made, policy)
    assert same.before_is_estimate or same.tokens_before == metrics.tokens_after
    slow = replace(policy, count="all")
    exact = compress_trajectory(record, slow)
    assert exact[0] == made
    assert not exact[1].before_is_estimate
    assert metrics.before_is_estimate or exact[1] == metrics
    assert exact[1].tokens_before > exact[1].tokens_after or made is record
    told = replace(exact[1], tokens_before=metrics.tokens_before)
    assert replace(metrics, before_is_estimate=False) == told
    if not metrics.still_over_limit:
        assert again is made
    assert compress_trajectory(record, policy) == (made, metrics)
    found = survey(load(made).messages)
    before = survey(load(record).messages)
    assert found.call_of.count(-1) == before.call_of.count(-1)
    assert found.answer_of.count(-1) == before.answer_of.count(-1)
    assert {one.rule for one in check(made)} <= {one.rule for one in check(record)}
    kept = policy.keep_last
    assert kept == 0 or made[-kept:] == record[-kept:]
    at, left = 0, list(made)
    for start, stop in (*metrics.regions, (len(record), len(record))):
        kept, left = left[: start - at], left[start - at :]
        assert kept[at == 0 :] == record[at + (at == 0) : start]
        assert SUMMARY_OPEN not in str(kept)
        if start < stop:
            assert SUMMARY_OPEN in str(left.pop(0))
        at = stop
    assert not left


@pytest.mark.parametrize("dialect", DIALECTS)
@given(data=st.data())
def test_a_record_fits_whenever_protected_turns_and_the_smallest_summaries_do(
    dialect: str, data: st.DataObject
):
    """A record that is over says the least that it needs, whatever its target. At that target and
    above it fits, whoever writes; below it does not."""
    record = data.draw(trajectories(dialect))
    policy = TrajectoryPolicy(target_tokens=1, keep_last=data.draw(st.integers(0, 6)))
    least = compress_trajectory(record, policy)[1].least_tokens
    write = data.draw(st.sampled_from((None, write_left_out)))
    for target in (least, least + data.draw(st.integers(1, 400))):
        _, metrics = compress_trajectory(record, replace(policy, target_tokens=target), write=write)
        assert metrics.tokens_after <= target
        assert metrics.over_because == ""
    _, metrics = compress_trajectory(record, replace(policy, target_tokens=least - 1))
    assert (metrics.still_over_limit, metrics.least_tokens) == (True, least)
    assert f"it needs at least {least:,}" in metrics.over_because


def test_summaries_have_a_fifth_of_a_small_target():
    """750 tokens were three quarters of a record of 1,000 tokens."""
    allowed = [
        TrajectoryPolicy(target_tokens=target).allowed_summary_tokens
        for target in (300, 1_000, 16_000)
    ]
    assert allowed == [120, 200, 750]
