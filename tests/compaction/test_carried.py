"""A summary that a message carries from an earlier compaction stays, or is told in a new one."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from foldaway import Policy, compress


def turn(number: int, lines: int) -> list[dict[str, Any]]:
    function = {"name": "bash", "arguments": f'{{"command": "cat src/m{number}.py"}}'}
    call = {"id": f"c{number}", "type": "function", "function": function}
    shown = "\n".join(f"value_{number}_{n} = load_{n}()" for n in range(lines))
    return [
        {"role": "assistant", "content": f"Step {number}.", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": f"c{number}", "content": shown},
    ]


@given(
    st.integers(1, 4),
    st.integers(5, 400),
    st.sampled_from(((40, 500), (300, 1_400))),
    st.sampled_from((0.2, 0.4, 0.6, 0.9)),
)
def test_a_summary_in_a_request_outlives_the_next_compaction(
    turns: int, lines: int, request: tuple[int, int], share: float
) -> None:
    """Also if all that follows fits with its results cut, so that nothing need be folded."""
    words, size = request
    log: list[dict[str, Any]] = [{"role": "user", "content": "Fix the parser. " * words}]
    for number in range(8):
        log += turn(number, 60)
    small = list(compress(log, target_tokens=size).messages)
    assert "[foldaway summary" in str(small[0])
    for number in range(8, 8 + turns):
        small += turn(number, lines)
    before = compress(small, target_tokens=10**6).report.tokens_before
    again = compress(small, target_tokens=int(before * share))
    assert "[foldaway summary" in str(again.messages)


def test_a_first_record_is_known_again_after_kept_turns_and_a_reply() -> None:
    """Small turns after the head stay in a small size; the record still begins where the next run
    takes it for one, so that there never are two."""
    rows: list[dict[str, Any]] = []
    for number in range(9):
        rows.append(
            {"role": "user", "content": f"Ask {number}: change value_{number} in file_{number}.py"}
        )
        for step, tool in enumerate(("write_file", "edit_file", "lookup")):
            arguments = json.dumps(
                {
                    "path": f"src/file_{number}x{step}.py",
                    "command": f"run {number}x{step}",
                    "content": "x",
                }
            )
            call = {
                "id": f"call{number}x{step}",
                "type": "function",
                "function": {"name": tool, "arguments": arguments},
            }
            rows.append(
                {"role": "assistant", "content": f"Step {number}x{step}.", "tool_calls": [call]}
            )
            rows.append({"role": "tool", "tool_call_id": call["id"], "content": "ok"})
        rows.append({"role": "assistant", "content": f"Reply {number}: value_{number} is changed."})
    rows.append({"role": "user", "content": "Ask 9: go on, and mind file_0.py"})
    policy = Policy(protect_first=3, floor_tokens=500, summary_tokens=100, target_ratio=0.8)
    for target in range(1_000, 2_200, 100):
        small = compress(rows, policy=policy, target_tokens=target, provider="strict")
        again = compress(small.messages, target_tokens=target * 4 // 5)
        assert json.dumps(again.messages).count("[foldaway summary: reference only]") <= 1
