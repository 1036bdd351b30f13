"""What the newest requests are about, or what somebody asks for, gets more of the room."""

from __future__ import annotations

import json
from typing import Any

from tests.testing.rows import each_row

from foldaway import Options, compress

TOPICS = ("billing", "search")
STEPS = 160


def talk(topic: str) -> list[dict[str, Any]]:
    """Return steps about two topics in turn, then three requests about one of them."""
    rows: list[dict[str, Any]] = [{"role": "user", "content": "Work on billing and on search."}]
    for step in range(STEPS):
        one = TOPICS[step % 2]
        if step % 10 in (0, 5):
            rows.append({"role": "user", "content": f"Look at the {one} part number {step}."})
        function = {"name": "bash", "arguments": json.dumps({"command": f"cat {one}/{step}.txt"})}
        call = {"id": f"c{step}", "type": "function", "function": function}
        rows.append({"role": "assistant", "content": f"Step {step}.", "tool_calls": [call]})
        lines = [f"{one} value_{one}_{step}_{n} = {step * 97 + n}" for n in range(12)]
        rows.append({"role": "tool", "tool_call_id": f"c{step}", "content": "\n".join(lines)})
        if step % 10 in (4, 9):
            rows.append({"role": "assistant", "content": f"The {one} part {step} is as expected."})
    for number in range(3):
        rows.append({"role": "user", "content": f"Now consider {topic} again, question {number}."})
        rows.append({"role": "assistant", "content": f"I will look at {topic}."})
    return rows


def shares(rows: list[dict[str, Any]], tokens: int, focus: str = "") -> list[float]:
    """Return the share of the steps on each topic that is left, before the newest requests."""
    text = json.dumps(compress(rows, options=Options(target_tokens=tokens, focus=focus)).messages)
    return [
        sum(f"{one}/{step}.txt" in text for step in range(at, STEPS, 2)) / (STEPS / 2)
        + sum(f"value_{one}_{step}_1" in text for step in range(at, STEPS, 2)) / (STEPS / 2)
        for at, one in enumerate(TOPICS)
    ]


@each_row("tokens", (4_000, 8_000, 14_000))
def test_the_newest_requests_steer_what_stays_though_they_stay_too(tokens: int) -> None:
    """Three last requests on one topic: of it at least a third more stays than of the other, and
    the same if they are on the other one."""
    for at, topic in enumerate(TOPICS):
        found = shares(talk(topic), tokens)
        assert found[at] > 1.3 * found[1 - at]


def test_a_focus_counts_more_than_the_newest_requests() -> None:
    """What somebody asks for is what they want to keep."""
    for at, topic in enumerate(TOPICS):
        found = shares(talk(TOPICS[1 - at]), 6_000, topic)
        assert found[at] > 1.3 * found[1 - at]


def ports(count: int) -> list[dict[str, Any]]:
    """Return short questions with their answers, then so much work that they are far back."""
    rows: list[dict[str, Any]] = []
    for number in range(count):
        rows.append({"role": "user", "content": f"Which port has kestrel_{number}?"})
        rows.append({"role": "assistant", "content": f"kestrel_{number} has {4000 + number}."})
    return [*rows, *talk("billing")]


@each_row("focus", ("kestrel_77", "the port of kestrel_77"))
def test_a_focus_reaches_what_is_far_back(focus: str) -> None:
    """Older turns that speak of it are looked at too, those first that speak of most of it."""
    rows, options = ports(120), Options(target_tokens=6_000)
    before = compress(rows, options=options).messages
    asked = compress(rows, options=Options(target_tokens=6_000, focus=focus)).messages
    assert rows[2 * 77] not in before
    assert rows[2 * 77] in asked
    assert "kestrel_77 has 4077." in json.dumps(asked)
    assert rows[-5:] == before[-5:] == asked[-5:]
