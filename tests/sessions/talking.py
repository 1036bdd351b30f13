"""A talk that needs a compaction, and a window that is too small for it."""

from __future__ import annotations

from typing import Any

from foldaway import Policy

SMALL = Policy(floor_tokens=500)
WINDOW: Any = {"context_length": 8_000, "policy": SMALL}


def talk(start: int, count: int) -> list[Any]:
    """Return questions and answers, the first with this number."""
    found: list[Any] = []
    for number in range(start, start + count):
        words = f"Question {number} on module_{number}.py, at most {number} times. " + "word " * 80
        answer = f"Answer {number}. " + "so on " * 90
        found += [{"role": "user", "content": words}, {"role": "assistant", "content": answer}]
    return found
