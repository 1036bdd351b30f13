"""A person who asks for a compaction gets one, also if nothing is due."""

from __future__ import annotations

import json
from typing import Any

from tests.testing.rows import each_row

from foldaway import Options, compress
from foldaway.engine.compressor import Compressor


def short(steps: int) -> list[dict[str, Any]]:
    """Return a short session: a request, steps with small results, a reply, every ten messages."""
    rows: list[dict[str, Any]] = [{"role": "system", "content": "You are a helper."}]
    for step in range(steps):
        if step % 3 == 0:
            rows.append({"role": "user", "content": f"Please look at part_{step}.py for me."})
        function = {"name": "bash", "arguments": json.dumps({"command": f"cat part_{step}.py"})}
        call = {"id": f"c{step}", "type": "function", "function": function}
        rows.append({"role": "assistant", "content": f"Step {step}.", "tool_calls": [call]})
        lines = [f"name_{step}_{n} = load_value({step * 97 + n})" for n in range(24)]
        rows.append({"role": "tool", "tool_call_id": f"c{step}", "content": "\n".join(lines)})
        if step % 3 == 2:
            rows.append({"role": "assistant", "content": f"Part {step} has 24 names."})
    return rows


@each_row("steps", (8, 22))
def test_by_hand_a_short_session_is_folded_down_to_its_newest_messages(steps: int) -> None:
    """In a window of 200,000, where nothing is due: what is between the head and the last three
    messages becomes the record, except for the newest request. Without `force` the list stays, or
    is only shortened."""
    rows = short(steps)
    plain = compress(rows, context_length=200_000)
    assert plain.report.folded == 0
    made = compress(rows, context_length=200_000, options=Options(force=True))
    assert made.report.status == "compacted"
    assert made.report.folded >= len(rows) - 10
    assert made.messages[-3:] == rows[-3:]
    assert made.report.tokens_after < 0.8 * made.report.tokens_before
    asks = [row["content"] for row in rows if row["role"] == "user"]
    assert any(row.get("content") == asks[-1] for row in made.messages)


def test_a_session_in_memory_is_folded_by_hand_and_by_hand_again() -> None:
    """A second time folds the first messages too, and then nothing is left to fold; a preview says
    the same."""
    engine = Compressor(context_length=200_000)
    engine.append(*short(22))
    assert engine.compact().status == "unchanged"
    preview = engine.preview(Options())
    report = engine.compact(force=True)
    assert report.status == "compacted"
    assert report.folded == preview.report.folded > 40
    sizes = [engine.compact(force=True).tokens_after for _ in range(3)]
    assert report.tokens_after > sizes[0] == sizes[1] == sizes[2]
    assert engine.compact(force=True).status == "unchanged"


def test_a_few_messages_stay_as_they_are() -> None:
    """There is nothing to fold, and a record would be longer."""
    rows = [{"role": "user", "content": "Hello."}, {"role": "assistant", "content": "Hi!"}]
    assert compress(rows, options=Options(force=True)).messages is rows
