"""A summary that a message carries from an earlier compaction stays, or is told in a new one."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from foldaway import compress


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
