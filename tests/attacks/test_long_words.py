"""Words without an end: a compaction reads them in linear time."""

from __future__ import annotations

import time
from typing import Any

import pytest

from foldaway import compress


@pytest.mark.slow
@pytest.mark.parametrize("piece", ["x", "_", "é", "-", "9", "a/", ". "])
@pytest.mark.parametrize("place", [2, 4, 5], ids=["old result", "result", "ask"])
def test_a_word_of_a_hundred_thousand_signs_takes_linear_time(piece: str, place: int) -> None:
    """In a result or a request; 5 seconds are ten times what it takes."""
    said: list[dict[str, Any]] = [{"role": "user", "content": "Please look at the log."}]
    for n in range(2):
        call = {"name": "read_file", "arguments": f'{{"path": "src/part{n}.py"}}'}
        said += [
            {"role": "assistant", "content": f"Looking at {n}.", "tool_calls": [
                {"id": f"c{n}", "type": "function", "function": call}]},
            {"role": "tool", "tool_call_id": f"c{n}", "content": f"part {n}\n" * 200},
        ]  # fmt: skip
    said += [{"role": "user", "content": "And now?"}, {"role": "assistant", "content": "Fine."}]
    said[place]["content"] = piece * (100_000 // len(piece))
    started = time.process_time()
    compress(said, target_tokens=600)
    assert time.process_time() - started < 5
